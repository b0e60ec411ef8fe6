//! SQLite's settings, writer lock, and error classes, which the conformance suite does not cover.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use highwater_model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundStatement, BoundTable, BoundWorkload, ColumnData,
    ColumnType, Op, OpBody, OpId, RowBatch, Value,
};
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_model::transaction::BoundTransaction;
use highwater_model::units::{Nanos, Seed};
use rusqlite::Connection;

use super::admin::SqliteAdmin;
use super::database::Database;
use super::settings::{InsertMode, Settings};
use super::statements::Statements;
use super::thread::FairWriterLock;
use highwater_driver::contract::{BoxFuture, ServerAdmin, TableAdmin, TargetOptions, Timeline};
use highwater_driver::table_registry::TablePolicy;
use highwater_driver::target_url::TargetUrl;
use highwater_model::user_error::{UserError, UserErrorKind};

mod urls;
mod writer_lock;

/// A table without constraints.
const PLAIN: &str = "CREATE TABLE t (k INTEGER, v TEXT)";

fn options() -> TargetOptions {
    TargetOptions {
        insert: None,
        data_directory: Some(PathBuf::from("runs/1")),
        leases_directory: None,
        application_name: "test".to_owned(),
        seed: Seed(1),
        connect_timeout: Nanos::from_secs(10),
    }
}

fn settings(url: &str) -> Result<Settings, UserError> {
    Settings::new(&[TargetUrl::parse(url)?], &options())
}

fn workload(create: &str) -> BoundWorkload {
    let column = |name: &str, kind| BoundColumn::new(name, kind);
    BoundWorkload {
        tables: vec![BoundTable {
            name: "t".to_owned(),
            columns: vec![column("k", ColumnType::Bigint), column("v", ColumnType::Text)],
            create: vec![create.to_owned()],
            key: "k".to_owned(),
            ..BoundTable::default()
        }],
        ops: vec![
            BoundOp { name: "insert".to_owned(), kind: BoundOpKind::Insert { table: 0, batch: 1 } },
            query("open", "BEGIN"),
            query("delete", "DELETE FROM t"),
            transaction(
                "pair",
                &[
                    "INSERT INTO t VALUES (?1, 'a')",
                    "SELECT count(*) FROM t",
                    "INSERT INTO t VALUES (?1 + 1, 'b')",
                ],
            ),
            transaction("looks", &["SELECT count(*) FROM t", "SELECT max(k) FROM t"]),
            query("count", "SELECT count(*) FROM t"),
        ],
        rows: None,
    }
}

fn query(name: &str, sql: &str) -> BoundOp {
    BoundOp {
        name: name.to_owned(),
        kind: BoundOpKind::Query { sql: sql.to_owned(), parameters: Vec::new() },
    }
}

/// Statements that use the op's first value as `?1`.
fn transaction(name: &str, statements: &[&str]) -> BoundOp {
    let statements = statements.iter().map(|sql| {
        let count = usize::from(sql.contains("?1"));
        BoundStatement {
            sql: (*sql).to_owned(),
            parameters: vec![ColumnType::Bigint; count],
            values: vec![0; count],
        }
    });
    BoundOp {
        name: name.to_owned(),
        kind: BoundOpKind::Transaction(BoundTransaction::of_statements(statements)),
    }
}

/// A transaction that inserts `first` and the next number.
fn pair(first: i64) -> Op {
    Op { body: OpBody::Query(vec![Value::Integer(first)]), ..query_op(3) }
}

fn insert(keys: std::ops::Range<i64>, value: &str) -> Op {
    let keys: Vec<i64> = keys.collect();
    Op {
        id: OpId(0),
        index: 0,
        body: OpBody::Insert(RowBatch {
            first_row: 0,
            rows: keys.len(),
            columns: vec![
                ColumnData::Text(keys.iter().map(|_| Box::from(value)).collect()),
                ColumnData::Integer(keys),
            ]
            .into_iter()
            .rev()
            .collect(),
        }),
    }
}

fn query_op(id: u16) -> Op {
    Op { id: OpId(id), index: 0, body: OpBody::Query(Vec::new()) }
}

