//! A table that is tried, and its rows as they are sent. Must not send or read any.

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
}

impl TriedTable<'_> {
    /// Rows as they are sent.
    pub(super) fn rows(&self, first: u64, rows: u64) -> RowBatch {
        let rows = usize::try_from(rows).unwrap_or(1);
        self.workload.row_batch(self.position, first, rows)
    }
}

/// The column's type as the target has it, or as the workload has it.
pub(super) fn kind_of(column: &BoundColumn) -> &str {
    match column.declared.name.as_str() {
        "" => column.kind.name(),
        declared => declared,
    }
}
