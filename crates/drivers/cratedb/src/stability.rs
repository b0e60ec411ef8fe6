//! Whether the cluster is stable: signs of lost nodes, shared by all sessions of one target.
//!
//! For a while around the loss of a node, responses about single rows are not reliable; see `judge`. Sessions record
//! broken connections and unhealthy states. That part must not do I/O, or read a clock.
//!
//! Before the load, it waits until the cluster is GREEN, no shard copy is starting or relocating, and the copies are
//! evenly distributed over the nodes. The health of the cluster and its write thread pools, with their rejections due
//! to a full queue, are polled here.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use highwater_driver::http::HttpConnection;
use highwater_driver::network::one_line;
use highwater_driver::sql::connection::{Texts, first_value};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::options::Node;
use super::query::{self, AdminConnection, Failure, PAUSE_MAX, PAUSE_MIN, name_list, number};

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
    fn set_normal(&self, health: Health) {
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

/// Maximum wait for a cluster in which nothing changes.
const WAIT_MAX: Nanos = Nanos::from_secs(60);
/// Maximum wait while copies start or relocate: existing rows move to an added node, and would distort a measurement.
/// The user can end the wait.
const MOVING_MAX: Nanos = Nanos::from_secs(1_800);
/// An idle cluster that does not start rebalancing within this time never will: its settings forbid it, or some nodes
/// store no data.
const UNEVEN_WAIT_MAX: Nanos = Nanos::from_secs(10);

/// Waits until it has settled and is balanced, or until the time limit, and takes its state then as its normal state.
/// Returns remarks for the reader of the record.
pub(super) async fn settle(
    connection: &mut AdminConnection,
    tables: &[String],
) -> Result<Vec<String>, UserError> {
    let mut patience = Patience::from(connection.timeline.now());
    let mut pause = PAUSE_MIN;
    loop {
        let health = read_health(&connection.long_rows(STATEMENT).await?);
        let shards = poll_shards(connection, tables).await?;
        let now = connection.timeline.now();
        let at_rest = health.severity <= 1 && shards.moving == 0;
        let uneven = shards.uneven(health.nodes);
        let is_over = patience.is_over(now, health.severity <= 1, shards);
        if (at_rest && uneven.is_empty()) || is_over {
            connection.node.stability.set_normal(health);
            let mut remarks = Vec::new();
            if !at_rest {
                let why = unassigned(connection, tables).await?;
                remarks.push(format!(
                    "the cluster was not GREEN, or shards were starting or moving, when the load \
                     began{why}"
                ));
            }
            remarks.extend(uneven);
            return Ok(remarks);
        }
        connection.pause(pause).await;
        pause = Nanos(pause.0.saturating_mul(2)).min(PAUSE_MAX);
    }
}

/// How long to wait for a cluster.
struct Patience {
    begun: Nanos,
    /// When copies last moved, or were seen moving.
    changed: Nanos,
    /// Since when no copy is moving; `None` while one is.
    at_rest_since: Option<Nanos>,
    shards: Shards,
}

impl Patience {
    fn from(now: Nanos) -> Self {
        Self { begun: now, changed: now, at_rest_since: None, shards: Shards::default() }
    }

    /// Whether the wait has ended. In a GREEN cluster, relocating copies will arrive, however long it takes;
    /// otherwise, there may be no node for a copy.
    fn is_over(&mut self, now: Nanos, is_green: bool, shards: Shards) -> bool {
        let arrives = is_green && shards.moving > 0;
        if arrives || shards != self.shards {
            self.changed = now;
        }
        let at_rest = is_green && shards.moving == 0;
        self.at_rest_since = self.at_rest_since.or(Some(now)).filter(|_| at_rest);
        self.shards = shards;
        let rests = |since: Nanos| now >= since.saturating_add(UNEVEN_WAIT_MAX);
        self.at_rest_since.is_some_and(rests)
            || now >= self.changed.saturating_add(WAIT_MAX)
            || now >= self.begun.saturating_add(MOVING_MAX)
    }
}

/// The server's explanation of an unassigned copy; empty if there is none.
async fn unassigned(
    connection: &mut AdminConnection,
    tables: &[String],
) -> Result<String, UserError> {
    if tables.is_empty() {
        return Ok(String::new());
    }
    let question = format!(
        "SELECT explanation FROM sys.allocations WHERE table_schema = current_schema \
         AND table_name IN ({}) AND current_state <> 'STARTED' AND explanation IS NOT NULL LIMIT 1",
        name_list(tables)
    );
    let rows = connection.long_rows(&question).await?;
    Ok(first_value(rows).map_or(String::new(), |text| {
        format!(
            ": {}; look at sys.allocations, and whether a disk is beyond \
             cluster.routing.allocation.disk.watermark.low",
            one_line(&text)
        )
    }))
}

/// Copies of shards, both primaries and replicas.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shards {
    /// Not started, or relocating.
    moving: u64,
    /// By table: started copies on each node with any.
    on_nodes: BTreeMap<String, Vec<u64>>,
}