fn class(outcome: &Outcome) -> Option<ErrorClass> {
    outcome.error.as_ref().map(|error| error.class)
}

/// Runs `test` with statements on a new file with the table.
fn with_statements(
    parameters: &str,
    create: &str,
    test: impl Fn(&Connection, &mut Statements<'_>, &AtomicBool),
) {
    with_database(parameters, create, |_, connection, statements, abandoned| {
        test(connection, statements, abandoned);
    });
}

/// The same, with the database shared by all writers.
fn with_database(
    parameters: &str,
    create: &str,
    test: impl Fn(&Database, &Connection, &mut Statements<'_>, &AtomicBool),
) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bench.db");
    let url = format!("sqlite:{}{parameters}", path.display());
    for insert in ["prepared", "values"] {
        let options = TargetOptions { insert: Some(insert.to_owned()), ..options() };
        let urls = [TargetUrl::parse(&url).unwrap()];
        let database = Database::new(Settings::new(&urls, &options).unwrap());
        let abandoned = Arc::new(AtomicBool::new(false));
        let connection = database.open_connection(&abandoned).unwrap();
        connection.execute_batch(&format!("DROP TABLE IF EXISTS t; {create}")).unwrap();
        let workload = workload(create);
        let flag = Arc::clone(&abandoned);
        let mut statements = Statements::prepare(&connection, &workload, &database, flag).unwrap();
        test(&database, &connection, &mut statements, &abandoned);
    }
}

fn count(connection: &Connection) -> i64 {
    connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_full_disk_rejects_the_whole_batch_and_the_session_continues() {
    with_statements("", PLAIN, |connection, s, _| {
        assert_eq!(s.execute(&insert(0..10, "x")), Outcome::applied(10));
        connection.pragma_update(None, "max_page_count", 10).unwrap();
        let outcome = s.execute(&insert(10..1_000, &"x".repeat(500)));
        assert_eq!(class(&outcome), Some(ErrorClass::Resource), "{outcome:?}");
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert_eq!((outcome.rows_refused, outcome.session_usable), (990, true));
        assert_eq!(count(connection), 10);
        assert_eq!(s.execute(&insert(10..12, "x")), Outcome::applied(2));
        connection.pragma_update(None, "max_page_count", 1 << 30).unwrap();
    });
}

#[test]
fn another_program_that_writes_is_a_conflict_and_nothing_is_applied() {
    with_statements("?busy_timeout=0", PLAIN, |connection, s, _| {
        let other = Connection::open(connection.path().unwrap()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        for op in [insert(0..5, "x"), query_op(2)] {
            let outcome = s.execute(&op);
            assert_eq!(class(&outcome), Some(ErrorClass::Conflict), "{outcome:?}");
            assert_eq!(outcome.certainty, Certainty::NotApplied);
        }
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(s.execute(&insert(0..5, "x")), Outcome::applied(5));
    });
}

#[test]
fn a_reader_that_keeps_a_rollback_journal_from_committing_is_a_conflict() {
    let url = "?journal_mode=delete&busy_timeout=0";
    with_statements(url, PLAIN, |connection, s, _| {
        let other = Connection::open(connection.path().unwrap()).unwrap();
        other.execute_batch("BEGIN; SELECT count(*) FROM t;").unwrap();
        let outcome = s.execute(&insert(0..5, "x"));
        assert_eq!(class(&outcome), Some(ErrorClass::Conflict), "{outcome:?}");
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(count(connection), 0);
        assert_eq!(s.execute(&insert(0..5, "x")), Outcome::applied(5));
    });
}

#[test]
fn rows_that_the_table_itself_ignores_are_refused_rows() {
    let create = "CREATE TABLE t (k INTEGER UNIQUE ON CONFLICT IGNORE, v TEXT)";
    with_statements("", create, |connection, s, _| {
        assert_eq!(s.execute(&insert(0..5, "x")), Outcome::applied(5));
        let outcome = s.execute(&insert(3..8, "x"));
        assert_eq!((outcome.rows_applied, outcome.rows_refused), (3, 2));
        assert_eq!(class(&outcome), Some(ErrorClass::Constraint));
        assert_eq!(outcome.certainty, Certainty::Applied);
        assert_eq!(count(connection), 8);
    });
}

#[test]
fn ops_that_do_not_fit_are_refused_and_leave_no_transaction() {
    with_statements("", PLAIN, |connection, s, _| {
        let mut short = insert(0..5, "x");
        if let OpBody::Insert(batch) = &mut short.body {
            batch.rows = 6;
        }
        assert_eq!(class(&s.execute(&short)), Some(ErrorClass::Data));
        if let OpBody::Insert(batch) = &mut short.body {
            batch.columns.pop();
        }
        assert_eq!(class(&s.execute(&short)), Some(ErrorClass::Data));
        // A missing op, one of the wrong kind, and one that would keep the lock.
        for op in [query_op(9), query_op(0), query_op(1)] {
            let outcome = s.execute(&op);
            assert_eq!(class(&outcome), Some(ErrorClass::Statement), "{outcome:?}");
            assert!(connection.is_autocommit());
        }
        assert_eq!(s.execute(&insert(0..1, "x")), Outcome::applied(1));
    });
}

#[test]
fn an_abandoned_batch_is_undone_and_unknown() {
    with_statements("", PLAIN, |connection, s, abandoned| {
        abandoned.store(true, Ordering::SeqCst);
        let outcome = s.execute(&insert(0..5, "x"));
        assert_eq!(outcome.certainty, Certainty::Unknown);
        assert!(!outcome.session_usable);
        assert!(connection.is_autocommit());
        abandoned.store(false, Ordering::SeqCst);
        assert_eq!(count(connection), 0);
    });
}

#[test]
fn many_writers_never_meet_sqlites_own_lock() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bench.db");
    // Without a busy timeout, any conflict would be an error.
    let url = format!("sqlite:{}?busy_timeout=0", path.display());
    let database = Database::new(settings(&url).unwrap());
    let workload = workload(PLAIN);
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for writer in 0..4 {
            let (database, workload, start) = (&database, &workload, &start);
            scope.spawn(move || {
                let abandoned = Arc::new(AtomicBool::new(false));
                start.wait();
                let connection = database.open_connection(&abandoned).unwrap();
                if writer == 0 {
                    let _writer = database.writer_lock.acquire();
                    connection.execute_batch(&workload.tables[0].create[0]).unwrap();
                }
                start.wait();
                let mut s =
                    Statements::prepare(&connection, workload, database, abandoned).unwrap();
                for _ in 0..50 {
                    assert_eq!(s.execute(&insert(0..20, "x")), Outcome::applied(20));
                }
            });
        }
    });
    let connection = Connection::open(&path).unwrap();
    assert_eq!(count(&connection), 4_000);
}

