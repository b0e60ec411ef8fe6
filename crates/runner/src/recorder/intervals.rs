//! Counts since the last second, per (second, key); and counts per 100 ms of a phase, which are passed on once a
//! second and summed at the end.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use highwater_model::event::LATENCY_BOUNDS_NS;
use highwater_model::histogram::LatencyHistogram;
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Objective;
use highwater_model::record::{WINDOW_NS, Windows};
use highwater_model::units::Nanos;

use super::Failures;
use super::key_stats::RowWait;

/// Windows of 100 ms.
pub const WINDOWS_PER_SECOND: usize = 10;

/// Times by the bounds published during a run: an array, because a second histogram would double the cost of the
/// latency's.
#[derive(Debug, Clone, Default)]
pub struct BoundedTimes {
    /// Times within each bound and above the previous one; the last element counts those above all
    /// bounds.
    counts: [u64; LATENCY_BOUNDS_NS.len() + 1],
    /// Sum of all times, in nanoseconds.
    pub sum_ns: u64,
}

impl BoundedTimes {
    /// Adds a time.
    pub fn record(&mut self, time: Nanos) {
        let place = LATENCY_BOUNDS_NS.partition_point(|bound| *bound < time.0);
        self.counts[place] += 1;
        self.sum_ns = self.sum_ns.saturating_add(time.0);
    }

    /// Number of times within each bound, followed by their total number. Empty without any.
    pub fn up_to(&self) -> Vec<u64> {
        let mut sum = 0;
        let sums = self.counts.iter().map(|count| {
            sum += count;
            sum
        });
        let sums: Vec<u64> = sums.collect();
        match sums.last() {
            Some(0) | None => Vec::new(),
            Some(_) => sums,
        }
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }
}

/// Additions to one second of one key.
#[derive(Debug, Clone)]
pub struct IntervalDelta {
    /// From the start of the run.
    pub second: u64,
    /// Position in the recorder's keys.
    pub key: usize,
    /// Ops intended.
    pub offered: u64,
    /// Ops sent, by intended time.
    pub sent: u64,
    /// Rows sent, by intended time.
    pub rows_sent: u64,
    /// Ops acknowledged, completely or in part, by finish time.
    pub acknowledged: u64,
    /// The same per 100 ms of the second.
    pub windows: [u32; WINDOWS_PER_SECOND],
    /// Their acknowledged rows per 100 ms of the second.
    pub row_windows: [u32; WINDOWS_PER_SECOND],
    /// Rows acknowledged, by finish time.
    pub rows_acknowledged: u64,
    /// Ops failed, completely or in part, by finish time.
    pub errors: u64,
    /// The ones of these that were acknowledged in part.
    pub partial: u64,
    /// The ones of these that were rejected for lack of capacity.
    pub rejected: u64,
    /// Rows that the target reported as not stored, by finish time.
    pub rows_refused: u64,
    /// Ops dropped, by intended time.
    pub dropped: u64,
    /// Latencies of the intended ops; two significant digits.
    pub latency: LatencyHistogram,
    /// Ops failed by class, in the order of [`ErrorClass::ALL`], by finish time.
    pub failed: [u64; ErrorClass::ALL.len()],
    /// The same by message.
    pub failures: Failures,
    /// Service times of the acknowledged ops, by finish time.
    pub service: BoundedTimes,
    /// Client lag of the ops that ended, by finish time.
    pub lag: BoundedTimes,
}

impl IntervalDelta {
    /// Empty.
    pub fn new(second: u64, key: usize) -> Self {
        Self {
            second,
            key,
            offered: 0,
            sent: 0,
            rows_sent: 0,
            acknowledged: 0,
            windows: [0; WINDOWS_PER_SECOND],
            row_windows: [0; WINDOWS_PER_SECOND],
            rows_acknowledged: 0,
            errors: 0,
            partial: 0,
            rejected: 0,
            rows_refused: 0,
            dropped: 0,
            latency: LatencyHistogram::coarse(),
            failed: [0; ErrorClass::ALL.len()],
            failures: Failures::default(),
            service: BoundedTimes::default(),
            lag: BoundedTimes::default(),
        }
    }

