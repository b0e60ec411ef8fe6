//! Settings: what a command is asked to do, typed and checked, wherever it was said.
//!
//! The rest of the program sees only these values: no flags, no environment, no file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use highwater_core::analysis::scaling::ScalingModel;
use highwater_core::model::plan::{Arrivals, AuditLevel, Predicate};
use highwater_core::model::quantity::Ppm;
use highwater_core::model::search::SearchAxis;
use highwater_core::model::units::{Nanos, Rate, Seed};
use highwater_driver::{TargetUrl, registry};

mod compare;
mod fill;
mod find;
mod given;
mod import;
mod load;
mod probes;
mod resolve;
mod size;
mod table;
mod telemetry;
mod tune;
mod words;

#[cfg(test)]
mod tests;

pub use compare::{CompareFormat, CompareSettings, RepeatSettings, Variant};
pub use import::ImportSettings;
pub use size::{Conditions, SizeSettings, Wanted};
pub use table::TableSettings;
pub use telemetry::Telemetry;
pub use tune::TuneSettings;
pub(crate) use tune::put;

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
    /// Make tables of the list anew, whatever they hold.
    pub drop: bool,
    /// Tables that may be dropped although they are not in the list.
    pub drop_foreign: Vec<String>,
    /// Refuse what cannot fit on the target's disk, and stop before that is full.
    pub guard_disk: bool,
    /// What the target, its host and others are asked during the load.
    pub telemetry: Telemetry,
    /// Everything random derives from it.
    pub seed: Seed,
    /// What is asked, and how fast.
    pub load: Load,
    /// When it ends.
    pub length: Length,
    /// Whether the run is to fill the workload's tables up to a number of rows, and no more.
    pub fills: bool,
    /// What must hold.
    pub objectives: Objectives,
    /// An op without an answer after this long is given up.
    pub timeout: Nanos,
    /// Further attempts for an op that certainly was not applied.
    pub retries: u32,
    /// What is compared afterwards.
    pub audit: AuditLevel,
    /// Bound of the audit's duration.
    pub audit_timeout: Nanos,
    /// Which of several runs of the same plan it is, from 0.
    pub round: u32,
    /// Which part of the plan this process takes.
    pub share: Share,
    /// When the first phase begins; at once when absent.
    pub start_at: Option<StartAt>,
    /// The run store's directory.
    pub out: PathBuf,
    /// Notes for the record.
    pub labels: BTreeMap<String, String>,
    /// What is said again to go on with this run, by flag; without targets, load and length.
    pub given: BTreeMap<String, Vec<String>>,
    /// What is shown.
    pub output: RunOutput,
}

/// Which workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadChoice {
    /// One of the catalog.
    Named(String),
    /// The user's own file.
    File(PathBuf),
    /// The user's own statements, a file each, and how often each is asked beside the others.
    Scripts(Vec<(PathBuf, u32)>),
}

/// What is asked, and how fast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Sessions of a closed pace that names no number, and the most that an open one uses; the
    /// target's own default when absent.
    pub sessions: Option<u32>,
    /// Which streams.
    pub streams: Streams,
    /// How open arrivals are spread; as the workload says when absent.
    pub arrivals: Option<Arrivals>,
    /// Closed sessions started per second; all at once when absent.
    pub spawn_rate: Option<Rate>,
}

/// Which streams are asked.
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
    /// Sessions that ask again when answered; [`Load::sessions`] when absent.
    Closed(Option<u32>),
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// Left out at the beginning.
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

/// What must hold; nothing must when all is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Objectives {
    /// Greatest latencies, by quantile, ascending.
    pub latency: Vec<(Quantile, Nanos)>,
    /// Greatest 99th percentile of row latency.
    pub row_p99: Option<Nanos>,
    /// Most failed or dropped ops, of those offered.
    pub errors: Option<Ppm>,
    /// Most ops rejected for lack of capacity.
    pub rejected: Option<Ppm>,
    /// Least acknowledged units per second.
    pub min_rate: Option<Rate>,
    /// Greatest CPU use of any node of the target.
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

/// What `highwater run` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOutput {
    /// No progress.
    pub quiet: bool,
    /// The record as JSON in place of the summary.
    pub json: bool,
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
    /// What is varied.
    pub axis: SearchAxis,
    /// Position of the searched stream in the settings of the run.
    pub searched: usize,
    /// First value of the search.
    pub first: Option<f64>,
    /// Greatest value that is probed.
    pub max: Option<f64>,
    /// Greatest relative difference between the ends of the mark.
    pub tolerance: Ppm,
    /// How long each probe is measured.
    pub probe: Nanos,
    /// How long each confirmation is measured.
    pub confirm: Nanos,
    /// How long the target is left alone between probes.
    pub settle: Nanos,
    /// Time for the whole search.
    pub budget: Nanos,
    /// A mark is followed by a run that measures so long.
    pub soak: Option<Nanos>,
    /// The mark must reach this.
    pub floor: Option<Rate>,
    /// Nothing was said about errors, so no op may fail.
    pub no_errors: bool,
    /// Only say what would be done.
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

/// A form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The summary for people.
    Text,
    /// The record.
    Json,
    /// The intervals.
    Csv,
    /// What the target said of itself.
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

/// What is known of targets before any is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetSchemes {
    /// URL schemes, without the colon.
    pub schemes: Vec<&'static str>,
    /// The target when none is named.
    pub default_url: Option<&'static str>,
}

impl TargetSchemes {
    /// What this program was built with.
    pub fn built_in() -> Self {
        let drivers = registry::drivers().iter();
        Self {
            schemes: drivers
                .flat_map(|driver| driver.schemes())
                .copied()
                .collect(),
            default_url: registry::default_url(),
        }
    }
}
