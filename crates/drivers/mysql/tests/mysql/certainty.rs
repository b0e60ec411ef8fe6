//! The table of certainties in `docs/reference/mariadb.md`, line by line: provokes each error on a real server, and
//! compares the outcome with the table's content afterwards.

use highwater_model::op::{ColumnData, ColumnType, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass};
use highwater_testing::mariadb::{MariaDb, SUPERUSER, skipped};

use crate::client::{
    Client, Stage, batch, nothing, on_server, on_stage, open, points, queries, started,
    started_with, target, words,
};
use crate::said::{refused, said};
use crate::support::block_on;

fn count(server: &MariaDb) -> String {
    server.sql("SELECT count(*) FROM points")
}

fn keys(keys: &[i64], words: &str) -> OpBody {
    let mut rows = batch(0, i64::try_from(keys.len()).unwrap());
    rows.columns =
        vec![ColumnData::Integer(keys.to_vec()), ColumnData::Text(vec![words.into(); keys.len()])];
    OpBody::Insert(rows)
}

#[test]
fn a_rejected_row_rejects_its_batch_and_the_session_continues() {
    let Some(server) = started() else {
        return;
    };
    for mode in ["values", "prepared"] {
        let target = target(&server, Some(mode));
        block_on(async {
            let mut stage = Stage::set(target.as_ref(), points()).await;
            let client = &mut stage.client;
            assert!(client.insert(0, 2).await.is_success());
            let long = "x".repeat(21);
            for (body, code, class) in [
                (keys(&[7, 8, 1], "w"), 1062, ErrorClass::Constraint),
                (words(10, &["a", "no"]), 4025, ErrorClass::Constraint),
                (words(10, &["a", &long]), 1406, ErrorClass::Data),
                (keys(&[7, 1 << 40], "w"), 1264, ErrorClass::Data),
            ] {
                let rows = match &body {
                    OpBody::Insert(batch) => batch.rows as u64,
                    OpBody::Query(_) => 0,
                };
                let outcome = client.send(0, body).await;
                assert_eq!(said(&outcome), refused(code, class), "{mode} {code}");
                assert_eq!(outcome.rows_refused, rows, "{mode} {code}");
                assert_eq!(count(&server), "2", "{mode} {code}");
            }
            assert!(client.insert(100, 3).await.is_success());
            assert_eq!(count(&server), "5");
            server.sql("DROP TABLE points");
            let outcome = client.insert(0, 3).await;
            assert_eq!(said(&outcome), refused(1146, ErrorClass::Statement), "{mode}");
        });
    }
}

#[test]
fn a_lock_timeout_undoes_the_whole_batch() {
    if skipped() {
        return;
    }
    for rolls_back in ["OFF", "ON"] {
        let server = MariaDb::start_with(&[
            &format!("--innodb-rollback-on-timeout={rolls_back}"),
            "--innodb-lock-wait-timeout=1",
        ]);
        for mode in ["values", "prepared"] {
            let target = target(&server, Some(mode));
            block_on(async {
                let mut stage = Stage::set(target.as_ref(), points()).await;
                let other = queries(&[
                    ("START TRANSACTION", &[]),
                    ("INSERT INTO points VALUES (5, 'other')", &[]),
                    ("ROLLBACK", &[]),
                ]);
                let mut blocker = Client::connect(target.as_ref(), &other).await.unwrap();
                for op in 0..2 {
                    assert!(blocker.send(op, nothing()).await.is_success());
                }
                let outcome = stage.client.insert(3, 5).await;
                assert_eq!(said(&outcome), refused(1205, ErrorClass::Conflict), "{mode}");
                assert_eq!(outcome.rows_refused, 5);
                assert!(blocker.send(2, nothing()).await.is_success());
                assert_eq!(count(&server), "0", "{mode} {rolls_back}");
                // A later batch is neither committed separately nor held back.
                assert!(stage.client.insert(3, 5).await.is_success());
                assert_eq!(count(&server), "5", "{mode} {rolls_back}");
            });
        }
    }
}

