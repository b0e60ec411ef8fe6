//! Whether the cluster is calm: what the sessions of one target saw of lost nodes, shared.
//!
//! For a while around the loss of a node the answers about single rows cannot be taken at their
//! word; see `judge`. Sessions note connections that broke and unhealthy states that they saw.
//! What must not be here: I/O, and a clock.

use std::sync::atomic::{AtomicU64, Ordering};

use highwater_core::model::units::Nanos;

/// How long after a sign of trouble answers are still doubted. A frozen node was seen to hold
/// requests for 63 s, and a lost copy is made anew after a minute by default.
const WINDOW: Nanos = Nanos::from_secs(120);
/// Shortest time between two looks at the cluster's health by the sessions of one target.
const LOOK_EVERY: Nanos = Nanos::from_millis(500);
/// Nothing happened yet.
const NEVER: u64 = u64::MAX;

/// Health, and how many nodes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Health {
    /// 1 GREEN, 2 YELLOW, 3 RED; more if there is no master.
    pub(super) severity: u64,
    pub(super) nodes: u64,
}

/// What is known of a cluster's trouble. Times are those of the run.
#[derive(Debug)]
pub(super) struct ClusterStability {
    last: AtomicU64,
    last_look: AtomicU64,
    /// When an op was last given up that the server may still carry out.
    abandoned: AtomicU64,
    /// The state that is normal for this cluster: at the last time that it was waited for.
    severity: AtomicU64,
    nodes: AtomicU64,
}

impl Default for ClusterStability {
    fn default() -> Self {
        Self {
            last: AtomicU64::new(NEVER),
            last_look: AtomicU64::new(NEVER),
            abandoned: AtomicU64::new(NEVER),
            severity: AtomicU64::new(1),
            nodes: AtomicU64::new(0),
        }
    }
}

impl ClusterStability {
    /// A connection broke, or a node was seen to be missing.
    pub(super) fn note(&self, now: Nanos) {
        self.last.store(now.0, Ordering::Relaxed);
    }

    /// No trouble was seen between `started` and now, nor shortly before.
    pub(super) fn is_calm(&self, started: Nanos) -> bool {
        match self.last.load(Ordering::Relaxed) {
            NEVER => true,
            last => last.saturating_add(WINDOW.0) < started.0,
        }
    }

    /// An op was given up whose request had left.
    pub(super) fn abandoned(&self, now: Nanos) {
        self.abandoned.store(now.0, Ordering::Relaxed);
    }

    /// The last op that was given up lies so long back.
    pub(super) fn is_settled(&self, now: Nanos, margin: Nanos) -> bool {
        match self.abandoned.load(Ordering::Relaxed) {
            NEVER => true,
            last => now.0 >= last.saturating_add(margin.0),
        }
    }

    /// This is how the cluster is when all is well; a single node with a replica that has no
    /// place is YELLOW for ever.
    pub(super) fn set_normal(&self, health: Health) {
        self.severity.store(health.severity, Ordering::Relaxed);
        self.nodes.store(health.nodes, Ordering::Relaxed);
    }

    /// Compares a look at the cluster with what is normal.
    pub(super) fn looked(&self, health: Health, now: Nanos) {
        let worse = health.severity > self.severity.load(Ordering::Relaxed);
        let fewer = health.nodes < self.nodes.load(Ordering::Relaxed);
        if worse || fewer {
            self.note(now);
        }
    }

    /// Whether it is time for another look; true for one of the sessions that ask.
    pub(super) fn may_look(&self, now: Nanos) -> bool {
        let last = self.last_look.load(Ordering::Relaxed);
        let due = last == NEVER || now.0 >= last.saturating_add(LOOK_EVERY.0);
        due && self
            .last_look
            .compare_exchange(last, now.0, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    fn at(seconds: u64) -> Nanos {
        Nanos::from_secs(1_000 + seconds)
    }

    #[test]
    fn answers_are_doubted_during_trouble_and_two_minutes_after() {
        let trouble = ClusterStability::default();
        assert!(trouble.is_calm(Nanos::ZERO));
        trouble.note(at(0));
        assert!(
            !trouble.is_calm(at(0).saturating_sub(SECOND)),
            "under way when it came"
        );
        assert!(!trouble.is_calm(at(120)));
        assert!(trouble.is_calm(at(121)));
    }

    #[test]
    fn worse_health_or_fewer_nodes_than_normal_are_trouble() {
        for (severity, nodes, calm) in [(1, 3, true), (2, 3, false), (1, 2, false), (1, 4, true)] {
            let trouble = ClusterStability::default();
            trouble.set_normal(Health {
                severity: 1,
                nodes: 3,
            });
            trouble.looked(Health { severity, nodes }, at(0));
            assert_eq!(
                trouble.is_calm(at(0)),
                calm,
                "severity {severity}, {nodes} nodes"
            );
        }
        let lonely = ClusterStability::default();
        lonely.set_normal(Health {
            severity: 2,
            nodes: 1,
        });
        lonely.looked(
            Health {
                severity: 2,
                nodes: 1,
            },
            at(0),
        );
        assert!(
            lonely.is_calm(at(0)),
            "YELLOW is normal for a replica without a place"
        );
    }

    #[test]
    fn sessions_look_in_turns_and_not_too_often() {
        let trouble = ClusterStability::default();
        assert!(trouble.may_look(Nanos::ZERO));
        assert!(!trouble.may_look(Nanos::ZERO));
        assert!(!trouble.may_look(Nanos::from_millis(499)));
        assert!(trouble.may_look(Nanos::from_millis(500)));
        assert!(!trouble.may_look(Nanos::from_millis(501)));
    }
}
