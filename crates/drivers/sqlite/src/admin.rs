//! Operations before and after the load, on a separate connection: sends each task to the connection's thread. It
//! creates, keeps or replaces tables, and registers them in `highwater_tables`; `audit` and `describe` are elsewhere.
//!
//! SQLite's DDL is transactional, so a workload's tables exist with their entries, or not at all.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{Either, join, select};
use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use highwater_driver::contract::{
    KeyCounts, KeySums, Response, RowTaker, ServerAdmin, TableAdmin, TableDescriber, TableReader,
    TargetFacts, Timeline,
};
use highwater_driver::regular_file::DiskSpace;
use highwater_driver::sql::connection::{SqlQuery, Texts};
use highwater_driver::sql::dialect::{ConditionWords, Dialect, condition, literal, quoted};
use highwater_driver::sql::leases::{self, LeaseWords};
use highwater_driver::sql::tables::{entry, listed_tables};
use highwater_driver::table_registry::{
    self, Lease, LeaseAction, REGISTRY_TABLE, RegistryEntry, Right, TableAction, TablePolicy,
    creates_more_than_tables,
};
use highwater_model::op::{BoundTable, BoundWorkload, Value};
use highwater_model::stored::KeyRange;
use highwater_model::table_shape::TableShape;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::database::Database;
use super::error::statement_error;
use super::thread::{self, ConnectionThread, ConnectionWorker};
use super::{audit, describe};

/// Maximum chunks of rows in flight to the reader.
const CHUNKS_UNDERWAY: usize = 4;

/// A task for the thread; it sends its own result.
type Work = Box<dyn FnOnce(&Connection) + Send>;

/// The connection for operations before and after the load.
pub(super) struct SqliteAdmin {
    thread: ConnectionThread<Work, ()>,
    database: Arc<Database>,
    timeline: Rc<dyn Timeline>,
}

impl SqliteAdmin {
    /// Opens the file.
    pub(super) async fn open(
        database: &Arc<Database>,
        timeline: Rc<dyn Timeline>,
    ) -> Result<Self, UserError> {
        let name = "sqlite-admin".to_owned();
        let thread = thread::start(database, name, timeline.as_ref(), serve_work).await?;
        Ok(Self { thread, database: Arc::clone(database), timeline })
    }

    async fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, UserError> + Send + 'static,
    ) -> Result<T, UserError> {
        let (give, take) = oneshot::channel();
        let work: Work = Box::new(move |connection| drop(give.send(work(connection))));
        let closed = || UserError::unreachable("the connection around the load is closed");
        self.thread.request(work).await.map_err(|_| closed())?;
        take.await.map_err(|_| closed())?
    }
}

fn serve_work(connection: &Connection, worker: &mut ConnectionWorker<Work, ()>) {
    worker.ready(connection);
    while let Some((work, running)) = worker.next() {
        work(connection);
        drop(running);
        worker.respond(());
    }
}

impl SqlQuery for SqliteAdmin {
    async fn texts(&mut self, sql: &str) -> Result<Texts, UserError> {
        let sql = sql.to_owned();
        self.run(move |connection| describe::rows(connection, "the table's description", &sql))
            .await
    }
}

/// Runs statements while no session of this process writes; the text names their subject, for errors.
struct InTurn<'a>(&'a mut SqliteAdmin, &'static str);

impl SqlQuery for InTurn<'_> {
    async fn texts(&mut self, sql: &str) -> Result<Texts, UserError> {
        let (database, sql, what) = (Arc::clone(&self.0.database), sql.to_owned(), self.1);
        let work = move |connection: &Connection| {
            let _writer = database.writer_lock.acquire();
            describe::rows(connection, what, &sql)
        };
        self.0.run(work).await
    }
}

/// SQL of leases; SQLite has no connection locks.
const LEASES: LeaseWords =
    LeaseWords::plain(literal, "TEXT", "CAST(unixepoch('subsec') * 1000 AS INTEGER)");
/// SQL of the registry.
const REGISTRY: Dialect = Dialect {
    exists: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = {name} COLLATE NOCASE",
    ..Dialect::standard(&["sqlite"], LEASES, "")
};

