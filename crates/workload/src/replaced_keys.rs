//! Rows that replace each other: the keys that an op writes, and how its rows are distinguished. Must not decide which
//! of several writes wins; the audit does.

use super::definition::{OpBodyDefinition, WriteKind, Writes};
use super::generators::columns::ColumnGenerator;
use super::generators::plain::Plain;
use super::instance::Workload;
use super::table::{Column, Table};
use highwater_model::op::{ColumnData, Op, OpBody, Value};

/// Keys that an op writes in a table whose rows replace each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedKeys {
    /// Position of the table.
    pub table: usize,
    /// Values of the deciding column, in the order of the op's rows.
    pub keys: Vec<i64>,
    /// Index of the row for the first key; the others follow. `None` if the rows are deleted.
    pub first_row: Option<u64>,
}

impl Workload {
    /// The keys that an op writes or deletes, if rows replace each other; `first_row` is the first row that it writes.
    pub fn replaced_keys(&self, op: &Op, first_row: u64) -> Option<ReplacedKeys> {
        match (&self.op_definition(op.id)?.body, &op.body) {
            (OpBodyDefinition::Insert { table, .. }, OpBody::Insert(batch)) => {
                let key = self.replacing_column(*table)?;
                let ColumnData::Integer(keys) = batch.columns.get(key)? else {
                    return None;
                };
                Some(ReplacedKeys {
                    table: *table,
                    keys: keys.clone(),
                    first_row: Some(batch.first_row),
                })
            }
            (
                OpBodyDefinition::Query { parameters, writes: Some(writes), .. },
                OpBody::Query(values),
            ) => {
                let before: u64 = parameters.iter().take(writes.key).map(|p| p.count).sum();
                let keys = keys_of(values, before, *writes);
                Some(ReplacedKeys {
                    table: writes.table,
                    keys,
                    first_row: (writes.kind == WriteKind::Upsert).then_some(first_row),
                })
            }
            _ => None,
        }
    }

    /// Position of the column by whose value a later row replaces an earlier one, if rows do.
    pub fn replacing_column(&self, table: usize) -> Option<usize> {
        self.table_definition(table)?.replaces
    }

    /// Whether every row of a table contains its number, so that a row that is found identifies the op that wrote it.
    pub fn rows_are_marked(&self, table: usize) -> bool {
        let marked = |table: &Table| {
            table.columns.iter().any(|column| match &column.generator {
                ColumnGenerator::Plain(Plain::Text(text)) => text.is_marked(),
                _ => false,
            })
        };
        self.table_definition(table).is_some_and(marked)
    }

    /// Whether a table's keys are unique for any number of rows.
    pub fn keys_never_repeat(&self, table: usize) -> bool {
        let never_repeats = |column: &Column| match &column.generator {
            ColumnGenerator::Plain(Plain::Keys(keys)) => keys.never_repeats(),
            _ => false,
        };
        let table = self.table_definition(table);
        table.and_then(Table::replacing).is_some_and(never_repeats)
    }
}

fn keys_of(values: &[Value], before: u64, writes: Writes) -> Vec<i64> {
    let before = usize::try_from(before).unwrap_or(usize::MAX);
    let rows = usize::try_from(writes.rows).unwrap_or(0);
    values
        .iter()
        .skip(before)
        .take(rows)
        .filter_map(|value| match value {
            Value::Integer(key) => Some(*key),
            _ => None,
        })
        .collect()
}
