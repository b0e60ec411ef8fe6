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
        Self {
            second,
            bits: [0; 16],
        }
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

    /// The gaps between `start` and `end`, longest first, at most `limit`; `maps` are ascending.
    /// Resolution one millisecond; a gap shorter than two is none.
    pub fn gaps(maps: &[Self], start: Nanos, end: Nanos, limit: usize) -> Vec<Gap> {
        let (first, behind) = (start.0 / MILLI_NS, end.0 / MILLI_NS);
        let mut gaps = Vec::new();
        let mut quiet_since = first;
        let mut close = |quiet_since: u64, at: u64| {
            if at > quiet_since + 1 {
                gaps.push(Gap {
                    start: Nanos(quiet_since * MILLI_NS),
                    length: Nanos((at - quiet_since) * MILLI_NS),
                });
                // Between ops that are seldom there is one after each: a long run has millions.
                if gaps.len() >= limit.saturating_mul(2).max(GAPS_AT_ONCE) {
                    keep_longest(&mut gaps, limit);
                }
            }
        };
        for map in maps {
            for milli in 0..MILLIS_PER_MAP {
                let at = map.second * MILLIS_PER_MAP + milli;
                if (first..behind).contains(&at) && map.has(milli) {
                    close(quiet_since, at);
                    quiet_since = at + 1;
                }
            }
        }
        close(quiet_since, behind);
        keep_longest(&mut gaps, limit);
        gaps
    }
}

/// Longest first.
fn keep_longest(gaps: &mut Vec<Gap>, limit: usize) {
    gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.length), gap.start));
    gaps.truncate(limit);
}
