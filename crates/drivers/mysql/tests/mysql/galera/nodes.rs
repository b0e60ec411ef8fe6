//! The nodes in relation to each other: rows acknowledged by one are visible on another, a lease belongs to one node,
//! and a copy that differs is named.

use std::time::Duration;

use highwater_driver::table_registry::{Lease, LeaseAction};
use highwater_driver::{Admin, ShardCopies};
use highwater_model::units::Nanos;
use highwater_testing::galera::{Galera, NODES};

use super::cluster::{everywhere, on, on_cluster, points};
use crate::points::{Client, Stage, admin, batch, key, nothing, queries};
use crate::support::WallTimeline;

/// Long enough for a response from a node that does not wait.
const SOON: Duration = Duration::from_millis(400);

/// A node that belongs to the cluster but temporarily does not apply the others' writes.
struct HeldBack(Client);

impl HeldBack {
    async fn hold(cluster: &Galera, node: usize) -> Self {
        let ops = queries(&[("FLUSH TABLES WITH READ LOCK", &[]), ("UNLOCK TABLES", &[])]);
        let mut client = Client::connect(on(cluster, node, None).as_ref(), &ops).await.unwrap();
        assert!(client.send(0, nothing()).await.is_success());
        Self(client)
    }

    async fn let_go(mut self) {
        assert!(self.0.send(1, nothing()).await.is_success());
    }
}

#[test]
fn a_session_begins_when_its_node_has_the_tables_of_another_one() {
    on_cluster(async |cluster| {
        // A table that no earlier test created.
        cluster.sql(0, "DROP TABLE IF EXISTS points");
        let behind = HeldBack::hold(cluster, 1).await;
        let stage = Stage::set(on(cluster, 0, None).as_ref(), points()).await;
        let target = on(cluster, 1, None);
        let mut connecting = Box::pin(Client::connect(target.as_ref(), &stage.workload));
        let early = tokio::time::timeout(SOON, &mut connecting).await;
        assert!(early.is_err(), "a session on a node without the table");
        behind.let_go().await;
        let mut client = connecting.await.unwrap();
        assert!(client.insert(0, 3).await.is_success());
    });
}

#[test]
fn an_audit_reads_rows_acknowledged_by_other_nodes() {
    on_cluster(async |cluster| {
        let mut stage = Stage::set(on(cluster, 0, None).as_ref(), points()).await;
        let mut other = admin(on(cluster, 1, None).as_ref()).await.unwrap();
        let behind = HeldBack::hold(cluster, 1).await;
        assert!(stage.client.insert(0, 100).await.is_success());
        let table = &stage.workload.tables[0];
        let mut counting = Box::pin(other.count_by_key(table, u64::MAX));
        let early = tokio::time::timeout(SOON, &mut counting).await;
        assert!(early.is_err(), "{early:?} counted on a node that is behind");
        behind.let_go().await;
        assert_eq!(counting.await.unwrap().buckets, [(0, 100)]);
        // A session of the load keeps the server's setting.
        let setting = queries(&[("SELECT 1 FROM points WHERE @@wsrep_sync_wait = 0", &[])]);
        let target = on(cluster, 1, None);
        let mut client = Client::connect(target.as_ref(), &setting).await.unwrap();
        assert_eq!(client.send(0, nothing()).await.response_rows, 100);
        let mut client = Client::connect(target.as_ref(), &stage.workload).await.unwrap();
        assert_eq!(client.send(1, key(99)).await.response_rows, 1);
    });
}

#[test]
fn a_statement_that_another_node_runs_is_waited_for() {
    on_cluster(async |cluster| {
        let mut stage = Stage::set(everywhere(cluster).as_ref(), points()).await;
        let target = on(cluster, 1, None);
        let ops = queries(&[
            ("START TRANSACTION", &[]),
            ("INSERT INTO points VALUES (5, 'other')", &[]),
            ("ROLLBACK", &[]),
        ]);
        let mut blocker = Client::connect(target.as_ref(), &ops).await.unwrap();
        for op in 0..2 {
            assert!(blocker.send(op, nothing()).await.is_success());
        }
        let mut client = Client::connect(target.as_ref(), &stage.workload).await.unwrap();
        let waited = tokio::time::timeout(SOON, client.insert(3, 5));
        assert!(waited.await.is_err(), "the row was not locked");
        drop(client);
        let admin = &mut stage.admin;
        assert!(!admin.quiesce(Nanos::ZERO).await.unwrap(), "it still waits");
        assert!(blocker.send(2, nothing()).await.is_success());
        assert!(admin.quiesce(Nanos::from_secs(30)).await.unwrap());
        assert_eq!(cluster.sql(2, "SELECT count(*) FROM points"), "5");
    });
}

fn lease(token: &str) -> Lease {
    Lease {
        table: "points".to_owned(),
        share: 1,
        shares: 1,
        token: token.to_owned(),
        plan: "plan's".to_owned(),
        ..Lease::default()
    }
}

async fn take(admin: &mut dyn Admin, token: &str) -> Vec<String> {
    let taken = admin.leases(LeaseAction::Take(&[lease(token)])).await;
    taken.unwrap().into_iter().map(|lease| lease.token).collect()
}

