//! A search for the best setting: its axes, each measured configuration, and the outcome.
//!
//! A tuning is a function of these values alone (see `analysis::tuning`), so its record holds all input of its next
//! step, and can be replayed and resumed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judgment::ReasonCode;
use super::limit::Limit;
use super::named::named;
use super::plan::{Unit, digest};

/// A tuning and what came of it; part of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuneRecord {
    /// What is varied; every combination of their values is a configuration of the grid.
    pub axes: Vec<TuneAxis>,
    /// What the best configuration has most, or least, of.
    pub by: TuneFigure,
    /// The stream that is measured.
    pub stream: String,
    /// Unit of its throughput.
    pub unit: Unit,
    /// Closed sessions of every configuration; absent where they are an axis, with a rate, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
    /// What the tuning may do.
    pub policy: TunePolicy,
    /// See [`TuneRecord::hash`].
    pub definition_hash: String,
    /// Measured configurations, in order.
    pub trials: Vec<TrialRecord>,
    /// How it ended; absent while it goes on.
    pub outcome: Option<TuneOutcome>,
}

impl TuneRecord {
    /// SHA-256, in hexadecimal, of the definition and of the plan of the first configuration.
    pub fn hash(&self, plan: &str) -> String {
        let intended = (&self.axes, self.by, &self.stream, &self.policy, plan);
        digest(&intended)
    }

    /// The values of a configuration, by axis name.
    pub fn values(&self, at: &[usize]) -> BTreeMap<String, String> {
        self.axes
            .iter()
            .zip(at)
            .filter_map(|(axis, position)| {
                Some((axis.name.clone(), axis.values.get(*position)?.clone()))
            })
            .collect()
    }
}

/// What is varied, and the values that it may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TuneAxis {
    /// `batch`, `sessions`, `shards`, `replicas`, `rows`, `with.NAME` or `sim.NAME`.
    pub name: String,
    /// As the flag of this name takes them, in the order given; at least one.
    pub values: Vec<String>,
}

named! {
    /// What configurations are compared by.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum TuneFigure {
        /// Units of the stream acknowledged per second: the more the better.
        #[default]
        Throughput = "throughput",
        /// CPU seconds of the target per row: the fewer the better.
        ServerCpuPerRow = "server_cpu_per_row",
        /// Bytes that the tables grew by per row: the fewer the better.
        DiskBytesPerRow = "disk_bytes_per_row",
    }
}

impl TuneFigure {
    /// Whether more is better.
    pub const fn is_gain(self) -> bool {
        matches!(self, Self::Throughput)
    }
}

/// What a tuning may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TunePolicy {
    /// The order of configurations derives from it.
    pub seed: u64,
    /// How often winner and runner-up are measured again, each.
    pub confirmations: u32,
    /// Measured configurations at most, repeats included.
    pub probes_max: u32,
    /// Time of the whole tuning, nanoseconds.
    pub budget_ns: u64,
    /// What a configuration takes, nanoseconds, all included; as estimated before.
    pub trial_cost_ns: u64,
}

named! {
    /// Why a configuration was measured.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum TrialPurpose {
        /// To find a good one.
        #[default]
        Search = "search",
        /// To tell the winner from the runner-up.
        Confirm = "confirm",
    }
}

/// What a measured configuration is good for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialVerdict {
    /// Its figure counts.
    Counts,
    /// It missed an objective, such as no rejections: it cannot win.
    Missed,
    /// The load generator, not the target, may have decided: it cannot win.
    Invalid,
    /// The figure was not measured.
    #[default]
    NotMeasured,
    /// The target could not be reached, or refused the setting.
    TargetLost,
    /// What was acknowledged was not found as acknowledged.
    WrongData,
    /// The user stopped the tuning.
    Interrupted,
}

/// One measured configuration: a finished run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// From 1.
    pub number: u32,
    /// Why it was measured.
    pub purpose: TrialPurpose,
    /// Position of the value on each axis, from 0.
    pub at: Vec<usize>,
    /// What it is good for.
    pub verdict: TrialVerdict,
    /// Codes of the reasons where it does not count.
    pub reasons: Vec<ReasonCode>,
    /// Units of the stream acknowledged per second.
    pub throughput_per_s: f64,
    /// What configurations are compared by; absent where it was not measured.
    pub figure: Option<f64>,
    /// What its run showed besides; absent where the target could not be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub showed: Option<RunObservations>,
    /// Wall clock at its begin, RFC 3339, UTC.
    pub started_at: String,
    /// The whole run with settling, load and audit, nanoseconds.
    pub took_ns: u64,
    /// Where its own record is, below the tuning's directory.
    pub run: String,
}

/// What the run of a configuration showed besides its figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunObservations {
    /// Units per second that each op of the stream acknowledged, by name, where it has several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub per_s_by_op: BTreeMap<String, f64>,
    /// Greatest p99 of the stream's ops, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Busy share of the CPU of the busiest node; absent where the target does not report.
    pub target_cpu: Option<f64>,
    /// Busy share of the load generator's CPU, the greatest of several; 1 is saturated.
    pub client_cpu: f64,
    /// What kept it from being higher; absent where it was below saturation.
    pub limit: Option<Limit>,
}

/// How a tuning ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TuneOutcome {
    /// There is a best configuration.
    Best(BestConfiguration),
    /// There is none that can be named with reason.
    NoBest(NoBest),
}

/// The best configuration, and whether it is really better than the next one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BestConfiguration {
    /// Position of its value on each axis.
    pub at: Vec<usize>,
    /// Its values, by axis: what `--tuned` carries into other commands.
    pub values: BTreeMap<String, String>,
    /// Mean of its figure in the confirming round; of all where there was none.
    pub figure: f64,
    /// The next best; absent where no other configuration counted.
    pub runner_up: Option<RunnerUp>,
    /// Whether probes or time ran out before the search had settled.
    pub cut_short: bool,
}

/// The configuration that the winner was compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunnerUp {
    /// Position of its value on each axis.
    pub at: Vec<usize>,
    /// Mean of its figure in the confirming round.
    pub figure: f64,
    /// The winner's gain over it as a share, with 95% confidence, from the confirming round alone.
    pub gain95: [f64; 2],
    /// Whether all of that interval is above zero; else neither is shown to be better.
    pub is_significant: bool,
    /// Whether the confirming round measured about the same of both and does not distinguish them; then the best one is
    /// the one with smaller values, if there is such a one.
    #[serde(default)]
    pub is_tied: bool,
}

/// Why there is no best configuration, and what is known all the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoBest {
    /// Why.
    pub why: NoBestReason,
    /// The best so far, not confirmed.
    pub best_so_far: Option<Vec<usize>>,
}

/// Why there is no best configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoBestReason {
    /// No configuration counted.
    NoneCounts,
    /// Probes or time ran out before the confirming round.
    BudgetSpent,
    /// The target went away and did not come back.
    TargetLost,
    /// Acknowledged data were lost, duplicated or altered.
    WrongData,
    /// The user stopped the tuning.
    Interrupted,
}
