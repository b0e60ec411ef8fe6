//! The request for a run, and its result.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::ClusterActions;
use highwater_driver::clock::wall_clock;
use highwater_driver::interrupts::Interrupter;
use highwater_driver::metrics::Endpoint;
use highwater_driver::telemetry::LimitedNode;
use highwater_driver::{Target, TargetFacts};
use highwater_model::event::Event;
use highwater_model::plan::Plan;
use highwater_model::record::{CommandRecord, RunRecord};
use highwater_model::target_telemetry::TelemetryPoint;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_workload::Workload;

use crate::control::Controls;
use crate::store::{JournalReport, ReportFile, RunDirectory};

pub use highwater_model::record::RunEnding;

/// A request for a run.
pub struct RunRequest {
    /// The frozen plan.
    pub plan: Plan,
    /// The workload, with the plan's fingerprint.
    pub workload: Arc<Workload>,
    /// The target.
    pub target: Arc<dyn Target>,
    /// The target's driver, by name.
    pub driver: String,
    /// The run's directory, made by the caller because embedded targets put files there.
    pub directory: RunDirectory,
    /// Wall clock when the run begins, RFC 3339; the record has the time of its first phase with a pace.
    pub started_at: String,
    /// The user's options.
    pub options: RunOptions,
    /// Directory of this machine's ceilings, and the sink that stands for this target.
    pub ceilings: Option<(PathBuf, String)>,
    /// Commands while it runs; none by default.
    pub controls: Controls,
    /// Performs the planned actions on the target's cluster; absent if the plan has none.
    pub actions: Option<Arc<dyn ClusterActions>>,
    /// Delay before the first phase with a pace.
    pub start_in: Nanos,
    /// How the shares of the plan begin and end together; absent if they do not meet.
    pub meets: Option<MeetingRequest>,
    /// The command that makes it.
    pub command: CommandRecord,
    /// Version of Highwater.
    pub version: String,
}

/// How the shares of a plan meet.
#[derive(Debug, Clone)]
pub struct MeetingRequest {
    /// How long a share that has not come is waited for.
    pub wait: Nanos,
    /// The folder below which all shares store their runs.
    pub store: PathBuf,
    /// Stops this share, if the user stops another one.
    pub interrupter: Interrupter,
}

/// The user's options for a run, apart from its plan and target.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Recreate registered tables, whatever they hold.
    pub drop: bool,
    /// Tables that may be dropped although they are not registered.
    pub drop_foreign: Vec<String>,
    /// Table options that the target may not support.
    pub tables: TableRequest,
    /// Neither reject a run that cannot fit on the target's disk, nor stop before the disk is full.
    pub no_disk_guard: bool,
    /// Remove a database in the run's own directory when its audit is clean and the record is stored.
    pub removes_database: bool,
    /// What to poll during the load.
    pub telemetry: TelemetryRequest,
    /// Stored in the record.
    pub labels: BTreeMap<String, String>,
    /// The working directory's settings file, if it decides anything.
    pub settings_file: Option<String>,
}

/// What to poll during the load.
#[derive(Debug, Clone, Default)]
pub struct TelemetryRequest {
    /// Poll nothing.
    pub off: bool,
    /// Endpoints to poll in addition to the target and its host.
    pub endpoints: Vec<Endpoint>,
    /// More endpoints, of this target's nodes.
    pub node_endpoints: Vec<Endpoint>,
    /// Nodes of the target that were started on this machine with a CPU quota.
    pub limited_nodes: Vec<LimitedNode>,
}

impl TelemetryRequest {
    /// Adapts the request to another target: removes this target's nodes.
    pub fn of_another_target(&mut self) {
        self.node_endpoints.clear();
        self.limited_nodes.clear();
    }
}

/// Table options other than columns.
#[derive(Debug, Clone, Default)]
pub struct TableRequest {
    /// Given flags that require shards, such as `--shards`.
    pub shard_flags: Vec<&'static str>,
    /// `--with`, by name.
    pub settings: Vec<(String, String)>,
}

