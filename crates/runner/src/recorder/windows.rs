//! Counts per 100 ms of a phase, as they come in: handed over once a second, added up at the end. What must
//! not be here: which ops are counted, and when.

use highwater_model::plan::Objective;
use highwater_model::record::{WINDOW_NS, Windows};
use highwater_model::units::Nanos;
use serde::{Deserialize, Serialize};

use super::key_stats::RowWait;

/// A part of a series of counts, one for each window of 100 ms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowCounts {
    /// Position of the first one within its phase.
    first: usize,
    counts: Vec<u32>,
}

impl WindowCounts {
    /// Counts `n` more at a time of the phase.
    pub fn add(&mut self, offset: Nanos, n: u32) {
        let window = usize::try_from(offset.0 / WINDOW_NS).unwrap_or(usize::MAX);
        let count = self.at(window);
        *count = count.saturating_add(n);
    }

    /// Adds another part of the same series.
    pub fn merge(&mut self, other: &Self) {
        for (window, n) in (other.first..).zip(&other.counts) {
            let count = self.at(window);
            *count = count.saturating_add(*n);
        }
    }

    fn at(&mut self, window: usize) -> &mut u32 {
        if self.counts.is_empty() {
            self.first = window;
        }
        if window < self.first {
            let missing = std::iter::repeat_n(0, self.first - window);
            self.counts.splice(0..0, missing);
            self.first = window;
        }
        let at = window - self.first;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        &mut self.counts[at]
    }

    /// All of them together.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().map(|n| u64::from(*n)).sum()
    }

    /// Adds them to the series, which begins with the phase.
    pub(crate) fn add_to(&self, series: &mut Vec<u64>) {
        let end = self.first + self.counts.len();
        if series.len() < end {
            series.resize(end, 0);
        }
        for (sum, n) in series[self.first..].iter_mut().zip(&self.counts) {
            *sum += u64::from(*n);
        }
    }
}

/// Additions to the counts of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowDelta {
    /// Position in the recorder's keys.
    pub key: usize,
    /// Acknowledged ops, by finished.
    pub acknowledged: WindowCounts,
    /// Rows of these ops that were not acknowledged.
    pub missing: WindowCounts,
    /// Ops due, by intended; open load only.
    pub offered: WindowCounts,
    /// Failed ops, by finished; open load only.
    pub failed: WindowCounts,
    /// Ended or dropped ops, by intended; only where an objective bounds a latency.
    pub ended: WindowCounts,
    /// Those above each bound; one for each bound.
    pub over: Vec<WindowCounts>,
}

impl WindowDelta {
    /// Adds other additions to the same key.
    pub fn merge(&mut self, other: &Self) {
        self.acknowledged.merge(&other.acknowledged);
        self.missing.merge(&other.missing);
        self.offered.merge(&other.offered);
        self.failed.merge(&other.failed);
        self.ended.merge(&other.ended);
        for (mine, theirs) in self.over.iter_mut().zip(&other.over) {
            mine.merge(theirs);
        }
    }

    /// Adds them to the counts of the whole phase.
    pub fn add_to(&self, whole: &mut Windows) {
        self.acknowledged.add_to(&mut whole.acknowledged);
        self.missing.add_to(&mut whole.missing);
        self.offered.add_to(&mut whole.offered);
        self.failed.add_to(&mut whole.failed);
        self.ended.add_to(&mut whole.ended);
        self.add_over(&mut whole.over);
    }

    /// Adds what was over each bound.
    pub(crate) fn add_over(&self, whole: &mut Vec<Vec<u64>>) {
        whole.resize(whole.len().max(self.over.len()), Vec::new());
        for (sums, counts) in whole.iter_mut().zip(&self.over) {
            counts.add_to(sums);
        }
    }

