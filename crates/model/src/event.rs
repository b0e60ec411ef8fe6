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

/// An event as written by `--events`, one per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimedEvent {
    /// Wall-clock time, RFC 3339, UTC.
    pub time: String,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// An event of a run or experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line of a stream of events.
    Stream {
        /// [`EVENT_SCHEMA`].
        schema: String,
        /// Version of the program.
        highwater: String,
    },
    /// A run started: its directory exists and the target has responded.
    Begun {
        /// The run's directory.
        directory: String,
        /// Name of the workload.
        workload: String,
        /// URLs of the target, without passwords.
        urls: Vec<String>,
        /// Description of the target.
        target: String,
        /// Whether the target is a simulation with a simulated clock, whose seconds are faster or slower than real
        /// ones.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        simulated: bool,
        /// The planned phases, in order.
        #[serde(default)]
        phases: Vec<PhasePlan>,
        /// The objectives.
        #[serde(default)]
        objectives: Vec<Objective>,
        /// The settings file in the working directory; absent if it sets nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings_file: Option<String>,
    },
    /// The estimated duration and size of the run.
    Estimate(EstimateRecord),
    /// A part of the run without a pace started.
    Part(Part),
    /// Ops with a pace start filling a table.
    Filling {
        /// Number of rows in the table now.
        there: u64,
        /// Number of rows to reach.
        rows: u64,
    },
    /// A load started, with or without a pace; events for its seconds follow.
    Load(LoadBounds),
    /// A second of the load ended.
    Second(SecondProgress),
    /// A warm-up that lasts until throughput is steady ended.
    WarmedUp {
        /// Its duration.
        #[serde(rename = "took_ns")]
        took: Nanos,
        /// Whether steady throughput was shown. If not, the warm-up ran until its time limit.
        steady: bool,
    },
    /// A command to the run took effect, or will at the stated time.
    Intervention(InterventionRecord),
    /// Progress of the audit.
    Audit(AuditProgress),
    /// A run or experiment ended, and its record was written. Each trial of an experiment is a run.
    Ended {
        /// Its directory.
        directory: String,
        /// Its judgments.
        judgments: Judgments,
        /// Number of this run's rows that the audit found, including those of load and warm-up. Absent if the
        /// comparison was not completed, and for an experiment, because each of its runs has its own number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows_found: Option<u64>,
    },
    /// A trial of an experiment started. A trial that is itself an experiment has trials of its own.
    Trial {
        /// Number of the trial, from 1.
        number: u32,
        /// The trial.
        trial: Trial,
        /// Progress of the experiment.
        progress: ExperimentProgress,
    },
    /// A probe of a search ended.
    Probed(ProbeRecord),
    /// A configuration of a tuning was measured.
    Measured {
        /// The result.
        trial: TrialRecord,
        /// The unit of its throughput.
        unit: Unit,
    },
    /// A run of a group ended.
    Repeated {
        /// The result.
        trial: GroupTrial,
        /// The unit of its throughput.
        unit: Unit,
    },
    /// A size of a growth was measured.
    Sized {
        /// The result.
        trial: Box<ScaleTrial>,
        /// The unit of its throughput.
        unit: Unit,
    },
    /// A problem occurred that does not end the run.
    Warning {
        /// Kind of the problem.
        kind: WarningKind,
        /// The system's or target's message.
        message: String,
    },
    /// Events could not be written in time and are missing from the stream.
    Dropped {
        /// Number of missing events.
        events: u64,
    },
}

/// Kind of a problem that does not end a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// A file of the run could not be written; the run continues without it.
    FileNotWritten,
    /// The record could not be written completely.
    RecordNotWritten,
    /// The database of a run could not be removed after its audit.
    DatabaseNotRemoved,
    /// The target of a trial was unreachable.
    TargetUnreachable,
    /// Columns of the tables that the workload does not fill.
    ColumnsLeftOut,
}

/// A part of a run without a pace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Another run holds a table but may have died. Highwater waits for a heartbeat of that run.
    TableHeld {
        /// Name of the table.
        table: String,
        /// The run that holds the table.
        owner: String,
        /// Time since its last heartbeat.
        #[serde(rename = "silent_ns")]
        silent: Nanos,
        /// Maximum time to wait for one.
        #[serde(rename = "wait_ns")]
        wait: Nanos,
    },
    /// Tables are filled as fast as possible.
    Load {
        /// Number of rows to write.
        rows: u64,
    },
    /// All shares of a run wait for their common start time.
    Start {
        /// Time until the start.
        #[serde(rename = "wait_ns")]
        wait: Nanos,
    },
    /// A share waits for others of its plan.
    Shares {
        /// Numbers of the awaited shares.
        awaited: Vec<u32>,
        /// Number of shares of the plan.
        of: u32,
    },
    /// The user paused an experiment between two trials.
    Paused,
    /// The ledger of a stored run is read, and its rows are regenerated.
    LedgerReading,
    /// The audit started.
    Audit {
        /// The level of comparison.
        level: AuditLevel,
        /// Estimated duration.
        #[serde(rename = "estimate_ns")]
        estimate: Nanos,
    },
    /// The audit waits for an unreachable target.
    AuditWaiting {
        /// The target's error, or the error of the connection.
        error: String,
    },
}

