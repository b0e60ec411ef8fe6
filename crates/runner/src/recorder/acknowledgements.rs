//! In which milliseconds of a second something was acknowledged: merges exactly, costs a bit.

use highwater_model::units::Nanos;
use serde::{Deserialize, Serialize};

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