impl Shards {
    /// A sentence for each table whose copies could be spread more evenly over this many nodes.
    fn uneven(&self, nodes: u64) -> Vec<String> {
        let tables = self.on_nodes.iter().filter_map(|(table, copies)| {
            let most = copies.iter().max()?;
            let on_all = copies.len() as u64 >= nodes;
            let least = copies.iter().min().filter(|_| on_all).unwrap_or(&0);
            let copies: Vec<String> = copies.iter().map(u64::to_string).collect();
            (most - least > 1).then(|| {
                format!(
                    "shards of table `{table}` were unevenly spread when the load began: {} on {} \
                     of {nodes} nodes",
                    copies.join(", "),
                    copies.len()
                )
            })
        });
        tables.collect()
    }
}

async fn poll_shards(
    connection: &mut AdminConnection,
    tables: &[String],
) -> Result<Shards, UserError> {
    if tables.is_empty() {
        return Ok(Shards::default());
    }
    let of_tables = format!(
        "FROM sys.shards WHERE schema_name = current_schema AND table_name IN ({})",
        name_list(tables)
    );
    let moving = format!(
        "SELECT count(*) {of_tables} \
         AND (routing_state <> 'STARTED' OR relocating_node IS NOT NULL)"
    );
    let moving = connection.long_rows(&moving).await?;
    let spread = format!(
        "SELECT table_name, node['id'], count(*) {of_tables} AND routing_state = 'STARTED' \
         GROUP BY 1, 2 ORDER BY 3 DESC"
    );
    let spread = connection.long_rows(&spread).await?;
    Ok(Shards { moving: number(&moving, 0).unwrap_or(u64::MAX), on_nodes: by_table(&spread) })
}

fn by_table(rows: &Texts) -> BTreeMap<String, Vec<u64>> {
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for row in rows {
        if let [Some(table), _, Some(copies)] = row.as_slice()
            && let Ok(copies) = copies.parse()
        {
            all.entry(table.to_owned()).or_default().push(copies);
        }
    }
    all
}

/// Health and number of nodes in one statement. `sys.health` reports GREEN even without a master; this does not.
const STATEMENT: &str = "SELECT severity, (SELECT count(*) FROM sys.nodes) FROM sys.cluster_health";

/// Queries a node for the health of its cluster.
pub(super) async fn poll(connection: &mut HttpConnection, node: &Node) -> Result<Health, Failure> {
    let rows = query::rows(connection, node, STATEMENT).await?;
    Ok(read_health(&rows))
}

/// Parses the response to [`STATEMENT`].
fn read_health(rows: &Texts) -> Health {
    Health {
        // A cluster that reports no severity is unhealthy.
        severity: number(rows, 0).unwrap_or(u64::MAX),
        nodes: number(rows, 1).unwrap_or(0),
    }
}

/// The pool that executes inserts.
const WRITE: &str = "write";

