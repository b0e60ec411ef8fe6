//! What came in during the last second, per (second, key).

use std::collections::HashMap;

use highwater_model::event::LATENCY_BOUNDS_NS;
use highwater_model::histogram::LatencyHistogram;
use highwater_model::outcome::ErrorClass;
use highwater_model::record::WINDOW_NS;
use highwater_model::units::Nanos;
use serde::{Deserialize, Serialize};

use super::Failures;

/// Windows of 100 ms.
pub const WINDOWS_PER_SECOND: usize = 10;

/// Times by the bounds that are published while a run goes on: an array, because a histogram would cost as much again
/// as that of the latency.
#[derive(Debug, Clone, Default)]
pub struct BoundedTimes {
    /// Those within each bound and above the one before; behind them those above all.
    counts: [u64; LATENCY_BOUNDS_NS.len() + 1],
    /// All of them together, in nanoseconds.
    pub sum_ns: u64,
}

impl BoundedTimes {
    /// Adds a time.
    pub fn record(&mut self, time: Nanos) {
        let place = LATENCY_BOUNDS_NS.partition_point(|bound| *bound < time.0);
        self.counts[place] += 1;
        self.sum_ns = self.sum_ns.saturating_add(time.0);
    }

    /// How many lie within each bound; behind them how many there are. Empty without any.
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
    /// Ops due.
    pub offered: u64,
    /// Ops sent, by intended.
    pub sent: u64,
    /// Rows sent, by intended.
    pub rows_sent: u64,
    /// Ops acknowledged, as a whole or in part, by finished.
    pub acknowledged: u64,
    /// The same per 100 ms of the second.
    pub windows: [u32; WINDOWS_PER_SECOND],
    /// Their acknowledged rows per 100 ms of the second.
    pub row_windows: [u32; WINDOWS_PER_SECOND],
    /// Rows acknowledged, by finished.
    pub rows_acknowledged: u64,
    /// Ops failed, as a whole or in part, by finished.
    pub errors: u64,
    /// Those of them that were acknowledged in part.
    pub partial: u64,
    /// Those of them that were rejected for lack of capacity.
    pub rejected: u64,
    /// Rows that the target said it did not store, by finished.
    pub rows_refused: u64,
    /// Ops dropped, by intended.
    pub dropped: u64,
    /// Latencies of the ops due; two significant digits.
    pub latency: LatencyHistogram,
    /// Ops failed by class, in the order of [`ErrorClass::ALL`], by finished.
    pub failed: [u64; ErrorClass::ALL.len()],
    /// The same by message.
    pub failures: Failures,
    /// Service times of the ops acknowledged, by finished.
    pub service: BoundedTimes,
    /// Client lag of the ops that ended, by finished.
    pub lag: BoundedTimes,
}

impl IntervalDelta {
    /// Nothing yet.
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

    /// Counts an op of which `rows` were acknowledged at `at`, which lies in this second.
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

/// The additions since they were last taken.
#[derive(Debug, Default)]
pub struct Intervals {
    deltas: Vec<IntervalDelta>,
    positions: HashMap<(u64, usize), usize>,
    /// By key: second and position of its latest additions in even and in odd seconds. An op is
    /// mostly due and finished in one second or in two neighbors, so this finds it without
    /// hashing.
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

    /// Takes them, in the order in which they began.
    pub fn take(&mut self) -> Vec<IntervalDelta> {
        self.positions.clear();
        self.recent.clear();
        std::mem::take(&mut self.deltas)
    }
}

/// Milliseconds that one map covers.
pub const MILLIS_PER_MAP: u64 = 1_000;

const MILLI_NS: u64 = 1_000_000;
/// Gaps that are held before all but the longest are let go.
const GAPS_AT_ONCE: usize = 4_096;

/// One second as a bit per millisecond.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcknowledgementMap {
    /// From the start of the run.
    pub second: u64,
    bits: [u64; 16],
}

/// A time without any acknowledgement.
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

    /// Notes an acknowledgement at `at`, which lies in this second.
    pub fn note(&mut self, at: Nanos) {
        let milli = usize::try_from(at.0 / MILLI_NS % MILLIS_PER_MAP).unwrap_or(0);
        self.bits[milli / 64] |= 1 << (milli % 64);
    }

    /// Adds what another thread noted in the same second.
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

/// Looks for gaps in maps that follow each other.
///
/// Resolution one millisecond; a gap shorter than two is none.
#[derive(Debug)]
pub struct GapSearch {
    /// The milliseconds that are looked at.
    within: std::ops::Range<u64>,
    quiet_since: u64,
    gaps: Vec<Gap>,
    limit: usize,
}

impl GapSearch {
    /// Between these two times, for the longest gaps, at most `limit`.
    pub fn between(start: Nanos, end: Nanos, limit: usize) -> Self {
        let within = start.0 / MILLI_NS..end.0 / MILLI_NS;
        Self { quiet_since: within.start, within, gaps: Vec::new(), limit }
    }

    /// Looks at a map, whose second is behind those of the maps before.
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
            // Between ops that are seldom there is one after each: a long run has millions.
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