#[test]
fn a_server_or_a_transaction_that_only_reads_and_statements_out_of_time_change_nothing() {
    let Some(server) = started() else {
        return;
    };
    server.sql(
        "CREATE USER ann@'127.0.0.1'; GRANT ALL ON bench.* TO ann@'127.0.0.1'; \
         DROP USER IF EXISTS ''@localhost",
    );
    let target = open(&server.url("ann"), None).unwrap();
    block_on(async {
        let mut stage = Stage::set(target.as_ref(), points()).await;
        server.sql("SET GLOBAL read_only = 1");
        let outcome = stage.client.insert(0, 3).await;
        assert_eq!(said(&outcome), refused(1290, ErrorClass::Unavailable));
        server.sql("SET GLOBAL read_only = 0");
        assert_eq!(count(&server), "0");
        let ops = queries(&[
            ("SET STATEMENT max_statement_time = 0.05 FOR SELECT sleep(60)", &[]),
            ("SELECT 1", &[]),
        ]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        let outcome = client.send(0, nothing()).await;
        assert_eq!(said(&outcome), refused(1969, ErrorClass::Timeout));
        assert!(client.send(1, nothing()).await.is_success());
    });
}

#[test]
fn a_statement_longer_than_the_server_accepts_is_split_into_a_transaction() {
    on_stage(
        started_with(&["--max-allowed-packet=65536"]),
        Some("values"),
        async |server, _, mut stage| {
            let outcome = stage.client.insert(0, 20_000).await;
            assert!(outcome.is_success() && outcome.rows_applied == 20_000, "{outcome:?}");
            // The last of them already exists.
            let mut rows: Vec<i64> = (20_000..40_000).collect();
            rows.push(0);
            let outcome = stage.client.send(0, keys(&rows, "w")).await;
            assert_eq!(said(&outcome), refused(1062, ErrorClass::Constraint));
            assert_eq!(count(&server), "20000");
            // A single value that exceeds the limit: the server closes the connection.
            let long = "x".repeat(200_000);
            let outcome = stage.client.send(0, words(50_000, &[&long])).await;
            assert_eq!(outcome.certainty, Certainty::NotApplied, "{outcome:?}");
            assert!(!outcome.session_usable);
            assert_eq!(count(&server), "20000");
        },
    );
}

#[test]
fn a_connection_that_is_killed_leaves_its_statement_unknown_and_the_next_one_undone() {
    on_server(started(), None, async |_server, target| {
        let ops = queries(&[("KILL CONNECTION_ID()", &[])]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        let outcome = client.send(0, nothing()).await;
        // The server reports 1317 if it responds to being killed; otherwise, the connection just ends.
        assert!(!outcome.is_success(), "{outcome:?}");
        let outcome = client.send(0, nothing()).await;
        assert_eq!(outcome.certainty, Certainty::NotApplied, "{outcome:?}");
        assert!(!outcome.session_usable);
    });
}

#[test]
fn a_query_that_is_killed_was_not_applied() {
    on_server(started(), None, async |server, target| {
        let ops = queries(&[("SELECT sleep(?1)", &[ColumnType::Integer]), ("SELECT 1", &[])]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        let kill = async {
            loop {
                let running = "SELECT id FROM information_schema.processlist \
                               WHERE state = 'User sleep'";
                let id = server.sql(running);
                if !id.is_empty() {
                    return server.sql(&format!("KILL QUERY {id}"));
                }
                tokio::task::yield_now().await;
            }
        };
        let seconds = OpBody::Query(vec![highwater_model::op::Value::Integer(60)]);
        // A killed `sleep` itself returns 1; the rest of the query is rejected.
        let (outcome, _) = tokio::join!(client.send(0, seconds), kill);
        assert!(outcome.session_usable, "{outcome:?}");
        if !outcome.is_success() {
            assert_eq!(said(&outcome), refused(1317, ErrorClass::Timeout));
        }
        assert!(client.send(1, nothing()).await.is_success());
    });
}

#[test]
fn too_many_connections_are_rejected_before_the_greeting() {
    if skipped() {
        return;
    }
    let server = MariaDb::start_with(&["--max-connections=10"]);
    let target = open(&server.url(SUPERUSER), None).unwrap();
    block_on(async {
        let ops = queries(&[("SELECT 1", &[])]);
        let mut clients = Vec::new();
        let error = loop {
            match Client::connect(target.as_ref(), &ops).await {
                Ok(client) => clients.push(client),
                Err(error) => break error,
            }
            assert!(clients.len() < 20);
        };
        assert!(error.message.contains("1040"), "{error}");
        assert_eq!(error.kind, highwater_model::user_error::UserErrorKind::Unreachable);
    });
}

#[test]
fn an_account_over_its_quota_is_rejected() {
    let Some(server) = started() else {
        return;
    };
    server.sql(
        "CREATE USER few@'127.0.0.1', one@'127.0.0.1'; DROP USER IF EXISTS ''@localhost; \
         GRANT ALL ON bench.* TO few@'127.0.0.1' WITH MAX_QUERIES_PER_HOUR 100; \
         GRANT ALL ON bench.* TO one@'127.0.0.1' WITH MAX_USER_CONNECTIONS 1",
    );
    let of_root = target(&server, None);
    // Prepared statements do not count.
    let limited = open(&server.url("few"), Some("values")).unwrap();
    block_on(async {
        let stage = Stage::set(of_root.as_ref(), points()).await;
        let mut client = Client::connect(limited.as_ref(), &stage.workload).await.unwrap();
        let mut batches = 0;
        let outcome = loop {
            let outcome = client.insert(3 * batches, 3).await;
            if !outcome.is_success() {
                break outcome;
            }
            batches += 1;
            assert!(batches <= 100, "its limit");
        };
        let ended = (Some("1226".to_owned()), ErrorClass::Rejected, Certainty::NotApplied, false);
        assert_eq!(said(&outcome), ended);
        assert_eq!(outcome.rows_refused, 3);
        assert!(batches > 0);
        assert_eq!(count(&server), (3 * batches).to_string());

        // More connections than allowed.
        let limited = open(&server.url("one"), None).unwrap();
        let ops = queries(&[("SELECT 1", &[])]);
        let mut first = Client::connect(limited.as_ref(), &ops).await.unwrap();
        let error = Client::connect(limited.as_ref(), &ops).await.err().unwrap();
        assert!(error.message.contains("1226"), "{error}");
        assert_eq!(error.kind, highwater_model::user_error::UserErrorKind::Unreachable);
        assert!(first.send(0, nothing()).await.is_success());
    });
}