impl ServerAdmin for SqliteAdmin {
    fn facts(&mut self) -> Response<'_, TargetFacts> {
        let database = Arc::clone(&self.database);
        Box::pin(self.run(move |connection| facts(connection, &database)))
    }

    fn quiesce(&mut self, deadline: Nanos) -> Response<'_, bool> {
        // Commits are visible at once; only running ops can change anything.
        Box::pin(async move {
            let idle = std::pin::pin!(self.database.idle());
            let first = select(idle, self.timeline.sleep_until(deadline)).await;
            Ok(matches!(first, Either::Left(_)))
        })
    }

    fn disk(&mut self) -> Response<'_, Option<DiskSpace>> {
        let path = self.database.settings.path.clone();
        // On the connection's thread, because a file system may be slow.
        Box::pin(self.run(move |_| Ok(DiskSpace::of_path(&path))))
    }

    fn try_rights<'a>(&'a mut self, table: &'a str) -> Response<'a, Option<Vec<Right>>> {
        Box::pin(async move {
            let mut connection = InTurn(self, "a table to try what is allowed");
            table_registry::try_all(&mut connection, &quoted(table), "").await.map(Some)
        })
    }
}

impl TableAdmin for SqliteAdmin {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>> {
        let database = Arc::clone(&self.database);
        let workload = workload.clone();
        let (fingerprint, foreign) = (policy.fingerprint.to_owned(), policy.drop_foreign.to_vec());
        let (seed, drop) = (policy.seed, policy.drop);
        let settings = policy.settings.to_vec();
        Box::pin(self.run(move |connection| {
            let policy = TablePolicy {
                fingerprint: &fingerprint,
                seed,
                drop,
                drop_foreign: &foreign,
                settings: &settings,
            };
            let _writer = database.writer_lock.acquire();
            create(connection, &workload, &policy)
        }))
    }

    fn update_registry<'a>(&'a mut self, entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        let database = Arc::clone(&self.database);
        let entries = entries.to_vec();
        Box::pin(self.run(move |connection| {
            let _writer = database.writer_lock.acquire();
            update(connection, &entries)
        }))
    }

    fn leases<'a>(&'a mut self, action: LeaseAction<'a>) -> Response<'a, Vec<Lease>> {
        Box::pin(async move {
            let mut connection = InTurn(self, "the leases of tables");
            leases::perform(&mut connection, &LEASES, action).await
        })
    }

    fn listed_tables<'a>(&'a mut self, drop: &'a [String]) -> Response<'a, Vec<RegistryEntry>> {
        Box::pin(listed_tables(self, &REGISTRY, drop))
    }

    /// Bytes of the whole file and its write-ahead log, including other tables.
    fn storage_bytes<'a>(&'a mut self, _workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        let log = self.database.settings.log_path();
        Box::pin(self.run(move |connection| {
            let pages: u64 = pragma(connection, "page_count")?;
            let page_size: u64 = pragma(connection, "page_size")?;
            // There is no log before the first write, or in other journal modes.
            let log_bytes = std::fs::metadata(log).map_or(0, |file| file.len());
            Ok(Some(pages * page_size + log_bytes))
        }))
    }
}

impl TableReader for SqliteAdmin {
    fn count_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> Response<'a, KeyCounts> {
        let table = table.clone();
        Box::pin(self.run(move |connection| count_by_key(connection, &table, width)))
    }

    fn sums_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64) -> Response<'a, KeySums> {
        let table = table.clone();
        Box::pin(self.run(move |connection| audit::sums_by_key(connection, &table, width)))
    }

    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()> {
        let (table, ranges) = (table.clone(), ranges.to_vec());
        let (sender, mut receiver) = mpsc::channel(CHUNKS_UNDERWAY);
        let reading = self.run(move |connection| {
            audit::read_rows(connection, &table, &ranges, |rows| sender.blocking_send(rows).is_ok())
        });
        Box::pin(async move {
            let taking = async {
                while let Some(rows) = receiver.recv().await {
                    rows.into_iter().for_each(&mut *take);
                }
            };
            join(reading, taking).await.0
        })
    }

    fn condition(&self, table: &BoundTable, row: &[Value]) -> Option<String> {
        let words = ConditionWords {
            quoted,
            literal,
            booleans: ["FALSE", "TRUE"],
            milliseconds: &str::to_owned,
            attribute: &|column, attribute| format!("{column} ->> {}", literal(attribute)),
        };
        Some(condition(&words, table, row))
    }

    fn query<'a>(&'a mut self, sql: &'a str) -> Response<'a, Vec<Vec<Option<String>>>> {
        Box::pin(self.texts(sql))
    }
}

