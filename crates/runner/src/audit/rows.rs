//! Regenerates the sent rows by key, and marks rows.

use std::ops::Range;

use highwater_model::op::{BoundColumn, RowBatch};
use highwater_model::stored::{Difference, KeyRange, StoredRow, difference};
use highwater_workload::Workload;

/// Rows generated at once.
const BLOCK: u64 = 256;
/// Blocks kept: rows are read back from a few places at a time.
const BLOCKS: usize = 64;

/// Regenerates the rows of one table.
pub(crate) struct Regenerator<'a> {
    workload: &'a Workload,
    table: usize,
    columns: &'a [BoundColumn],
    /// By block number modulo [`BLOCKS`].
    blocks: Vec<RowBatch>,
}

impl<'a> Regenerator<'a> {
    pub(crate) fn new(workload: &'a Workload, table: usize, columns: &'a [BoundColumn]) -> Self {
        Self { workload, table, columns, blocks: vec![RowBatch::default(); BLOCKS] }
    }

    /// The difference between a stored row and the row that was sent under its key.
    pub(crate) fn difference(&mut self, row: &StoredRow) -> Option<Difference> {
        let block = row.key / BLOCK;
        let slot = usize::try_from(block % BLOCKS as u64).unwrap_or(0);
        let batch = &mut self.blocks[slot];
        if batch.rows == 0 || batch.first_row != block * BLOCK {
            let rows = usize::try_from(BLOCK).unwrap_or(1);
            self.workload.fill_row_batch(self.table, block * BLOCK, rows, batch);
        }
        let at = usize::try_from(row.key % BLOCK).unwrap_or(0);
        difference(self.columns, batch, at, &row.values)
    }

    /// Generates these rows.
    pub(crate) fn batch(&self, rows: Range<u64>) -> RowBatch {
        let count = usize::try_from(rows.end.saturating_sub(rows.start)).unwrap_or(0);
        self.workload.row_batch(self.table, rows.start, count)
    }
}

/// One bit per row.
#[derive(Debug, Clone)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    /// No row is marked.
    pub(crate) fn new(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(64)])
    }

    pub(crate) fn get(&self, row: usize) -> bool {
        self.0.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    pub(crate) fn set(&mut self, row: usize, marked: bool) {
        if let Some(word) = self.0.get_mut(row / 64) {
            let bit = 1 << (row % 64);
            *word = if marked { *word | bit } else { *word & !bit };
        }
    }

    /// Rows marked here and not in `other`, ascending.
    pub(crate) fn without<'m>(&'m self, other: &'m Self) -> impl Iterator<Item = usize> + 'm {
        self.0.iter().zip(&other.0).enumerate().flat_map(|(at, (mine, theirs))| {
            let mut left = mine & !theirs;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        })
    }
}

/// Appends a range of keys; adjacent ranges are joined.
pub(crate) fn push_range(ranges: &mut Vec<KeyRange>, keys: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end >= keys.start => last.end = last.end.max(keys.end),
        _ => ranges.push(KeyRange { first: keys.start, end: keys.end }),
    }
}

/// Pushes two halves for the next attempt, to be popped from the end; a single item stays whole.
pub(crate) fn push_halves<'s, T>(left: &mut Vec<&'s [T]>, items: &'s [T]) {
    let (low, high) = items.split_at(items.len().div_ceil(2));
    left.extend([high, low].into_iter().filter(|half| !half.is_empty()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_distinguish_rows() {
        let (mut expected, mut seen) = (Marks::new(200), Marks::new(200));
        for row in [0, 63, 64, 130, 199] {
            expected.set(row, true);
        }
        seen.set(63, true);
        expected.set(130, false);
        assert!(expected.get(199) && !expected.get(130) && !expected.get(1_000));
        assert_eq!(expected.without(&seen).collect::<Vec<_>>(), [0, 64, 199]);
    }

    #[test]
    fn what_is_halved_stays_in_its_order() {
        let mut left: Vec<&[u64]> = Vec::new();
        push_halves(&mut left, &[1, 2, 3]);
        assert_eq!(left, [&[3][..], &[1, 2]]);
        left.clear();
        push_halves(&mut left, &[1]);
        assert_eq!(left, [&[1][..]]);
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut ranges = Vec::new();
        for keys in [0..5, 5..7, 9..10] {
            push_range(&mut ranges, keys);
        }
        let range = |first, end| KeyRange { first, end };
        assert_eq!(ranges, [range(0, 7), range(9, 10)]);
    }
}
