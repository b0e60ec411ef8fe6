//! The contract between the runner and a driver.
//!
//! [`Driver`] opens a [`Target`] without any I/O; a target connects [`Session`]s for the load and
//! one [`Admin`] for everything around it. Sessions and admins live on one executor thread, so
//! their futures are not `Send`; a target is shared between threads.
//!
//! Must not read a clock (a driver that needs time uses the [`Timeline`]), retry (the worker does,
//! by the plan's policy), or write text for the user (errors carry it).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use highwater_model::op::{BoundTable, BoundWorkload, Op, OpBody, OpId, PlaceholderStyle, Value};
use highwater_model::outcome::Outcome;
use highwater_model::plan::AuditLevel;
use highwater_model::stored::{KeyRange, StoredRow};
use highwater_model::table_shape::TableShape;
use highwater_model::units::{Nanos, Seed};

use crate::disk::DiskSpace;
pub use crate::error::{TargetError, TargetErrorKind};
pub use crate::future::BoxFuture;
use crate::lease::{Lease, LeaseAction};
use crate::rights::Right;
use crate::table_registry::{RegistryEntry, TablePolicy};
use crate::target_url::TargetUrl;
use crate::telemetry::TelemetryReader;

/// Time as the run sees it: real, or simulated.
pub trait Timeline {
    /// Time since the start of the run.
    fn now(&self) -> Nanos;
    /// Completes at `deadline`, at once if that is past.
    fn sleep_until(&self, deadline: Nanos) -> BoxFuture<'static, ()>;
}

/// A kind of database that Highwater can talk to.
pub trait Driver: Sync {
    /// The name used in records, such as `sim`.
    fn name(&self) -> &'static str;
    /// URL schemes, without the colon.
    fn schemes(&self) -> &'static [&'static str];
    /// One line for help texts: what it talks, and an example URL.
    fn summary(&self) -> &'static str;
    /// A URL that works with nothing installed, for use when no target is named.
    fn default_url(&self) -> Option<&'static str> {
        None
    }
    /// The URL of a sink that its sessions can talk to, for the load generator's own ceiling.
    fn sink(&self) -> Option<&'static str> {
        None
    }
    /// Environment variables that hold a secret and are read. Commands that are started for the user
    /// must not get them.
    fn secret_variables(&self) -> &'static [&'static str] {
        &[]
    }
    /// Checks URLs and options and makes a target; no I/O.
    fn open(
        &self,
        urls: &[TargetUrl],
        options: &TargetOptions,
    ) -> Result<Arc<dyn Target>, TargetError>;
}

/// The user's options for a target besides its URLs.
#[derive(Debug, Clone)]
pub struct TargetOptions {
    /// `--insert`: one of [`Capabilities::insert_modes`]; the first of them when absent.
    pub insert: Option<String>,
    /// Where an embedded target may put its files when its URL names none.
    pub data_directory: Option<PathBuf>,
    /// Shown to the server as the name of this program's connections.
    pub application_name: String,
    /// Simulated targets derive everything random from it.
    pub seed: Seed,
    /// Bound of one attempt to connect.
    pub connect_timeout: Nanos,
}

/// What a target can do, before any I/O.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// It runs inside this process; the CPU time of its threads is the database's.
    pub embedded: bool,
    /// It is a model, not a database.
    pub simulated: bool,
    /// The run uses the simulated clock.
    pub simulated_clock: bool,
    /// Only one session writes at a time, whatever the number of sessions.
    pub one_writer: bool,
    /// SQL finds inserted rows again; false for a model or a sink.
    pub stores_values: bool,
    /// The highest audit level that it supports: `off` for a sink, which stores nothing.
    pub auditable: AuditLevel,
    /// Approximate time of the audit per row, for the estimate before a run; nanoseconds.
    pub audit_ns_per_row: u64,
    /// A batch insert is applied as a whole or not at all, in every insert mode.
    pub atomic_batches: bool,
    /// Sessions for a closed pace that names no number.
    pub default_sessions: u32,
    /// Ways to insert, the default first.
    pub insert_modes: &'static [&'static str],
}

/// Facts about a target, as it reports them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetFacts {
    /// Product and version as one line, such as the answer to `SELECT version()`.
    pub version: String,
    /// Names of SQL dialects that it understands, best first.
    pub dialects: Vec<String>,
    /// Settings that matter for a repetition: durability, changed ones, insert mode.
    pub settings: BTreeMap<String, String>,
    /// A few words for the summary's first line, such as `one writer`.
    pub traits: Vec<String>,
    /// What its tables have besides columns.
    pub tables: TableFeatures,
    /// Several statements can be one transaction.
    pub transactions: bool,
}

/// Properties that a table can be created with, besides its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableFeatures {
    /// It has shards with replicas: `--shards`, `--replicas`.
    pub shards: bool,
    /// It has settings of its own: `--with`.
    pub settings: bool,
}

