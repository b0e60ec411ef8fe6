//! What is run, and what comes of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use highwater_driver::metrics::Endpoint;
use highwater_driver::{Target, TargetError, TargetFacts};
use highwater_model::display::duration;
use highwater_model::plan::Plan;
pub use highwater_model::record::Ended;
use highwater_model::record::RunRecord;
use highwater_model::units::Nanos;
use highwater_workload::Workload;

use crate::control::Controls;
use crate::store::{RunDirectory, StoreError};

/// What is run.
pub struct RunRequest {
    /// The frozen intention.
    pub plan: Plan,
    /// What is asked; of the plan's fingerprint.
    pub workload: Arc<Workload>,
    /// Who is asked.
    pub target: Arc<dyn Target>,
    /// The target's driver, by name.
    pub driver: String,
    /// The run's directory, made by the caller because embedded targets put files there.
    pub directory: RunDirectory,
    /// Wall clock when the run begins, RFC 3339; the record has that of its first phase with a pace.
    pub started_at: String,
    /// Make tables of the list anew, whatever they hold.
    pub drop_tables: bool,
    /// Tables that may be dropped although they are not in the list.
    pub drop_foreign: Vec<String>,
    /// What was asked of tables that a target's may not have.
    pub tables: TableRequest,
    /// Refuse what cannot fit on the target's disk, and stop before that is full.
    pub guard_disk: bool,
    /// What is asked of the target beside the load.
    pub telemetry: TelemetryRequest,
    /// Where ceilings of this machine are kept, and the sink that stands for this target.
    pub ceilings: Option<(PathBuf, String)>,
    /// Commands while it runs; none by default.
    pub controls: Controls,
    /// Wait so long before the first phase with a pace begins.
    pub start_in: Nanos,
    /// Noted in the record.
    pub labels: BTreeMap<String, String>,
    /// See [`highwater_model::header::Header::given`].
    pub given: BTreeMap<String, Vec<String>>,
    /// The working directory's file of settings, where it decides anything.
    pub settings_file: Option<String>,
    /// Version of the program.
    pub version: String,
}

/// What is asked beside the load.
#[derive(Debug, Clone, Default)]
pub struct TelemetryRequest {
    /// Ask nobody.
    pub off: bool,
    /// Endpoints that are asked besides the target and its host.
    pub endpoints: Vec<Endpoint>,
    /// More of them, which are of this target's nodes.
    pub node_endpoints: Vec<Endpoint>,
    /// Nodes of the target that were started on this machine with a quota of CPU.
    pub limited_nodes: Vec<LimitedNode>,
}

impl TelemetryRequest {
    /// What is asked beside the load of another target: nothing of this one's nodes.
    pub fn of_another_target(&mut self) {
        self.node_endpoints.clear();
        self.limited_nodes.clear();
    }
}

/// A node on this machine whose CPU a control group limits.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitedNode {
    /// Its name in the record.
    pub node: String,
    /// The cores that it may use.
    pub cores: f64,
    /// Its control group: a directory in each hierarchy.
    pub group: Vec<PathBuf>,
}

/// What was asked of tables besides their columns.
#[derive(Debug, Clone, Default)]
pub struct TableRequest {
    /// Flags that were given and need shards, such as `--shards`.
    pub shard_flags: Vec<&'static str>,
    /// `--with`, by name.
    pub settings: Vec<(String, String)>,
}

impl TableRequest {
    /// Refuses what the tables of a target with these features do not have.
    pub(crate) fn check(
        &self,
        target: &dyn Target,
        facts: &TargetFacts,
    ) -> Result<(), TargetError> {
        let simulated = target.capabilities().simulated;
        let refused = |flag: &str, lack: &str| {
            let (message, hint) = if simulated {
                let message = format!("{flag}: a simulated cluster is described by its URL");
                (message, "such as `sim:?shards=6&replicas=1`")
            } else {
                let message = format!("{flag}: tables of {} have no {lack}", facts.version);
                (message, "leave it out for this target")
            };
            Err(TargetError::usage(message).with_hint(hint))
        };
        match (self.shard_flags.first(), self.settings.is_empty()) {
            (Some(flag), _) if !facts.tables.shards => refused(flag, "shards"),
            (_, false) if !facts.tables.settings => refused("--with", "settings of their own"),
            _ => Ok(()),
        }
    }
}

/// Rows that an op of a stream writes at most; 0 if it writes none.
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
    /// Everything.
    pub record: RunRecord,
    /// How.
    pub ended: Ended,
}

/// Why there is no record at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The target could not be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The run's directory cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The workload has no SQL for this target.
    #[error("{0}")]
    Workload(String),
    /// The operating system refused what a run needs.
    #[error("cannot run: {0}")]
    System(#[from] std::io::Error),
    /// The user stopped the run while it was prepared.
    #[error("stopped by the user before the load began: no load was sent, and there is no record")]
    Interrupted,
    /// The budget of an experiment has no room for its first trial, and what confirms it.
    #[error("--budget: not one trial of {} fits{}", duration(.probe.0), beside(*.confirmations))]
    Budget {
        /// What it takes, all included.
        probe: Nanos,
        /// Trials that must be possible behind it.
        confirmations: u32,
    },
    /// Everything waits for something that cannot come; a bug.
    #[error("the simulated run stood still")]
    Stuck,
}

fn beside(confirmations: u32) -> String {
    match confirmations {
        0 => String::new(),
        trials => format!(" beside the {trials} that confirm"),
    }
}