#[test]
fn processes_that_open_a_new_file_at_once_all_get_it() {
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", directory.path().join("bench.db").display());
        let start = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                // Each with a separate lock, like separate processes.
                let database = Database::new(settings(&url).unwrap());
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    database.open_connection(&Arc::new(AtomicBool::new(false))).unwrap();
                });
            }
        });
    }
}

#[test]
fn a_transaction_counts_as_a_whole_or_not_at_all() {
    let create = "CREATE TABLE t (k INTEGER CHECK (k <> 13), v TEXT)";
    with_statements("", create, |connection, s, _| {
        let outcome = s.execute(&pair(1));
        assert!(outcome.is_success(), "{outcome:?}");
        assert_eq!((outcome.rows_applied, outcome.response_rows), (2, 1));
        assert_eq!(outcome.response_bytes, 8);
        let outcome = s.execute(&pair(12));
        assert_eq!(class(&outcome), Some(ErrorClass::Constraint));
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert!(outcome.session_usable && connection.is_autocommit());
        assert_eq!(count(connection), 2);
        assert!(s.execute(&pair(20)).is_success());
        let flag = s.execute(&query_op(4));
        assert_eq!((flag.rows_applied, flag.response_rows), (0, 2));
        assert_eq!(count(connection), 4);
    });
}

