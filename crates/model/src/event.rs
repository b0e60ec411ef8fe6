//! Events that a run or an experiment reports while in progress: data, one value per event.
//!
//! Receivers produce the text for users; the only sentences here are those of the target or the system, and those of an
//! audit's stage, which a record of an audit that failed states too. Must not decide what happens next.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::control::InterventionRecord;
use super::group::GroupTrial;
use super::judgment::Judgments;
use super::outcome::ErrorClass;
use super::plan::{AuditLevel, Objective, PhasePlan};
use super::run_record::EstimateRecord;
use super::scale::ScaleTrial;
use super::search::ProbeRecord;
use super::tune::TrialRecord;
use crate::plan::Unit;
use crate::scale::{PredictedRate, ScalePurpose};
use crate::search::{ProbePurpose, SearchAxis};
use crate::tune::TrialPurpose;
use crate::units::Nanos;

/// Version of the event format.
pub const EVENT_SCHEMA: &str = "highwater-event/1";

/// An event as `--events` writes it, one a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimedEvent {
    /// Wall clock, RFC 3339, UTC.
    pub time: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Something worth showing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// First line of a stream of events.
    Stream {
        /// [`EVENT_SCHEMA`].
        schema: String,
        /// Version of the program.
        highwater: String,
    },
    /// The run's directory is there and the target has answered.
    Begun {
        /// Where the run is kept.
        directory: String,
        /// Name of the workload.
        workload: String,
        /// Where the target is.
        urls: Vec<String>,
        /// What the target is.
        target: String,
        /// Whether it is a model on simulated time: its seconds pass faster, or slower, than those of a clock.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        simulated: bool,
        /// What is planned, in order.
        #[serde(default)]
        phases: Vec<PhasePlan>,
        /// What must hold.
        #[serde(default)]
        objectives: Vec<Objective>,
        /// The working directory's file of settings, where it decides anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings_file: Option<String>,
    },
    /// What the run is expected to take.
    Estimate(EstimateRecord),
    /// A part of the run without a pace begins.
    Part(Part),
    /// A table is to be filled by ops with a pace.
    Filling {
        /// Rows that are there.
        there: u64,
        /// Rows that are to be there.
        rows: u64,
    },
    /// A load begins, with or without a pace; its seconds follow.
    Load(LoadBounds),
    /// A second of load is over.
    Second(SecondProgress),
    /// A warm-up until throughput is steady is over.
    WarmedUp {
        /// How long it took.
        #[serde(rename = "took_ns")]
        took: Nanos,
        /// Whether throughput was shown to be steady; if not, it took as long as it could.
        steady: bool,
    },
    /// A command to the run took effect, or will at its time.
    Intervention(InterventionRecord),
    /// The audit has come this far.
    Audit(AuditProgress),
    /// A run or an experiment is over, and its record is written; each trial of an experiment is a run.
    Ended {
        /// Where it is kept.
        directory: String,
        /// What to make of it.
        judgments: Judgments,
        /// Rows of this run that its audit found, those of load and warm-up included; absent where rows were not
        /// compared to the end, and of an experiment, each of whose runs has its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows_found: Option<u64>,
    },
    /// A trial of an experiment begins; one that is an experiment itself has trials of its own.
    Trial {
        /// From 1.
        number: u32,
        /// What is tried.
        trial: Trial,
        /// How far the experiment is.
        progress: ExperimentProgress,
    },
    /// A probe of a search is over.
    Probed(ProbeRecord),
    /// A configuration of a tuning was measured.
    Measured {
        /// What it showed.
        trial: TrialRecord,
        /// What its throughput counts.
        unit: Unit,
    },
    /// A run of a group is over.
    Repeated {
        /// What it showed.
        trial: GroupTrial,
        /// What its throughput counts.
        unit: Unit,
    },
    /// A size of a growth was measured.
    Sized {
        /// What it showed.
        trial: Box<ScaleTrial>,
        /// What its throughput counts.
        unit: Unit,
    },
    /// Something went wrong that does not end the run.
    Warning {
        /// What.
        kind: WarningKind,
        /// What the system or the target said.
        message: String,
    },
    /// So many events could not be written in time, and are not in the stream.
    Dropped {
        /// How many.
        events: u64,
    },
}

/// What goes wrong without ending a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// A file of the run could not be written; it goes on without.
    FileNotWritten,
    /// The record could not be written as it should.
    RecordNotWritten,
    /// The target of a trial could not be reached.
    TargetUnreachable,
}

/// A part of a run in which nothing has a pace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Another run holds a table and may be gone: it is given time for a sign of life.
    TableHeld {
        /// The table.
        table: String,
        /// Who holds it.
        owner: String,
        /// Since its last sign of life.
        #[serde(rename = "silent_ns")]
        silent: Nanos,
        /// How long it is waited for.
        #[serde(rename = "wait_ns")]
        wait: Nanos,
    },
    /// Tables are filled as fast as they take it.
    Load {
        /// Rows to write.
        rows: u64,
    },
    /// All shares of a run wait for their common start.
    Start {
        /// How long.
        #[serde(rename = "wait_ns")]
        wait: Nanos,
    },
    /// The user lets an experiment wait between two trials.
    Paused,
    /// A stored run's ledger is read, and its rows are made again.
    LedgerReading,
    /// The audit begins.
    Audit {
        /// What is compared.
        level: AuditLevel,
        /// About how long it takes.
        #[serde(rename = "estimate_ns")]
        estimate: Nanos,
    },
    /// The audit waits for a target that is away.
    AuditWaiting {
        /// What it answered, if it did.
        error: String,
    },
}

