//! Times in which a node is slower, or stands still: when work is done, and what it does to work that is booked. Must
//! not know why.

use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::units::Nanos;

/// A time in which a node does a part of its work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slowdown {
    pub(super) from: Nanos,
    pub(super) until: Nanos,
    /// Work per core second; 0 to stand still.
    pub(super) speed: f64,
}

/// The slowdowns of a node; those that overlap multiply.
#[derive(Debug, Clone, Default)]
pub(super) struct Slowdowns(Vec<Slowdown>);

impl Slowdowns {
    /// Adds one, and forgets those that are over.
    pub(super) fn add(&mut self, slowdown: Slowdown) {
        self.0.retain(|old| old.until > slowdown.from);
        self.0.push(slowdown);
    }

    /// Whether nothing is done at this time.
    pub(super) fn is_still(&self, at: Nanos) -> bool {
        self.speed_at(at) <= 0.0
    }

    /// When work of this length that begins at this time is done.
    pub(super) fn done(&self, from: Nanos, work: Nanos) -> Nanos {
        let (mut at, mut left) = (from, to_f64(work.0));
        loop {
            let speed = self.speed_at(at);
            let Some(end) = self.next_change(at) else {
                return at.saturating_add(Nanos(round_to_u64(left)));
            };
            let done = to_f64((end - at).0) * speed;
            if speed > 0.0 && done >= left {
                return at.saturating_add(Nanos(round_to_u64(left / speed)));
            }
            (at, left) = (end, left - done);
        }
    }

    /// The work that is done between two times.
    pub(super) fn work(&self, from: Nanos, to: Nanos) -> Nanos {
        let (mut at, mut work) = (from, 0.0);
        while at < to {
            let end = self.next_change(at).unwrap_or(to).min(to);
            work += to_f64((end - at).0) * self.speed_at(at);
            at = end;
        }
        Nanos(round_to_u64(work))
    }

    fn speed_at(&self, at: Nanos) -> f64 {
        let now = self.0.iter().filter(|slow| (slow.from..slow.until).contains(&at));
        now.map(|slow| slow.speed).product()
    }

    fn next_change(&self, after: Nanos) -> Option<Nanos> {
        let edges = self.0.iter().flat_map(|slow| [slow.from, slow.until]);
        edges.filter(|edge| *edge > after).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    #[test]
    fn work_takes_longer_by_what_is_not_done_meanwhile() {
        let mut slow = Slowdowns::default();
        assert_eq!(slow.done(s(1), s(2)), s(3));
        slow.add(Slowdown { from: s(2), until: s(4), speed: 0.0 });
        slow.add(Slowdown { from: s(3), until: s(6), speed: 0.5 });
        // One second before, half of the two seconds from 4 to 6, and one more.
        assert_eq!(slow.done(s(1), s(3)), s(7));
        assert_eq!(slow.work(s(1), s(7)), s(3));
        assert_eq!(slow.done(s(3), Nanos::ZERO), s(4), "nothing begins while it stands still");
        assert!(slow.is_still(s(3)) && !slow.is_still(s(4)));
    }
}