#[test]
fn a_transaction_that_writes_locks_from_its_beginning_and_one_that_reads_never() {
    with_statements("?busy_timeout=0", PLAIN, |connection, s, abandoned| {
        let other = Connection::open(connection.path().unwrap()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let outcome = s.execute(&pair(1));
        assert_eq!(class(&outcome), Some(ErrorClass::Conflict), "{outcome:?}");
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert!(s.execute(&query_op(4)).is_success());
        other.execute_batch("COMMIT").unwrap();
        assert!(s.execute(&pair(1)).is_success());
        abandoned.store(true, Ordering::SeqCst);
        assert_eq!(s.execute(&pair(3)).certainty, Certainty::Unknown);
        abandoned.store(false, Ordering::SeqCst);
        assert_eq!(count(connection), 2);
    });
}

/// Whether `run` had to wait for the writer lock.
fn waits_for_the_writer(database: &Database, query_op: impl FnOnce()) -> bool {
    let begun = Barrier::new(2);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let _writer = database.writer_lock.acquire();
            begun.wait();
            loop {
                let waits = database.writer_lock.waiting() > 0;
                if waits || done.load(Ordering::SeqCst) {
                    return waits;
                }
                thread::yield_now();
            }
        });
        begun.wait();
        query_op();
        done.store(true, Ordering::SeqCst);
        writer.join().unwrap()
    })
}

#[test]
fn a_transaction_that_writes_waits_for_the_writer_and_one_that_reads_does_not() {
    with_database("", PLAIN, |database, _, s, _| {
        assert!(waits_for_the_writer(database, || {
            assert!(s.execute(&pair(1)).is_success());
        }));
        assert!(!waits_for_the_writer(database, || {
            assert!(s.execute(&query_op(4)).is_success());
        }));
    });
}

#[test]
fn a_statement_that_writes_waits_for_the_writer_and_one_that_reads_does_not() {
    with_database("", PLAIN, |database, connection, s, abandoned| {
        assert!(s.execute(&pair(1)).is_success());
        let (delete, counts) = (query_op(2), query_op(5));
        assert!(!waits_for_the_writer(database, || {
            assert_eq!(s.execute(&counts).response_rows, 1);
        }));
        // The op is abandoned before it acquires the lock.
        abandoned.store(true, Ordering::SeqCst);
        assert_eq!(s.execute(&delete).certainty, Certainty::Unknown);
        abandoned.store(false, Ordering::SeqCst);
        assert_eq!(count(connection), 2);
        assert!(waits_for_the_writer(database, || {
            assert_eq!(s.execute(&delete).rows_applied, 2);
        }));
    });
}

struct NoTime;

impl Timeline for NoTime {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    fn sleep_until(&self, _: Nanos) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// The connection before and after the load, which creates and registers tables and tests privileges.
#[test]
fn the_admin_waits_for_the_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bench.db");
    let database =
        Arc::new(Database::new(settings(&format!("sqlite:{}", path.display())).unwrap()));
    let workload = workload(PLAIN);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut admin = runtime.block_on(SqliteAdmin::open(&database, Rc::new(NoTime))).unwrap();
    let policy = TablePolicy::new("fingerprint", Seed(1));
    let mut entries = Vec::new();
    assert!(waits_for_the_writer(&database, || {
        entries = runtime.block_on(admin.create_tables(&workload, &policy)).unwrap();
    }));
    assert!(waits_for_the_writer(&database, || {
        runtime.block_on(admin.update_registry(&entries)).unwrap();
    }));
    assert!(waits_for_the_writer(&database, || {
        assert!(runtime.block_on(admin.try_rights("t2")).unwrap().is_some());
    }));
}

#[test]
fn a_reader_that_keeps_a_transaction_from_committing_is_a_conflict() {
    let url = "?journal_mode=delete&busy_timeout=0";
    with_statements(url, PLAIN, |connection, s, _| {
        let other = Connection::open(connection.path().unwrap()).unwrap();
        other.execute_batch("BEGIN; SELECT count(*) FROM t;").unwrap();
        let outcome = s.execute(&pair(1));
        assert_eq!(class(&outcome), Some(ErrorClass::Conflict), "{outcome:?}");
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(count(connection), 0);
        assert!(s.execute(&pair(1)).is_success());
    });
}
