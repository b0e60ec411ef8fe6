//! The target: one database file, its settings, and what its threads share.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use highwater_core::model::op::PlaceholderStyle;
use highwater_core::model::plan::AuditLevel;
use highwater_core::model::units::Nanos;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Notify;

use crate::contract::{
    Admin, BoxFuture, Capabilities, Connect, Session, Target, TargetError, TargetErrorKind,
    Timeline,
};

use super::admin::SqliteAdmin;
use super::error::opening_error;
use super::session::SqliteSession;
use super::settings::{INSERT_MODES, Settings};
use super::telemetry::FileReader;
use super::turns::Turns;
use crate::telemetry::TelemetryReader;

/// A closed pace that names no number: enough to keep the one writer busy while others prepare.
const DEFAULT_SESSIONS: u32 = 4;
/// For the estimate of an audit: `cargo xtask bench audit` found 2.9 µs.
const AUDIT_NS_PER_ROW: u64 = 3_000;
/// Instructions of SQLite's virtual machine between two looks at whether anyone still waits.
const LOOK_EVERY: i32 = 10_000;

/// One database file.
#[derive(Debug)]
pub(super) struct SqliteTarget {
    database: Arc<Database>,
}

impl SqliteTarget {
    /// A target; the file is opened by its first session or admin.
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            database: Arc::new(Database::new(settings)),
        }
    }
}

impl Target for SqliteTarget {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            embedded: true,
            simulated: false,
            simulated_clock: false,
            one_writer: true,
            stores_values: true,
            auditable: AuditLevel::Full,
            audit_ns_per_row: AUDIT_NS_PER_ROW,
            atomic_batches: true,
            default_sessions: DEFAULT_SESSIONS,
            insert_modes: INSERT_MODES,
        }
    }

    fn placeholders(&self) -> PlaceholderStyle {
        PlaceholderStyle::Question
    }

    fn urls(&self) -> Vec<String> {
        vec![self.database.settings.url.clone()]
    }

    fn host_of(&self, _number: u32, _attempt: u32) -> usize {
        0
    }

    fn connect(&self, connect: Connect) -> BoxFuture<'_, Result<Box<dyn Session>, TargetError>> {
        Box::pin(async move {
            let session = SqliteSession::open(&self.database, connect).await?;
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }

    fn administer(
        &self,
        timeline: Rc<dyn Timeline>,
    ) -> BoxFuture<'_, Result<Box<dyn Admin>, TargetError>> {
        Box::pin(async move {
            let admin = SqliteAdmin::open(&self.database, timeline).await?;
            Ok(Box::new(admin) as Box<dyn Admin>)
        })
    }

    fn telemetry(
        &self,
        _timeline: Rc<dyn Timeline>,
    ) -> BoxFuture<'_, Result<Option<Box<dyn TelemetryReader>>, TargetError>> {
        let reader = FileReader::new(Arc::clone(&self.database));
        let reader: Box<dyn TelemetryReader> = Box::new(reader);
        Box::pin(std::future::ready(Ok(Some(reader))))
    }

    fn embedded_cpu(&self) -> Nanos {
        Nanos(self.database.cpu_nanos.load(Ordering::Relaxed))
    }
}

/// What the threads of a target share.
#[derive(Debug)]
pub(super) struct Database {
    settings: Settings,
    turns: Turns,
    // CPU time of the target's threads; a question under way is added when it is answered.
    cpu_nanos: AtomicU64,
    running: AtomicUsize,
    ended: Notify,
}

/// Counts as a running op while it lives.
#[derive(Debug)]
pub(super) struct Running(Arc<Database>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.ended.notify_waiters();
    }
}

impl Database {
    /// Nothing is open yet.
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            turns: Turns::default(),
            cpu_nanos: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            ended: Notify::new(),
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(super) fn charge_cpu(&self, spent: Nanos) {
        self.cpu_nanos.fetch_add(spent.0, Ordering::Relaxed);
    }

