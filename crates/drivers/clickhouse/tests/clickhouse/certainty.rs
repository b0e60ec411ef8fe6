//! The table of certainties in `docs/reference/clickhouse.md`, line by line: provokes each error on a real server, and
//! compares the outcome with the table's content afterwards.

use highwater_model::op::{BoundColumn, BoundWorkload, ColumnData, ColumnType, OpBody, Value};
use highwater_model::outcome::{Certainty, ErrorClass};
use highwater_model::user_error::UserErrorKind;
use highwater_testing::clickhouse::{PASSWORD, READER, USER};

use crate::client::{
    Client, POINTS, Stage, admin, batch, count, key, nothing, on_server, on_stage, open, points,
    points_of, queries, refused, said, stage_with, started, started_with, target, words,
};
use crate::support::block_on;

#[test]
fn what_is_not_there_is_an_error_of_the_statement_and_the_session_goes_on() {
    on_stage(started(), async |server, target, mut stage| {
        assert!(stage.client.insert(0, 2).await.is_success());
        let ops = queries(&[
            ("SELECT nothing FROM points", &[]),
            ("SELECT 1 FROM nowhere", &[]),
            ("SELEC 1", &[]),
            ("SELECT nothing(1)", &[]),
            ("SELECT 1 FORMAT Nothing", &[]),
            ("SELECT 1", &[]),
            ("SELECT 1 SETTINGS nothing = 1", &[]),
        ]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        for (op, code) in [(0, 47), (1, 60), (2, 62), (3, 46), (4, 73), (6, 115)] {
            let outcome = client.send(op, nothing()).await;
            assert_eq!(said(&outcome), refused(code, ErrorClass::Statement), "{code}");
            assert!(client.send(5, nothing()).await.is_success());
        }
        server.sql("ALTER TABLE points DROP COLUMN word");
        let outcome = stage.client.insert(10, 3).await;
        assert_eq!(outcome.rows_refused, 3, "{outcome:?}");
        assert_eq!(said(&outcome), refused(16, ErrorClass::Statement));
        assert_eq!(count(&server), 2);
        server.sql("DROP TABLE points");
        let outcome = stage.client.insert(10, 3).await;
        assert_eq!(said(&outcome), refused(60, ErrorClass::Statement));
    });
}

/// Inserts as text, like those of `kv`.
#[test]
fn rows_in_the_text_of_a_statement_count_and_those_that_cannot_be_read_are_refused() {
    on_stage(started(), async |server, target, mut stage| {
        let ops = queries(&[
            (
                "INSERT INTO points (k, word) VALUES ($1, 'it\\'s'), ($2, 'b')",
                &[ColumnType::Bigint, ColumnType::Bigint],
            ),
            ("INSERT INTO points (k, word) VALUES (1, 'a', 2)", &[]),
            ("INSERT INTO points (k, word) VALUES (1, 'a'", &[]),
        ]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        let two = OpBody::Query(vec![Value::Integer(-7), Value::Integer(8)]);
        let outcome = client.send(0, two).await;
        assert!(outcome.is_success(), "{outcome:?}");
        assert_eq!(outcome.rows_applied, 2);
        for op in [1, 2] {
            let outcome = client.send(op, nothing()).await;
            let (_, class, certainty, goes_on) = said(&outcome);
            assert_eq!(
                (class, certainty, goes_on),
                (ErrorClass::Data, Certainty::NotApplied, true),
                "{outcome:?}"
            );
            assert_eq!(count(&server), 2);
        }
        assert_eq!(server.sql("SELECT sum(k) FROM points"), "1");
        assert!(stage.client.insert(10, 3).await.is_success());
    });
}

#[test]
fn users_without_access_or_write_permission_are_rejected_before_the_load() {
    let Some(server) = started() else {
        return;
    };
    let url = |user: &str| server.url(user);
    for (url, code) in [
        (url("nobody"), "Code: 192"),
        (url(USER), "Code: 194"),
        (url(&format!("{USER}:wrong")), "Code: 193"),
        // This user may not change settings.
        (url(READER), "Code: 164"),
        (format!("clickhouse://127.0.0.1:{}/nowhere", server.port()), "Code: 81"),
    ] {
        let target = open(&url).unwrap();
        let error = block_on(admin(target.as_ref())).err().unwrap();
        assert_eq!(error.kind, UserErrorKind::Refused, "{error}");
        assert!(error.message.contains(code), "{error}");
        assert!(!error.message.contains("wrong"), "{error}");
    }
    let target = open(&url(&format!("{USER}:{PASSWORD}"))).unwrap();
    assert!(!target.urls()[0].contains(PASSWORD));
    block_on(async {
        let mut stage = Stage::set(target.as_ref(), points()).await;
        assert!(stage.client.insert(0, 2).await.is_success());
    });
}

#[test]
fn too_many_parts_are_rejected_and_none_of_the_rejected_rows_is_stored() {
    on_server(started(), async |server, target| {
        // Inserts are delayed before they are rejected: here at the same number of parts.
        let settings = [("parts_to_throw_insert", "5"), ("parts_to_delay_insert", "5")];
        let mut stage = stage_with(target.as_ref(), points(), &settings).await;
        server.sql("SYSTEM STOP MERGES");
        let mut acknowledged = 0;
        for number in 0..8 {
            let outcome = stage.client.insert(number * 10, 10).await;
            if number < 5 {
                assert!(outcome.is_success(), "{number}: {outcome:?}");
                acknowledged += outcome.rows_applied;
                continue;
            }
            assert_eq!(said(&outcome), refused(252, ErrorClass::Rejected));
            assert_eq!(outcome.rows_refused, 10);
        }
        assert_eq!(count(&server), acknowledged);
        assert_eq!(acknowledged, 50);
        // If a batch becomes several parts, some of them may exist.
        server.sql("DROP TABLE points");
        let parted = POINTS.replace("ORDER BY k", "PARTITION BY k % 2 ORDER BY k");
        let mut stage = stage_with(target.as_ref(), points_of(&parted, "$1"), &settings).await;
        server.sql("SYSTEM STOP MERGES");
        for number in 0..5 {
            assert!(stage.client.insert(number * 10, 10).await.is_success());
        }
        let outcome = stage.client.insert(100, 10).await;
        let (code, class, certainty, _) = said(&outcome);
        assert_eq!((code.as_deref(), class), (Some("252"), ErrorClass::Rejected));
        assert_eq!(certainty, Certainty::Unknown);
    });
}

#[test]
fn too_little_memory_rejects_the_whole_block() {
    let limit = "<max_memory_usage>60000000</max_memory_usage>";
    on_stage(started_with("", limit), async |server, _, mut stage| {
        let outcome = stage.client.send(0, words(200_000, &"x".repeat(500))).await;
        assert_eq!(said(&outcome), refused(241, ErrorClass::Resource));
        assert_eq!(outcome.rows_refused, 200_000);
        assert_eq!(count(&server), 0);
        assert!(stage.client.insert(0, 10).await.is_success());
        assert_eq!(count(&server), 10);
    });
}

#[test]
fn more_queries_than_the_server_accepts_are_rejected() {
    let configuration = "<max_concurrent_queries>1</max_concurrent_queries>";
    let settings = "<queue_max_wait_ms>1000</queue_max_wait_ms>";
    on_stage(started_with(configuration, settings), async |_server, target, mut stage| {
        let ops = queries(&[("SELECT sleep(3)", &[])]);
        let mut other = Client::connect(target.as_ref(), &ops).await.unwrap();
        let rejected = async {
            loop {
                let outcome = stage.client.insert(0, 10).await;
                if !outcome.is_success() {
                    return outcome;
                }
            }
        };
        let (slept, outcome) = tokio::join!(other.send(0, nothing()), rejected);
        assert!(slept.is_success(), "{slept:?}");
        assert_eq!(said(&outcome), refused(202, ErrorClass::Rejected));
    });
}

#[test]
fn a_question_that_is_killed_or_out_of_time_changed_nothing() {
    let limit = "<max_execution_time>1</max_execution_time>";
    for (settings, code) in [("", 394), (limit, 159)] {
        let Some(server) = started_with("", settings) else {
            return;
        };
        let target = target(&server);
        block_on(async {
            let sql = "SELECT max(sipHash64(number)) FROM numbers(1000000000000)";
            let ops = queries(&[(sql, &[]), ("SELECT 1", &[])]);
            let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
            let kill = async {
                if code != 394 {
                    return;
                }
                let kill = "KILL QUERY WHERE query LIKE 'SELECT max(sip%' SYNC";
                while server.sql(kill).is_empty() {
                    tokio::task::yield_now().await;
                }
            };
            let (outcome, ()) = tokio::join!(client.send(0, nothing()), kill);
            assert_eq!(said(&outcome), refused(code, ErrorClass::Timeout));
            assert!(client.send(1, nothing()).await.is_success());
        });
    }
}

#[test]
fn an_error_after_status_200_is_an_error() {
    on_server(started(), async |_server, target| {
        let late = "SELECT throwIf(number = 240000), concat(toString(number), ' of a long text') \
                    FROM numbers(1000000)";
        let ops = queries(&[(late, &[]), ("SELECT number FROM numbers(1000)", &[])]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        let outcome = client.send(0, nothing()).await;
        assert_eq!(said(&outcome), refused(395, ErrorClass::Unavailable));
        assert!(outcome.response_bytes > 200_000, "nothing was streamed");
        assert_eq!(client.send(1, nothing()).await.response_rows, 1_000);
        let mut admin = admin(target.as_ref()).await.unwrap();
        let error = admin.query(late).await.unwrap_err();
        assert!(error.message.contains("395"), "{error}");
    });
}

#[test]
fn a_value_that_its_column_cannot_hold_is_not_sent() {
    on_server(started(), async |server, target| {
        let narrow = POINTS.replace("Int64", "Int16");
        let mut stage = Stage::set(target.as_ref(), points_of(&narrow, "$1")).await;
        let mut rows = batch(0, 2);
        rows.columns[0] = ColumnData::Integer(vec![5, 40_000]);
        let outcome = stage.client.send(0, OpBody::Insert(rows)).await;
        let (_, class, certainty, usable) = said(&outcome);
        let expected = (ErrorClass::Data, Certainty::NotApplied, true);
        assert_eq!((class, certainty, usable), expected);
        assert_eq!(count(&server), 0);
        assert!(stage.client.insert(0, 2).await.is_success());
        assert_eq!(stage.client.send(1, key(1)).await.response_rows, 1);
    });
}

#[test]
fn a_column_of_a_type_that_is_not_sent_and_a_table_that_holds_nothing_are_refused() {
    on_server(started(), async |server, target| {
        for (create, says) in [
            (POINTS.replace("String", "FixedString(9)"), "FixedString(9)"),
            (POINTS.replace("k Int64", "k DateTime"), "DateTime"),
            (POINTS.replace("word String", "other String"), "no column `word`"),
            (POINTS.replace("MergeTree ORDER BY k", "Null"), "engine Null"),
        ] {
            server.sql("DROP TABLE IF EXISTS points");
            server.sql(&create);
            let failed = Client::connect(target.as_ref(), &points()).await;
            let error = failed.err().unwrap();
            assert!(error.message.contains(says), "{error}");
        }
        let mut absent = BoundWorkload::clone(&points());
        "nowhere".clone_into(&mut absent.tables[0].name);
        absent.tables[0].columns = vec![BoundColumn::new("k", ColumnType::Bigint)];
        let failed = Client::connect(target.as_ref(), &absent.into()).await;
        let error = failed.err().unwrap();
        assert!(error.message.contains("`nowhere` does not exist"), "{error}");
    });
}
