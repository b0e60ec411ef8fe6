//! Measured figures of each op, and of each stream, in each phase. Data only; `analysis` interprets them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::display::{percent_signed, rate, ratio};
use super::histogram::LatencySummary;
use super::plan::Unit;

/// The length of a window of [`Windows`], nanoseconds.
pub const WINDOW_NS: u64 = 100_000_000;

/// The figures of one op of one stream in one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultRecord {
    /// Name of the phase.
    pub phase: String,
    /// Name of the stream.
    pub stream: String,
    /// Name of the op.
    pub op: String,
    /// Whether arrivals followed a rate; open and closed results are never compared.
    pub open: bool,
    /// Ops that were due.
    pub offered: u64,
    /// Ops that were sent, each counted once whatever its attempts.
    pub sent: u64,
    /// Ops that the target acknowledged, as a whole or in part.
    pub acknowledged: u64,
    /// Ops that were due and never sent.
    pub dropped: u64,
    /// What was acknowledged within the phase, whenever it was due; throughput counts this.
    #[serde(default)]
    pub answered: AnsweredRecord,
    /// Further attempts.
    pub retries: u64,
    /// Ops whose last attempt failed, as a whole or in part, by class.
    pub errors: BTreeMap<String, u64>,
    /// Those of them of which some rows were acknowledged, by class: these ops are among the acknowledged ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partial: BTreeMap<String, u64>,
    /// One example of the target's words per class.
    pub error_examples: BTreeMap<String, String>,
    /// The same ops by class, code and message, most frequent first: at most 20 messages, and all others of a class
    /// together. Empty where only classes are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureRecord>,
    /// Rows written.
    pub rows: RowCounts,
    /// Acknowledged work per second of the phase, by the time of its answer.
    pub throughput: ThroughputRecord,
    /// Bytes of the answers.
    pub response_bytes: u64,
    /// Rows of the answers.
    pub response_rows: u64,
    /// Finished minus intended, of acknowledged ops; failed and dropped ones rank as infinite.
    pub latency_ns: LatencySummary,
    /// Finished minus started.
    pub service_ns: LatencySummary,
    /// How long an op was due while every session was busy.
    pub session_wait_ns: LatencySummary,
    /// How late our own program started an op.
    pub client_lag_ns: LatencySummary,
    /// Latency without the load generator's own delay of each op; open load only.
    #[serde(default)]
    pub undelayed_ns: Option<LatencySummary>,
    /// Latency of a row: waiting for its batch to fill, and the op's latency; rows that were not acknowledged rank as
    /// infinite. Open inserts only.
    pub row_latency_ns: Option<LatencySummary>,
    /// Finished minus intended, of failed ops.
    pub error_latency_ns: LatencySummary,
    /// Whether percentiles are those of a backlog.
    pub backlog: bool,
    /// Distributions, base64 of HdrHistogram's V2 compressed encoding, values in nanoseconds.
    pub histograms: Histograms,
    /// Counts per window of 100 ms, for the statistics.
    pub windows: Windows,
}

impl ResultRecord {
    /// Ops that failed as a whole.
    pub fn failed_ops(&self) -> u64 {
        let with_errors: u64 = self.errors.values().sum();
        with_errors.saturating_sub(self.partial_ops())
    }

    /// Ops with only some rows acknowledged.
    pub fn partial_ops(&self) -> u64 {
        self.partial.values().sum()
    }
}

/// Ops that failed for the same reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureRecord {
    /// What kind of failure it is, as in `errors`.
    pub class: String,
    /// The target's own code, such as an SQLSTATE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The target's words about the first of them; those about others may differ in numbers.
    pub message: String,
    /// Ops.
    pub count: u64,
    /// What the driver advises for the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl FailureRecord {
    /// The code, if any, and the message.
    pub fn cause(&self) -> String {
        self.code.iter().map(|code| format!("{code} ")).chain([self.message.clone()]).collect()
    }

    /// Whether it has the same cause as another one.
    pub fn is_as(&self, other: &Self) -> bool {
        (&self.class, &self.code, &self.message) == (&other.class, &other.code, &other.message)
    }
}

/// Rows of insert ops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowCounts {
    /// Rows of the ops that were sent.
    pub sent: u64,
    /// Rows that the target said it stored.
    pub acknowledged: u64,
    /// Rows that the target said it did not store.
    pub refused: u64,
    /// Rows whose outcome is unknown.
    pub unknown: u64,
}

/// Work that was acknowledged within a phase, by the time of its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredRecord {
    /// Ops, partial ones included.
    pub ops: u64,
    /// Their rows, as the target said it stored them.
    pub rows: u64,
}