/// What an audit is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum AuditStage {
    /// It begins.
    #[default]
    Beginning,
    /// Statements may still be running.
    WaitingForStatements,
    /// An invariant of the workload is checked.
    Invariant {
        /// Its name.
        name: String,
    },
    /// A table is compared.
    Table {
        /// Which.
        table: String,
        /// What is done with it.
        step: TableStep,
    },
    /// The server's own counters are compared.
    ServerCounters,
    /// The target is away.
    WaitingForTarget {
        /// What it answered, if it did.
        error: String,
    },
    /// A table is not there yet.
    WaitingForTable {
        /// What the target answered.
        error: String,
    },
    /// A request is repeated that was refused for now.
    Repeating {
        /// What the target answered.
        error: String,
    },
    /// The target had no room for a statement: smaller ones follow.
    Shrinking {
        /// What the target answered.
        error: String,
    },
}

impl fmt::Display for AuditStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beginning => f.write_str("beginning"),
            Self::WaitingForStatements => f.write_str("waiting for statements to end"),
            Self::Invariant { name } => write!(f, "asking invariant `{name}`"),
            Self::Table { table, step } => write!(f, "{} of table `{table}`", step.words()),
            Self::ServerCounters => f.write_str("reading the server's counters"),
            Self::WaitingForTarget { error } => write!(f, "waiting for the target: {error}"),
            Self::WaitingForTable { error } => write!(f, "waiting for a table: {error}"),
            Self::Repeating { error } => write!(f, "repeating a request: {error}"),
            Self::Shrinking { error } => {
                write!(f, "making statements smaller, after one that had no room: {error}")
            }
        }
    }
}

/// What an audit does with a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableStep {
    /// Its SQL is tried on known rows.
    OwnSql,
    /// Rows are counted.
    Counting,
    /// Rows and checksums are added up.
    Summing,
    /// Rows of unknown outcome are searched for, and a sample is read.
    Searching,
    /// Rows are read back.
    Reading,
}

impl TableStep {
    const fn words(self) -> &'static str {
        match self {
            Self::OwnSql => "trying the audit's own SQL on known rows",
            Self::Counting => "counting rows",
            Self::Summing => "adding up checksums",
            Self::Searching => "searching for rows of unknown outcome, and reading a sample",
            Self::Reading => "reading back rows",
        }
    }
}

/// How far an audit is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuditProgress {
    /// What is being done.
    pub doing: AuditStage,
    /// Rows that were looked at; a row that is looked at twice counts twice.
    pub rows: u64,
    /// Rows that the question under way looks at besides.
    pub under_way: u64,
    /// Rows that are to be looked at.
    pub of: u64,
    /// How long the audit was expected to take.
    #[serde(rename = "estimate_ns")]
    pub estimate: Nanos,
    /// How long it has taken so far.
    #[serde(rename = "elapsed_ns", default)]
    pub elapsed: Nanos,
}

/// What ends a part of a run in which a load runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadBounds {
    /// Rows that are there.
    pub there: u64,
    /// Rows that are to be there; absent where their number ends nothing.
    pub rows: Option<u64>,
    /// How long it lasts at most; absent where time ends nothing.
    #[serde(rename = "length_ns")]
    pub length: Option<Nanos>,
}

/// One second of a run, as it is known a quarter of a second later.
///
/// An op belongs to the second in which it was due, and what became of it is known when it ends. What was not known
/// when its second was reported is in the counts of the next one, so that over all seconds nothing is left out,
/// however slow it was. The last second has all that is left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecondProgress {
    /// Whole seconds since the start of the first phase, at the end of the interval.
    pub second: u64,
    /// Name of the phase.
    pub phase: String,
    /// All streams of the plan, in its order.
    pub streams: Vec<StreamProgress>,
    /// Ops that failed, all streams together.
    pub errors: u64,
    /// Ops that were due and never sent, all streams together; known when their phase ends.
    pub dropped: u64,
    /// Sessions that are open now.
    pub sessions: u32,
    /// How each objective of the plan stands, in its order; empty outside measured phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<ObjectiveSoFar>,
}

/// How an objective stands in the measured phase that is running, over all of it so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ObjectiveSoFar {
    /// Only a part may miss it: of the op that is nearest to a miss.
    Part {
        /// Ops, or rows, that missed it.
        missed: u64,
        /// All of them.
        counted: u64,
    },
    /// A rate: of the stream that is nearest to a miss.
    Rate {
        /// Acknowledged units per second.
        per_s: f64,
    },
    /// The CPU of the busiest node, at its last reading.
    Cpu {
        /// The busy part of it.
        busy: f64,
    },
    /// Nothing was counted yet.
    Nothing,
}

