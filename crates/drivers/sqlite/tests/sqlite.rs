//! SQLite's specifics: file location, files that cannot be opened, CPU time, abandoned queries.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{
    Connect, Driver, Request, Session, TablePolicy, Target, TargetOptions, TargetUrl, Timeline,
};
use highwater_driver_sqlite::SqliteDriver;
use highwater_model::op::{BoundOp, BoundOpKind, BoundWorkload};
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_testkit::support;

/// Never ends by itself.
const ENDLESS: &str = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) \
                       SELECT count(*) FROM c";
const SOME_WORK: &str = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT \
                         300000) SELECT max(x) FROM c";

#[expect(clippy::unwrap_used, reason = "a test that cannot start has failed")]
fn open(url: &str, options: &TargetOptions) -> Arc<dyn Target> {
    let url = TargetUrl::parse(url).unwrap();
    SqliteDriver.open(&[url], options).unwrap()
}

fn target(path: &Path) -> Arc<dyn Target> {
    open(&format!("sqlite:{}", path.display()), &support::options())
}

async fn session(
    target: &dyn Target,
    timeline: &Rc<dyn Timeline>,
    sql: &str,
) -> Result<Box<dyn Session>, UserError> {
    let workload = BoundWorkload {
        ops: vec![BoundOp {
            name: "query".to_owned(),
            kind: BoundOpKind::Query { sql: sql.to_owned(), parameters: Vec::new() },
        }],
        ..BoundWorkload::default()
    };
    target
        .connect(Connect {
            workload: Arc::new(workload),
            number: 0,
            attempt: 0,
            timeline: Rc::clone(timeline),
        })
        .await
}

#[test]
fn a_query_without_end_stops_when_its_session_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let timeline = support::WallTimeline::start();
    support::block_on(async {
        let target = target(&directory.path().join("bench.db"));
        let mut admin = target.administer(Rc::clone(&timeline)).await.unwrap();
        // Some are dropped before the statement starts, others while it runs.
        for wait in [0, 0, 1, 10, 50] {
            let mut session = session(target.as_ref(), &timeline, ENDLESS).await.unwrap();
            let mut request = Request::empty();
            let deadline = timeline.now().saturating_add(Nanos::from_millis(wait));
            tokio::select! {
                biased;
                outcome = session.execute(&mut request) => panic!("answered: {outcome:?}"),
                () = timeline.sleep_until(deadline) => {}
            }
            let busy = admin.quiesce(Nanos::ZERO).await.unwrap();
            let outcome = session.execute(&mut request).await;
            assert!(!outcome.session_usable, "{outcome:?}");
            drop(session);
            let deadline = timeline.now().saturating_add(Nanos::from_secs(60));
            assert!(admin.quiesce(deadline).await.unwrap(), "was quiet before: {busy}");
        }
    });
}

#[test]
fn quiesce_gives_up_at_its_deadline() {
    let directory = tempfile::tempdir().unwrap();
    let timeline = support::WallTimeline::start();
    support::block_on(async {
        let target = target(&directory.path().join("bench.db"));
        let mut admin = target.administer(Rc::clone(&timeline)).await.unwrap();
        let mut session = session(target.as_ref(), &timeline, ENDLESS).await.unwrap();
        let mut request = Request::empty();
        let deadline = timeline.now().saturating_add(Nanos::from_millis(20));
        tokio::select! {
            // The op must be running before this is checked.
            biased;
            outcome = session.execute(&mut request) => panic!("answered: {outcome:?}"),
            quiet = admin.quiesce(deadline) => assert!(!quiet.unwrap()),
        }
    });
}

#[test]
fn the_cpu_time_of_a_query_is_the_databases() {
    let directory = tempfile::tempdir().unwrap();
    let timeline = support::WallTimeline::start();
    support::block_on(async {
        let target = target(&directory.path().join("bench.db"));
        let mut session = session(target.as_ref(), &timeline, SOME_WORK).await.unwrap();
        let opened = target.embedded_cpu();
        let outcome = session.execute(&mut Request::empty()).await;
        assert_eq!((outcome.response_rows, outcome.response_bytes), (1, 8));
        let once = target.embedded_cpu();
        // 300,000 rows take tens of milliseconds; a millisecond distinguishes work from none.
        assert!(once.saturating_sub(opened) > Nanos::from_millis(1), "{opened:?} {once:?}");
        session.execute(&mut Request::empty()).await;
        assert!(target.embedded_cpu() > once);
        assert!(target.embedded_cpu() < timeline.now());
    });
}

