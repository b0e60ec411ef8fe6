//! The contract between the runner and a driver.
//!
//! [`Driver`] opens a [`Target`] without any I/O; a target connects [`Session`]s for the load and
//! one [`Admin`] for everything around it. Sessions and admins live on one executor thread, so
//! their futures are not `Send`; a target is shared between threads.
//!
//! Must not read a clock (a driver that needs time uses the [`Timeline`]), retry (the worker does,
//! by the plan's policy), or write text for the user (errors carry it).

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use highwater_model::op::{BoundWorkload, Op, OpBody, OpId, PlaceholderStyle};
use highwater_model::outcome::Outcome;
use highwater_model::plan::AuditLevel;
use highwater_model::units::{Nanos, Seed};

pub use crate::admin::{
    Admin, BucketSums, KeyCounts, KeySums, RowTaker, ServerAdmin, ShardCopies, TableAdmin,
    TableDescriber, TableReader,
};
pub use crate::error::{TargetError, TargetErrorKind};
pub use crate::future::{BoxFuture, Response};
pub use crate::target_facts::{TableFeatures, TargetFacts};
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

impl TargetOptions {
    /// The way to insert that `--insert` names, if it names one; `of` knows the target's by their
    /// `names`.
    pub fn insert_mode<M>(
        &self,
        of: impl FnOnce(&str) -> Option<M>,
        names: &[&str],
    ) -> Result<Option<M>, TargetError> {
        let mode = |name: &str| {
            of(name).ok_or_else(|| {
                TargetError::usage(format!("`--insert {name}` is not known to this target"))
                    .with_hint(format!("ways to insert are {}", names.join(", ")))
            })
        };
        self.insert.as_deref().map(mode).transpose()
    }
}

/// What a target can do, known before any I/O; it does not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// It runs inside this process; the CPU time of its threads is the database's.
    pub embedded: bool,
    /// It is a model, not a database.
    pub simulated: bool,
    /// The run uses the simulated clock.
    pub simulated_clock: bool,
    /// SQL finds inserted rows again; false for a model or a sink.
    pub stores_values: bool,
    /// It looks at the values of inserted rows; false for a model that goes by their numbers.
    pub reads_values: bool,
    /// A table can have a key that no two of its rows share.
    pub unique_keys: bool,
    /// The highest audit level that it supports: `off` for a sink, which stores nothing.
    pub auditable: AuditLevel,
    /// Approximate time of the audit per row, for the estimate before a run; nanoseconds.
    pub audit_ns_per_row: u64,
    /// Sessions for a closed pace that names no number.
    pub default_sessions: u32,
    /// Ways to insert, the default first.
    pub insert_modes: &'static [&'static str],
}

impl Capabilities {
    /// A database server, whose rows can be audited in full; `audit_ns_per_row` and `insert_modes`
    /// are to be filled in.
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

/// The place of a session's host at an attempt: each in turn, and another one each time.
pub fn in_turn(number: u32, attempt: u32, hosts: usize) -> usize {
    let position = u64::from(number) + u64::from(attempt);
    usize::try_from(position).unwrap_or(0) % hosts.max(1)
}

/// A database at one or more URLs. Shared between executor threads.
pub trait Target: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// How its dialect writes parameters.
    fn placeholders(&self) -> PlaceholderStyle;
    /// URLs for display and records, without secrets; one per host.
    fn urls(&self) -> Vec<String>;
    /// The host (an index into [`Target::urls`]) that session `number` talks to at `attempt`: round robin,
    /// and another one each time.
    fn host_of(&self, number: u32, attempt: u32) -> usize {
        in_turn(number, attempt, self.urls().len())
    }
    /// Takes what `--with` says of sessions: before a run connects any, in place of what an earlier run said. Settings
    /// of tables are ignored. Does no I/O.
    fn configure(&self, _settings: &[(String, String)]) -> Result<(), TargetError> {
        Ok(())
    }
    /// Opens a session and prepares its statements.
    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>>;
    /// Fails with a statement of the workload that the target refuses, executing none. Connecting does
    /// that, where it prepares statements.
    fn check_statements(&self, connect: Connect) -> Response<'_, ()> {
        Box::pin(async move { self.connect(connect).await.map(drop) })
    }
    /// Opens what is needed around the load.
    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>>;
    /// Opens a separate connection for telemetry during the load; none if the target has no
    /// telemetry.
    fn telemetry(
        &self,
        _timeline: Rc<dyn Timeline>,
    ) -> Response<'_, Option<Box<dyn TelemetryReader>>> {
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
    /// What the user can do about ops that fail with this code of the target, where the class of the failure does not
    /// say it.
    fn failure_hint(&self, _code: &str) -> Option<&'static str> {
        None
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
            op: Op { id: OpId(0), index: 0, body: OpBody::Query(Vec::new()) },
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
