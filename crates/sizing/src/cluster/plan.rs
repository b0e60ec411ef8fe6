//! The plan's data: nodes, shards, disk, network, headroom, price, alternatives, and every input. Must not compute;
//! `planning` does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::basis::SizeAxis;
use super::counting::{NodeInterval, ToProve};
use super::decision::Decision;
use super::layout::{Disk, Network, Shards};
use super::request::Estimate;
use super::traced::{Input, Origin};
use crate::scaling::{Fit, Identifiability, Peak, ScalingModel};

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
    /// Whether it lies beyond the largest measured size.
    pub beyond: bool,
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
    /// What it alone predicts for the planned nodes, with the copies of the measurements.
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
    /// Whether they meet the needs; otherwise no number of nodes does, and these are expected to come closest.
    pub reached: bool,
    /// The nodes that may be enough; absent for an unproven number, beyond twice the largest measured size.
    pub interval: Option<NodeInterval>,
    /// What proves an unproven number.
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
    /// Whether the planned nodes lie within twice the largest measured size.
    pub const fn is_proven(&self) -> bool {
        self.nodes.interval.is_some()
    }
}