/// Totals of the write pools of all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pool {
    /// Threads started so far.
    pub(super) threads: u64,
    /// Waiting requests.
    pub(super) queued: u64,
    /// Requests rejected since the nodes started. Each is a request to a shard, and the cluster's own retries count
    /// again: these are not rows.
    pub(super) rejected: u64,
}

/// Reads them; `None` if the nodes do not report them.
pub(super) async fn read_pools(
    connection: &mut AdminConnection,
) -> Result<Option<Pool>, UserError> {
    Ok(sum(&connection.rows("SELECT thread_pools FROM sys.nodes").await?))
}

fn sum(nodes: &Texts) -> Option<Pool> {
    let pools = nodes
        .iter()
        .flatten()
        .flatten()
        .filter_map(|text| serde_json::from_str::<Vec<Value>>(text).ok());
    let writing = pools.flatten().filter(|pool| pool["name"] == WRITE);
    let number = |pool: &Value, name: &str| pool[name].as_u64().unwrap_or(0);
    writing
        .map(|pool| Pool {
            threads: number(&pool, "threads"),
            queued: number(&pool, "queue"),
            rejected: number(&pool, "rejected"),
        })
        .reduce(|all, pool| Pool {
            threads: all.threads + pool.threads,
            queued: all.queued + pool.queued,
            rejected: all.rejected + pool.rejected,
        })
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

    #[test]
    fn copies_are_even_if_no_node_has_two_more_than_another() {
        for (copies, nodes, even) in [
            (&[4][..], 1, true),
            (&[2, 2, 1], 3, true),
            (&[2, 2], 3, false),
            (&[1, 1], 3, true),
            (&[3, 1, 1], 3, false),
            (&[], 3, true),
        ] {
            let shards =
                Shards { moving: 0, on_nodes: BTreeMap::from([("t".to_owned(), copies.to_vec())]) };
            let uneven = shards.uneven(nodes);
            assert_eq!(uneven.is_empty(), even, "{copies:?} on {nodes}: {uneven:?}");
        }
    }

    /// Seconds until the wait ends, if the cluster is the same at each check, once a second.
    fn waited_s(is_green: bool, moving: u64) -> u64 {
        let mut patience = Patience::from(Nanos::ZERO);
        let shards = || Shards { moving, on_nodes: BTreeMap::from([("t".to_owned(), vec![3, 1])]) };
        let mut seconds = 0..=3_600;
        let over =
            seconds.find(|second| patience.is_over(Nanos::from_secs(*second), is_green, shards()));
        over.unwrap()
    }

    #[test]
    fn what_moves_is_waited_for_and_what_stands_still_is_not() {
        assert_eq!(waited_s(true, 0), 10);
        assert_eq!(waited_s(true, 1), 1_800);
        assert_eq!(waited_s(false, 1), 60);
    }

    #[test]
    fn copies_are_counted_by_table_and_node() {
        let rows = [["a", "n1", "3"], ["b", "n1", "2"], ["a", "n2", "1"]];
        let rows: Texts = rows.map(|row| row.map(|text| Some(text.to_owned())).to_vec()).into();
        let expected = [("a".to_owned(), vec![3, 1]), ("b".to_owned(), vec![2])];
        assert_eq!(by_table(&rows), BTreeMap::from(expected));
    }

    #[test]
    fn write_pools_of_all_nodes_are_added() {
        let pool = |name: &str, rejected: u64| serde_json::json!({"name": name, "threads": 2, "queue": 1, "rejected": rejected});
        let node = |pools: Value| vec![Some(pools.to_string())];
        let rows = vec![
            node(serde_json::json!([pool("search", 9), pool("write", 3)])),
            node(serde_json::json!([pool("write", 4)])),
        ];
        let expected = Pool { threads: 4, queued: 2, rejected: 7 };
        assert_eq!(sum(&rows), Some(expected));
        assert_eq!(sum(&vec![vec![None]]), None);
    }
}
