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

/// Label of a size's runs with the number of nodes.
pub const NODES_LABEL: &str = "nodes";

/// Label of the run of a node alone with the node's number.
pub const NODE_LABEL: &str = "node";

/// A growth and what came of it; part of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleRecord {
    /// What is made at each size.
    pub each: ScaleEach,
    /// The stream that is measured.
    pub stream: String,
    /// Unit of its throughput.
    pub unit: Unit,
    /// Where the cluster is, as it was given, `{nodes}` for its size; without passwords.
    pub targets: Vec<String>,
    /// The cluster file by which it is started for each size; absent where there is one of each size already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_file: Option<String>,
    /// It was started without its quotas.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_quotas: bool,
    /// Every node holds all rows, as the cluster file says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rows_everywhere: bool,
    /// Sizes in ascending order; at least two.
    pub sizes: Vec<ScaleSize>,
    /// How the cluster becomes so large.
    pub start: ClusterStart,
    /// No larger size is measured than the first that reaches this, in units per second.
    pub until_per_s: Option<f64>,
    /// Axes of the tuning at each size, as they were given.
    pub over: Vec<String>,
    /// What one node costs per hour, in any currency.
    pub price_per_node_hour: Option<f64>,
    /// Time of the whole growth, nanoseconds; absent: no limit.
    pub budget_ns: Option<u64>,
    /// What a size takes, nanoseconds, all included; as estimated before.
    pub trial_cost_ns: u64,
    /// See [`ScaleRecord::hash`].
    pub definition_hash: String,
    /// Which of several variants that are measured in turns this is; absent where there is one growth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<GrowthVariant>,
    /// The nodes that are measured alone before the first size.
    #[serde(default, skip_serializing_if = "NodesAlone::is_none")]
    pub alone: NodesAlone,
    /// Measured sizes, in order.
    pub trials: Vec<ScaleTrial>,
    /// How it ended; absent while it goes on.
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

/// A variant of a target that is measured in turns with others, each of which has a record of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthVariant {
    /// Its name.
    pub name: String,
    /// The command that configures the target before each size, without passwords.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// IDs of the records of all variants by name, this one included; they are stored beside each other.
    pub all: BTreeMap<String, String>,
    /// IDs of the records that this call resumed, by name: they hold the sizes of a variant that was stopped before its
    /// next one, and so has no record of `all`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, String>,
}

/// Nodes that are measured alone, each started as a cluster of one, because nodes are not equal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodesAlone {
    /// How many are to be, from node 1 on; 0: none.
    pub nodes: u32,
    /// Why none is; absent where they are, and where no cluster is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Settings that depend on the size, as they are for one node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// What one takes, nanoseconds; as estimated before.
    pub trial_cost_ns: u64,
    /// Those that were measured, in order.
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

/// Why no node is measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// The user did not want it.
    Declined,
    /// There are more than are measured unless that is requested.
    TooMany,
    /// The cluster file does not say that a node can be started without the others.
    NotSeparate,
    /// Only the user's own commands start nodes.
    OwnCommands,
}

named! {
    /// What is made at each size.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum ScaleEach {
        /// A search; the size's figure is the confirmed mark.
        #[default]
        Find = "find",
        /// A run; the size's figure is what was acknowledged.
        Run = "run",
        /// A tuning; the size's figure is the throughput of its best configuration.
        Tune = "tune",
    }
}

named! {
    /// How the cluster becomes as large as a size.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum ClusterStart {
        /// A new cluster for each size.
        #[default]
        Fresh = "fresh",
        /// Nodes are added to the one that runs.
        Grow = "grow",
    }
}

/// A size, and the settings that depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleSize {
    /// Nodes; at least 1.
    pub nodes: u32,
    /// By name, as the flag takes them.
    pub settings: BTreeMap<String, String>,
}

named! {
    /// Why a size was measured.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum ScalePurpose {
        /// The smallest one.
        First = "first",
        /// A larger one.
        Grow = "grow",
        /// One that was measured before: whether it is still what it was.
        Again = "again",
        /// A node of the largest size by itself: whether nodes are equal.
        Alone = "alone",
    }
}

/// What a measured size is good for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeVerdict {
    /// Its figure counts.
    Counts,
    /// It counts, but the run was not shown to meet its objective: it reaches no rate.
    Missed,
    /// There is no figure: no mark was confirmed, no configuration was the best, or nothing was acknowledged.
    #[default]
    NotMeasured,
    /// The load generator, not the target, may have decided.
    ClientCeiling,
    /// The target could not be reached, or went away.
    TargetLost,
    /// What was acknowledged was not found as acknowledged.
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