    /// Counts an op towards the latency bounds.
    pub(super) fn count_over(&mut self, offset: Nanos, op: EndedOp, bounds: &[Objective]) {
        if bounds.is_empty() {
            return;
        }
        self.ended.add(offset, 1);
        for (over, bound) in self.over.iter_mut().zip(bounds) {
            let n = match (bound, op.row_wait, op.latency) {
                (Objective::RowLatency { .. }, Some(wait), None) => wait.rows,
                (Objective::RowLatency { max, .. }, Some(wait), Some(latency)) => {
                    wait.rows_above(latency, op.rows_failed, *max)
                }
                (Objective::Latency { max, .. }, _, latency) => {
                    u64::from(latency.is_none_or(|latency| latency > *max))
                }
                _ => 0,
            };
            over.add(offset, u32::try_from(n).unwrap_or(u32::MAX));
        }
    }
}

/// An op that ended or was dropped, as latency bounds count it.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndedOp {
    /// `None` where it ranks as infinite.
    pub(super) latency: Option<Nanos>,
    /// In open load of rows: how its rows wait for their batch.
    pub(super) row_wait: Option<RowWait>,
    /// Rows of an acknowledged op that rank as infinite.
    pub(super) rows_failed: u64,
}

/// The additions since they were last taken.
#[derive(Debug)]
pub(super) struct WindowDeltas {
    by_key: Vec<Option<Box<WindowDelta>>>,
    bounds: usize,
}

impl WindowDeltas {
    /// None yet, of so many keys and latency bounds.
    pub(super) fn new(keys: usize, bounds: usize) -> Self {
        Self { by_key: (0..keys).map(|_| None).collect(), bounds }
    }

    /// Room for so many keys.
    pub(super) fn grow(&mut self, keys: usize) {
        self.by_key.resize_with(keys, || None);
    }

    /// Those of a key.
    pub(super) fn at(&mut self, key: usize) -> &mut WindowDelta {
        let bounds = self.bounds;
        self.by_key[key].get_or_insert_with(|| {
            Box::new(WindowDelta {
                key,
                over: vec![WindowCounts::default(); bounds],
                ..WindowDelta::default()
            })
        })
    }

    /// Takes them, in the order of the keys.
    pub(super) fn take(&mut self) -> Vec<WindowDelta> {
        self.by_key.iter_mut().filter_map(Option::take).map(|delta| *delta).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(window: u64) -> Nanos {
        Nanos(window * WINDOW_NS + WINDOW_NS / 2)
    }

    #[test]
    fn an_op_of_long_ago_is_counted_where_it_belongs() {
        let mut counts = WindowCounts::default();
        for window in [600, 601, 2, 601] {
            counts.add(at(window), 1);
        }
        let mut series = vec![5; 3];
        counts.add_to(&mut series);
        assert_eq!((series.len(), series[2], series[600]), (602, 6, 1));
        assert_eq!(series[601], 2);
        assert_eq!(series[3..600].iter().sum::<u64>(), 0);
    }

    proptest! {
        /// However the ops are dealt out to threads, and whenever what came in is handed over.
        #[test]
        fn the_sum_of_all_parts_is_the_whole(
            ops in prop::collection::vec((0_u64..80, 1_u32..9, 0_usize..3, any::<bool>()), 0..60),
        ) {
            let mut expected = vec![0_u64; 80];
            let mut threads: Vec<_> = (0..3).map(|_| WindowDeltas::new(2, 1)).collect();
            let (mut pending, mut whole) = (WindowDelta::default(), Windows::default());
            for (window, n, thread, is_handed_over) in ops {
                expected[usize::try_from(window).unwrap()] += u64::from(n);
                threads[thread].at(1).over[0].add(at(window), n);
                if is_handed_over {
                    for delta in threads[thread].take() {
                        prop_assert_eq!(delta.key, 1);
                        pending.over.resize(1, WindowCounts::default());
                        pending.merge(&delta);
                    }
                    std::mem::take(&mut pending).add_to(&mut whole);
                }
            }
            threads.iter_mut().flat_map(WindowDeltas::take).for_each(|d| d.add_to(&mut whole));
            let mut sums = whole.over.pop().unwrap_or_default();
            sums.resize(80, 0);
            prop_assert_eq!(sums, expected);
            prop_assert!(whole.acknowledged.is_empty());
        }
    }
}