/// What a session is opened for.
#[derive(Clone)]
pub struct Connect {
    /// Statements to prepare once.
    pub workload: Arc<BoundWorkload>,
    /// Number of the session in the run, from 0; hosts are taken round robin by it.
    pub number: u32,
    /// Attempt, from 0; a further attempt may take the next host.
    pub attempt: u32,
    /// The run's time.
    pub timeline: Rc<dyn Timeline>,
}

/// A database at one or more URLs. Shared between executor threads.
pub trait Target: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// How its dialect writes parameters.
    fn placeholders(&self) -> PlaceholderStyle;
    /// URLs for display and records, without secrets; one per host.
    fn urls(&self) -> Vec<String>;
    /// The host (an index into [`Target::urls`]) that session `number` talks to at `attempt`.
    fn host_of(&self, number: u32, attempt: u32) -> usize;
    /// Opens a session and prepares its statements.
    fn connect(&self, connect: Connect) -> BoxFuture<'_, Result<Box<dyn Session>, TargetError>>;
    /// Fails with a statement of the workload that the target refuses, executing none. Connecting does
    /// that, where it prepares statements.
    fn check_statements(&self, connect: Connect) -> BoxFuture<'_, Result<(), TargetError>> {
        Box::pin(async move { self.connect(connect).await.map(drop) })
    }
    /// Opens what is needed around the load.
    fn administer(
        &self,
        timeline: Rc<dyn Timeline>,
    ) -> BoxFuture<'_, Result<Box<dyn Admin>, TargetError>>;
    /// Opens a separate connection for telemetry during the load; none if the target has no
    /// telemetry.
    fn telemetry(
        &self,
        _timeline: Rc<dyn Timeline>,
    ) -> BoxFuture<'_, Result<Option<Box<dyn TelemetryReader>>, TargetError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Whether all of it runs on this machine, so that this machine's CPU, disks and networks are
    /// its own too.
    fn is_local(&self) -> bool {
        false
    }
    /// CPU time that the target's own threads spent inside this process so far.
    fn embedded_cpu(&self) -> Nanos {
        Nanos::ZERO
    }
    /// Whether it stores nothing, so that there is nothing to audit: a sink, whose figures are
    /// those of the load generator.
    fn is_sink(&self) -> bool {
        false
    }
}

/// An op on its way: content, and what the encoder made of it.
#[derive(Debug)]
pub struct Request {
    /// The op.
    pub op: Op,
    /// Its wire form; drivers without a wire leave it empty. Reused from op to op.
    pub bytes: Vec<u8>,
}

impl Request {
    /// A request without memory of its own.
    pub fn empty() -> Self {
        Self {
            op: Op {
                id: OpId(0),
                index: 0,
                body: OpBody::Query(Vec::new()),
            },
            bytes: Vec::new(),
        }
    }
}

/// Turns ops into their wire form; pure CPU work, done before the clock of the op starts.
pub trait Encoder {
    /// Clears `request.bytes` and writes the wire form of `request.op`.
    fn encode(&mut self, request: &mut Request);
}

/// One connection.
pub trait Session {
    /// An encoder for this session's requests; usable while the session executes another one.
    fn encoder(&self) -> Box<dyn Encoder>;
    /// Ready when the target has closed this connection, which is idle: it is polled only while no
    /// request is executed. A target without connections never closes one.
    fn poll_closed(&mut self, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
    /// Executes one request. Dropping the future abandons the op, and the session with it.
    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome>;
}

/// Rows of a table, counted by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyCounts {
    /// (key div width, rows), ascending, buckets without rows left out.
    pub buckets: Vec<(u64, u64)>,
    /// Rows whose key is null or negative.
    pub without_key: u64,
}

/// Rows of a table and their checksums, by key. See [`highwater_model::checksum`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeySums {
    /// Ascending, buckets without rows left out.
    pub buckets: Vec<BucketSums>,
    /// Per column whether its sums were made; a dialect without a hash leaves text out.
    pub covered: Vec<bool>,
    /// Rows whose key is null or negative.
    pub without_key: u64,
}

/// The rows of one range of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BucketSums {
    /// Key div width.
    pub bucket: u64,
    /// How many.
    pub rows: u64,
    /// Per column Σ weight(key) · residue(value) modulo 2⁶⁴; 0 where it is not covered.
    pub sums: Vec<u64>,
}

impl KeySums {
    /// Adds rows of a group of keys that is a part of bucket `bucket`; groups come ascending.
    pub fn add(&mut self, bucket: u64, rows: u64, sums: &[u64]) {
        match self.buckets.last_mut() {
            Some(last) if last.bucket == bucket => {
                last.rows += rows;
                for (sum, more) in last.sums.iter_mut().zip(sums) {
                    *sum = sum.wrapping_add(*more);
                }
            }
            _ => self.buckets.push(BucketSums {
                bucket,
                rows,
                sums: sums.to_vec(),
            }),
        }
    }
}

