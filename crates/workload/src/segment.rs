//! Consecutive rows of one tick, with which a column is filled in one step. Must not split rows into segments; the
//! table's layout does.

/// Consecutive rows of one tick.
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
