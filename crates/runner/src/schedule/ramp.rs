//! A ramp: sessions of a stream that start or end one by one, at a rate. Must not know of phases.

use highwater_model::units::{Nanos, Rate};

/// Nanoseconds per second, in millionths of a [`Rate`]'s unit.
const SCALE: u128 = 1_000_000_000_000_000;

/// From one number of sessions to another; both count the sessions of all shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRamp {
    /// Position of the stream.
    pub stream: usize,
    /// Sessions before it.
    pub from: u32,
    /// Sessions after it.
    pub to: u32,
    /// When it begins.
    pub start: Nanos,
    /// Sessions per second; above 0.
    pub per_s: Rate,
}

impl SessionRamp {
    /// Its duration.
    pub fn length(&self) -> Nanos {
        self.takes(self.from.abs_diff(self.to))
    }

    /// Number of sessions at a time; after its end, the final number.
    pub fn at(&self, now: Nanos) -> u32 {
        let elapsed = u128::from(now.saturating_sub(self.start).0);
        let changed = elapsed * u128::from(self.per_s.micro_per_s) / SCALE;
        let changed = u32::try_from(changed).unwrap_or(u32::MAX);
        if self.from <= self.to {
            self.from.saturating_add(changed).min(self.to)
        } else {
            self.from.saturating_sub(changed).max(self.to)
        }
    }

    /// Whether sessions are added.
    pub const fn grows(&self) -> bool {
        self.from < self.to
    }

    /// When a growing ramp reaches this many sessions.
    pub fn reaches(&self, sessions: u32) -> Nanos {
        let coming = self.takes(sessions.saturating_sub(self.from));
        self.start.saturating_add(coming)
    }

    /// Time for this many sessions to start or end.
    pub fn takes(&self, sessions: u32) -> Nanos {
        let per_s = u128::from(self.per_s.micro_per_s.max(1));
        let takes = (u128::from(sessions) * SCALE).div_ceil(per_s);
        Nanos(u64::try_from(takes).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(from: u32, to: u32, micro_per_s: u64) -> SessionRamp {
        SessionRamp {
            stream: 0,
            from,
            to,
            start: Nanos::from_secs(10),
            per_s: Rate { micro_per_s },
        }
    }

    #[test]
    fn sessions_come_one_by_one_and_all_are_there_at_its_end() {
        // Three in two seconds: at 667 ms, 1,333 ms, and 2 s.
        let ramp = ramp(2, 5, 1_500_000);
        let at = |ms: u64| ramp.at(Nanos::from_millis(10_000 + ms));
        assert_eq!([0, 666, 667, 1_333, 1_334, 2_000, 9_000].map(at), [2, 2, 3, 3, 4, 5, 5]);
        assert_eq!(ramp.length(), Nanos::from_secs(2));
        for sessions in 3..=5 {
            let reached = ramp.reaches(sessions);
            assert_eq!(ramp.at(reached), sessions);
            assert_eq!(ramp.at(Nanos(reached.0 - 1)), sessions - 1);
        }
    }

    #[test]
    fn sessions_go_one_by_one() {
        let ramp = ramp(5, 1, 2_000_000);
        let at = |ms: u64| ramp.at(Nanos::from_millis(10_000 + ms));
        assert_eq!([0, 499, 500, 1_999, 2_000, 5_000].map(at), [5, 5, 4, 2, 1, 1]);
        assert!(!ramp.grows() && ramp.length() == Nanos::from_secs(2));
    }

    #[test]
    fn a_rate_of_almost_nothing_takes_for_ever_and_breaks_nothing() {
        let slow = ramp(0, u32::MAX, 0);
        assert_eq!(slow.length(), Nanos::MAX);
        assert_eq!(slow.at(Nanos::MAX), 0);
    }
}