impl AnsweredRecord {
    /// Mean rows per op; 0 without any op.
    pub fn rows_per_op(self) -> f64 {
        ratio(self.rows, self.ops.max(1))
    }
}

/// A rate and how well it is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughputRecord {
    /// Ops per second.
    pub ops_per_s: f64,
    /// Rows per second; 0 for queries.
    pub rows_per_s: f64,
    /// 95% confidence interval of the stream's unit per second; absent when not tested.
    pub ci95: Option<[f64; 2]>,
}

/// One stream in one phase, all its ops together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamRecord {
    /// Name of the phase.
    pub phase: String,
    /// Name of the stream.
    pub stream: String,
    /// What it counts in.
    pub unit: Unit,
    /// The planned rate, units per second, of this record's share of the plan; absent in closed
    /// load.
    pub planned_rate: Option<f64>,
    /// The weight of each of its ops; empty where it has only one, and in older records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u32>,
    /// Sessions that could be used, of this record's share of the plan.
    pub sessions: u32,
    /// Sessions of those that had any op; absent where that was not counted.
    #[serde(default)]
    pub working: Option<u32>,
    /// Why sessions that never connected could not, in the target's or the system's words.
    #[serde(default)]
    pub missing_because: Option<String>,
    /// Acknowledged work.
    pub throughput: ThroughputRecord,
    /// Independent windows that the series is worth.
    pub effective_windows: f64,
    /// Whether its throughput was steady over the phase.
    pub steadiness: Steadiness,
    /// Change over the phase that a straight line shows, percent of the mean.
    pub drift_percent: Option<f64>,
    /// Its 95% confidence interval.
    #[serde(default)]
    pub drift_ci95: Option<[f64; 2]>,
    /// Mean of the first and of the last third of the phase, units per second.
    #[serde(default)]
    pub thirds_per_s: Option<[f64; 2]>,
    /// Sessions that Little's law expects for this throughput and latency; closed load only.
    pub littles_law_sessions: Option<f64>,
}

/// From this drift on, as a percentage of the mean, a straight line is off by the whole mean, and percentages mislead.
const MISLEADING_PERCENT: f64 = 100.0;

impl StreamRecord {
    /// `-3.1% (95% CI -9.0% to +4.2%)`: its drift over the phase, if known. A drift as large as the mean itself is
    /// stated by its first and last third, like in [`StreamRecord::change`].
    pub fn drift(&self) -> Option<String> {
        let (percent, [low, high]) = (self.drift_percent?, self.drift_ci95?);
        if [percent, low, high].iter().any(|of| of.abs() >= MISLEADING_PERCENT) {
            let unknown = || "as much as the mean itself".to_owned();
            return Some(self.change().unwrap_or_else(unknown));
        }
        let [percent, low, high] = [percent, low, high].map(|of| percent_signed(of / 100.0));
        Some(format!("{percent} (95% CI {low} to {high})"))
    }

    /// `from 1,858 rows/s in the first third to 668 in the last`; absent in older records.
    pub fn change(&self) -> Option<String> {
        let [first, last] = self.thirds_per_s?.map(rate);
        let unit = self.unit.name();
        Some(format!("from {first} {unit}/s in the first third to {last} in the last"))
    }
}

/// Whether a rate was steady over a phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// The interval of the drift lies within the plan's bound.
    Steady,
    /// The interval of the drift lies outside the plan's bound.
    NotSteady,
    /// Neither: the drift is not known well enough.
    NotShown,
    /// Too few independent windows.
    #[default]
    NotTested,
}

/// Base64 histograms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// Finished minus intended.
    pub latency: String,
    /// Finished minus started.
    pub service: String,
    /// Waiting for a session.
    pub session_wait: String,
    /// Our own delay.
    pub client_lag: String,
    /// Latency without our own delay; open load only.
    #[serde(default)]
    pub undelayed: Option<String>,
    /// Rows of open inserts.
    pub row_latency: Option<String>,
    /// Failed ops.
    pub error_latency: String,
}

/// Counts per window of 100 ms of the phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Windows {
    /// Acknowledged ops, by finished.
    pub acknowledged: Vec<u64>,
    /// Rows of these ops that were not acknowledged; empty where no op was acknowledged in part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u64>,
    /// Ops due, by intended; open load only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<u64>,
    /// Failed ops, by finished; open load only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<u64>,
    /// Ended or dropped ops, by intended; only where an objective bounds a percentile.
    pub ended: Vec<u64>,
    /// Per latency or row latency objective of the plan, in order: ended ops above its bound, failed and dropped ones
    /// among them; for a row latency objective their rows above it, of `ended` times the rows per op.
    pub over: Vec<Vec<u64>>,
}
