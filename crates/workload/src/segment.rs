//! Rows of one tick that follow each other: what a column is filled with at a time.
//!
//! What must not be here: how rows are cut into segments; that is the table's layout.

/// Rows of one tick that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    /// Index of the first row.
    pub(super) row: u64,
    /// Tick of all rows.
    pub(super) tick: u64,
    /// Entity of the first row; below 2³².
    pub(super) entity: u64,
    /// Number of rows, at least 1.
    pub(super) rows: usize,
}

impl Segment {
    /// The indexes of its rows.
    pub(super) fn row_indexes(self) -> impl Iterator<Item = u64> {
        (0..self.rows).map(move |offset| self.row.wrapping_add(offset as u64))
    }
}