/// A stage of an audit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum AuditStage {
    /// The audit starts.
    #[default]
    Beginning,
    /// The audit waits for statements that may still be running.
    WaitingForStatements,
    /// An invariant of the workload is checked.
    Invariant {
        /// Name of the invariant.
        name: String,
    },
    /// A table is compared.
    Table {
        /// Name of the table.
        table: String,
        /// The step of the comparison.
        step: TableStep,
    },
    /// The server's own counters are compared.
    ServerCounters,
    /// The audit waits for an unreachable target.
    WaitingForTarget {
        /// The target's error, or the error of the connection.
        error: String,
    },
    /// The audit waits for a table that does not exist yet.
    WaitingForTable {
        /// The target's error.
        error: String,
    },
    /// A query is repeated because the target temporarily refused it.
    Repeating {
        /// The target's error.
        error: String,
    },
    /// A statement exceeded the target's memory or temporary space; smaller ones follow.
    Shrinking {
        /// The target's error.
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

/// A step in the audit of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableStep {
    /// The audit's SQL is tested on known rows.
    OwnSql,
    /// Rows are counted.
    Counting,
    /// Rows and checksums are summed.
    Summing,
    /// Rows with an unknown outcome are searched for, and a sample is read back.
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

/// Progress of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuditProgress {
    /// The current stage.
    pub doing: AuditStage,
    /// Number of rows processed; a row that is processed twice counts twice.
    pub rows: u64,
    /// Number of further rows that the current query processes.
    pub under_way: u64,
    /// Total number of rows to process.
    pub of: u64,
    /// Estimated duration of the audit.
    #[serde(rename = "estimate_ns")]
    pub estimate: Nanos,
    /// Elapsed time.
    #[serde(rename = "elapsed_ns", default)]
    pub elapsed: Nanos,
}

/// Limits of a part of a run with a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadBounds {
    /// Number of rows in the table at the start.
    pub there: u64,
    /// Number of rows to reach; absent if a number of rows does not end it.
    pub rows: Option<u64>,
    /// Maximum duration; absent if no duration ends it.
    #[serde(rename = "length_ns")]
    pub length: Option<Nanos>,
}

/// One second of a run, reported a quarter of a second after its end.
///
/// An op belongs to the second of its intended time, and its outcome is known when it ends. Outcomes that become known
/// after their second was reported are counted in the next report, so that the sum over all seconds is complete,
/// however slow the ops were. The last second contains everything that was still missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecondProgress {
    /// Whole seconds since the start of the first phase, at the end of the interval.
    pub second: u64,
    /// Name of the phase.
    pub phase: String,
    /// All streams of the plan, in the plan's order.
    pub streams: Vec<StreamProgress>,
    /// Failed ops of all streams.
    pub errors: u64,
    /// Ops of all streams that were intended but never sent; known when their phase ends.
    pub dropped: u64,
    /// Number of open sessions.
    pub sessions: u32,
    /// Status of each objective, in the plan's order; empty outside measured phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<ObjectiveSoFar>,
    /// Why a session could not connect in this second; absent if none failed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconnected: Option<String>,
}

/// Status of an objective over the current measured phase so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ObjectiveSoFar {
    /// An objective that allows a fraction of ops to miss it: figures of the op closest to missing it.
    Part {
        /// Number of ops, or rows, over the limit.
        missed: u64,
        /// Total number of ops, or rows.
        counted: u64,
    },
    /// An objective for a rate: the figure of the stream closest to missing it.
    Rate {
        /// Acknowledged units per second.
        per_s: f64,
    },
    /// CPU use of the busiest node, as last polled.
    Cpu {
        /// CPU use as a fraction, 0 to 1.
        busy: f64,
    },
    /// Nothing has been counted yet.
    Nothing,
}

