//! `written`: what the rows that the op upserts have in a column.

use super::making::{OpScope, Parameter};
use crate::generators::columns::{Scope, read_place};
use crate::generators::prelude::{SCALARS, Section, Serialize, Spec, Value, specs};

/// Positions of table and column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Written {
    pub(crate) table: usize,
    pub(crate) column: usize,
}

impl Parameter for Written {
    const SPECS: &'static [Spec] = specs!(
        "written", "what the rows that the op upserts have in a column; `count` rows", SCALARS,
        ["table": Text, "column": Text;];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let place = read_place(of, scope)?;
        let (table, column) = (place.table, place.column);
        match column {
            Some(column) => of.good(Self { table, column }),
            None => of.error(format!("{} names no column", of.place), "add column = \"…\""),
        }
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let rows = (0..op.count).map(|n| op.first_row.saturating_add(n));
        values.extend(rows.map(|row| op.cell(self.table, self.column, &[], row)));
    }
}
