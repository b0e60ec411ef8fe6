//! The driver behind PgBouncer in transaction mode, where each transaction may use another server connection.

use std::sync::Arc;

use highwater_driver::{Connect, Target};
use highwater_driver_postgres::PostgresDriver;
use highwater_model::op::{BoundWorkload, OpBody, Value};
use highwater_model::user_error::UserErrorKind;
use highwater_testing::pgbouncer::{self, PgBouncer};
use highwater_testing::postgres::{Postgres, skipped};

use crate::client::{Client, admin, nothing, open, points, queries};
use crate::points::{Stage, batch, key};
use crate::rules;
use crate::support::{WallTimeline, block_on};
use crate::transaction::transaction;
use crate::words::words;

/// Server connections shared by all sessions.
const CONNECTIONS: u32 = 2;

fn started() -> Option<(Postgres, PgBouncer)> {
    if skipped() || pgbouncer::skipped() {
        return None;
    }
    let server = Postgres::start();
    let pooler = PgBouncer::before(&server, CONNECTIONS);
    Some((server, pooler))
}

/// Sessions of one target, more than there are server connections.
async fn sessions(target: &dyn Target, workload: &Arc<BoundWorkload>) -> Vec<Client> {
    let mut clients = Vec::new();
    for number in 0..5 {
        let connect = Connect {
            workload: Arc::clone(workload),
            number,
            attempt: 0,
            timeline: WallTimeline::start(),
        };
        clients.push(Client::new(target.connect(connect).await.unwrap()));
    }
    clients
}

#[test]
fn every_rule_holds_through_a_pooler() {
    let Some((server, pooler)) = started() else {
        return;
    };
    let sql = words("postgresql").unwrap();
    // Closing a server connection does not close that of a client, which belongs to the pooler.
    let broken = rules::broken(&PostgresDriver, &pooler.url("postgres"), sql, None);
    drop(server);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn inserts_queries_and_transactions_of_sessions_that_share_connections_work() {
    let Some((server, pooler)) = started() else {
        return;
    };
    block_on(async {
        for mode in ["values", "unnest", "prepared"] {
            let target = open(&pooler.url("postgres"), Some(mode)).unwrap();
            let stage = Stage::set(target.as_ref(), points()).await;
            let mut clients = sessions(target.as_ref(), &stage.workload).await;
            for (first, rows) in [(0, 100), (1_000, 100), (2_000, 7)] {
                for (number, client) in (0..).zip(&mut clients) {
                    let body = OpBody::Insert(batch(first + number * 100, rows));
                    let outcome = client.send(0, body).await;
                    assert_eq!(outcome.rows_applied, rows.unsigned_abs(), "{mode}: {outcome:?}");
                    let outcome = client.send(1, key(first)).await;
                    assert_eq!(outcome.response_rows, 1, "{mode}: {outcome:?}");
                }
            }
            // After an error, the session stays in sync.
            let outcome = clients[0].insert(0, 1).await;
            let error = outcome.error.unwrap();
            assert_eq!(error.code.as_deref(), Some("23505"), "{mode}");
            let outcome = clients[0].send(1, key(1)).await;
            assert!(outcome.is_success(), "{mode}: {outcome:?}");
        }
        server.sql(
            "postgres",
            "CREATE TABLE account (balance bigint); INSERT INTO account VALUES (0)",
        );
        let target = open(&pooler.url("postgres"), None).unwrap();
        let statements =
            ["UPDATE account SET balance = balance + $1", "SELECT balance FROM account"];
        for client in &mut sessions(target.as_ref(), &transaction(&statements)).await {
            for _ in 0..3 {
                let outcome = client.send(0, OpBody::Query(vec![Value::Integer(1)])).await;
                assert_eq!((outcome.rows_applied, outcome.response_rows), (1, 1), "{outcome:?}");
            }
        }
        assert_eq!(server.sql("postgres", "SELECT balance FROM account").trim(), "15");
    });
}

#[test]
fn a_pooler_is_named_and_copy_is_refused_with_its_reason() {
    let Some((server, pooler)) = started() else {
        return;
    };
    block_on(async {
        let target = open(&pooler.url("postgres"), None).unwrap();
        let facts = admin(target.as_ref()).await.unwrap().facts().await.unwrap();
        assert!(facts.settings["pooler"].contains("PgBouncer"), "{facts:?}");
        assert_eq!(facts.settings["insert"], "values");
        let target = open(&pooler.url("postgres"), Some("copy")).unwrap();
        let connected = Client::connect(target.as_ref(), &queries(&[("SELECT 1", &[])])).await;
        let error = connected.err().expect("a refusal");
        assert_eq!(error.kind, UserErrorKind::Usage);
        assert!(error.message.contains("behind a pooler"), "{error}");
        assert!(error.hint.is_some_and(|hint| hint.contains("values")));
        let url = server.url("postgres", "postgres");
        let facts = admin(open(&url, None).unwrap().as_ref()).await.unwrap().facts().await;
        assert!(!facts.unwrap().settings.contains_key("pooler"));
        let mut client =
            Client::connect(open(&url, None).unwrap().as_ref(), &queries(&[("SELECT 1", &[])]))
                .await
                .unwrap();
        assert!(client.send(0, nothing()).await.is_success());
    });
}