#[test]
fn one_of_two_takers_on_two_nodes_gets_the_lease_and_both_learn_which() {
    on_cluster(async |cluster| {
        let mut one = admin(on(cluster, 0, None).as_ref()).await.unwrap();
        let mut two = admin(on(cluster, 1, None).as_ref()).await.unwrap();
        for left in one.leases(LeaseAction::Read).await.unwrap() {
            one.leases(LeaseAction::End(&left.token)).await.unwrap();
        }
        for _ in 0..50 {
            let (first, second) =
                tokio::join!(take(one.as_mut(), "one"), take(two.as_mut(), "two"));
            assert_eq!(first, second);
            assert_eq!(first.len(), 1, "{first:?}");
            let left = one.leases(LeaseAction::End(&first[0])).await.unwrap();
            assert!(left.is_empty(), "{left:?}");
        }
    });
}

/// The copies of the table.
async fn copies(stage: &mut Stage, with_values: bool) -> ShardCopies {
    let copies = stage.admin.copies(&stage.workload, with_values).await;
    let mut copies = copies.unwrap();
    assert_eq!(copies.len(), 1);
    copies.remove(0)
}

#[test]
fn each_node_has_a_copy_and_a_locally_changed_one_differs() {
    on_cluster(async |cluster| {
        let mut stage = Stage::set(everywhere(cluster).as_ref(), points()).await;
        assert!(stage.client.insert(0, 10).await.is_success());
        let same = copies(&mut stage, true).await;
        assert_eq!((same.shard.as_str(), &same.rows[..]), ("points", &[10; NODES][..]));
        assert_eq!(same.sums, [same.sums[0]; NODES]);

        let alone = |sql: &str| cluster.node(1).sql(&format!("SET wsrep_on = OFF; {sql}"));
        alone("UPDATE points SET word = 'other' WHERE k = 3");
        let changed = copies(&mut stage, true).await;
        assert_eq!(changed.rows, [10; NODES]);
        assert_eq!((changed.sums[0], changed.sums[2]), (same.sums[0], same.sums[0]));
        assert_ne!(changed.sums[1], same.sums[1]);

        alone("DELETE FROM points WHERE k = 3");
        let counted = copies(&mut stage, false).await;
        assert_eq!(counted.rows, [10, 9, 10]);
        assert!(counted.sums.is_empty());
    });
}

#[test]
fn the_record_has_the_size_of_the_cluster_and_the_work_of_each_node() {
    on_cluster(async |cluster| {
        let mut admin = admin(everywhere(cluster).as_ref()).await.unwrap();
        let facts = admin.facts().await.unwrap();
        let nodes = [0, 1, 2].map(|node| format!("127.0.0.1:{} Synced", cluster.node(node).port()));
        for (name, value) in [
            ("wsrep_cluster_size", "3"),
            ("wsrep_cluster_status", "Primary"),
            ("wsrep_nodes", &nodes.join(", ")),
            ("wsrep_on", "ON"),
            ("wsrep_retry_autocommit", "1"),
            ("wsrep_sync_wait", "0"),
            ("wsrep_trx_fragment_size", "0"),
            ("gcs.fc_limit", "16"),
            ("evs.suspect_timeout", "PT2S"),
        ] {
            let found = facts.settings.get(name).map(String::as_str);
            assert_eq!(found, Some(value), "{name}");
        }
        assert!(facts.traits.contains(&"galera=3".to_owned()), "{:?}", facts.traits);
        assert!(!facts.settings.contains_key("wsrep_provider_options"));
    });
}

#[test]
fn queues_and_flow_control_are_polled_of_each_node() {
    on_cluster(async |cluster| {
        let target = everywhere(cluster);
        let mut stage = Stage::set(target.as_ref(), points()).await;
        let mut reader = target.telemetry(WallTimeline::start()).await.unwrap().unwrap();
        let nodes = [0, 1, 2].map(|node| format!("127.0.0.1:{}", cluster.node(node).port()));
        // A node that requests a pause as soon as two transactions wait.
        let limit = |limit| {
            let set = format!("SET GLOBAL wsrep_provider_options = 'gcs.fc_limit={limit}'");
            cluster.node(1).sql(&set);
        };
        limit(1);
        let mut paused = 0.0;
        let mut first = 0;
        while paused == 0.0 {
            assert!(first < 4_000_000, "the load was never paused");
            for _ in 0..20 {
                let rows = highwater_model::op::OpBody::Insert(batch(first, 2_000));
                assert!(stage.client.send(0, rows).await.is_success());
                first += 2_000;
            }
            let samples = reader.read().await.unwrap();
            for name in ["receive_queue", "send_queue", "certification_distance"] {
                let found: Vec<_> = samples
                    .iter()
                    .filter(|sample| sample.name == name)
                    .map(|sample| sample.node.clone().unwrap())
                    .collect();
                assert_eq!(found, nodes, "{name}");
            }
            let pauses = samples.iter().filter(|sample| sample.name == "flow_control_paused");
            paused = pauses.map(|sample| sample.value).sum();
        }
        limit(16);
    });
}
