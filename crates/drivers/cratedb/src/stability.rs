//! Whether the cluster is stable: signs of lost nodes, shared by all sessions of one target.
//!
//! For a while around the loss of a node, responses about single rows are not reliable; see `judge`. Sessions record
//! broken connections and unhealthy states. Must not do I/O, or read a clock.

use std::sync::atomic::{AtomicU64, Ordering};

use highwater_model::units::Nanos;

/// How long the cluster counts as unstable after a sign of it. A frozen node held requests for 63 s,
/// and by default a lost copy is recreated after a minute.
const WINDOW: Nanos = Nanos::from_secs(120);
/// Shortest time between two health checks by the sessions of one target.
const CHECK_INTERVAL: Nanos = Nanos::from_millis(500);
/// No such event yet.
const NEVER: u64 = u64::MAX;

/// Health, and the number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Health {
    /// 1 GREEN, 2 YELLOW, 3 RED; more if there is no master.
    pub(super) severity: u64,
    pub(super) nodes: u64,
}

/// See the module documentation. Times are on the run's timeline.
#[derive(Debug)]
pub(super) struct ClusterStability {
    last: AtomicU64,
    last_check: AtomicU64,
    /// When an op that the server may still execute was last abandoned.
    abandoned: AtomicU64,
    /// The normal state of this cluster, set when Highwater last waited for it.
    severity: AtomicU64,
    nodes: AtomicU64,
}

impl Default for ClusterStability {
    fn default() -> Self {
        Self {
            last: AtomicU64::new(NEVER),
            last_check: AtomicU64::new(NEVER),
            abandoned: AtomicU64::new(NEVER),
            severity: AtomicU64::new(1),
            nodes: AtomicU64::new(0),
        }
    }
}

impl ClusterStability {
    /// Records that a connection broke, or a node was missing.
    pub(super) fn record_instability(&self, now: Nanos) {
        self.last.store(now.0, Ordering::Relaxed);
    }

    /// Whether there was no sign of instability between `started` and now, nor shortly before.
    pub(super) fn is_stable(&self, started: Nanos) -> bool {
        match self.last.load(Ordering::Relaxed) {
            NEVER => true,
            last => last.saturating_add(WINDOW.0) < started.0,
        }
    }

    /// Records that an op was abandoned after its request was sent.
    pub(super) fn record_abandoned(&self, now: Nanos) {
        self.abandoned.store(now.0, Ordering::Relaxed);
    }

    /// Whether the last op was abandoned at least `margin` ago.
    pub(super) fn is_settled(&self, now: Nanos, margin: Nanos) -> bool {
        match self.abandoned.load(Ordering::Relaxed) {
            NEVER => true,
            last => now.0 >= last.saturating_add(margin.0),
        }
    }

    /// Sets the normal state of the cluster. A single node with a replica that cannot be allocated
    /// is always YELLOW.
    pub(super) fn set_normal(&self, health: Health) {
        self.severity.store(health.severity, Ordering::Relaxed);
        self.nodes.store(health.nodes, Ordering::Relaxed);
    }

    /// Compares the cluster's health with its normal state.
    pub(super) fn record_health(&self, health: Health, now: Nanos) {
        let worse = health.severity > self.severity.load(Ordering::Relaxed);
        let fewer = health.nodes < self.nodes.load(Ordering::Relaxed);
        if worse || fewer {
            self.record_instability(now);
        }
    }

    /// Whether another health check is due; true for only one of the sessions that call it.
    pub(super) fn may_check(&self, now: Nanos) -> bool {
        let last = self.last_check.load(Ordering::Relaxed);
        let due = last == NEVER || now.0 >= last.saturating_add(CHECK_INTERVAL.0);
        due && self
            .last_check
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
    fn the_cluster_is_unstable_for_two_minutes_after_a_sign_of_it() {
        let stability = ClusterStability::default();
        assert!(stability.is_stable(Nanos::ZERO));
        stability.record_instability(at(0));
        assert!(!stability.is_stable(at(0).saturating_sub(SECOND)), "under way when it came");
        assert!(!stability.is_stable(at(120)));
        assert!(stability.is_stable(at(121)));
    }

    #[test]
    fn worse_health_or_fewer_nodes_than_normal_are_instability() {
        for (severity, nodes, stable) in [(1, 3, true), (2, 3, false), (1, 2, false), (1, 4, true)]
        {
            let stability = ClusterStability::default();
            stability.set_normal(Health { severity: 1, nodes: 3 });
            stability.record_health(Health { severity, nodes }, at(0));
            assert_eq!(stability.is_stable(at(0)), stable, "severity {severity}, {nodes} nodes");
        }
        let lonely = ClusterStability::default();
        lonely.set_normal(Health { severity: 2, nodes: 1 });
        lonely.record_health(Health { severity: 2, nodes: 1 }, at(0));
        assert!(lonely.is_stable(at(0)), "YELLOW is normal for a replica without a place");
    }

    #[test]
    fn only_one_session_checks_health_and_not_too_often() {
        let stability = ClusterStability::default();
        assert!(stability.may_check(Nanos::ZERO));
        assert!(!stability.may_check(Nanos::ZERO));
        assert!(!stability.may_check(Nanos::from_millis(499)));
        assert!(stability.may_check(Nanos::from_millis(500)));
        assert!(!stability.may_check(Nanos::from_millis(501)));
    }
}
