//! What a run is to do: typed and checked, whatever words it came from.
//!
//! The rest of the program sees only these values. What one command alone means by its words stands
//! beside that command. Must not expose flags, environment or file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use highwater_driver::TargetUrl;
use highwater_live::OtlpUrl;
use highwater_model::units::{Nanos, Seed};
use highwater_runner::planner::PlanInput;
use highwater_runner::request::{TableRequest, TelemetryRequest};

mod live;
mod objectives;
pub(crate) mod parsers;
pub(crate) mod probes;
mod repeated_flags;
pub(crate) mod resolve;
pub(crate) mod streams;
mod telemetry;

#[cfg(test)]
mod tests;

/// What a run is to do.
#[derive(Debug, Clone)]
pub struct RunIntent {
    /// Which workload.
    pub workload: WorkloadChoice,
    /// Parameters of the workload, as texts; `--batch` is among them.
    pub parameters: BTreeMap<String, String>,
    /// At least one.
    pub targets: Vec<TargetUrl>,
    /// `--insert`; the target's first way to insert when absent.
    pub insert: Option<String>,
    /// What is required of tables besides their columns.
    pub tables: TableRequest,
    /// Recreate registered tables, whatever they hold.
    pub drop: bool,
    /// Tables that may be dropped although they are not registered.
    pub drop_foreign: Vec<String>,
    /// Reject a run that cannot fit on the target's disk, and stop before that is full.
    pub guard_disk: bool,
    /// Polling of the target, its host and other endpoints during the load.
    pub telemetry: TelemetryRequest,
    /// Source of all random values.
    pub seed: Seed,
    /// What becomes the plan, once the workload and the target's own number of sessions are known.
    pub plan: PlanInput,
    /// When the first phase begins; at once when absent.
    pub start_at: Option<StartAt>,
    /// The run store's directory.
    pub out: PathBuf,
    /// Notes for the record.
    pub labels: BTreeMap<String, String>,
    /// Flags that a later command repeats to continue this run; without targets, load and length.
    pub repeated_flags: BTreeMap<String, Vec<String>>,
    /// The working directory's file of settings, where it decides anything.
    pub settings_file: Option<String>,
    /// Where commands come from while it runs.
    pub control: Option<LineStream>,
    /// Output.
    pub output: RunOutput,
}

/// Which workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadChoice {
    /// One of the catalog.
    Named(String),
    /// The user's own file.
    File(PathBuf),
    /// The user's own statements, a file each, with their weights.
    Scripts(Vec<(PathBuf, u32)>),
}

/// When a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartAt {
    /// At this time since 1970-01-01T00:00:00Z.
    Instant(Nanos),
    /// After this delay.
    Delay(Nanos),
}

/// Where events go, or where commands to a run come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineStream {
    /// Standard output, where the result is beside them, or standard input.
    Standard,
    /// This file, which is made anew for events; for commands also a named pipe.
    File(PathBuf),
}

/// What is served while a command goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveRequest {
    /// The page; absent without one.
    pub page: Option<PageAddress>,
    /// Whether the page may stop the run, and change it.
    pub control: bool,
    /// Where metrics can be scraped.
    pub metrics: Option<SocketAddr>,
    /// Where metrics are pushed.
    pub otlp: Option<OtlpUrl>,
}

/// Where the live page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageAddress {
    /// On loopback, at the usual port, or at another one where that is taken.
    Usual,
    /// Here, or nowhere.
    At(SocketAddr),
}

/// What a command that runs something shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutput {
    /// Everything that is known, below the answer.
    pub verbose: bool,
    /// No progress.
    pub quiet: bool,
    /// The record as JSON in place of the summary.
    pub json: bool,
    /// Events as JSON.
    pub events: Option<LineStream>,
    /// What others can look at while it goes on.
    pub live: LiveRequest,
    /// Only the plan, as JSON; nothing is run.
    pub plan_only: bool,
}
