//! The time of a row as a function of its tick. Must not determine a row's tick; the table's layout does.

use serde::Serialize;

use super::random::Draws;

/// Time as a function of the tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Ticks {
    /// Milliseconds since 1970.
    pub(crate) start: i64,
    /// Milliseconds, at least 1.
    pub(crate) interval: i64,
    /// Range of milliseconds by which a row may be before or after its tick, inclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<(i64, i64)>,
}

impl Ticks {
    /// Milliseconds since 1970 of a tick; the last representable time if it is beyond that.
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
