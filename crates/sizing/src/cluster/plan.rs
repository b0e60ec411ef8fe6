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
pub const PLAN_SCHEMA: &str = "highwater-size/3";
/// Which cluster is needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizePlan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// Whether any figure rests on an assumption or on figures of others.
    pub assumed: bool,
    /// What sizes count: `planned` and all other numbers of nodes are of this.
    pub axis: SizeAxis,
    /// What must be carried.
    pub needs: Vec<NeedPlan>,
    /// How many nodes.
    pub nodes: NodePlan,
    /// Shards, where they can be said.
    pub shards: Option<Shards>,
    /// Disk, where it can be said.
    pub disk: Option<Disk>,
    /// Network, where it can be said.
    pub network: Option<Network>,
    /// Price of the planned nodes per month of 730 hours.
    pub price_per_month: Option<f64>,
    /// What decides between clusters.
    pub decision: Decision,
    /// Fewer and more nodes, fewer and more copies.
    pub alternatives: Vec<Alternative>,
    /// Every input with its origin and the flag that changes it.
    pub inputs: Vec<Input>,
    /// What the reader should know.
    pub notes: Vec<String>,
    /// The plan in prose.
    pub summary: String,
}

/// A need and what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeedPlan {
    /// `rows/s` or `queries/s`.
    pub unit: String,
    /// Today; of a demand that is an interval its upper end.
    pub per_s: f64,
    /// The lower end of a demand that is an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_per_s: Option<f64>,
    /// In the last month of the plan.
    pub per_s_at_end: f64,
    /// The capacity that this takes, with the part that stays free.
    pub required_per_s: f64,
    /// What the planned cluster can do of it alone.
    pub capacity: Estimate,
    /// The measured points.
    pub measured: String,
    /// Their origin.
    pub origin: Origin,
    /// Where the growth comes from.
    pub growth: Origin,
    /// Relative standard deviation of a measurement.
    pub error: f64,
    /// The measured sizes and others between them and the planned nodes, ascending.
    pub curve: Vec<SizePlanPoint>,
    /// The models: fits, weights, predictions. None where the growth is assumed.
    pub models: Vec<ModelPlan>,
    /// What the points tell of contention, crosstalk and peak.
    pub identifiability: Option<Identifiability>,
}

/// A size: measured, predicted, or both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizePlanPoint {
    /// Nodes.
    pub nodes: f64,
    /// Measured there, per second.
    pub measured_per_s: Option<f64>,
    /// What is predicted, with the copies and nodes of the measurements.
    pub predicted: Estimate,
    /// The same with the copies and nodes of the plan; absent where these are as measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Estimate>,
    /// Whether it lies beyond the largest measured size.
    pub beyond: bool,
}

impl SizePlanPoint {
    /// With the copies and nodes of the plan.
    pub fn as_planned(&self) -> Estimate {
        self.planned.unwrap_or(self.predicted)
    }
}

/// One model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPlan {
    /// Which.
    pub model: ScalingModel,
    /// What it says.
    pub meaning: String,
    /// Its share of the prediction; 0 for one that is only shown.
    pub weight: f64,
    /// Root mean square of its relative errors on sizes left out.
    pub left_out_error: Option<f64>,
    /// Corrected Akaike criterion of the fit; from five sizes on.
    pub aicc: Option<f64>,
    /// The nodes of [`Self::prediction`]: the planned ones, at most twice the largest measured size.
    pub nodes: f64,
    /// What it alone predicts for them, with the copies of the measurements.
    pub prediction: Option<Estimate>,
    /// Its least squares, where there are as many sizes as parameters.
    pub fit: Option<Fit>,
    /// The peak of that fit, where it has one.
    pub peak: Option<Peak>,
}

/// How many nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodePlan {
    /// Planned: meet the needs with the requested probability, after the loss that must be survived.
    pub planned: u32,
    /// Whether more than these are needed, and it is not known how many more.
    pub is_exceeded: bool,
    /// Whether they meet the needs; otherwise no number of nodes does, and more than these add little.
    pub reached: bool,
    /// The nodes that may be enough; absent for an unproven number, beyond twice the largest measured size.
    pub interval: Option<NodeInterval>,
    /// What an unproven number depends on.
    pub to_prove: Option<ToProve>,
    /// Of the planned nodes, those that may be lost.
    pub survive: u32,
    /// The probability that was requested.
    pub probability: f64,
    /// Part of the capacity that is free with all planned nodes; below 0 where the needs are not sustained.
    pub headroom: Estimate,
    /// The same after the loss that must be survived.
    pub headroom_after_loss: Estimate,
}

/// Another cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// Nodes.
    pub nodes: u32,
    /// Replicas.
    pub replicas: u32,
    /// Whether it is the planned one.
    pub planned: bool,
    /// Free capacity after the loss that must be survived.
    pub headroom: Estimate,
    /// Probability that it sustains the needs after that loss; absent beyond twice the largest measured size.
    pub probability: Option<f64>,
    /// Bytes of disk for each node.
    pub disk_per_node_bytes: Option<f64>,
    /// Price per month.
    pub price_per_month: Option<f64>,
    /// Why it should not be taken, where there is a reason.
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

/// An expected value, with its 90% interval where predictions are proven.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Half of new measurements are above it.
    pub expected: f64,
    /// 5% are below the first, and 5% above the second. Absent beyond twice the largest measured size.
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

/// Where an input comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "from", rename_all = "snake_case")]
pub enum Origin {
    /// The user said so; the name of the flag, variable or file.
    Given(String),
    /// A measurement of the user's own; which.
    Measured(String),
    /// Published figures of others; whose.
    Published(String),
    /// It was neither measured nor given; why this value was taken.
    Assumed(String),
}

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WithOrigin<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub origin: Origin,
}

/// An input as the plan lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// What it is, with its unit.
    pub name: String,
    /// Its value, as text.
    pub value: String,
    /// Where it comes from.
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
