//! A growth: the sizes of a cluster, the measurements of each, and the outcome.
//!
//! The next measurement is a function of these values alone (see `analysis::growth`), so a growth is resumed from its
//! record. Must not hold the trials of a size's own experiment; its record does.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judgment::{Judgments, ReasonCode};
use super::limit::Limit;
use super::named::named;
use super::plan::{Unit, digest};
use super::search::Estimate;
use super::units::is_default;

/// Label that holds the number of nodes of a size's run.
pub const NODES_LABEL: &str = "nodes";

/// Label that holds the number of a node that is measured alone.
pub const NODE_LABEL: &str = "node";

/// A growth and its result; part of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleRecord {
    /// The measurement made at each size.
    pub each: ScaleEach,
    /// Name of the measured stream.
    pub stream: String,
    /// Unit of its throughput.
    pub unit: Unit,
    /// Target URLs as given, with `{nodes}` for the size; without passwords.
    pub targets: Vec<String>,
    /// The cluster file that starts the cluster at each size; absent if a cluster of each size already exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_file: Option<String>,
    /// Whether the cluster was started without its quotas.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_quotas: bool,
    /// Whether every node holds all rows, as stated in the cluster file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rows_everywhere: bool,
    /// Sizes in ascending order; at least two.
    pub sizes: Vec<ScaleSize>,
    /// How the cluster reaches the next size.
    pub start: ClusterStart,
    /// Throughput, in units per second, at which the growth ends: larger sizes than the first that reaches it are not
    /// measured. Absent if there is none.
    pub until_per_s: Option<f64>,
    /// Axes of the tuning at each size, as given.
    pub over: Vec<String>,
    /// Price of one node per hour, in any currency; absent if not given.
    pub price_per_node_hour: Option<f64>,
    /// Time limit of the whole growth, in nanoseconds; absent if there is none.
    pub budget_ns: Option<u64>,
    /// Estimated total duration of one size, in nanoseconds.
    pub trial_cost_ns: u64,
    /// Hash of the definition, see [`ScaleRecord::hash`].
    pub definition_hash: String,
    /// The variant that this growth measures, if several are measured in turn; absent if there is only one growth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<GrowthVariant>,
    /// Nodes measured alone before the first size.
    #[serde(default, skip_serializing_if = "NodesAlone::is_none")]
    pub alone: NodesAlone,
    /// The measured sizes, in order.
    pub trials: Vec<ScaleTrial>,
    /// Outcome; absent while the growth is running.
    pub outcome: Option<ScaleOutcome>,
}

impl ScaleRecord {
    /// SHA-256, in hexadecimal, of the targets and of the definition of the first size. A growth may be resumed with
    /// more sizes, or with another target rate, price, or budget.
    pub fn hash(&self, first: &str) -> String {
        let defined = (self.each, &self.stream, &self.targets, self.start, first);
        digest(&defined)
    }

    /// The bounds of a size's figure: for a search, the confirmed value and the lowest failed one, which are the
    /// mark, and never the interval of its estimate; for a run, the 95% interval of its throughput. Absent if
    /// unknown.
    pub fn bounds(&self, figures: &SizeFigures) -> Option<[f64; 2]> {
        match self.each {
            ScaleEach::Find => figures.failed.map(|failed| [figures.per_s, failed]),
            ScaleEach::Run | ScaleEach::Tune => figures.interval,
        }
    }
}

/// A variant of a target, measured in turn with others. Each has its own record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthVariant {
    /// Name of the variant.
    pub name: String,
    /// The command that configures the target before each size, without passwords; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// IDs of the records of all variants by name, including this one. Their directories are next to each other.
    pub all: BTreeMap<String, String>,
    /// IDs of the records that this growth resumed, by name. They hold the sizes of a variant that was stopped before
    /// its next size and therefore has no record in `all`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, String>,
}

/// Nodes measured alone, each as a cluster of one node, because nodes may differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodesAlone {
    /// Number of nodes to measure alone, starting with node 1; 0 for none.
    pub nodes: u32,
    /// The reason why no node is measured alone; absent if nodes are, and if no cluster is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Settings that depend on the size, with their values for one node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Estimated duration of one measurement, in nanoseconds.
    pub trial_cost_ns: u64,
    /// The completed measurements, in order.
    pub trials: Vec<ScaleTrial>,
}

