//! What a generator of parameters can do, and what it knows of the op: its part of the list.
//!
//! What must not be here: a generator.

use crate::generators::prelude::{ColumnType, Draws, Entry, Section, Spec, Ticks, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::entity::Attributes;
use crate::generators::columns::{Scope, field_of};
use crate::rows::TableRows;

/// A generator of parameters.
pub(crate) trait Parameter: Sized {
    const SPECS: &'static [Spec];

    /// Reads its options.
    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self>;

    /// Appends as many values for an op as the parameter stands for.
    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>);
}

/// The different values of attributes, by the positions of entity and attribute.
pub(crate) type DistinctValues = BTreeMap<(usize, usize), Vec<Arc<str>>>;

/// What the values of a parameter depend on.
pub(crate) struct OpScope<'o> {
    pub(crate) entities: &'o [Attributes],
    pub(crate) tables: &'o [TableRows],
    pub(crate) distinct: &'o DistinctValues,
    /// The first row that the op writes; those before it are there.
    pub(crate) first_row: u64,
    /// Number of the op in its stream.
    pub(crate) index: u64,
    /// The type of the parameter.
    pub(crate) kind: ColumnType,
    /// Values that the parameter stands for.
    pub(crate) count: u64,
    /// The parameter's own random numbers.
    pub(crate) draws: Draws,
    /// Where the values of each earlier parameter begin.
    pub(crate) begins: &'o [usize],
}

impl OpScope<'_> {
    /// Appends all values, each from a random number of its own.
    pub(crate) fn append_each(&self, values: &mut Vec<Value>, value: impl Fn(u64) -> Value) {
        let first = self.index.wrapping_mul(self.count);
        values.extend((0..self.count).map(|n| value(first.wrapping_add(n))));
    }

    /// What a row has in a column, or in a field of its object; null if there is no such column.
    pub(super) fn cell(&self, table: usize, column: usize, field: &[String], row: u64) -> Value {
        let table = self.tables.get(table);
        let cell = table.and_then(|table| table.cell(column, row));
        cell.map_or(Value::Null, |cell| field_of(cell, field).value(0))
    }

    /// The tick of the last row before the op.
    pub(super) fn last_tick(&self, table: usize) -> u64 {
        let last_row = self.first_row.saturating_sub(1);
        self.tables.get(table).map_or(0, |table| table.tick(last_row))
    }
}

/// Reads a `table` that has a time line.
pub(super) fn read_ticks(of: &Section<'_>, scope: &Scope<'_>) -> Option<(usize, Ticks)> {
    let entry: Entry<'_> = of.required("table", "\"…\"")?;
    let table = entry.position("table", scope.tables)?;
    let scope = scope.tables.get(table)?;
    let Some(timeline) = scope.ticks else {
        let message = format!("table `{}` has no column made by `timeline`", scope.name);
        let hint = "give it a timestamp column with generator = \"timeline\"";
        return entry.error(message, hint);
    };
    Some((table, timeline))
}
