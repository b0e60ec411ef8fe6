//! Ops whose sessions or servers end early, and transactions of several statements.

use std::time::Duration;

use highwater_model::op::{ColumnType, OpBody, Value};
use highwater_model::outcome::{Certainty, ErrorClass};
use highwater_model::units::Nanos;
use highwater_model::user_error::{RefusedStatement, UserErrorKind};

use crate::client::{
    Client, MODES, Stage, admin, nothing, on_server, on_stage, points, queries, started, target,
    transaction,
};
use crate::killing::until_killed;
use crate::support::block_on;

/// Rows of one batch of a load.
const ROWS: i64 = 50;

#[test]
fn rows_after_a_server_that_was_killed_in_mid_load_are_those_that_were_acknowledged() {
    let Some(mut server) = started() else {
        return;
    };
    for mode in MODES {
        let target = target(&server, Some(mode));
        let (acknowledged, unknown) = block_on(async {
            let mut stage = Stage::set(target.as_ref(), points()).await;
            until_killed(&mut stage.client, ROWS, 41, || server.kill()).await
        });
        server.restart();
        let found: u64 = server.sql("SELECT count(*) FROM points").parse().unwrap();
        assert!(
            found == acknowledged || found == acknowledged + unknown,
            "{mode}: {acknowledged} acknowledged, {unknown} unknown, {found} found"
        );
        // The batch in flight may have been acknowledged before the end.
        assert!(acknowledged >= 40 * ROWS.unsigned_abs(), "{mode}");
    }
}

#[test]
fn an_insert_whose_client_left_while_it_waited_is_applied_later_and_quiescence_waits_for_it() {
    on_stage(started(), None, async |server, target, mut stage| {
        let ops = queries(&[
            ("START TRANSACTION", &[]),
            ("INSERT INTO points VALUES (5, 'other')", &[]),
            ("ROLLBACK", &[]),
        ]);
        let mut blocker = Client::connect(target.as_ref(), &ops).await.unwrap();
        for op in 0..2 {
            assert!(blocker.send(op, nothing()).await.is_success());
        }
        let waited = tokio::time::timeout(Duration::from_millis(300), stage.client.insert(3, 5));
        assert!(waited.await.is_err(), "the row was not locked");
        drop(stage.client);
        assert!(!stage.admin.quiesce(Nanos::ZERO).await.unwrap(), "it still waits");
        assert!(blocker.send(2, nothing()).await.is_success());
        assert!(stage.admin.quiesce(Nanos::from_secs(30)).await.unwrap());
        assert_eq!(server.sql("SELECT count(*) FROM points"), "5");
    });
}

#[test]
fn statements_that_cannot_be_prepared_are_named() {
    on_server(started(), None, async |_server, target| {
        let ops = queries(&[("SELECT * FROM nowhere", &[])]);
        let error = Client::connect(target.as_ref(), &ops).await.err().unwrap();
        let refused = RefusedStatement { op: 0, statement: 0, position: None };
        assert_eq!(error.kind, UserErrorKind::Preparation(refused));
        assert!(error.message.contains("op `ask`") && error.message.contains("1146"), "{error}");
        let ops = queries(&[("SELECT ? + ?1", &[ColumnType::Integer])]);
        let error = Client::connect(target.as_ref(), &ops).await.err().unwrap();
        assert!(error.message.contains("2 placeholders"), "{error}");
    });
}

#[test]
fn answers_larger_than_the_buffer_are_counted_to_the_last_byte() {
    on_server(started(), None, async |server, target| {
        let sql = "SELECT repeat('x', seq * 1000) FROM seq_0_to_300";
        let ops = queries(&[(sql, &[]), ("SELECT 1", &[]), (sql, &[])]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        for op in [0, 1, 2] {
            let outcome = client.send(op, nothing()).await;
            assert_eq!(outcome.response_rows, if op == 1 { 1 } else { 301 }, "{outcome:?}");
        }
        // A row that continues in a second packet, and one after it.
        let long = "SELECT repeat('x', 16777000 + 500) UNION ALL SELECT 'y'";
        server.sql("SET GLOBAL max_allowed_packet = 33554432");
        let ops = queries(&[(long, &[]), ("SELECT 1", &[])]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        let outcome = client.send(0, nothing()).await;
        assert_eq!(outcome.response_rows, 2, "{outcome:?}");
        assert!(outcome.response_bytes > 16_777_500);
        assert_eq!(client.send(1, nothing()).await.response_rows, 1);
    });
}

/// Adds the op's value to the account, and stores it in a log; a value of 13 fails.
const TRANSFER: [&str; 3] = [
    "UPDATE account SET balance = balance + ?1",
    "SELECT balance, 'text' FROM account",
    "INSERT INTO note VALUES (?1)",
];

#[test]
fn a_transaction_counts_as_a_whole_or_not_at_all() {
    on_server(started(), None, async |server, target| {
        server.sql(
            "CREATE TABLE account (balance BIGINT); INSERT INTO account VALUES (0); \
         CREATE TABLE note (delta BIGINT, CHECK (delta <> 13))",
        );
        let mut client = Client::connect(target.as_ref(), &transaction(&TRANSFER)).await.unwrap();
        for (delta, succeeds) in [(7, true), (13, false), (5, true)] {
            let outcome = client.send(0, OpBody::Query(vec![Value::Integer(delta)])).await;
            assert_eq!(outcome.is_success(), succeeds, "{outcome:?}");
            assert!(outcome.session_usable);
            if !succeeds {
                assert_eq!(outcome.certainty, Certainty::NotApplied);
                assert_eq!(outcome.error.unwrap().class, ErrorClass::Constraint);
            }
        }
        let sums = "SELECT (SELECT balance FROM account), count(*), sum(delta) FROM note";
        assert_eq!(server.sql(sums), "12\t2\t12");
        let mut admin = admin(target.as_ref()).await.unwrap();
        assert!(admin.quiesce(Nanos::from_secs(30)).await.unwrap());
    });
}
