//! The stored result of each insert mode, and rejected tables.

use highwater_driver::TablePolicy;
use highwater_model::op::OpBody;
use highwater_model::outcome::{Certainty, ErrorClass};
use highwater_model::units::Seed;
use highwater_model::user_error::UserErrorKind;
use highwater_testing::mariadb::{MariaDb, SUPERUSER, skipped};

use crate::client::{
    Client, MODES, Stage, admin, key, on_server, on_stage, open, points, points_of, started,
    started_with, target, words,
};
use crate::support::block_on;

#[test]
fn lines_that_load_data_skips_are_refused_and_those_that_it_alters_are_acknowledged() {
    on_stage(started(), Some("load-data"), async |server, _, mut stage| {
        assert!(stage.client.insert(0, 10).await.is_success());
        // Keys 5 to 9 exist.
        let outcome = stage.client.insert(5, 20).await;
        assert_eq!(outcome.certainty, Certainty::Applied);
        assert_eq!((outcome.rows_applied, outcome.rows_refused), (15, 5));
        let error = outcome.error.unwrap();
        assert_eq!(error.class, ErrorClass::Constraint);
        assert!(error.message.contains("Skipped: 5"), "{error:?}");
        assert!(outcome.session_usable);
        assert_eq!(server.sql("SELECT count(*), max(k) FROM points"), "25\t24");
        // Too long: truncated, which the audit finds.
        let long = "y".repeat(30);
        let outcome = stage.client.send(0, words(100, &[&long])).await;
        assert!(outcome.is_success() && outcome.rows_applied == 1, "{outcome:?}");
        assert_eq!(server.sql("SELECT length(word) FROM points WHERE k = 100"), "20");
        let facts = stage.admin.facts().await.unwrap();
        assert!(facts.transactions && !facts.atomic_batches);
    });
}

#[test]
fn the_size_of_tables_is_that_of_their_files_and_the_cache_of_data_is_a_fact() {
    on_stage(started(), Some("values"), async |_server, _, mut stage| {
        let empty = stage.admin.storage_bytes(&stage.workload).await.unwrap();
        assert!(empty < Some(1_000_000), "{empty:?}");
        // The server's table statistics are updated later.
        for batch in 0..20 {
            assert!(stage.client.insert(batch * 5_000, 5_000).await.is_success());
        }
        let filled = stage.admin.storage_bytes(&stage.workload).await.unwrap();
        assert!(filled > Some(3_000_000), "{filled:?}");
        let memory = stage.admin.facts().await.unwrap().memory;
        let pool = memory.caches.get("innodb_buffer_pool_size");
        assert!(pool.is_some_and(|bytes| *bytes > 1_000_000), "{memory:?}");
    });
}

#[test]
fn a_server_without_local_files_rejects_load_data_and_the_session_continues() {
    on_stage(
        started_with(&["--local-infile=0"]),
        Some("load-data"),
        async |_server, _, mut stage| {
            let outcome = stage.client.insert(0, 10_000).await;
            let error = outcome.error.unwrap();
            assert_eq!((error.class, error.code.as_deref()), (ErrorClass::Statement, Some("4166")));
            assert_eq!(outcome.certainty, Certainty::NotApplied);
            assert!(outcome.session_usable);
            assert_eq!(stage.client.send(1, key(1)).await.response_rows, 0);
        },
    );
}

#[test]
fn the_session_s_own_mode_holds_whatever_the_server_s_is() {
    if skipped() {
        return;
    }
    let server = MariaDb::start_with(&["--sql-mode=", "--default-time-zone=+05:00"]);
    for mode in ["values", "prepared"] {
        let target = target(&server, Some(mode));
        block_on(async {
            let mut stage = Stage::set(target.as_ref(), points()).await;
            let long = "z".repeat(30);
            let outcome = stage.client.send(0, words(0, &[&long])).await;
            assert_eq!(outcome.error.unwrap().code.as_deref(), Some("1406"), "{mode}");
            let rows = stage.admin.query("SELECT @@session.time_zone").await.unwrap();
            assert_eq!(rows[0][0].as_deref(), Some("+00:00"));
        });
    }
}

#[test]
fn an_engine_without_transactions_is_refused_and_nothing_is_left() {
    on_server(started(), None, async |server, target| {
        let mut admin = admin(target.as_ref()).await.unwrap();
        let create = "CREATE TABLE points (k INT PRIMARY KEY, word TEXT)";
        for (create, settings) in [
            (format!("{create} ENGINE=MyISAM"), Vec::new()),
            (create.to_owned(), vec![("ENGINE".to_owned(), "Aria".to_owned())]),
        ] {
            let policy = TablePolicy { settings: &settings, ..TablePolicy::new("f", Seed(1)) };
            let workload = points_of(&create, "?1");
            let error = admin.create_tables(&workload, &policy).await.unwrap_err();
            assert_eq!(error.kind, UserErrorKind::Usage);
            assert!(error.message.contains("no transactions"), "{error}");
            assert_eq!(server.sql("SHOW TABLES LIKE 'points'"), "");
        }
        let settings = [("ROW_FORMAT".to_owned(), "COMPRESSED".to_owned())];
        let policy = TablePolicy { settings: &settings, ..TablePolicy::new("f", Seed(1)) };
        admin.create_tables(&points_of(create, "?1"), &policy).await.unwrap();
        assert!(server.sql("SHOW CREATE TABLE points").contains("ROW_FORMAT=COMPRESSED"));
    });
}

#[test]
fn a_second_session_sees_acknowledged_rows_in_every_mode() {
    let Some(server) = started() else {
        return;
    };
    for mode in MODES {
        let url =
            format!("mariadb://{SUPERUSER}@localhost/bench?socket={}", server.socket().display());
        let target = open(&url, Some(mode)).unwrap();
        block_on(async {
            let mut stage = Stage::set(target.as_ref(), points()).await;
            assert!(stage.client.insert(0, 2_000).await.is_success());
            let mut other = Client::connect(target.as_ref(), &stage.workload).await.unwrap();
            assert_eq!(other.send(1, key(1_999)).await.response_rows, 1, "{mode}");
            let upsert = crate::client::queries(&[(
                "INSERT INTO points VALUES (?1, ?2), (?3, ?2) ON DUPLICATE KEY UPDATE word = VALUES(word)",
                &[
                    highwater_model::op::ColumnType::Integer,
                    highwater_model::op::ColumnType::Text,
                    highwater_model::op::ColumnType::Integer,
                ],
            )]);
            let mut client = Client::connect(target.as_ref(), &upsert).await.unwrap();
            let values = || {
                OpBody::Query(vec![
                    highwater_model::op::Value::Integer(1),
                    highwater_model::op::Value::Text("it's \\ new".into()),
                    highwater_model::op::Value::Integer(5_000),
                ])
            };
            // Updated and new, then found unchanged: the count is between one and two per row.
            for applied in [3, 2] {
                let outcome = client.send(0, values()).await;
                assert_eq!(outcome.rows_applied, applied, "{outcome:?}");
            }
            assert_eq!(server.sql("SELECT word FROM points WHERE k = 1"), "it's \\ new");
        });
    }
}