    /// Counts an op with `rows` rows acknowledged at `at`, which lies in this second.
    pub fn acknowledge(&mut self, at: Nanos, rows: u64) {
        self.acknowledged += 1;
        let window = usize::try_from(at.0 % Nanos::SECOND.0 / WINDOW_NS).unwrap_or(0);
        self.windows[window] = self.windows[window].saturating_add(1);
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        self.row_windows[window] = self.row_windows[window].saturating_add(rows);
    }

    /// Adds another part of the same second and key.
    pub fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.sent += other.sent;
        self.rows_sent += other.rows_sent;
        self.acknowledged += other.acknowledged;
        for (mine, theirs) in self.windows.iter_mut().zip(other.windows) {
            *mine = mine.saturating_add(theirs);
        }
        for (mine, theirs) in self.row_windows.iter_mut().zip(other.row_windows) {
            *mine = mine.saturating_add(theirs);
        }
        self.rows_acknowledged += other.rows_acknowledged;
        self.errors += other.errors;
        self.partial += other.partial;
        self.rejected += other.rejected;
        self.rows_refused += other.rows_refused;
        self.dropped += other.dropped;
        self.latency.merge(&other.latency);
        for (mine, theirs) in self.failed.iter_mut().zip(other.failed) {
            *mine += theirs;
        }
        self.failures.merge(&other.failures);
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
    }
}

/// The additions since the last collection.
#[derive(Debug, Default)]
pub struct Intervals {
    deltas: Vec<IntervalDelta>,
    positions: HashMap<(u64, usize), usize>,
    /// By key: second and position of its latest additions in even and in odd seconds. Most ops are
    /// intended and finished in the same second or in adjacent ones, so this avoids hashing.
    recent: Vec<[Option<(u64, usize)>; 2]>,
}

impl Intervals {
    /// The additions to the second that holds `at`.
    pub fn at(&mut self, at: Nanos, key: usize) -> &mut IntervalDelta {
        let second = at.0 / Nanos::SECOND.0;
        let parity = usize::from(second % 2 == 1);
        let position = match self.recent.get(key).and_then(|recent| recent[parity]) {
            Some((recent, position)) if recent == second => position,
            _ => self.find(second, key),
        };
        &mut self.deltas[position]
    }

    fn find(&mut self, second: u64, key: usize) -> usize {
        let deltas = &mut self.deltas;
        let position = *self.positions.entry((second, key)).or_insert_with(|| {
            deltas.push(IntervalDelta::new(second, key));
            deltas.len() - 1
        });
        if self.recent.len() <= key {
            self.recent.resize(key + 1, [None; 2]);
        }
        self.recent[key][usize::from(second % 2 == 1)] = Some((second, position));
        position
    }

    /// Takes the additions, in order of their start.
    pub fn take(&mut self) -> Vec<IntervalDelta> {
        self.positions.clear();
        self.recent.clear();
        std::mem::take(&mut self.deltas)
    }
}

/// Milliseconds that one map covers.
pub const MILLIS_PER_MAP: u64 = 1_000;

const MILLI_NS: u64 = 1_000_000;
/// Maximum number of gaps kept before all but the longest are dropped.
const GAPS_AT_ONCE: usize = 4_096;

/// One second as a bit per millisecond.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcknowledgementMap {
    /// From the start of the run.
    pub second: u64,
    bits: [u64; 16],
}

/// A time range without any acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// Its begin.
    pub start: Nanos,
    /// Its length.
    pub length: Nanos,
}

impl AcknowledgementMap {
    /// An empty second.
    pub fn new(second: u64) -> Self {
        Self { second, bits: [0; 16] }
    }

    /// Records an acknowledgment at `at`, which lies in this second.
    pub fn note(&mut self, at: Nanos) {
        let milli = usize::try_from(at.0 / MILLI_NS % MILLIS_PER_MAP).unwrap_or(0);
        self.bits[milli / 64] |= 1 << (milli % 64);
    }

    /// Adds another thread's acknowledgments of the same second.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.bits.iter_mut().zip(&other.bits) {
            *mine |= theirs;
        }
    }

    fn has(&self, milli: u64) -> bool {
        let milli = usize::try_from(milli).unwrap_or(0);
        self.bits[milli / 64] >> (milli % 64) & 1 == 1
    }
}

