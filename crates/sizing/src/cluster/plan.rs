//! The plan's data: nodes, shards, disk, network, headroom, price, alternatives, and every input.
//!
//! The request for a plan has values only, each with its origin: a flag, a measurement, a publication, or an
//! assumption. Every input of a plan has this type, so that none loses its origin. Must not compute; the parent module
//! does.

use highwater_model::display::percent_whole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::basis::{Basis, SizeAxis};
use super::counting::{AS_GOOD, NodeInterval, ToProve};
use super::decision::Decision;
use super::layout::{Disk, Network, Shards};
use crate::guidance::Guidance;
use crate::scaling::{Fit, Identifiability, Peak, Prediction, ScalingModel, Weighting};

/// Version of the plan format.
pub const PLAN_SCHEMA: &str = "highwater-size/4";
/// A sizing plan: the required cluster and its basis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizePlan {
    /// Version of the plan format, [`PLAN_SCHEMA`].
    pub schema: String,
    /// Whether any figure depends on an assumption or on published figures.
    pub assumed: bool,
    /// The unit of sizes, which applies to `planned` and all other numbers of nodes.
    pub axis: SizeAxis,
    /// The rates that the cluster must sustain.
    pub needs: Vec<NeedPlan>,
    /// The number of nodes.
    pub nodes: NodePlan,
    /// Shards; absent if they cannot be determined.
    pub shards: Option<Shards>,
    /// Disk use; absent if it cannot be determined.
    pub disk: Option<Disk>,
    /// Network traffic; absent if it cannot be determined.
    pub network: Option<Network>,
    /// Price of the planned nodes per month of 730 hours; absent if no number is planned, like shards, disk, and network.
    pub price_per_month: Option<f64>,
    /// The scenarios and assumptions that decide between clusters.
    pub decision: Decision,
    /// Alternative clusters with fewer or more nodes or replicas; empty if no number is planned.
    pub alternatives: Vec<Alternative>,
    /// Every input with its origin and the flag that changes it.
    pub inputs: Vec<Input>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// The plan as text.
    pub summary: String,
}

/// A required rate with its basis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeedPlan {
    /// `rows/s` or `queries/s`.
    pub unit: String,
    /// Rate per second today; the upper end if demand is an interval.
    pub per_s: f64,
    /// The lower end if demand is an interval; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_per_s: Option<f64>,
    /// Rate per second in the last month of the plan.
    pub per_s_at_end: f64,
    /// Required capacity per second, including headroom.
    pub required_per_s: f64,
    /// The capacity of the planned cluster for this work alone.
    pub capacity: Estimate,
    /// Description of the measured points.
    pub measured: String,
    /// Origin of the points.
    pub origin: Origin,
    /// Whether the target was simulated: a model, not a database.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// Origin of the growth.
    pub growth: Origin,
    /// Relative standard deviation of a measurement.
    pub error: f64,
    /// The measured sizes and others between them and the planned number of nodes, ascending.
    pub curve: Vec<SizePlanPoint>,
    /// The models with their fits, weights, and predictions; empty if the growth is assumed.
    pub models: Vec<ModelPlan>,
    /// How well the points identify contention, crosstalk, and peak.
    pub identifiability: Option<Identifiability>,
}

/// A size with its measured or predicted throughput, or both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizePlanPoint {
    /// Nodes.
    pub nodes: f64,
    /// Measured throughput per second; absent if the size was not measured.
    pub measured_per_s: Option<f64>,
    /// Predicted throughput with the replicas and machines of the measurements.
    pub predicted: Estimate,
    /// The same with the replicas and machines of the plan; absent if these are the measured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Estimate>,
    /// Whether the size is larger than the largest measured one.
    pub beyond: bool,
}

impl SizePlanPoint {
    /// With the copies and nodes of the plan.
    pub fn as_planned(&self) -> Estimate {
        self.planned.unwrap_or(self.predicted)
    }
}

