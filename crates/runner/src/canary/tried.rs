//! A table that is tried, and its rows as they are sent. Must not send or read any.

use highwater_model::display::count;
use highwater_model::op::{BoundColumn, BoundTable, OpId, RowBatch};
use highwater_workload::Workload;

/// One table, and the op that fills it.
pub(super) struct TriedTable<'a> {
    pub(super) position: usize,
    /// As a pass over the whole table reads it.
    pub(super) table: BoundTable,
    pub(super) op: OpId,
    pub(super) batch: u64,
    pub(super) workload: &'a Workload,
    pub(super) first_row: u64,
    /// Whether a load follows, whose audit names expressions that are refused.
    pub(super) before_load: bool,
    /// Rows that were sent with other values than their own: those at the ends of what generators make.
    pub(super) made: Vec<RowBatch>,
}

impl TriedTable<'_> {
    /// Rows as they are sent.
    pub(super) fn rows(&self, first: u64, rows: u64) -> RowBatch {
        let rows = usize::try_from(rows).unwrap_or(1);
        self.workload.row_batch(self.position, first, rows)
    }

    /// One row as it was sent.
    pub(super) fn sent(&self, row: u64) -> RowBatch {
        self.made_row(row).cloned().unwrap_or_else(|| self.rows(row, 1))
    }

    fn made_row(&self, row: u64) -> Option<&RowBatch> {
        self.made.iter().find(|made| made.first_row == row)
    }

    /// Where a row's value comes from, for people.
    pub(super) fn origin(&self, row: u64) -> String {
        match self.made_row(row) {
            Some(_) => "which its generator may make".to_owned(),
            None => format!("its value in row {}", count(row)),
        }
    }
}

/// The column's type as the target has it, or as the workload has it.
pub(super) fn kind_of(column: &BoundColumn) -> &str {
    match column.declared.name.as_str() {
        "" => column.kind.name(),
        declared => declared,
    }
}
