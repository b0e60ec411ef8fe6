//! The contract between the runner and a driver.
//!
//! [`Driver`] opens a [`Target`] without any I/O; a target connects [`Session`]s for the load, and one [`Admin`] for
//! everything before and after it. Sessions and admins stay on one executor thread, so their futures are not `Send`; a
//! target is shared between threads.
//!
//! Must not read a clock (a driver that needs time uses the [`Timeline`]), retry (the worker does, by the plan's
//! policy), or write text for the user (errors carry it).

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use highwater_model::op::{BoundWorkload, Op, OpBody, OpId, PlaceholderStyle};
use highwater_model::outcome::Outcome;
use highwater_model::plan::AuditLevel;
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;

use crate::target_url::TargetUrl;
use crate::telemetry::TelemetryReader;

pub use crate::admin::{
    Admin, BucketSums, ClusterActions, KeyCounts, KeySums, RowTaker, ServerAdmin, ShardCopies,
    TableAdmin, TableDescriber, TableFeatures, TableReader, TargetFacts,
};

/// Time as the run sees it: real, or simulated.
pub trait Timeline {
    /// Time since the start of the run.
    fn now(&self) -> Nanos;
    /// Completes at `deadline`, or at once if it has passed.
    fn sleep_until(&self, deadline: Nanos) -> BoxFuture<'static, ()>;
}

/// A supported kind of database.
pub trait Driver: Sync {
    /// The name used in records, such as `sim`.
    fn name(&self) -> &'static str;
    /// URL schemes, without the colon.
    fn schemes(&self) -> &'static [&'static str];
    /// One line for help texts: the protocol, and an example URL.
    fn summary(&self) -> &'static str;
    /// A URL that works without installing anything, used if no target is given.
    fn default_url(&self) -> Option<&'static str> {
        None
    }
    /// The URL of a sink for its sessions, to measure the load generator's ceiling.
    fn sink(&self) -> Option<&'static str> {
        None
    }
    /// Environment variables that it reads and that contain a secret. Commands that are started for the user must
    /// not get them.
    fn secret_variables(&self) -> &'static [&'static str] {
        &[]
    }
    /// Checks URLs and options, and makes a target; no I/O.
    fn open(
        &self,
        urls: &[TargetUrl],
        options: &TargetOptions,
    ) -> Result<Arc<dyn Target>, UserError>;
}

/// The user's options for a target, in addition to its URLs.
#[derive(Debug, Clone)]
pub struct TargetOptions {
    /// `--insert`: one of [`Capabilities::insert_modes`]; the first one if absent.
    pub insert: Option<String>,
    /// Directory for the files of an embedded target whose URL names none.
    pub data_directory: Option<PathBuf>,
    /// Folder in which the shares of a plan meet if the target cannot keep their leases; all of them see it.
    pub leases_directory: Option<PathBuf>,
    /// Reported to the server as the name of this program's connections.
    pub application_name: String,
    /// Simulated targets derive all random numbers from it.
    pub seed: Seed,
    /// Time limit of one attempt to connect.
    pub connect_timeout: Nanos,
}

impl TargetOptions {
    /// The insert mode that `--insert` names, if any; `of` returns the target's mode of a name, and
    /// `names` lists all of them.
    pub fn insert_mode<M>(
        &self,
        of: impl FnOnce(&str) -> Option<M>,
        names: &[&str],
    ) -> Result<Option<M>, UserError> {
        let mode = |name: &str| {
            of(name).ok_or_else(|| {
                UserError::usage(format!("`--insert {name}` is not known to this target"))
                    .with_hint(format!("ways to insert are {}", names.join(", ")))
            })
        };
        self.insert.as_deref().map(mode).transpose()
    }
}

/// What a target can do, known before any I/O; it does not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// It runs in this process; the CPU time of its threads counts for the database.
    pub embedded: bool,
    /// It is a model, not a database.
    pub simulated: bool,
    /// The run uses the simulated clock.
    pub simulated_clock: bool,
    /// SQL can read inserted rows back; false for a model or a sink.
    pub stores_values: bool,
    /// It uses the values of inserted rows; false for a model that uses only their numbers.
    pub reads_values: bool,
    /// A table can have a unique key.
    pub unique_keys: bool,
    /// The highest supported audit level: `off` for a sink, which stores nothing.
    pub auditable: AuditLevel,
    /// Approximate time of the audit per row, for the estimate before a run; nanoseconds.
    pub audit_ns_per_row: u64,
    /// Sessions for a closed pace without a number.
    pub default_sessions: u32,
    /// Insert modes, the default first.
    pub insert_modes: &'static [&'static str],
}

impl Capabilities {
    /// A database server whose rows can be audited in full; the driver fills in `audit_ns_per_row` and `insert_modes`.
    pub const SERVER: Self = Self {
        embedded: false,
        simulated: false,
        simulated_clock: false,
        stores_values: true,
        reads_values: true,
        unique_keys: true,
        auditable: AuditLevel::Full,
        audit_ns_per_row: 0,
        default_sessions: 8,
        insert_modes: &[],
    };
}