/// One second of one stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamProgress {
    /// Name of the stream.
    pub stream: String,
    /// The unit of its rates.
    pub unit: Unit,
    /// Planned rate in this interval, in units per second; absent in closed load.
    pub offered_per_s: Option<f64>,
    /// Acknowledged units per second in this interval.
    pub units_per_s: f64,
    /// Median latency of ops intended in this second, and of ops intended in the previous phase that ended since, in
    /// nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the latency of the same ops, in nanoseconds; absent below 100 ops.
    pub p99_ns: Option<u64>,
    /// Whether the 99th percentile is a lower bound.
    pub p99_at_least: bool,
    /// Maximum latency of the same ops, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Latency over the last seconds; only if the 99th percentile is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<RecentLatency>,
    /// Number of failed ops.
    pub errors: u64,
    /// Of these, ops that the target rejected for lack of capacity.
    pub rejected: u64,
    /// All other counts, including late counts for earlier seconds.
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

/// Counts of a stream that became known in one second; in ops unless stated otherwise. The sum over all seconds equals
/// the figures of the record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamCounts {
    /// Ops intended in this second, or intended earlier and ended since.
    pub offered: u64,
    /// Of these, ops that were sent.
    pub sent: u64,
    /// Of these, ops that were dropped.
    pub dropped: u64,
    /// Ops acknowledged in this second.
    pub acknowledged: u64,
    /// Rows acknowledged in this second.
    pub rows_acknowledged: u64,
    /// Rows that the target reported as not stored.
    pub rows_refused: u64,
    /// Of the ops intended, the number that ended within 100 µs, 250 µs, 500 µs, 1 ms, and so on up to 10 s, then 30 s
    /// and 60 s. The last number is the total, including ops that never ended. Absent if no op was intended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_up_to: Vec<u64>,
    /// Sum of the latencies of those that ended.
    pub latency_sum_ns: u64,
    /// Of the ops acknowledged in this second, the number with a service time within the same limits, followed by their
    /// total. Absent if none was acknowledged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_up_to: Vec<u64>,
    /// Sum of their service times.
    #[serde(default)]
    pub service_sum_ns: u64,
    /// Of the ops that ended in this second, the number with a client lag within the same limits, followed by their
    /// total. Absent if none ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lag_up_to: Vec<u64>,
    /// Sum of their client lags.
    #[serde(default)]
    pub lag_sum_ns: u64,
    /// Ops that failed in this second, by error class; classes without failures are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<ErrorClass, u64>,
}

/// Latency over the last seconds of a phase, for a stream with few ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecentLatency {
    /// Maximum number of seconds covered, including this one.
    pub seconds: u64,
    /// Number of ops intended in these seconds and completed.
    pub ops: u64,
    /// Median latency in nanoseconds; absent below 10 ops.
    pub p50_ns: Option<u64>,
    /// 99th percentile in nanoseconds; absent below 100 ops.
    pub p99_ns: Option<u64>,
    /// Maximum latency in nanoseconds.
    pub max_ns: u64,
    /// Whether ops were dropped or timed out, which makes the 99th percentile and the maximum lower bounds.
    pub at_least: bool,
}

/// A trial of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trial {
    /// A probe of a search, at one value of its axis.
    Probe {
        /// Purpose of the probe.
        purpose: ProbePurpose,
        /// The axis of the search.
        axis: SearchAxis,
        /// The value; absent for an estimate with closed load.
        at: Option<f64>,
        /// The unit of the stream.
        unit: Unit,
    },
    /// A configuration of a tuning.
    Configuration {
        /// Purpose of the trial.
        purpose: TrialPurpose,
        /// Each axis with its value.
        values: Vec<[String; 2]>,
    },
    /// A run of a group.
    Variant {
        /// Name of the variant.
        name: String,
        /// Number of the run among those of its variant, from 1.
        round: u32,
        /// Number of runs of each variant.
        times: u32,
    },
    /// A size of a growth.
    Size {
        /// Purpose of the trial.
        purpose: ScalePurpose,
        /// Number of nodes.
        nodes: u32,
        /// Name of the variant; absent if the target has only one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variant: Option<String>,
        /// The node measured alone; absent for a size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<u32>,
        /// Predicted throughput; absent if there is no prediction.
        predicted: Option<PredictedRate>,
        /// The unit of the stream.
        unit: Unit,
    },
}

/// Progress of an experiment at the start of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentProgress {
    /// Number of completed trials.
    pub done: u32,
    /// Maximum number of trials.
    pub most: u32,
    /// Expected total number of trials, given those completed.
    #[serde(default)]
    pub likely: u32,
    /// Time spent on completed trials.
    #[serde(rename = "spent_ns")]
    pub spent: Nanos,
    /// Expected duration of a further trial, as far as known.
    #[serde(rename = "each_ns")]
    pub each: Nanos,
    /// Expected duration of the remaining trials, including their preparation.
    #[serde(default, rename = "left_ns")]
    pub left: Nanos,
    /// Time limit of all trials together; absent if there is none.
    #[serde(rename = "budget_ns")]
    pub budget: Option<Nanos>,
}