impl TableRequest {
    /// Rejects options that a simulated cluster has in its URL, before anything is sent.
    pub fn check_simulated(&self, target: &dyn Target) -> Result<(), UserError> {
        let settings = (!self.settings.is_empty()).then_some("--with");
        match self.shard_flags.first().copied().or(settings) {
            Some(flag) if target.capabilities().simulated => {
                let message = format!("{flag}: a simulated cluster is described by its URL");
                let hint = "write it there, such as `sim:?shards=6&replicas=1`; `tune` and `scale` vary it with \
                            `--over sim.replicas=0,1`, or `&replicas={variant}` and `--variant 0 --variant 1`";
                Err(UserError::usage(message).with_hint(hint))
            }
            _ => Ok(()),
        }
    }

    /// Rejects options that the target's tables do not support.
    pub(crate) fn check(&self, target: &dyn Target, facts: &TargetFacts) -> Result<(), UserError> {
        self.check_simulated(target)?;
        let refused = |flag: &str, lack: &str| {
            let message = format!("{flag}: tables of {} have no {lack}", facts.version);
            Err(UserError::usage(message).with_hint("leave it out for this target"))
        };
        match (self.shard_flags.first(), self.settings.is_empty()) {
            (Some(flag), _) if !facts.tables.shards => refused(flag, "shards"),
            (_, false) if !facts.tables.settings => refused("--with", "settings of their own"),
            _ => Ok(()),
        }
    }
}

/// Maximum rows that an op of a stream writes; 0 if it writes none.
pub(crate) fn rows_per_op(workload: &Workload, stream: &str) -> u64 {
    let spec = workload.stream(stream);
    spec.iter()
        .flat_map(|spec| &spec.ops)
        .map(|(op, _)| workload.rows_per_op(*op))
        .max()
        .unwrap_or(0)
}

/// A run's record and how it ended.
pub struct RunEnd {
    /// The record.
    pub record: RunRecord,
    /// How the run ended.
    pub ended: RunEnding,
}

/// The operating system refused what a run needs.
pub fn cannot_run(error: &std::io::Error) -> UserError {
    UserError::usage(format!("cannot run: {error}"))
}

/// Receives events.
pub trait Observer {
    /// Called once per event. It must not wait.
    fn event(&self, event: &Event);

    /// Called about once a second with telemetry of target and host. It is not an event, because it is large and not
    /// logged; it is built only for observers that call `point`.
    fn telemetry(&self, _point: &dyn Fn() -> TelemetryPoint) {}
}

/// Ignores all events.
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _event: &Event) {}
}

/// Several observers; each receives every event.
pub struct Observers(pub Vec<Rc<dyn Observer>>);

impl Observer for Observers {
    fn event(&self, event: &Event) {
        for observer in &self.0 {
            observer.event(event);
        }
    }

    fn telemetry(&self, point: &dyn Fn() -> TelemetryPoint) {
        for observer in &self.0 {
            observer.telemetry(point);
        }
    }
}

/// Writes events to a file.
struct Kept(RefCell<ReportFile>);

impl Kept {
    fn append(&self, reported: &JournalReport) {
        self.0.borrow_mut().append(wall_clock(), reported);
    }
}

impl Observer for Kept {
    fn event(&self, event: &Event) {
        self.append(&JournalReport::Event(Box::new(event.clone())));
    }

    fn telemetry(&self, point: &dyn Fn() -> TelemetryPoint) {
        self.append(&JournalReport::Telemetry(point()));
    }
}

/// Forwards events to an observer, and stores them for other processes until it is dropped.
pub fn kept_in(directory: &RunDirectory, observer: Rc<dyn Observer>) -> Rc<dyn Observer> {
    let kept = Kept(RefCell::new(directory.reports()));
    Rc::new(Observers(vec![observer, Rc::new(kept)]))
}
