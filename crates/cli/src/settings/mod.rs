//! Settings: the typed and checked values of a command, whatever their source.
//!
//! The rest of the program sees only these values. Must not expose flags, environment or file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use highwater_driver::TargetUrl;
use highwater_model::plan::{Arrivals, AuditLevel, Predicate};
use highwater_model::quantity::Ppm;
use highwater_model::search::SearchAxis;
use highwater_model::units::{Nanos, Rate, Seed};
use highwater_sizing::scaling::ScalingModel;

mod audit;
mod compare;
mod fill;
mod find;
mod import;
mod load;
mod parsers;
mod probes;
mod repeated_flags;
mod resolve;
mod size;
mod table;
mod telemetry;
mod tune;

#[cfg(test)]
mod tests;

pub use audit::AuditSettings;
pub use compare::{CompareSettings, RepeatSettings, Variant};
pub use import::ImportSettings;
pub use size::{Conditions, RequestedRate, SizeSettings};
pub use table::TableSettings;
pub use telemetry::Telemetry;
pub use tune::TuneSettings;
pub(crate) use tune::set_axis;

/// Everything `highwater run` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSettings {
    /// Which workload.
    pub workload: WorkloadChoice,
    /// Parameters of the workload, as texts; `--batch` is among them.
    pub parameters: BTreeMap<String, String>,
    /// At least one.
    pub targets: Vec<TargetUrl>,
    /// `--insert`; the target's first way to insert when absent.
    pub insert: Option<String>,
    /// Queries carry their values in their text.
    pub literals: bool,
    /// Flags that were given and need a target with shards.
    pub shard_flags: Vec<&'static str>,
    /// `--with`: settings of new tables, by name.
    pub table_settings: BTreeMap<String, String>,
    /// Recreate registered tables, whatever they hold.
    pub drop: bool,
    /// Tables that may be dropped although they are not registered.
    pub drop_foreign: Vec<String>,
    /// Reject a run that cannot fit on the target's disk, and stop before that is full.
    pub guard_disk: bool,
    /// Polling of the target, its host and other endpoints during the load.
    pub telemetry: Telemetry,
    /// Source of all random values.
    pub seed: Seed,
    /// Streams and their paces.
    pub load: Load,
    /// Its length.
    pub length: Length,
    /// Whether the run only fills the workload's tables up to a number of rows.
    pub fills: bool,
    /// Objectives.
    pub objectives: Objectives,
    /// An op without a response after this time is timed out.
    pub timeout: Nanos,
    /// Retries of an op that certainly was not applied.
    pub retries: u32,
    /// How much of the data is compared afterwards.
    pub audit: AuditLevel,
    /// Bound of the audit's duration.
    pub audit_timeout: Nanos,
    /// Which of several runs of the same plan it is, from 0.
    pub round: u32,
    /// The part of the plan that this process runs.
    pub share: Share,
    /// When the first phase begins; at once when absent.
    pub start_at: Option<StartAt>,
    /// The run store's directory.
    pub out: PathBuf,
    /// Notes for the record.
    pub labels: BTreeMap<String, String>,
    /// Flags that a later command repeats to continue this run; without targets, load and length.
    pub repeated_flags: BTreeMap<String, Vec<String>>,
    /// Where commands come from while it runs.
    pub control: Option<CommandSource>,
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

/// Streams and their paces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Sessions of a closed pace without a number, and the maximum of an open one; the target's
    /// default when absent.
    pub sessions: Option<u32>,
    /// Which streams.
    pub streams: Streams,
    /// Spacing of open arrivals; the workload's when absent.
    pub arrivals: Option<Arrivals>,
    /// Closed sessions started per second; all at once when absent.
    pub spawn_rate: Option<Rate>,
}

/// The streams to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Streams {
    /// The workload's first one: at a rate in its own unit, or closed.
    First {
        /// Open load if present.
        rate: Option<Rate>,
    },
    /// These, side by side. All that have several paces have the same number of them.
    Named(Vec<StreamSetting>),
}

/// One `--stream`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSetting {
    /// A stream or an op of the workload; empty for its first stream.
    pub name: String,
    /// One per step; a single one holds for all steps. Never empty; all open or all closed.
    pub paces: Vec<PaceSetting>,
}

/// One pace of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaceSetting {
    /// A rate in the stream's own unit.
    Open(Rate),
    /// Sessions that send the next op when the previous one completes; [`Load::sessions`] when
    /// absent.
    Closed(Option<u32>),
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// Warm-up, which is not measured.
    pub warm_up: Nanos,
    /// Never ends by `until` before this much was measured.
    pub at_least: Nanos,
    /// Measured at most; for streams with several paces, each step.
    pub at_most: Nanos,
    /// Ends after so many rows.
    pub rows: Option<u64>,
    /// Ends when this holds.
    pub until: Option<Predicate>,
}

/// Objectives; none is set when all are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Objectives {
    /// Maximum latencies, by quantile, ascending.
    pub latency: Vec<(Quantile, Nanos)>,
    /// Maximum p99 of row latency.
    pub row_p99: Option<Nanos>,
    /// Maximum fraction of offered ops that fail or are dropped.
    pub errors: Option<Ppm>,
    /// Maximum fraction of ops rejected for lack of capacity.
    pub rejected: Option<Ppm>,
    /// Minimum of acknowledged units per second.
    pub min_rate: Option<Rate>,
    /// Maximum CPU use of any target node.
    pub max_cpu: Option<Ppm>,
}