/// The copies of one shard, where the target keeps several and can count each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardCopies {
    /// Names table, partition and shard for people.
    pub shard: String,
    /// Rows of each copy that is in use.
    pub rows: Vec<u64>,
}

/// Takes rows that are read back, one by one.
pub type RowTaker<'a> = dyn FnMut(StoredRow) + 'a;

/// Everything that a run does with a target before and after the load.
pub trait Admin {
    /// Reads the target's facts.
    fn facts(&mut self) -> BoxFuture<'_, Result<TargetFacts, TargetError>>;
    /// Creates, keeps or replaces the workload's tables, as [`TablePolicy::action`] decides, and
    /// registers them. Returns their registry entries in the order of the workload. If one table is
    /// refused, none is changed.
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> BoxFuture<'a, Result<Vec<RegistryEntry>, TargetError>>;
    /// Replaces the registry entries of these tables, which are registered.
    fn update_registry<'a>(
        &'a mut self,
        entries: &'a [RegistryEntry],
    ) -> BoxFuture<'a, Result<(), TargetError>>;
    /// Does something with the leases of tables, and returns all that are there then. Called only
    /// if the target stores values, and is no model.
    fn leases<'a>(
        &'a mut self,
        action: LeaseAction<'a>,
    ) -> BoxFuture<'a, Result<Vec<Lease>, TargetError>>;
    /// Waits until no statement of this program's sessions runs any more and all that was
    /// acknowledged is visible; false if `deadline` came first.
    fn quiesce(&mut self, deadline: Nanos) -> BoxFuture<'_, Result<bool, TargetError>>;
    /// Counts rows by key div `width`.
    fn count_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> BoxFuture<'a, Result<KeyCounts, TargetError>>;
    /// Counts rows and adds up their checksums by key div `width`, a power of two.
    ///
    /// A statement groups by at most [`GROUP_WIDTH_MAX`](highwater_model::checksum) keys, so
    /// that 64-bit sums cannot overflow; wider buckets are put together afterwards, modulo 2⁶⁴. A
    /// column's value is its [`value`](highwater_model::op::BoundColumn::value) expression,
    /// or the dialect's expression for its type. Called only if [`Capabilities::auditable`] allows
    /// it.
    fn sums_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> BoxFuture<'a, Result<KeySums, TargetError>>;
    /// Gives every row whose key is in one of the ranges (ascending, apart) to `take`, a row that
    /// is there twice twice, in any order, without holding more than a bounded part of them; in as
    /// few statements as it can: a key expression has no index, unless [`BoundTable::locate`] names
    /// a condition that has.
    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> BoxFuture<'a, Result<(), TargetError>>;
    /// A condition in SQL, without the table's key, that every row with these values fulfils; they are in
    /// the order of the columns, as [`highwater_model::stored::value_at`] gives them. Values
    /// with more than one form, such as fractions, are left out, so that it may hold for other rows
    /// too; it is empty where nothing is left. None for a target without SQL.
    fn condition(&self, _table: &BoundTable, _row: &[Value]) -> Option<String> {
        None
    }
    /// Runs a query and returns its rows as text, null as none.
    fn query<'a>(
        &'a mut self,
        _sql: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Vec<Option<String>>>, TargetError>> {
        let error = TargetError::usage("this target cannot be asked a query of the workload's own");
        Box::pin(std::future::ready(Err(error)))
    }
    /// Describes an existing table, from a sample of its rows.
    fn describe<'a>(
        &'a mut self,
        _table: &'a str,
    ) -> BoxFuture<'a, Result<TableShape, TargetError>> {
        let error = TargetError::usage("this target cannot describe a table");
        Box::pin(std::future::ready(Err(error)))
    }
    /// Rows of each copy of each shard, if copies can be counted one by one.
    fn copies<'a>(
        &'a mut self,
        _workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Vec<ShardCopies>, TargetError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
    /// The server's own counter of rows inserted into the workload's tables, where it has one.
    fn rows_inserted<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>>;
    /// Free space on the disk of the target's tables, if known. Polled once a second during the
    /// load, so it must be cheap.
    fn disk(&mut self) -> BoxFuture<'_, Result<Option<DiskSpace>, TargetError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Creates, fills, reads and drops a small table of this name to find the user's privileges;
    /// none if the target has no privileges. A missing privilege is not an error.
    fn try_rights<'a>(
        &'a mut self,
        _table: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<Right>>, TargetError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Bytes on disk of the workload's tables, if known.
    fn storage_bytes<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>>;
    /// Sentences for the reader of the record, requested after the load: the state of the target as
    /// far as no figure shows it.
    fn remarks(&mut self) -> BoxFuture<'_, Result<Vec<String>, TargetError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}