/// A throughput that was predicted, per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedRate {
    /// Half of the measurements are above it.
    pub expected: f64,
    /// Lower end of its 90% interval.
    pub low90: f64,
    /// Upper end of its 90% interval.
    pub high90: f64,
}

impl PredictedRate {
    /// Whether a measurement is in the interval.
    pub fn holds(&self, per_s: f64) -> bool {
        (self.low90..=self.high90).contains(&per_s)
    }
}

/// One measured size: a finished run, or a finished experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleTrial {
    /// From 1.
    pub number: u32,
    /// Why it was measured.
    pub purpose: ScalePurpose,
    /// What was measured.
    pub size: ScaleSize,
    /// The node that was measured alone; absent of a size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// What was predicted from the smaller sizes before it was measured; absent where they are too few or too
    /// small for that.
    pub predicted: Option<PredictedRate>,
    /// What it showed.
    pub figures: SizeFigures,
    /// Wall clock at its begin, RFC 3339, UTC.
    pub started_at: String,
    /// All of it with the start of its cluster, settling, load and audit, nanoseconds.
    pub took_ns: u64,
    /// Of that, what made it ready and does not count in the budget, nanoseconds: the start of its cluster, data that
    /// were brought back, its warm-up before quotas, tables that were filled.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ready_ns: u64,
    /// The warm-up before the quotas of its nodes began; absent where they began with the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_quota: Option<WarmUpRun>,
    /// Where its own record is, below the growth's directory.
    pub run: String,
}

impl ScaleTrial {
    /// The time that counts against the budget.
    pub const fn budgeted_ns(&self) -> u64 {
        self.took_ns.saturating_sub(self.ready_ns)
    }
}

/// A run that makes a cluster warm before its quotas begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUpRun {
    /// Length of its warm-up, nanoseconds.
    pub took_ns: u64,
    /// Whether throughput was shown to be steady then; absent where that was not requested, or the user stopped it.
    pub steady: Option<bool>,
    /// Where its own record is, below the growth's directory.
    pub run: String,
}

/// What a size showed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeFigures {
    /// What it is good for.
    pub verdict: SizeVerdict,
    /// Codes of the reasons where it does not count.
    pub reasons: Vec<ReasonCode>,
    /// What to make of it by itself; absent where the target could not be reached.
    pub judgments: Option<Judgments>,
    /// Units per second: the confirmed mark of a search, what a run acknowledged, what the best configuration of a
    /// tuning made.
    pub per_s: f64,
    /// Units per second that each op of the stream acknowledged, by name, where it has several: of a run in itself, of
    /// a search in the last probe that confirmed the mark, of a tuning in the last run of its best configuration.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub per_s_by_op: BTreeMap<String, f64>,
    /// Values of the best configuration of a tuning, by axis.
    pub best: BTreeMap<String, String>,
    /// Where that lies with confidence: of a run the 95% interval of its throughput; absent where it is not known. In
    /// older records of a search it is the 90% interval of its estimate.
    pub interval: Option<[f64; 2]>,
    /// Where a search's objective is just met; absent where its probes do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The lowest value above the confirmed one that a search showed to fail; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<f64>,
    /// Why that one failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_by: Vec<ReasonCode>,
    /// Greatest p99 of the stream's ops in the last run, of a tuning in that of its best configuration,
    /// nanoseconds.
    pub p99_ns: Option<u64>,
    /// Sessions of the stream in the last run.
    pub sessions: u32,
    /// Primary shards, where the target has any.
    pub shards: Option<u64>,
    /// Replicas of each shard, as they were requested, where the target has any; a size with fewer nodes holds fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u64>,
    /// Busy share of the CPU of the busiest node in that run; absent where the target does not report.
    pub target_cpu: Option<f64>,
    /// Busy share of the load generator's CPU in that run, the greatest of several; 1 is saturated.
    pub client_cpu: f64,
    /// What kept it from being higher; absent where it was below saturation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The warm-up of the last run ended at its limit, and throughput was not shown to be steady.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_warm: bool,
    /// Rows of the tables before the last run's measured phase.
    pub rows: u64,
    /// Whether the last run continued tables that were there.
    pub continued: bool,
}

impl SizeFigures {
    /// Only a verdict, without figures.
    pub fn none(verdict: SizeVerdict) -> Self {
        Self { verdict, ..Self::default() }
    }
}

/// How a growth ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScaleOutcome {
    /// Every size was measured.
    Complete,
    /// A size reached the rate that was requested; larger ones were not measured.
    Reached,
    /// The load generator reached its limit before the target did; larger sizes were not measured.
    ClientCeiling,
    /// Time ran out.
    BudgetSpent,
    /// The target went away and did not come back.
    TargetLost,
    /// Acknowledged data were lost, duplicated or altered.
    WrongData,
    /// The user stopped the growth.
    Interrupted,
}