/// Parameters of a new session.
#[derive(Clone)]
pub struct Connect {
    /// Statements to prepare once.
    pub workload: Arc<BoundWorkload>,
    /// Number of the session in the run, from 0; it selects the host round robin.
    pub number: u32,
    /// Attempt, from 0; a later attempt may use the next host.
    pub attempt: u32,
    /// The run's time.
    pub timeline: Rc<dyn Timeline>,
}

/// The index of a session's host at an attempt: round robin, with a different host for each attempt.
pub fn in_turn(number: u32, attempt: u32, hosts: usize) -> usize {
    let position = u64::from(number) + u64::from(attempt);
    usize::try_from(position).unwrap_or(0) % hosts.max(1)
}

/// Where a server on this machine takes connections; its process is the one that listens there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listener {
    /// A TCP port.
    Port(u16),
    /// A socket in the file system.
    Socket(PathBuf),
}

/// A database at one or more URLs. Shared between executor threads.
pub trait Target: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// How its dialect writes parameters.
    fn placeholders(&self) -> PlaceholderStyle;
    /// URLs for display and records, without secrets; one per host.
    fn urls(&self) -> Vec<String>;
    /// The host (an index into [`Target::urls`]) of session `number` at `attempt`: round robin, with a different host
    /// for each attempt.
    fn host_of(&self, number: u32, attempt: u32) -> usize {
        in_turn(number, attempt, self.urls().len())
    }
    /// Applies the session settings of `--with`, before a run connects any session; replaces those of an earlier run.
    /// Ignores table settings. Does no I/O.
    fn configure(&self, _settings: &[(String, String)]) -> Result<(), UserError> {
        Ok(())
    }
    /// Opens a session, and prepares its statements.
    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>>;
    /// Fails with a statement of the workload that the target rejects, without executing any. If connecting prepares
    /// statements, it does this.
    fn check_statements(&self, connect: Connect) -> Response<'_, ()> {
        Box::pin(async move { self.connect(connect).await.map(drop) })
    }
    /// Opens the connection for everything before and after the load.
    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>>;
    /// Opens a separate connection for telemetry during the load; `None` if the target has no telemetry.
    fn telemetry(
        &self,
        _timeline: Rc<dyn Timeline>,
    ) -> Response<'_, Option<Box<dyn TelemetryReader>>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// What acts on its nodes, if it can do that itself; otherwise only a cluster file can.
    fn actions(&self) -> Option<Arc<dyn ClusterActions>> {
        None
    }
    /// Where its servers listen, if all of them run on this machine; otherwise empty.
    fn local_listeners(&self) -> Vec<Listener> {
        Vec::new()
    }
    /// Whether it runs completely on this machine, so that this machine's CPU, disks, and networks are also the
    /// target's.
    fn is_local(&self) -> bool {
        !self.local_listeners().is_empty()
    }
    /// CPU time that the target's own threads spent inside this process so far.
    fn embedded_cpu(&self) -> Nanos {
        Nanos::ZERO
    }
    /// The files that hold its data, the main one first; empty if a server has them, or nothing stores them.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Advice on ops that fail with this code of the target, if the class of the failure does not imply it.
    fn failure_hint(&self, _code: &str) -> Option<&'static str> {
        None
    }
    /// Whether it stores nothing, so that there is nothing to audit: a sink, whose figures are those of the load
    /// generator.
    fn is_sink(&self) -> bool {
        false
    }
}

/// An op with its encoded form.
#[derive(Debug)]
pub struct Request {
    /// The op.
    pub op: Op,
    /// Its wire form; drivers without a wire leave it empty. Reused from op to op.
    pub bytes: Vec<u8>,
}

impl Request {
    /// A request without allocated memory.
    pub fn empty() -> Self {
        Self {
            op: Op { id: OpId(0), index: 0, body: OpBody::Query(Vec::new()) },
            bytes: Vec::new(),
        }
    }
}

/// Encodes ops for the wire: pure CPU work, done before the op's start time.
pub trait Encoder {
    /// Clears `request.bytes` and writes the wire form of `request.op`.
    fn encode(&mut self, request: &mut Request);
}

/// One connection.
pub trait Session {
    /// An encoder for this session's requests; usable while the session executes another request.
    fn encoder(&self) -> Box<dyn Encoder>;
    /// Ready once the target has closed this idle connection: polled only while no request is being executed. A target
    /// without connections never closes one.
    fn poll_closed(&mut self, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
    /// Executes one request. Dropping the future abandons the op and the session.
    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome>;
}

/// A future that stays on its executor's thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;
/// A target's response, or its error.
pub type Response<'a, T> = BoxFuture<'a, Result<T, UserError>>;