impl TableDescriber for SqliteAdmin {
    fn describe<'a>(&'a mut self, table: &'a str) -> Response<'a, TableShape> {
        let place = format!("`{}`", self.database.settings.path.display());
        Box::pin(async move { describe::describe(self, &place, table).await })
    }
}

fn facts(connection: &Connection, database: &Database) -> Result<TargetFacts, UserError> {
    let settings = &database.settings;
    let journal_mode: String = pragma(connection, "journal_mode")?;
    let level: i64 = pragma(connection, "synchronous")?;
    let synchronous = match level {
        0 => "off",
        1 => "normal",
        2 => "full",
        _ => "extra",
    };
    let mut facts = TargetFacts {
        version: format!("SQLite {}", rusqlite::version()),
        dialects: vec!["sqlite".to_owned()],
        traits: vec![
            journal_mode.to_uppercase(),
            format!("synchronous={}", synchronous.to_uppercase()),
            "one writer".to_owned(),
        ],
        transactions: true,
        atomic_batches: true,
        ..TargetFacts::default()
    };
    for (name, value) in [
        ("busy_timeout_ms", settings.busy_timeout_ms.to_string()),
        ("durability", settings.durability().to_owned()),
        ("insert", settings.insert.name().to_owned()),
        ("journal_mode", journal_mode),
        ("synchronous", synchronous.to_owned()),
    ] {
        facts.settings.insert(name.to_owned(), value);
    }
    for name in ["cache_size", "page_size", "wal_autocheckpoint"] {
        let value: i64 = pragma(connection, name)?;
        facts.settings.insert(name.to_owned(), value.to_string());
    }
    if level == 0 {
        let relaxed = "synchronous=off".to_owned();
        let name = "durability.relaxed".to_owned();
        facts.settings.insert(name, relaxed);
    }
    Ok(facts)
}

fn pragma<T: rusqlite::types::FromSql>(
    connection: &Connection,
    name: &str,
) -> Result<T, UserError> {
    connection
        .pragma_query_value(None, name, |row| row.get(0))
        .map_err(|error| statement_error(&format!("pragma `{name}`"), &error))
}

