//! The ledger: what was acknowledged, refused and unknown, per key range.
//!
//! Keys are row indexes. Ranges have one power-of-two width that doubles whenever their number
//! would pass the bound, so that a run of any length fits the same memory.

use highwater_core::model::outcome::{Certainty, Outcome};

/// Greatest number of ranges.
pub const RANGES_MAX: usize = 65_536;

/// Smallest width of a range, in keys.
const WIDTH_MIN: u64 = 256;

/// Rows of one key range.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RangeCounts {
    /// The target said that it stored them.
    pub acknowledged: u64,
    /// Nobody can say.
    pub unknown: u64,
}

/// What became of the rows of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    width: u64,
    ranges: Vec<RangeCounts>,
    refused: u64,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            width: WIDTH_MIN,
            ranges: Vec::new(),
            refused: 0,
        }
    }
}

impl Ledger {
    /// Notes what became of the rows `first .. first + rows`.
    pub fn note(&mut self, first: u64, rows: u64, outcome: &Outcome) {
        match outcome.certainty {
            Certainty::Applied => {
                self.refused += outcome.rows_refused;
                if outcome.rows_applied == rows {
                    self.add(first, rows, |range, n| range.acknowledged += n);
                } else {
                    self.note_part(first, rows, outcome.rows_applied);
                }
            }
            Certainty::NotApplied => self.refused += rows,
            Certainty::Unknown => self.add(first, rows, |range, n| range.unknown += n),
        }
    }

    /// Some rows of a batch were applied, and the target does not say which: a range that
    /// holds the whole batch is exact, others get what can be there at most as unknown.
    fn note_part(&mut self, first: u64, rows: u64, applied: u64) {
        self.reach(first + rows.saturating_sub(1));
        if first / self.width == (first + rows.saturating_sub(1)) / self.width {
            let range = self.position(first);
            self.ranges[range].acknowledged += applied;
        } else {
            self.add(first, rows, |range, n| range.unknown += n);
        }
    }

    /// Keys per range.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// (key div width, counts) of the ranges that were written.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, RangeCounts)> {
        (0_u64..)
            .zip(self.ranges.iter().copied())
            .filter(|(_, counts)| *counts != RangeCounts::default())
    }

    /// All rows together; and those refused.
    pub fn totals(&self) -> (RangeCounts, u64) {
        let mut total = RangeCounts::default();
        for range in &self.ranges {
            total.acknowledged += range.acknowledged;
            total.unknown += range.unknown;
        }
        (total, self.refused)
    }

    /// Adds another ledger of the same table.
    pub fn merge(&mut self, mut other: Self) {
        while self.width < other.width {
            self.double();
        }
        while other.width < self.width {
            other.double();
        }
        if self.ranges.len() < other.ranges.len() {
            self.ranges
                .resize(other.ranges.len(), RangeCounts::default());
        }
        for (mine, theirs) in self.ranges.iter_mut().zip(&other.ranges) {
            mine.acknowledged += theirs.acknowledged;
            mine.unknown += theirs.unknown;
        }
        self.refused += other.refused;
    }

    fn add(&mut self, first: u64, rows: u64, note: impl Fn(&mut RangeCounts, u64)) {
        if rows == 0 {
            return;
        }
        self.reach(first + rows - 1);
        let (mut at, end) = (first, first + rows);
        while at < end {
            let part = (self.width - at % self.width).min(end - at);
            let range = self.position(at);
            note(&mut self.ranges[range], part);
            at += part;
        }
    }

    /// Makes room for `key`.
    fn reach(&mut self, key: u64) {
        while key / self.width >= RANGES_MAX as u64 {
            self.double();
        }
        let needed = self.position(key) + 1;
        if self.ranges.len() < needed {
            self.ranges.resize(needed, RangeCounts::default());
        }
    }

    fn position(&self, key: u64) -> usize {
        usize::try_from(key / self.width).unwrap_or(usize::MAX)
    }

    fn double(&mut self) {
        self.width *= 2;
        self.ranges = self
            .ranges
            .chunks(2)
            .map(|pair| RangeCounts {
                acknowledged: pair.iter().map(|range| range.acknowledged).sum(),
                unknown: pair.iter().map(|range| range.unknown).sum(),
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use highwater_core::model::outcome::{ErrorClass, OpError};
    use proptest::prelude::*;

    use super::*;

    fn unknown() -> Outcome {
        Outcome::unknown(OpError {
            class: ErrorClass::Connection,
            code: None,
            message: String::new(),
        })
    }

    #[test]
    fn rows_are_counted_in_their_ranges() {
        let mut ledger = Ledger::default();
        ledger.note(250, 10, &Outcome::applied(10));
        ledger.note(0, 5, &unknown());
        let ranges: Vec<_> = ledger.ranges().collect();
        assert_eq!(
            ranges[0],
            (
                0,
                RangeCounts {
                    acknowledged: 6,
                    unknown: 5
                }
            )
        );
        assert_eq!(
            ranges[1],
            (
                1,
                RangeCounts {
                    acknowledged: 4,
                    unknown: 0
                }
            )
        );
    }

    #[test]
    fn a_billion_rows_stay_within_the_bound() {
        let mut ledger = Ledger::default();
        for batch in 0..10_000 {
            ledger.note(batch * 100_000, 100_000, &Outcome::applied(100_000));
        }
        assert!(ledger.ranges.len() <= RANGES_MAX);
        assert_eq!(ledger.totals().0.acknowledged, 1_000_000_000);
    }

    proptest! {
        #[test]
        fn merging_equals_noting_everything_in_one(
            batches in proptest::collection::vec((0_u64..200_000_000, 1_u64..5_000, any::<bool>(), any::<bool>()), 1..60),
        ) {
            let (mut whole, mut left, mut right) = (Ledger::default(), Ledger::default(), Ledger::default());
            for (first, rows, applied, to_left) in batches {
                let outcome = if applied { Outcome::applied(rows) } else { unknown() };
                whole.note(first, rows, &outcome);
                if to_left { left.note(first, rows, &outcome) } else { right.note(first, rows, &outcome) }
            }
            left.merge(right);
            prop_assert_eq!(left.width(), whole.width());
            prop_assert_eq!(left.ranges().collect::<Vec<_>>(), whole.ranges().collect::<Vec<_>>());
        }
    }
}
