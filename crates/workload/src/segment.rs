//! Rows of one tick that follow each other: what a column is filled with at a time.
//!
//! What must not be here: how rows are cut into segments; that is the table's layout.

/// Rows of one tick that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Index of the first row.
    pub(crate) row: u64,
    /// Tick of all rows.
    pub(crate) tick: u64,
    /// Entity of the first row; below 2³².
    pub(crate) entity: u64,
    /// Number of rows, at least 1.
    pub(crate) rows: usize,
}

impl Segment {
    /// The indexes of its rows.
    pub(crate) fn row_indexes(self) -> impl Iterator<Item = u64> {
        (0..self.rows).map(move |offset| self.row.wrapping_add(offset as u64))
    }
}
