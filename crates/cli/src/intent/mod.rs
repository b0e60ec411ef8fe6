//! Settings of a run: typed and validated, independent of their source.
//!
//! The rest of the program uses only these values. Settings of a single command are defined with that command. Must not
//! expose flags, environment, or settings file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use highwater_driver::TargetUrl;
use highwater_live::OtlpUrl;
use highwater_model::fault::PlannedFault;
use highwater_model::record::CommandRecord;
use highwater_model::units::{Nanos, Seed};
use highwater_runner::planner::PlanInput;
use highwater_runner::request::RunOptions;

pub(crate) mod parsers;
pub(crate) mod resolve;
pub(crate) mod streams;

#[cfg(test)]
mod tests;

/// Settings of a run.
#[derive(Debug, Clone)]
pub struct RunIntent {
    /// The workload.
    pub workload: WorkloadChoice,
    /// Parameters of the workload as texts, including `--batch`.
    pub parameters: BTreeMap<String, String>,
    /// At least one.
    pub targets: Vec<TargetUrl>,
    /// `--insert`; the target's first insert mode if absent.
    pub insert: Option<String>,
    /// Options that a run uses unchanged.
    pub options: RunOptions,
    /// Source of all random values.
    pub seed: Seed,
    /// Actions on the target's cluster during the load, and its cluster file.
    pub faults: (Vec<PlannedFault>, Option<PathBuf>),
    /// Input of the plan, which also needs the workload and the target's default number of sessions.
    pub plan: PlanInput,
    /// No setting determines the length of a measured step, so it is as long as the objectives
    /// need.
    pub length_is_open: bool,
    /// Start of the first phase; immediately if absent.
    pub start_at: Option<StartAt>,
    /// How long a share waits for others that have not come.
    pub wait_for_shares: Nanos,
    /// The run store's directory.
    pub out: PathBuf,
    /// The command that makes it.
    pub command: CommandRecord,
    /// Source of commands during the run.
    pub control: Option<LineStream>,
    /// Output.
    pub output: RunOutput,
}

/// The workload of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadChoice {
    /// A built-in workload.
    Named(String),
    /// The user's workload file.
    File(PathBuf),
    /// The user's SQL files, with their weights.
    Scripts(Vec<(PathBuf, u32)>),
}

/// Start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartAt {
    /// At this time since 1970-01-01T00:00:00Z.
    Instant(Nanos),
    /// After this delay.
    Delay(Nanos),
}

/// Destination of events, or source of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineStream {
    /// Standard output, which the result shares, or standard input.
    Standard,
    /// A file, which is overwritten for events; for commands also a named pipe.
    File(PathBuf),
}

/// Servers during a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveRequest {
    /// The page, if requested.
    pub page: Option<PageAddress>,
    /// Whether the page may stop and change the run.
    pub control: bool,
    /// Address for scraping metrics.
    pub metrics: Option<SocketAddr>,
    /// Collector for pushed metrics.
    pub otlp: Option<OtlpUrl>,
}

/// Address of the live page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageAddress {
    /// On loopback, at the default port, or at another one if that is in use.
    Usual,
    /// Only at this address.
    At(SocketAddr),
}

/// Output of a command that runs something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutput {
    /// Print all details below the answer.
    pub verbose: bool,
    /// No progress.
    pub quiet: bool,
    /// Interval of lines of progress without a terminal, if not the default.
    pub progress: Option<Nanos>,
    /// Print the record as JSON instead of the summary.
    pub json: bool,
    /// Events as JSON.
    pub events: Option<LineStream>,
    /// Servers during the command.
    pub live: LiveRequest,
    /// Print only the plan as JSON; nothing is run.
    pub plan_only: bool,
}