/// Finds gaps in consecutive maps.
///
/// Resolution: one millisecond; gaps shorter than two milliseconds are ignored.
#[derive(Debug)]
pub struct GapSearch {
    /// The milliseconds to search.
    within: std::ops::Range<u64>,
    quiet_since: u64,
    gaps: Vec<Gap>,
    limit: usize,
}

impl GapSearch {
    /// Searches between these two times for the longest gaps, at most `limit`.
    pub fn between(start: Nanos, end: Nanos, limit: usize) -> Self {
        let within = start.0 / MILLI_NS..end.0 / MILLI_NS;
        Self { quiet_since: within.start, within, gaps: Vec::new(), limit }
    }

    /// Searches a map, whose second follows those of the previous maps.
    pub fn add(&mut self, map: &AcknowledgementMap) {
        for milli in 0..MILLIS_PER_MAP {
            let at = map.second * MILLIS_PER_MAP + milli;
            if self.within.contains(&at) && map.has(milli) {
                self.close(at);
                self.quiet_since = at + 1;
            }
        }
    }

    /// The gaps, longest first.
    pub fn finish(mut self) -> Vec<Gap> {
        self.close(self.within.end);
        keep_longest(&mut self.gaps, self.limit);
        self.gaps
    }

    fn close(&mut self, at: u64) {
        if at > self.quiet_since + 1 {
            self.gaps.push(Gap {
                start: Nanos(self.quiet_since * MILLI_NS),
                length: Nanos((at - self.quiet_since) * MILLI_NS),
            });
            // With infrequent ops, a gap follows each of them: a long run has millions.
            if self.gaps.len() >= self.limit.saturating_mul(2).max(GAPS_AT_ONCE) {
                keep_longest(&mut self.gaps, self.limit);
            }
        }
    }
}

/// Longest first.
fn keep_longest(gaps: &mut Vec<Gap>, limit: usize) {
    gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.length), gap.start));
    gaps.truncate(limit);
}

/// A part of a series of counts, one for each window of 100 ms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowCounts {
    /// Position of the first one within its phase.
    first: usize,
    counts: Vec<u32>,
}

impl WindowCounts {
    /// Adds `n` at a time of the phase.
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

    /// Their sum.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().map(|n| u64::from(*n)).sum()
    }

    /// Adds the counts to the series, which begins with the phase.
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
    /// Acknowledged ops, by finish time.
    pub acknowledged: WindowCounts,
    /// Rows of these ops that were not acknowledged.
    pub missing: WindowCounts,
    /// Intended ops, by intended time; open load only.
    pub offered: WindowCounts,
    /// Failed ops, by finish time; open load only.
    pub failed: WindowCounts,
    /// Ended or dropped ops, by intended time; only if an objective bounds a latency.
    pub ended: WindowCounts,
    /// The ones of these above each bound.
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

    /// Adds these counts to those of the whole phase.
    pub fn add_to(&self, whole: &mut Windows) {
        self.acknowledged.add_to(&mut whole.acknowledged);
        self.missing.add_to(&mut whole.missing);
        self.offered.add_to(&mut whole.offered);
        self.failed.add_to(&mut whole.failed);
        self.ended.add_to(&mut whole.ended);
        self.add_over(&mut whole.over);
    }

    /// Adds the ops above each bound.
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

/// An ended or dropped op, as counted by latency bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndedOp {
    /// `None` if it ranks as infinite.
    pub(super) latency: Option<Nanos>,
    /// In open load of rows: how its rows wait for their batch.
    pub(super) row_wait: Option<RowWait>,
    /// Rows of an acknowledged op that rank as infinite.
    pub(super) rows_failed: u64,
}

/// The additions since the last collection.
#[derive(Debug)]
pub(super) struct WindowDeltas {
    by_key: Vec<Option<Box<WindowDelta>>>,
    bounds: usize,
}

impl WindowDeltas {
    /// Empty, for this number of keys and latency bounds.
    pub(super) fn new(keys: usize, bounds: usize) -> Self {
        Self { by_key: (0..keys).map(|_| None).collect(), bounds }
    }

    /// Makes room for this number of keys.
    pub(super) fn grow(&mut self, keys: usize) {
        self.by_key.resize_with(keys, || None);
    }

    /// The additions of a key.
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

    /// Takes the additions, in the order of the keys.
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
        /// The totals do not depend on how ops are distributed over threads, or on when counts are
        /// passed on.
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