impl NodesAlone {
    /// Maximum number of nodes measured alone without a request.
    pub const WITHOUT_REQUEST: u32 = 8;

    /// Whether there is nothing to report.
    pub fn is_none(&self) -> bool {
        self.nodes == 0 && self.left_out.is_none()
    }

    /// The number of nodes still to be measured.
    pub fn missing(&self) -> u32 {
        let measured = u32::try_from(self.trials.len()).unwrap_or(u32::MAX);
        self.nodes.saturating_sub(measured)
    }
}

/// The reason why no node is measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// The user declined it.
    Declined,
    /// The cluster has more nodes than are measured alone without a request.
    TooMany,
    /// The cluster file does not state that a node can be started without the others.
    NotSeparate,
    /// Nodes can be started only by the user's own commands.
    OwnCommands,
}

named! {
    /// The measurement made at each size.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum ScaleEach {
        /// A search; the figure of the size is the confirmed mark.
        #[default]
        Find = "find",
        /// A run; the figure of the size is its acknowledged throughput.
        Run = "run",
        /// A tuning; the figure of the size is the throughput of its best configuration.
        Tune = "tune",
    }
}

named! {
    /// How the cluster reaches the next size.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum ClusterStart {
        /// A new cluster is started for each size.
        #[default]
        Fresh = "fresh",
        /// Nodes are added to the running cluster.
        Grow = "grow",
    }
}

/// A size with the settings that depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleSize {
    /// Number of nodes; at least 1.
    pub nodes: u32,
    /// Settings by name, in the syntax of the flag.
    pub settings: BTreeMap<String, String>,
}

named! {
    /// Purpose of a measurement.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum ScalePurpose {
        /// The smallest size.
        First = "first",
        /// A larger size.
        Grow = "grow",
        /// A size that was measured before, to find out whether its result is still the same.
        Again = "again",
        /// A node of the largest size alone, to find out whether nodes are equal.
        Alone = "alone",
    }
}

/// Whether the result of a size counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeVerdict {
    /// The figure counts.
    Counts,
    /// The figure counts, but the run was not shown to meet its objective, so it does not reach any requested rate.
    Missed,
    /// There is no figure: no mark was confirmed, there was no best configuration, or nothing was acknowledged.
    #[default]
    NotMeasured,
    /// The load generator, not the target, may have limited the result.
    ClientCeiling,
    /// The target was unreachable, or the connection to it was lost.
    TargetLost,
    /// Acknowledged rows were missing or wrong.
    WrongData,
    /// The user stopped the growth.
    Interrupted,
}

impl SizeVerdict {
    /// Whether the figure counts as part of the growth.
    pub const fn counts(self) -> bool {
        matches!(self, Self::Counts | Self::Missed)
    }
}

/// A predicted throughput, per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedRate {
    /// Median of the predicted distribution.
    pub expected: f64,
    /// Lower bound of the 90% interval.
    pub low90: f64,
    /// Upper bound of the 90% interval.
    pub high90: f64,
}

impl PredictedRate {
    /// Whether a measurement lies within the interval.
    pub fn holds(&self, per_s: f64) -> bool {
        (self.low90..=self.high90).contains(&per_s)
    }
}

/// A measured size: a completed run or experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleTrial {
    /// Number of the trial, from 1.
    pub number: u32,
    /// Purpose of the measurement.
    pub purpose: ScalePurpose,
    /// The measured size.
    pub size: ScaleSize,
    /// The node measured alone; absent for a size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Throughput predicted from the smaller sizes before the measurement; absent if they are too few or too small for
    /// a prediction.
    pub predicted: Option<PredictedRate>,
    /// The result.
    pub figures: SizeFigures,
    /// Wall-clock time at the start, RFC 3339, UTC.
    pub started_at: String,
    /// Total duration in nanoseconds, including the start of the cluster, settling, load, and audit.
    pub took_ns: u64,
    /// Of this, preparation that does not count against the budget, in nanoseconds: starting the cluster, restoring
    /// data, the warm-up before quotas, and filling tables.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ready_ns: u64,
    /// The warm-up before the CPU quotas of the nodes started; absent if the quotas started with the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_quota: Option<WarmUpRun>,
    /// Directory of the trial's own record, below that of the growth.
    pub run: String,
}

