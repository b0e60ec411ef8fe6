//! The Galera lines in the table of certainties of `docs/reference/mariadb.md`: a transaction that loses against
//! another node's, or that is too large to be replicated, was not applied.

use std::sync::Arc;

use highwater_driver::Target;
use highwater_model::op::{BoundWorkload, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_testing::galera::{Galera, NODES};

use super::cluster::{on, on_cluster, points};
use crate::client::transaction;
use crate::points::{Client, Stage, batch, nothing, queries};
use crate::said::said;

/// Maximum rounds of two competing statements.
const ROUNDS_MAX: u32 = 2_000;
/// Sufficient number of lost rounds.
const LOST: u32 = 5;

/// Adds 1 to the account, in a transaction or as a single statement.
fn addition(in_transaction: bool) -> Arc<BoundWorkload> {
    let sql = "UPDATE account SET balance = balance + 1";
    if !in_transaction {
        return queries(&[(sql, &[])]);
    }
    transaction(&[sql])
}

/// A session that is replaced after an error that ends it.
struct Racer {
    target: Arc<dyn Target>,
    workload: Arc<BoundWorkload>,
    client: Client,
}

impl Racer {
    async fn new(target: Arc<dyn Target>, workload: &Arc<BoundWorkload>) -> Self {
        let client = Client::connect(target.as_ref(), workload).await.unwrap();
        Self { target, workload: Arc::clone(workload), client }
    }

    async fn send(&mut self, body: OpBody) -> Outcome {
        let outcome = self.client.send(0, body).await;
        if !outcome.session_usable {
            let connected = Client::connect(self.target.as_ref(), &self.workload);
            self.client = connected.await.unwrap();
        }
        outcome
    }
}

/// Checks a loser's outcome: it was not applied, because of another transaction.
fn expect_lost(outcome: &Outcome) {
    let (code, class, certainty, _) = said(outcome);
    assert_eq!(certainty, Certainty::NotApplied, "{outcome:?}");
    assert_eq!((code.as_deref(), class), (Some("1213"), ErrorClass::Conflict));
}

fn same_on_all(cluster: &Galera, sql: &str) -> String {
    let found = cluster.sql(0, sql);
    for node in 1..NODES {
        assert_eq!(cluster.sql(node, sql), found, "{sql} on node {node}");
    }
    found
}

#[test]
fn of_two_updates_of_a_row_on_two_nodes_the_one_that_failed_changed_nothing() {
    on_cluster(async |cluster| {
        cluster.sql(
        0,
        "DROP TABLE IF EXISTS account; CREATE TABLE account (k INT PRIMARY KEY, balance BIGINT)",
    );
        for in_transaction in [true, false] {
            cluster.sql(0, "REPLACE INTO account VALUES (1, 0)");
            let workload = addition(in_transaction);
            let mut one = Racer::new(on(cluster, 0, None), &workload).await;
            let mut two = Racer::new(on(cluster, 1, None), &workload).await;
            let (mut applied, mut lost) = (0, 0);
            for _ in 0..ROUNDS_MAX {
                let (first, second) = tokio::join!(one.send(nothing()), two.send(nothing()));
                for outcome in [first, second] {
                    if outcome.is_success() {
                        applied += 1;
                    } else {
                        expect_lost(&outcome);
                        lost += 1;
                    }
                }
                if lost >= LOST {
                    break;
                }
            }
            // A single statement is retried by its node, and then usually wins.
            assert!(lost >= LOST || !in_transaction, "{applied} applied");
            let balance = same_on_all(cluster, "SELECT balance FROM account");
            assert_eq!(balance, applied.to_string(), "{in_transaction}");
        }
    });
}

#[test]
fn one_of_two_batches_with_the_same_keys_on_two_nodes_is_stored_completely() {
    on_cluster(async |cluster| {
        for mode in ["values", "prepared", "load-data"] {
            let stage = Stage::set(on(cluster, 0, None).as_ref(), points()).await;
            let mut one = Racer::new(on(cluster, 0, Some(mode)), &stage.workload).await;
            let mut two = Racer::new(on(cluster, 1, Some(mode)), &stage.workload).await;
            for round in 0..30 {
                let rows = || OpBody::Insert(batch(round * 20, 20));
                let (first, second) = tokio::join!(one.send(rows()), two.send(rows()));
                let outcomes = [first, second];
                let applied: u64 = outcomes.iter().map(|outcome| outcome.rows_applied).sum();
                assert_eq!(applied, 20, "{mode}: {outcomes:?}");
                let other = outcomes.iter().find(|outcome| !outcome.is_success());
                let class = other.map(|outcome| outcome.error.clone().unwrap().class);
                let expected = [ErrorClass::Constraint, ErrorClass::Conflict];
                assert!(expected.contains(&class.unwrap()), "{mode}: {outcomes:?}");
            }
            assert_eq!(same_on_all(cluster, "SELECT count(*) FROM points"), "600", "{mode}");
        }
    });
}

#[test]
fn a_transaction_too_large_to_be_replicated_is_rejected_completely() {
    on_cluster(async |cluster| {
        for mode in ["values", "prepared"] {
            let mut stage = Stage::set(on(cluster, 0, Some(mode)).as_ref(), points()).await;
            for (limit, code) in [("rows = 5", "1180"), ("size = 1024", "1105")] {
                let set = |to: &str| cluster.node(0).sql(&format!("SET GLOBAL wsrep_max_ws_{to}"));
                set(limit);
                let outcome = stage.client.insert(0, 200).await;
                set("rows = DEFAULT");
                set("size = DEFAULT");
                let (found, class, certainty, usable) = said(&outcome);
                assert_eq!(found.as_deref(), Some(code), "{mode} {limit}");
                assert_eq!((class, certainty), (ErrorClass::Resource, Certainty::NotApplied));
                assert_eq!(outcome.rows_refused, 200);
                assert_eq!(same_on_all(cluster, "SELECT count(*) FROM points"), "0");
                if !usable {
                    let target = on(cluster, 0, Some(mode));
                    let client = Client::connect(target.as_ref(), &stage.workload).await;
                    stage.client = client.unwrap();
                }
                // A later batch is neither committed separately nor held back.
                assert!(stage.client.insert(0, 200).await.is_success());
                assert_eq!(same_on_all(cluster, "SELECT count(*) FROM points"), "200");
                cluster.sql(0, "TRUNCATE points");
            }
        }
    });
}
