//! One database file: how it is opened, the state shared by all threads of its target, and the target itself, which
//! opens sessions, the admin and the telemetry reader. Must not know the statements of a workload.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::Notify;

use highwater_driver::contract::{
    Admin, Capabilities, Connect, Response, Session, Target, Timeline,
};
use highwater_driver::telemetry::{MetricSample, TelemetryReader, names};
use highwater_model::numbers::len_to_f64;
use highwater_model::op::PlaceholderStyle;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::admin::SqliteAdmin;
use super::error::opening_error;
use super::settings::{INSERT_MODES, Settings};
use super::thread::{FairWriterLock, SqliteSession};

/// Time between two attempts to set up a connection to a file that another process holds.
const SET_UP_AGAIN_AFTER_MS: u32 = 10;

/// Instructions of SQLite's virtual machine between two checks for an abandoned op.
const ABANDONED_CHECK_EVERY: i32 = 10_000;

/// State shared by the threads of a target.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) settings: Settings,
    pub(super) writer_lock: FairWriterLock,
    // CPU time of the target's threads; added when a request completes.
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
    /// A database that is not open yet.
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            writer_lock: FairWriterLock::default(),
            cpu_nanos: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            ended: Notify::new(),
        }
    }

    /// CPU time of the target's threads so far.
    fn cpu(&self) -> Nanos {
        Nanos(self.cpu_nanos.load(Ordering::Relaxed))
    }

    pub(super) fn charge_cpu(&self, spent: Nanos) {
        self.cpu_nanos.fetch_add(spent.0, Ordering::Relaxed);
    }

    /// An op starts.
    pub(super) fn enter(this: &Arc<Self>) -> Running {
        this.running.fetch_add(1, Ordering::AcqRel);
        Running(Arc::clone(this))
    }

    /// Number of running ops, and of those waiting in the writer queue.
    fn busy(&self) -> (usize, usize) {
        (self.running.load(Ordering::Acquire), self.writer_lock.waiting())
    }

    /// Waits until no op runs.
    pub(super) async fn idle(&self) {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            // Subscribe before checking, so that an end in between is not missed.
            ended.as_mut().enable();
            if self.running.load(Ordering::Acquire) == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Opens the file with the settings. Blocks; statements end soon after `abandoned` is set.
    pub(super) fn open_connection(
        &self,
        abandoned: &Arc<AtomicBool>,
    ) -> Result<Connection, UserError> {
        let path = self.settings.path.as_path();
        self.check_directory(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let fail = |error: rusqlite::Error| opening_error(path, &error);
        let mut connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        // SQLite falls back to read-only mode if it may not write.
        if connection.is_readonly("main").map_err(fail)? {
            let message = format!("`{}` cannot be written", path.display());
            return Err(UserError::refused(message)
                .with_hint("make the file writable, or name another one"));
        }
        {
            // One session initializes a new file; the others find it initialized.
            let _writer = self.writer_lock.acquire();
            self.set_up_in_turn(&connection).map_err(fail)?;
            self.check_journal_mode(&connection)?;
        }
        let wait = Duration::from_millis(self.settings.busy_timeout_ms.into());
        connection.busy_timeout(wait).map_err(fail)?;
        let abandoned = Arc::clone(abandoned);
        let is_abandoned = move || abandoned.load(Ordering::Acquire);
        connection.progress_handler(ABANDONED_CHECK_EVERY, Some(is_abandoned)).map_err(fail)?;
        Ok(connection)
    }

    /// Sets the connection up, with retries while another process does the same. Two that change
    /// the journal mode at once would wait for each other, so SQLite answers one of them "busy"
    /// without regard to its busy timeout.
    fn set_up_in_turn(&self, connection: &Connection) -> rusqlite::Result<()> {
        let is_busy = |error: &rusqlite::Error| {
            let code = error.sqlite_error_code();
            matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
        };
        // The attempts wait, not SQLite within each of them.
        connection.busy_timeout(Duration::ZERO)?;
        for _ in 0..self.settings.busy_timeout_ms / SET_UP_AGAIN_AFTER_MS {
            match self.set_up(connection) {
                Err(error) if is_busy(&error) => {
                    std::thread::sleep(Duration::from_millis(SET_UP_AGAIN_AFTER_MS.into()));
                }
                ended => return ended,
            }
        }
        self.set_up(connection)
    }

    fn set_up(&self, connection: &Connection) -> rusqlite::Result<()> {
        let settings = &self.settings;
        // Before the first page is written; later, it has no effect.
        if let Some(bytes) = settings.page_size {
            connection.pragma_update(None, "page_size", bytes)?;
        }
        connection.pragma_update(None, "journal_mode", settings.journal_mode)?;
        connection.pragma_update(None, "synchronous", settings.synchronous)?;
        if let Some(pages) = settings.cache_size {
            connection.pragma_update(None, "cache_size", pages)?;
        }
        // The first read: it fails if the file is not a database.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
    }

    fn check_journal_mode(&self, connection: &Connection) -> Result<(), UserError> {
        let requested = self.settings.journal_mode;
        let actual: String = connection
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .map_err(|error| opening_error(&self.settings.path, &error))?;
        if actual == requested {
            return Ok(());
        }
        Err(UserError::usage(format!(
            "`{}` cannot use the journal mode `{requested}`; it stays with `{actual}`",
            self.settings.path.display()
        ))
        .with_hint(format!(
            "add `?journal_mode={actual}` to the URL, or name a file on a local file system"
        )))
    }

    fn check_directory(&self, path: &Path) -> Result<(), UserError> {
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let shown = directory.display();
        if self.settings.own_directory {
            return std::fs::create_dir_all(directory).map_err(|error| {
                UserError::unreachable(format!("cannot create directory `{shown}`: {error}"))
                    .with_hint("name a file elsewhere: `sqlite:PATH`")
            });
        }
        if path.is_dir() {
            return Err(UserError::unreachable(format!(
                "`{}` is a directory, not a database file",
                path.display()
            ))
            .with_hint("name a file in it: `sqlite:DIRECTORY/bench.db`"));
        }
        if directory.is_dir() {
            return Ok(());
        }
        Err(UserError::unreachable(format!("directory `{shown}` does not exist"))
            .with_hint("create it first; an absolute path is written `sqlite:/PATH`, without `//`"))
    }
}

/// Sessions of a closed pace without a number: enough to keep the single writer busy while others prepare.
const DEFAULT_SESSIONS: u32 = 4;
/// For estimating an audit: `cargo xtask bench audit` measured 2.9 µs.
const AUDIT_NS_PER_ROW: u64 = 3_000;

/// One database file.
#[derive(Debug)]
pub(super) struct SqliteTarget {
    /// Its file is opened by its first session or admin.
    pub(super) database: Arc<Database>,
}

impl Target for SqliteTarget {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            embedded: true,
            audit_ns_per_row: AUDIT_NS_PER_ROW,
            default_sessions: DEFAULT_SESSIONS,
            insert_modes: INSERT_MODES,
            ..Capabilities::SERVER
        }
    }

    fn placeholders(&self) -> PlaceholderStyle {
        PlaceholderStyle::Question
    }

    fn urls(&self) -> Vec<String> {
        vec![self.database.settings.url.clone()]
    }

    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>> {
        Box::pin(async move {
            let session = SqliteSession::open(&self.database, connect).await?;
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }

    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>> {
        Box::pin(async move {
            let admin = SqliteAdmin::open(&self.database, timeline).await?;
            Ok(Box::new(admin) as Box<dyn Admin>)
        })
    }

    fn telemetry(
        &self,
        _timeline: Rc<dyn Timeline>,
    ) -> Response<'_, Option<Box<dyn TelemetryReader>>> {
        let database = Arc::clone(&self.database);
        let reader: Box<dyn TelemetryReader> = Box::new(FileReader { database });
        Box::pin(std::future::ready(Ok(Some(reader))))
    }

    fn embedded_cpu(&self) -> Nanos {
        self.database.cpu()
    }

    fn files(&self) -> Vec<PathBuf> {
        let settings = &self.database.settings;
        vec![settings.path.clone(), settings.log_path(), settings.path_with("-shm")]
    }
}

/// Reads one database.
struct FileReader {
    pub(super) database: Arc<Database>,
}

impl FileReader {
    fn samples(&self) -> Vec<MetricSample> {
        let settings = &self.database.settings;
        let (active, waiting) = self.database.busy();
        let mut samples = vec![
            MetricSample::level(names::ACTIVE, "1", len_to_f64(active.saturating_sub(waiting))),
            MetricSample::level(names::QUEUE, "1", len_to_f64(waiting)),
        ];
        let mut size = |name, path: &Path| {
            let bytes = std::fs::metadata(path).map(|file| file.len());
            samples.extend(bytes.ok().map(|bytes| {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                MetricSample::level(name, "bytes", len_to_f64(bytes))
            }));
        };
        size("database_bytes", &settings.path);
        size("log_bytes", &settings.log_path());
        samples
    }
}

impl TelemetryReader for FileReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(std::future::ready(Ok(self.samples())))
    }
}