    /// An op starts.
    pub(super) fn enter(this: &Arc<Self>) -> Running {
        this.running.fetch_add(1, Ordering::AcqRel);
        Running(Arc::clone(this))
    }

    /// Ops that run, and those of them that wait for their turn to write.
    pub(super) fn busy(&self) -> (usize, usize) {
        (self.running.load(Ordering::Acquire), self.turns.waiting())
    }

    /// Waits until no op runs.
    pub(super) async fn idle(&self) {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            // Listening before looking: an end in between is not missed.
            ended.as_mut().enable();
            if self.running.load(Ordering::Acquire) == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Opens the file as the settings say. Blocks; statements end soon after `abandoned` is set.
    pub(super) fn open_connection(
        &self,
        abandoned: &Arc<AtomicBool>,
    ) -> Result<Connection, TargetError> {
        let path = self.settings.path.as_path();
        self.check_directory(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let fail = |error: rusqlite::Error| opening_error(path, &error);
        let mut connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        let wait = Duration::from_millis(self.settings.busy_timeout_ms.into());
        connection.busy_timeout(wait).map_err(fail)?;
        // SQLite falls back to reading only when it may not write.
        if connection.is_readonly("main").map_err(fail)? {
            return Err(TargetError {
                kind: TargetErrorKind::Refused,
                message: format!("`{}` cannot be written", path.display()),
                hint: Some("make the file writable, or name another one".to_owned()),
            });
        }
        {
            // A new file is set up by one session; the others find it so.
            let _turn = self.turns.wait();
            self.set_up(&connection).map_err(fail)?;
            self.check_journal_mode(&connection)?;
        }
        let abandoned = Arc::clone(abandoned);
        let look = move || abandoned.load(Ordering::Acquire);
        connection
            .progress_handler(LOOK_EVERY, Some(look))
            .map_err(fail)?;
        Ok(connection)
    }

    fn set_up(&self, connection: &Connection) -> rusqlite::Result<()> {
        let settings = &self.settings;
        // Before the first page is written, or it has no effect.
        if let Some(bytes) = settings.page_size {
            connection.pragma_update(None, "page_size", bytes)?;
        }
        connection.pragma_update(None, "journal_mode", settings.journal_mode)?;
        connection.pragma_update(None, "synchronous", settings.synchronous)?;
        if let Some(pages) = settings.cache_size {
            connection.pragma_update(None, "cache_size", pages)?;
        }
        // The first read: it fails if this is not a database.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
    }

    fn check_journal_mode(&self, connection: &Connection) -> Result<(), TargetError> {
        let asked = self.settings.journal_mode;
        let got: String = connection
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .map_err(|error| opening_error(&self.settings.path, &error))?;
        if got == asked {
            return Ok(());
        }
        Err(TargetError::usage(format!(
            "`{}` cannot use the journal mode `{asked}`; it stays with `{got}`",
            self.settings.path.display()
        ))
        .with_hint(format!(
            "add `?journal_mode={got}` to the URL, or name a file on a local file system"
        )))
    }

    fn check_directory(&self, path: &Path) -> Result<(), TargetError> {
        let directory = match path.parent() {
            None => Path::new("."),
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
        };
        let shown = directory.display();
        if self.settings.own_directory {
            return std::fs::create_dir_all(directory).map_err(|error| {
                TargetError::unreachable(format!("cannot create directory `{shown}`: {error}"))
                    .with_hint("name a file elsewhere: `sqlite:PATH`")
            });
        }
        if path.is_dir() {
            return Err(TargetError::unreachable(format!(
                "`{}` is a directory, not a database file",
                path.display()
            ))
            .with_hint("name a file in it: `sqlite:DIRECTORY/bench.db`"));
        }
        if directory.is_dir() {
            return Ok(());
        }
        Err(
            TargetError::unreachable(format!("directory `{shown}` does not exist")).with_hint(
                "create it first; an absolute path is written `sqlite:/PATH`, without `//`",
            ),
        )
    }
}