/// A scaling model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPlan {
    /// The model.
    pub model: ScalingModel,
    /// Description of the model.
    pub meaning: String,
    /// Its weight in the prediction; 0 if the model is only displayed.
    pub weight: f64,
    /// Leave-one-out error: root mean square of its relative errors for sizes that were left out; absent if there are
    /// too few sizes.
    pub left_out_error: Option<f64>,
    /// Corrected Akaike information criterion of the fit; absent below five sizes.
    pub aicc: Option<f64>,
    /// Number of nodes of [`Self::prediction`]: the planned number, limited to twice the largest measured size.
    pub nodes: f64,
    /// Throughput that this model alone predicts for these nodes, with the replicas of the measurements.
    pub prediction: Option<Estimate>,
    /// Least-squares fit; absent if there are fewer sizes than parameters.
    pub fit: Option<Fit>,
    /// Peak of the fit; absent if it has none.
    pub peak: Option<Peak>,
}

/// The number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodePlan {
    /// Planned number of nodes: they sustain the needs with the requested probability, even after the tolerated node
    /// failures.
    pub planned: u32,
    /// Whether more nodes than this are needed, with an unknown upper limit.
    pub is_exceeded: bool,
    /// Whether these nodes sustain the needs. If not, no number of nodes does, and further nodes add little.
    pub reached: bool,
    /// Interval of the number of nodes; absent if the number is not proven, because it exceeds twice the largest
    /// measured size.
    pub interval: Option<NodeInterval>,
    /// What an unproven number depends on; absent for a proven one.
    pub to_prove: Option<ToProve>,
    /// Number of the planned nodes that may be lost.
    pub survive: u32,
    /// The requested probability.
    pub probability: f64,
    /// Fraction of the capacity that is free with all planned nodes; below 0 if the needs are not sustained.
    pub headroom: Estimate,
    /// The same after the tolerated node failures.
    pub headroom_after_loss: Estimate,
}

/// An alternative cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of replicas.
    pub replicas: u32,
    /// Whether this is the planned cluster.
    pub planned: bool,
    /// Headroom after the tolerated node failures.
    pub headroom: Estimate,
    /// Probability that the cluster sustains the needs after these failures; absent beyond twice the largest measured
    /// size.
    pub probability: Option<f64>,
    /// Disk space required per node, in bytes.
    pub disk_per_node_bytes: Option<f64>,
    /// Price per month.
    pub price_per_month: Option<f64>,
    /// Reason not to choose this cluster; absent if there is none.
    pub remark: Option<String>,
}

impl SizePlan {
    /// Machines of each size: more than one only if sizes count vCPUs.
    pub fn machines(&self) -> u32 {
        let planned = self.decision.scenarios.iter().find(|scenario| scenario.is_planned);
        planned.map_or(1, |scenario| scenario.machines)
    }

    /// `5 nodes`, `16 vCPUs`, or `2 machines of 16 vCPUs each`.
    pub fn sized(&self, size: u32) -> String {
        let counted = self.axis.counted(size);
        match self.machines() {
            1 => counted,
            machines => format!("{machines} machines of {counted} each"),
        }
    }

    /// If no number is enough, why: `beyond 2 nodes, throughput grows by less than 10%`.
    pub fn ended(&self) -> String {
        let lost = if self.axis == SizeAxis::Nodes { self.nodes.survive } else { 0 };
        let (best, least) = (self.sized(self.nodes.planned - lost), percent_whole(AS_GOOD - 1.0));
        format!("beyond {best}, throughput grows by less than {least}")
    }

    /// Whether a number of nodes is planned, proven or expected.
    pub const fn has_number(&self) -> bool {
        self.nodes.reached && !self.nodes.is_exceeded
    }

    /// Whether the planned nodes lie within twice the largest measured size.
    pub const fn is_proven(&self) -> bool {
        self.nodes.interval.is_some()
    }
}

/// A rate that the cluster must sustain, and the basis for that kind of work.
#[derive(Debug, Clone)]
pub struct Need {
    /// Per second, today; above 0. The upper end if demand is an interval.
    pub per_s: WithOrigin<f64>,
    /// The lower end if demand is an interval; below the upper one.
    pub at_least_per_s: Option<f64>,
    /// What clusters can do of this work.
    pub basis: Basis,
}