impl ScaleTrial {
    /// The time that counts against the budget.
    pub const fn budgeted_ns(&self) -> u64 {
        self.took_ns.saturating_sub(self.ready_ns)
    }
}

/// A run that warms up a cluster before its CPU quotas start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUpRun {
    /// Duration of the warm-up in nanoseconds.
    pub took_ns: u64,
    /// Whether throughput was then shown to be steady; absent if this was not requested, or if the user stopped the
    /// warm-up.
    pub steady: Option<bool>,
    /// Directory of the run's own record, below that of the growth.
    pub run: String,
}

/// The result of a size.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeFigures {
    /// Whether the result counts.
    pub verdict: SizeVerdict,
    /// Codes of the reasons why the result does not count; otherwise empty.
    pub reasons: Vec<ReasonCode>,
    /// The judgments of the run or experiment; absent if the target was unreachable.
    pub judgments: Option<Judgments>,
    /// Throughput in units per second: the confirmed mark of a search, the acknowledged throughput of a run, or the
    /// throughput of a tuning's best configuration.
    pub per_s: f64,
    /// Acknowledged units per second of each op of the stream, by name; empty if it has only one. For a search, from
    /// the last probe that confirmed the mark; for a tuning, from the last run of its best configuration.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub per_s_by_op: BTreeMap<String, f64>,
    /// Values of a tuning's best configuration, by axis.
    pub best: BTreeMap<String, String>,
    /// The 95% interval of a run's throughput; absent if unknown. In older records of a search, the 90% interval of its
    /// estimate.
    pub interval: Option<[f64; 2]>,
    /// Estimate of the value at which a search's objective is just met; absent if the probes do not determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The lowest value above the confirmed one that failed in a search; absent if none failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<f64>,
    /// Codes of the reasons why that value failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_by: Vec<ReasonCode>,
    /// Maximum p99 latency of the stream's ops in the last run, in nanoseconds. For a tuning, in the last run of its
    /// best configuration.
    pub p99_ns: Option<u64>,
    /// Whether that is a lower bound, because the percentile falls among failed ops.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub p99_at_least: bool,
    /// Number of sessions of the stream in the last run.
    pub sessions: u32,
    /// Number of primary shards; absent if the target has none.
    pub shards: Option<u64>,
    /// Number of replicas of each shard, as requested; absent if the target has none. A size with fewer nodes holds
    /// fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u64>,
    /// CPU use of the busiest node in that run, as a fraction; absent if the target does not report it.
    pub target_cpu: Option<f64>,
    /// CPU use of the busiest load generator in that run, as a fraction; 1 is saturated.
    pub client_cpu: f64,
    /// The resource that limited throughput; absent below saturation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Whether the warm-up of the last run reached its time limit before throughput was shown to be steady.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_warm: bool,
    /// Number of rows in the tables before the measured phase of the last run.
    pub rows: u64,
    /// Whether the last run continued existing tables.
    pub continued: bool,
}

impl SizeFigures {
    /// Only a verdict, without figures.
    pub fn none(verdict: SizeVerdict) -> Self {
        Self { verdict, ..Self::default() }
    }
}

/// Outcome of a growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScaleOutcome {
    /// All sizes were measured.
    Complete,
    /// A size reached the requested rate; larger ones were not measured.
    Reached,
    /// The load generator reached its limit before the target did; larger sizes were not measured.
    ClientCeiling,
    /// The time limit was reached.
    BudgetSpent,
    /// The connection to the target was lost and could not be restored.
    TargetLost,
    /// Acknowledged data were lost, duplicated, or altered.
    WrongData,
    /// The user stopped the growth.
    Interrupted,
}