/// One second of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamProgress {
    /// Its name.
    pub stream: String,
    /// What it counts in.
    pub unit: Unit,
    /// Units per second that the plan offers in this interval; absent in closed load.
    pub offered_per_s: Option<f64>,
    /// Acknowledged units per second of this interval.
    pub units_per_s: f64,
    /// Median of the ops due in this second, and of those due in the phase before it that ended since.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the same ops; absent below 100.
    pub p99_ns: Option<u64>,
    /// Whether that percentile is a lower bound.
    pub p99_at_least: bool,
    /// Where that percentile is absent: what the seconds before show besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<RecentLatency>,
    /// Ops that failed.
    pub errors: u64,
    /// Those of them that were rejected for lack of capacity.
    pub rejected: u64,
    /// Everything else that was counted, late counts of earlier seconds included.
    #[serde(default)]
    pub counts: StreamCounts,
}

/// Bounds of the `…_up_to` of [`StreamCounts`], in nanoseconds: 100 µs to 60 s.
pub const LATENCY_BOUNDS_NS: [u64; 18] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
];

/// What became known of a stream in one second; ops, unless it says rows. Added up over all seconds it is what the
/// record has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamCounts {
    /// Due in this second, or before it and over since.
    pub offered: u64,
    /// Those of them that were sent.
    pub sent: u64,
    /// Those of them that were dropped.
    pub dropped: u64,
    /// Acknowledged in this second.
    pub acknowledged: u64,
    /// Rows acknowledged in this second.
    pub rows_acknowledged: u64,
    /// Rows that the target said it did not store.
    pub rows_refused: u64,
    /// Of those due, how many ended within 100 µs, 250 µs, 500 µs, 1 ms and so on up to 10 s, then 30 s and 60 s;
    /// the last number is of all, also of those that never ended. Absent where none was due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_up_to: Vec<u64>,
    /// Latencies of those that ended, added up.
    pub latency_sum_ns: u64,
    /// Of those acknowledged in this second, how many had a service time within the same bounds, and how many
    /// they are. Absent where none was acknowledged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_up_to: Vec<u64>,
    /// Their service times, added up.
    #[serde(default)]
    pub service_sum_ns: u64,
    /// Of those that ended in this second, how many had a client lag within the same bounds, and how many they
    /// are. Absent where none ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lag_up_to: Vec<u64>,
    /// Their client lags, added up.
    #[serde(default)]
    pub lag_sum_ns: u64,
    /// Failed in this second, by class; a class without any is absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<ErrorClass, u64>,
}

/// Latency over the last seconds of a phase, for a stream of few ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecentLatency {
    /// Over at most so many seconds, this one included.
    pub seconds: u64,
    /// Ops that were due in them and answered.
    pub ops: u64,
    /// Median; absent below 10 ops.
    pub p50_ns: Option<u64>,
    /// 99th percentile; absent below 100 ops.
    pub p99_ns: Option<u64>,
    /// Greatest latency.
    pub max_ns: u64,
    /// Whether ops were dropped or timed out, so that the greatest two are lower bounds.
    pub at_least: bool,
}

/// What a trial of an experiment tries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trial {
    /// A value of a search's axis.
    Probe {
        /// Why.
        purpose: ProbePurpose,
        /// What is varied.
        axis: SearchAxis,
        /// The value; absent for an estimate by closed load.
        at: Option<f64>,
        /// What the stream counts in.
        unit: Unit,
    },
    /// A configuration of a tuning.
    Configuration {
        /// Why.
        purpose: TrialPurpose,
        /// Each axis and its value.
        values: Vec<[String; 2]>,
    },
    /// A run of a group.
    Variant {
        /// Name of its variant.
        name: String,
        /// Which of its variant's runs it is, from 1.
        round: u32,
        /// Runs of each variant.
        times: u32,
    },
    /// A size of a growth.
    Size {
        /// Why.
        purpose: ScalePurpose,
        /// How many nodes.
        nodes: u32,
        /// Which of several variants of a target it is; absent where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variant: Option<String>,
        /// The node that is measured alone; absent of a size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<u32>,
        /// What is predicted for it; absent where nothing is.
        predicted: Option<PredictedRate>,
        /// What the stream counts in.
        unit: Unit,
    },
}

/// How far an experiment is, when a trial begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentProgress {
    /// Trials that are over.
    pub done: u32,
    /// Trials at most.
    pub most: u32,
    /// Trials in all that are probable by those that are over.
    #[serde(default)]
    pub likely: u32,
    /// What they took.
    #[serde(rename = "spent_ns")]
    pub spent: Nanos,
    /// What one that is to come takes, as far as is known.
    #[serde(rename = "each_ns")]
    pub each: Nanos,
    /// What those that are to come will probably take, with what making them ready takes besides.
    #[serde(default, rename = "left_ns")]
    pub left: Nanos,
    /// What all of them may take; absent: no bound.
    #[serde(rename = "budget_ns")]
    pub budget: Option<Nanos>,
}
