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

/// A tuning and its result; part of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuneRecord {
    /// The axes. Every combination of their values is a configuration of the grid.
    pub axes: Vec<TuneAxis>,
    /// The figure to maximize or minimize.
    pub by: TuneFigure,
    /// Name of the measured stream.
    pub stream: String,
    /// Unit of its throughput.
    pub unit: Unit,
    /// Number of closed sessions in every configuration; absent if sessions are an axis or the load has a rate, and in
    /// older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
    /// Limits of the tuning.
    pub policy: TunePolicy,
    /// Hash of the definition, see [`TuneRecord::hash`].
    pub definition_hash: String,
    /// The measured configurations, in order.
    pub trials: Vec<TrialRecord>,
    /// Outcome; absent while the tuning is running.
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

/// An axis of a tuning with its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TuneAxis {
    /// Name: `batch`, `sessions`, `shards`, `replicas`, `rows`, `with.NAME`, or `sim.NAME`.
    pub name: String,
    /// Values in the syntax of the flag with this name, in the given order; at least one.
    pub values: Vec<String>,
}

named! {
    /// The figure by which configurations are compared.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum TuneFigure {
        /// Acknowledged units of the stream per second; higher is better.
        #[default]
        Throughput = "throughput",
        /// CPU time of the target per row, in seconds; lower is better.
        ServerCpuPerRow = "server_cpu_per_row",
        /// Growth of the tables in bytes per row; lower is better.
        DiskBytesPerRow = "disk_bytes_per_row",
    }
}

impl TuneFigure {
    /// Whether more is better.
    pub const fn is_gain(self) -> bool {
        matches!(self, Self::Throughput)
    }
}

/// Limits of a tuning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TunePolicy {
    /// The seed from which the order of configurations is derived.
    pub seed: u64,
    /// Number of times that the winner and the runner-up are each measured again.
    pub confirmations: u32,
    /// Maximum number of measured configurations, including repeats.
    pub probes_max: u32,
    /// Time limit of the whole tuning, in nanoseconds.
    pub budget_ns: u64,
    /// Estimated total duration of one configuration, in nanoseconds.
    pub trial_cost_ns: u64,
}

named! {
    /// Purpose of a trial.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum TrialPurpose {
        /// To find a good configuration.
        #[default]
        Search = "search",
        /// To distinguish the winner from the runner-up.
        Confirm = "confirm",
    }
}

/// Whether the result of a configuration counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialVerdict {
    /// The figure counts.
    Counts,
    /// The configuration missed an objective, such as no rejections, and cannot win.
    Missed,
    /// The load generator, not the target, may have limited the result. The configuration cannot win.
    Invalid,
    /// The figure was not measured.
    #[default]
    NotMeasured,
    /// The target was unreachable or refused the setting.
    TargetLost,
    /// Acknowledged rows were missing or wrong.
    WrongData,
    /// The user stopped the tuning.
    Interrupted,
}

/// A measured configuration: a completed run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// Number of the trial, from 1.
    pub number: u32,
    /// Purpose of the trial.
    pub purpose: TrialPurpose,
    /// Position of the value on each axis, from 0.
    pub at: Vec<usize>,
    /// Whether the result counts.
    pub verdict: TrialVerdict,
    /// Codes of the reasons why the result does not count; otherwise empty.
    pub reasons: Vec<ReasonCode>,
    /// Acknowledged units of the stream per second.
    pub throughput_per_s: f64,
    /// The figure by which configurations are compared; absent if it was not measured.
    pub figure: Option<f64>,
    /// Other figures of the run; absent if the target was unreachable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub showed: Option<RunObservations>,
    /// Wall-clock time at the start, RFC 3339, UTC.
    pub started_at: String,
    /// Duration of the whole run including settling, load, and audit, in nanoseconds.
    pub took_ns: u64,
    /// Directory of the trial's own record, below that of the tuning.
    pub run: String,
}

/// Other figures of a configuration's run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunObservations {
    /// Acknowledged units per second of each op of the stream, by name; empty if it has only one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub per_s_by_op: BTreeMap<String, f64>,
    /// Maximum p99 latency of the stream's ops, in nanoseconds.
    pub p99_ns: Option<u64>,
    /// Whether that is a lower bound, because the percentile falls among failed ops.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub p99_at_least: bool,
    /// CPU use of the busiest node, as a fraction; absent if the target does not report it.
    pub target_cpu: Option<f64>,
    /// CPU use of the busiest load generator, as a fraction; 1 is saturated.
    pub client_cpu: f64,
    /// The resource that limited the run; absent below saturation.
    pub limit: Option<Limit>,
}

/// Outcome of a tuning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TuneOutcome {
    /// A best configuration was found.
    Best(BestConfiguration),
    /// No best configuration can be named.
    NoBest(NoBest),
}

/// The best configuration, and whether it is significantly better than the runner-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BestConfiguration {
    /// Position of its value on each axis, from 0.
    pub at: Vec<usize>,
    /// Its values by axis, which `--tuned` applies to other commands.
    pub values: BTreeMap<String, String>,
    /// Mean of its figure in the confirming round; the mean of all its measurements if there was no such round.
    pub figure: f64,
    /// The runner-up; absent if no other configuration counted.
    pub runner_up: Option<RunnerUp>,
    /// Whether the tuning ran out of probes or time before the search was complete.
    pub cut_short: bool,
}

/// The configuration that the winner was compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunnerUp {
    /// Position of its value on each axis, from 0.
    pub at: Vec<usize>,
    /// Mean of its figure in the confirming round.
    pub figure: f64,
    /// 95% confidence interval of the winner's gain over it, as a fraction, from the confirming round alone.
    pub gain95: [f64; 2],
    /// Whether the whole interval is above zero. If not, neither is shown to be better.
    pub is_significant: bool,
    /// Whether the confirming round gave about the same figure for both and cannot distinguish them. The best
    /// configuration is then the one with the smaller values, if there is one.
    #[serde(default)]
    pub is_tied: bool,
}

/// The reason why there is no best configuration, and the best one so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoBest {
    /// The reason.
    pub why: NoBestReason,
    /// The best configuration so far, not confirmed, as positions on each axis; absent if there is none.
    pub best_so_far: Option<Vec<usize>>,
}

/// The reason why there is no best configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoBestReason {
    /// No configuration gave a result that counts.
    NoneCounts,
    /// The tuning ran out of probes or time before the confirming round.
    BudgetSpent,
    /// The connection to the target was lost and could not be restored.
    TargetLost,
    /// Acknowledged data were lost, duplicated, or altered.
    WrongData,
    /// The user stopped the tuning.
    Interrupted,
}
