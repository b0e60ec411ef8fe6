//! The time of a row as a function of its tick.
//!
//! What must not be here: which tick a row has; that is the table's layout.

use serde::Serialize;

use super::random::Draws;

/// Time as a function of the tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Ticks {
    /// Milliseconds since 1970.
    pub(crate) start: i64,
    /// Milliseconds, at least 1.
    pub(crate) interval: i64,
    /// Milliseconds that a row may be before and after its tick, both ends included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<(i64, i64)>,
}

impl Ticks {
    /// Milliseconds since 1970 of a tick; the last representable one beyond that.
    #[inline]
    pub(crate) fn at(self, tick: u64) -> i64 {
        let since = i64::try_from(tick).map_or(i64::MAX, |t| t.saturating_mul(self.interval));
        self.start.saturating_add(since)
    }

    /// The time of a row at a tick, with its jitter.
    pub(crate) fn near(self, tick: u64, draws: &Draws, row: u64) -> i64 {
        let (before, after) = self.jitter.unwrap_or((0, 0));
        let width = before.abs_diff(after).saturating_add(1);
        let jitter = before.saturating_add_unsigned(draws.below(row, width));
        self.at(tick).saturating_add(jitter)
    }
}