/// A quantile in millionths: p99 is 990,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantile(pub u32);

/// Part `index` of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// From 1 to `of`.
    pub index: u32,
    /// From 1 to 64, the number of a plan's lanes.
    pub of: u32,
}

/// When a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartAt {
    /// At this time since 1970-01-01T00:00:00Z.
    Instant(Nanos),
    /// After this delay.
    Delay(Nanos),
}

/// Where events go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventSink {
    /// Standard output; the result is beside it.
    Stdout,
    /// This file, which is made anew.
    File(PathBuf),
}

/// Where commands to a run come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandSource {
    /// Standard input.
    Stdin,
    /// This file or named pipe.
    File(PathBuf),
}

/// What `highwater run` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutput {
    /// No progress.
    pub quiet: bool,
    /// The record as JSON in place of the summary.
    pub json: bool,
    /// Events as JSON.
    pub events: Option<EventSink>,
    /// Only the plan, as JSON; nothing is run.
    pub plan_only: bool,
    /// No colors, whatever the terminal can do.
    pub no_color: bool,
}

/// Everything `highwater find` needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct FindSettings {
    /// What all probes have in common. Its streams hold the fixed paces; that of the searched one
    /// is each probe's own, as is the length.
    pub run: RunSettings,
    /// The axis of the search.
    pub axis: SearchAxis,
    /// Position of the searched stream in the settings of the run.
    pub searched: usize,
    /// First value of the search.
    pub first: Option<f64>,
    /// Greatest value that is probed.
    pub max: Option<f64>,
    /// Greatest relative difference between the ends of the mark.
    pub tolerance: Ppm,
    /// Measured time of each probe.
    pub probe: Nanos,
    /// Measured time of each confirmation.
    pub confirm: Nanos,
    /// Idle time of the target between probes.
    pub settle: Nanos,
    /// Time for the whole search.
    pub budget: Nanos,
    /// Measured time of the soak after the search.
    pub soak: Option<Nanos>,
    /// The mark must reach this.
    pub floor: Option<Rate>,
    /// `--errors` is absent, so no op may fail.
    pub no_errors: bool,
    /// The search to resume.
    pub resume: Option<String>,
    /// Only print the preview.
    pub dry_run: bool,
}

/// Everything `highwater demo` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoSettings {
    /// The directory below which the searches are kept.
    pub out: PathBuf,
}

/// Everything `highwater show` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShowSettings {
    /// Directories, `record.json` paths, ids or beginnings of ids; empty: the newest run. Several
    /// are shares of one run.
    pub runs: Vec<String>,
    /// What is printed.
    pub format: Format,
    /// Show the page in the user's browser instead of printing anything.
    pub open: bool,
    /// The run store's directory, where ids are looked up.
    pub out: PathBuf,
    /// No colors, whatever the terminal can do.
    pub no_color: bool,
}

/// A form of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareFormat {
    /// For people.
    Text,
    /// For a comment on a change.
    Markdown,
    /// A page.
    Html,
}

/// A form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The summary for people.
    Text,
    /// The record.
    Json,
    /// The intervals.
    Csv,
    /// The target's metrics.
    TelemetryCsv,
    /// The page.
    Html,
    /// The summary for a page of a pipeline.
    Markdown,
}

/// Everything `highwater check` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSettings {
    /// What is checked.
    pub subject: CheckSubject,
    /// The run store's directory, where ids are looked up.
    pub out: PathBuf,
    /// No colors, whatever the terminal can do.
    pub no_color: bool,
}

/// What `highwater check` checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckSubject {
    /// A target.
    Target {
        /// At least one.
        urls: Vec<TargetUrl>,
        /// `--insert`.
        insert: Option<String>,
    },
    /// A workload file, or figures: CSV files, records, directories of runs. Never empty.
    Files {
        /// Their names.
        names: Vec<String>,
        /// The scaling model that the figures are checked for.
        model: Option<ScalingModel>,
    },
}

/// Everything `highwater workloads` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadsSettings {
    /// What is printed or written.
    pub action: WorkloadsAction,
    /// No colors, whatever the terminal can do.
    pub no_color: bool,
}

/// What `highwater workloads` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadsAction {
    /// The workloads that come with the program.
    List,
    /// The file of one of them.
    Show(String),
    /// A commented file to begin with: on stdout, or into a new file.
    New(Option<PathBuf>),
    /// The JSON Schema of workload files.
    Schema,
    /// A file sketched from a table of a target.
    From {
        /// The target, at one or more URLs.
        urls: Vec<TargetUrl>,
        /// The table.
        table: String,
    },
}

/// Targets that the program supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetSchemes {
    /// URL schemes, without the colon.
    pub schemes: Vec<&'static str>,
    /// The target when none is named.
    pub default_url: Option<&'static str>,
}

impl TargetSchemes {
    /// Those that this program was built with.
    pub fn built_in() -> Self {
        let drivers = highwater_drivers::drivers().iter();
        Self {
            schemes: drivers
                .flat_map(|driver| driver.schemes())
                .copied()
                .collect(),
            default_url: highwater_drivers::default_url(),
        }
    }
}