/// All inputs of a plan.
#[derive(Debug, Clone)]
pub struct Request {
    /// At least one; each in another unit.
    pub needs: Vec<Need>,
    /// Required probability that the nodes sustain the needs; above 0 and below 1.
    pub probability: WithOrigin<f64>,
    /// Fraction of the capacity that must stay free; from 0, below 1.
    pub spare: WithOrigin<f64>,
    /// Growth of every need per month, as a fraction; from 0.
    pub growth_per_month: WithOrigin<f64>,
    /// Months for which the cluster must suffice.
    pub months: WithOrigin<u32>,
    /// Number of node failures during which the needs are still sustained.
    pub survive: WithOrigin<u32>,
    /// Replicas of each shard: as given, else as measured. [`Request::copies`] has those that are planned.
    pub replicas: WithOrigin<u32>,
    /// Virtual CPUs of each planned node; if absent, as measured.
    pub vcpus_per_node: Option<WithOrigin<f64>>,
    /// Retention of rows, seconds.
    pub retention_s: Option<WithOrigin<f64>>,
    /// Bytes of a row on disk, per copy.
    pub stored_bytes_per_row: Option<WithOrigin<f64>>,
    /// Bytes of a row as sent.
    pub sent_bytes_per_row: Option<WithOrigin<f64>>,
    /// Bytes of a response.
    pub bytes_per_answer: Option<WithOrigin<f64>>,
    /// Price of a node, per hour.
    pub price_per_node_hour: Option<WithOrigin<f64>>,
    /// Rules for shards and disks.
    pub guidance: WithOrigin<Guidance>,
    /// Weighting of the displayed fits; predictions do not depend on it.
    pub squares: Weighting,
}

/// An expected value with its 90% interval if predictions for the size are proven.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Median of new measurements.
    pub expected: f64,
    /// Lower and upper bound of the 90% interval; absent beyond twice the largest measured size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

impl Estimate {
    /// A prediction, with its interval if it is proven.
    pub fn new(of: Prediction, is_proven: bool) -> Self {
        let interval = is_proven.then_some([of.low, of.high]);
        Self { expected: of.expected, interval }
    }

    /// The free fraction of the capacity, from the used one; below 0 if the needs are not
    /// sustained.
    pub(super) fn headroom(used: Prediction, is_proven: bool) -> Self {
        let Prediction { expected, low, high } = used;
        let free = Prediction { expected: 1.0 - expected, low: 1.0 - high, high: 1.0 - low };
        Self::new(free, is_proven)
    }
}

/// The origin of an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "from", rename_all = "snake_case")]
pub enum Origin {
    /// Stated by the user; the name of the flag, variable, or file.
    Given(String),
    /// Measured by the user; the name of the measurement.
    Measured(String),
    /// Published by others; the name of the source.
    Published(String),
    /// Assumed, because it was neither measured nor given; the reason for the value.
    Assumed(String),
}

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WithOrigin<T> {
    /// The value.
    pub value: T,
    /// The origin.
    pub origin: Origin,
}

/// An input as listed in the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// Name of the input, with its unit.
    pub name: String,
    /// Its value, as text.
    pub value: String,
    /// The origin.
    pub origin: Origin,
    /// The flag that changes it.
    pub flag: String,
}

impl<T> WithOrigin<T> {
    /// A value given by the user with a flag.
    pub fn given(value: T, flag: &str) -> Self {
        Self { value, origin: Origin::Given(flag.to_owned()) }
    }

    /// A default value, with the reason for it.
    pub fn assumed(value: T, because: &str) -> Self {
        Self { value, origin: Origin::Assumed(because.to_owned()) }
    }

    /// A line of a plan's inputs.
    pub fn input(&self, name: &str, value: impl Into<String>, flag: &str) -> Input {
        self.origin.input(name, value, flag)
    }
}

impl Origin {
    /// A line of a plan's inputs for a value from this origin.
    pub fn input(&self, name: &str, value: impl Into<String>, flag: &str) -> Input {
        Input {
            name: name.to_owned(),
            value: value.into(),
            origin: self.clone(),
            flag: flag.to_owned(),
        }
    }

    /// A word for the origin.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Given(_) => "given",
            Self::Measured(_) => "measured",
            Self::Published(_) => "published",
            Self::Assumed(_) => "assumed",
        }
    }

    /// The exact origin.
    pub fn detail(&self) -> &str {
        match self {
            Self::Given(text)
            | Self::Measured(text)
            | Self::Published(text)
            | Self::Assumed(text) => text,
        }
    }

    /// Whether the reader cannot verify it.
    pub const fn is_assumption(&self) -> bool {
        matches!(self, Self::Published(_) | Self::Assumed(_))
    }
}