/// Creates, keeps or replaces the workload's tables and registers them, in one transaction. The
/// caller holds the writer lock.
pub(super) fn create(
    connection: &Connection,
    workload: &BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, UserError> {
    in_transaction(connection, "cannot create tables", || {
        let create = format!(
            "CREATE TABLE IF NOT EXISTS {REGISTRY_TABLE} \
             (name TEXT PRIMARY KEY COLLATE NOCASE, \
             fingerprint TEXT NOT NULL, seed TEXT NOT NULL, \"rows\" INTEGER, \
             next_index INTEGER NOT NULL, writing INTEGER NOT NULL)"
        );
        run(connection, &registry_name(), &create)?;
        let actions = workload.tables.iter().map(|table| {
            let there = exists(connection, &table.name)?;
            policy.action(&table.name, there, registered(connection, &table.name)?)
        });
        // Check all before changing the first one.
        let actions: Vec<TableAction> = actions.collect::<Result<_, _>>()?;
        workload
            .tables
            .iter()
            .zip(actions)
            .map(|(table, action)| apply(connection, table, action, policy))
            .collect()
    })
}

/// Replaces the entries of tables. The caller holds the writer lock.
fn update(connection: &Connection, entries: &[RegistryEntry]) -> Result<(), UserError> {
    in_transaction(connection, "cannot note tables", || {
        entries.iter().try_for_each(|entry| write(connection, entry))
    })
}

fn in_transaction<T>(
    connection: &Connection,
    what: &str,
    act: impl FnOnce() -> Result<T, UserError>,
) -> Result<T, UserError> {
    run(connection, what, "BEGIN IMMEDIATE")?;
    let done = act().and_then(|done| run(connection, what, "COMMIT").map(|()| done));
    if done.is_err() && !connection.is_autocommit() {
        // The first error is the one to report; closing the connection undoes the rest anyway.
        std::mem::drop(connection.execute_batch("ROLLBACK"));
    }
    done
}

/// Runs statements without rows; `what` names their subject, for errors.
fn run(connection: &Connection, what: &str, sql: &str) -> Result<(), UserError> {
    let done = connection.execute_batch(sql);
    done.map_err(|error| statement_error(what, &error))
}

fn apply(
    connection: &Connection,
    table: &BoundTable,
    action: TableAction,
    policy: &TablePolicy<'_>,
) -> Result<RegistryEntry, UserError> {
    let what = format!("table `{}`", table.name);
    let change = |sql: &str| run(connection, &what, sql);
    let mut is_emptied = false;
    match action {
        TableAction::Keep(entry) => return Ok(entry),
        TableAction::Create => {}
        TableAction::Remake if creates_more_than_tables(&table.create) => {
            change(&format!("DELETE FROM {}", quoted(&table.name)))?;
            is_emptied = true;
        }
        TableAction::Replace | TableAction::Remake => {
            change(&format!("DROP TABLE {}", quoted(&table.name)))?;
        }
    }
    let create = if is_emptied { &[][..] } else { &table.create };
    for sql in create {
        change(sql)?;
    }
    if !exists(connection, &table.name)? {
        return Err(UserError::statement(format!(
            "{what} is not there after the workload's statements created it"
        ))
        .with_hint("the name in the workload's CREATE TABLE must be the table's"));
    }
    let entry = policy.new_entry(&table.name);
    write(connection, &entry)?;
    Ok(entry)
}

fn registered(connection: &Connection, name: &str) -> Result<Option<RegistryEntry>, UserError> {
    let sql = format!(
        "SELECT name, fingerprint, seed, \"rows\", next_index, writing FROM {REGISTRY_TABLE} \
         WHERE name = {}",
        literal(name)
    );
    let rows = describe::rows(connection, &registry_name(), &sql)?;
    Ok(rows.first().and_then(|row| entry(row)))
}

fn write(connection: &Connection, entry: &RegistryEntry) -> Result<(), UserError> {
    let sql = format!(
        "INSERT OR REPLACE INTO {REGISTRY_TABLE} \
         (name, fingerprint, seed, \"rows\", next_index, writing) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    );
    let values = params![
        entry.name,
        entry.fingerprint,
        entry.seed.0.to_string(),
        entry.rows,
        entry.next_index,
        entry.writing
    ];
    let written = connection.execute(&sql, values);
    written.map_err(|error| statement_error(&registry_name(), &error))?;
    Ok(())
}

/// The registry in errors.
fn registry_name() -> String {
    format!("table `{REGISTRY_TABLE}`")
}

fn exists(connection: &Connection, name: &str) -> Result<bool, UserError> {
    let sql = format!(
        "SELECT 1 FROM sqlite_schema WHERE type IN ('table', 'view') AND name = {} COLLATE NOCASE",
        literal(name)
    );
    Ok(!describe::rows(connection, "the table registry", &sql)?.is_empty())
}

/// The error of a statement on a table, with a separate kind if the table does not exist.
pub(super) fn table_error(
    connection: &Connection,
    table: &BoundTable,
    what: &str,
    error: &rusqlite::Error,
) -> UserError {
    let mut error = statement_error(&format!("{what} `{}`", table.name), error);
    if matches!(exists(connection, &table.name), Ok(false)) {
        error.kind = UserErrorKind::MissingTable;
    }
    error
}

/// The table, or the rows of its slice.
pub(super) fn rows_of(table: &BoundTable) -> String {
    let slice = table.slice_condition();
    let slice = slice.map_or(String::new(), |slice| format!(" WHERE {slice}"));
    format!("{}{slice}", quoted(&table.name))
}

/// Counts rows by key div `width`.
fn count_by_key(
    connection: &Connection,
    table: &BoundTable,
    width: u64,
) -> Result<KeyCounts, UserError> {
    if width == 0 {
        return Err(UserError::usage("keys cannot be counted in buckets of width 0"));
    }
    let key = &table.key;
    // Keys are below 2^63: a wider bucket contains them all. SQLite truncates an integer quotient, which for
    // nonnegative keys is its floor.
    let bucket = match i64::try_from(width) {
        Ok(width) => format!("({key}) / {width}"),
        Err(_) => "0".to_owned(),
    };
    let sql = format!(
        "SELECT CASE WHEN ({key}) >= 0 THEN {bucket} END, count(*) FROM {} GROUP BY 1 ORDER BY 1",
        rows_of(table)
    );
    let failed = |error| table_error(connection, table, "keys of table", &error);
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut counts = KeyCounts::default();
    while let Some(row) = rows.next().map_err(failed)? {
        // A key expression that is not an integer fails here.
        let bucket: Option<u64> = row.get(0).map_err(failed)?;
        let count: u64 = row.get(1).map_err(failed)?;
        match bucket {
            Some(bucket) => counts.buckets.push((bucket, count)),
            None => counts.without_key = count,
        }
    }
    Ok(counts)
}