#[test]
fn facts_and_storage_describe_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let timeline = support::WallTimeline::start();
    let options = TargetOptions {
        data_directory: Some(directory.path().join("runs/1")),
        leases_directory: None,
        ..support::options()
    };
    support::block_on(async {
        let url = "sqlite:?synchronous=full&page_size=8192";
        let target = open(url, &options);
        let mut admin = target.administer(timeline).await.unwrap();
        let facts = admin.facts().await.unwrap();
        assert!(facts.version.starts_with("SQLite 3."), "{}", facts.version);
        assert_eq!(facts.dialects, ["sqlite"]);
        assert_eq!(facts.traits, ["WAL", "synchronous=FULL", "one writer"]);
        assert_eq!(facts.settings["page_size"], "8192");
        assert!(facts.settings["durability"].contains("power failure"));
        let none = BoundWorkload::default();
        admin.create_tables(&none, &TablePolicy::new("f", Seed(1))).await.unwrap();
        let bytes = admin.storage_bytes(&none).await.unwrap().unwrap();
        assert!(bytes >= 2 * 8192, "{bytes}");
        assert_eq!(admin.rows_inserted(&none).await.unwrap(), None);
        assert!(directory.path().join("runs/1/bench.db").is_file());
    });
}

#[test]
fn a_file_that_cannot_be_opened_has_a_reason_and_a_hint() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "not a database, but long enough to have a header\n".repeat(50)).unwrap();
    let timeline = support::WallTimeline::start();
    let missing = directory.path().join("missing/bench.db");
    for (path, says) in [
        (missing.as_path(), "does not exist"),
        (directory.path(), "is a directory"),
        (text.as_path(), "is not a SQLite database"),
    ] {
        let opened = support::block_on(target(path).administer(Rc::clone(&timeline))).err();
        let error = opened.unwrap();
        assert_eq!(error.kind, UserErrorKind::Unreachable);
        assert!(error.message.contains(says), "{error:?}");
        assert!(error.hint.is_some(), "{error:?}");
    }
    assert!(!missing.exists());
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("not a database"));
}

#[test]
fn a_wrong_statement_is_refused_on_connecting_and_names_its_op() {
    let directory = tempfile::tempdir().unwrap();
    let timeline = support::WallTimeline::start();
    support::block_on(async {
        let target = target(&directory.path().join("bench.db"));
        for sql in ["SELEKT 1", "SELECT ?1", "SELECT 1; SELECT 2"] {
            let refused = session(target.as_ref(), &timeline, sql).await.err().unwrap();
            let is_prepared = matches!(refused.kind, UserErrorKind::Preparation(_));
            assert!(is_prepared, "{sql}: {refused:?}");
            assert!(refused.message.contains("`query`"), "{refused}");
        }
    });
}

#[test]
fn rows_of_the_whole_table_are_those_that_analyze_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bench.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let rows = |count: u32| {
        format!(
            "INSERT INTO \"Order\" WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
             WHERE i < {count}) SELECT i, i % 7 FROM n;"
        )
    };
    // The partial indexes are listed before and after the one on all rows.
    let tables = "CREATE TABLE \"Order\" (a, b); CREATE INDEX a ON \"Order\" (a) WHERE b = 1; \
                  CREATE INDEX m ON \"Order\" (b, a); CREATE INDEX z ON \"Order\" (a) WHERE b = 2;";
    database.execute_batch(&(tables.to_owned() + &rows(500))).unwrap();
    let timeline = support::WallTimeline::start();
    let rows_all = |name: &'static str| {
        let (timeline, path) = (Rc::clone(&timeline), path.clone());
        support::block_on(async move {
            let mut admin = target(&path).administer(timeline).await.unwrap();
            let shape = admin.describe(name).await.unwrap();
            (shape.rows, shape.rows_all)
        })
    };
    assert_eq!(rows_all("Order"), (500, None));
    database.execute_batch("ANALYZE").unwrap();
    assert_eq!(rows_all("Order"), (500, Some(500)));
    database.execute_batch(&rows(40)).unwrap();
    assert_eq!(rows_all("order"), (540, Some(500)));
}
