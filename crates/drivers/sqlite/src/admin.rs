//! Operations before and after the load, on a separate connection: sends each task to the connection's thread. Must not
//! contain the tasks; see `tables`, `audit`, and `describe`.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{Either, join, select};
use highwater_model::op::{BoundTable, BoundWorkload, Value};
use highwater_model::stored::KeyRange;
use highwater_model::table_shape::TableShape;
use highwater_model::units::Nanos;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use highwater_driver::contract::{
    KeyCounts, KeySums, Response, RowTaker, ServerAdmin, TableAdmin, TableDescriber, TableReader,
    TargetFacts, Timeline,
};
use highwater_driver::regular_file::DiskSpace;
use highwater_driver::sql::dialect::{ConditionWords, Dialect, condition};
use highwater_driver::sql::dialect::{literal, quoted};
use highwater_driver::sql::leases::{self, LeaseWords};
use highwater_driver::sql::tables::listed_tables;
use highwater_driver::sql_query::{SqlQuery, Texts};
use highwater_driver::table_registry::{self, Right};
use highwater_driver::table_registry::{Lease, LeaseAction};
use highwater_driver::table_registry::{RegistryEntry, TablePolicy};
use highwater_model::user_error::UserError;

use super::audit;
use super::database::Database;
use super::describe;
use super::error::statement_error;
use super::tables;
use super::thread::{self, ConnectionThread, ConnectionWorker};

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
            tables::create(connection, &workload, &policy)
        }))
    }

    fn update_registry<'a>(&'a mut self, entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        let database = Arc::clone(&self.database);
        let entries = entries.to_vec();
        Box::pin(self.run(move |connection| {
            let _writer = database.writer_lock.acquire();
            tables::update(connection, &entries)
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
        Box::pin(self.run(move |connection| tables::count_by_key(connection, &table, width)))
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
