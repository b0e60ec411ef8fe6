//! The plan: the smallest number of nodes that sustains all needs with a given probability, and what follows from it:
//! shards, disk, network, headroom, price, alternatives, and every input.
//!
//! Must not format reports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::basis::{SizeAxis, measured_sizes};
use super::counting::{NodeInterval, ToProve, price};
use super::decision::{Decision, decide};
use super::layout::{Disk, Network, Shards};
use super::prose;
use super::request::{Estimate, Need, Request};
use super::request::{Input, Origin};
use crate::scaling::{
    Average, Fit, Growth, Identifiability, Peak, Point, Prediction, ScalingModel, Sweep, Weighting,
    fit,
};

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

/// Number of nodes below and above the plan in the table of alternatives.
const FEWER: u32 = 2;
const MORE: u32 = 2;
/// Numbers of replicas in that table.
const COPIES: [u32; 3] = [0, 1, 2];

/// Plans a cluster. Beyond twice the largest measured size the number of nodes is unproven, and has no interval.
pub fn size(request: &Request) -> SizePlan {
    let as_stated = request;
    let request = &Request { replicas: request.copies(), ..request.clone() };
    let replicas = request.replicas.value;
    let counts = request.node_counts(replicas);
    let nodes = counts.planned;
    let working = nodes - request.added();
    let headroom = |nodes: u32| {
        let used = request.used(nodes, replicas).map_or(NOTHING, |used| used.used());
        Estimate::headroom(used, request.is_proven(nodes))
    };
    let needs: Vec<NeedPlan> =
        request.needs.iter().map(|need| need_plan(request, need, working, nodes)).collect();
    let inputs = prose::list(request);
    let mut plan = SizePlan {
        schema: PLAN_SCHEMA.to_owned(),
        assumed: inputs.iter().any(|input| input.origin.is_assumption()),
        axis: request.axis(),
        nodes: NodePlan {
            planned: nodes,
            reached: counts.reached,
            interval: counts.interval,
            to_prove: request.to_prove(&counts),
            survive: request.survive.value,
            probability: request.probability.value,
            headroom: headroom(nodes),
            headroom_after_loss: headroom(working),
        },
        shards: request.shards(nodes, replicas),
        disk: request.disk(nodes, replicas),
        network: request.network(nodes, replicas),
        price_per_month: price(request, nodes),
        decision: decide(as_stated, request, nodes),
        alternatives: alternatives(request, nodes),
        notes: prose::notes(request, &counts),
        summary: String::new(),
        inputs,
        needs,
    };
    plan.summary = prose::summary(request, &plan);
    plan
}

/// Zero use of capacity, for a missing need.
const NOTHING: Prediction = Prediction { expected: 0.0, low: 0.0, high: 0.0 };

fn alternatives(request: &Request, planned: u32) -> Vec<Alternative> {
    let fewest = planned.saturating_sub(FEWER).max(request.added() + 1);
    let replicas = request.replicas.value;
    let mut clusters: Vec<(u32, u32)> =
        (fewest..=planned + MORE).map(|nodes| (nodes, replicas)).collect();
    for copies in COPIES.into_iter().filter(|copies| *copies != replicas) {
        let counts = request.node_counts(copies);
        clusters.extend(counts.reached.then_some((counts.planned, copies)));
    }
    clusters
        .into_iter()
        .filter_map(|(nodes, replicas)| alternative(request, nodes, replicas, planned))
        .collect()
}

fn alternative(request: &Request, nodes: u32, replicas: u32, planned: u32) -> Option<Alternative> {
    let survive = request.survive.value;
    let working = nodes - request.added();
    let (used, is_proven) = (request.used(working, replicas)?, request.is_proven(working));
    let remark = if replicas < survive {
        Some(format!("loses data with {survive} lost"))
    } else if request.axis() == SizeAxis::Nodes && nodes <= replicas {
        Some("has fewer nodes than copies".to_owned())
    } else {
        None
    };
    Some(Alternative {
        nodes,
        replicas,
        planned: nodes == planned && replicas == request.replicas.value,
        headroom: Estimate::headroom(used.used(), is_proven),
        probability: is_proven.then(|| used.probability()),
        disk_per_node_bytes: request.disk(nodes, replicas).map(|disk| disk.per_node_bytes),
        price_per_month: price(request, nodes),
        remark,
    })
}

fn need_plan(request: &Request, need: &Need, working: u32, nodes: u32) -> NeedPlan {
    let basis = &need.basis;
    let vcpus = request.vcpus_per_node.as_ref().map(|vcpus| vcpus.value);
    let replicas = f64::from(request.replicas.value);
    NeedPlan {
        unit: basis.unit.clone(),
        per_s: need.per_s.value,
        at_least_per_s: need.at_least_per_s,
        per_s_at_end: need.per_s.value * request.growth(),
        capacity: Estimate::new(
            basis.forecast(f64::from(nodes), replicas, vcpus).prediction(),
            request.is_proven(nodes),
        ),
        measured: measured_sizes(basis),
        origin: basis.origin.clone(),
        growth: basis.growth_origin.clone(),
        error: basis.growth.error(),
        curve: curve(&basis.sweep, &basis.growth, f64::from(working)),
        models: models(&basis.sweep, &basis.growth, f64::from(working), request.squares),
        identifiability: basis.growth.average().and_then(Average::identifiability),
    }
}

/// Steps of the curve, for a smooth plot.
const STEPS: u32 = 60;

/// The measured sizes, a larger one, and steps between the smallest and the largest of both.
pub(crate) fn curve(sweep: &Sweep, growth: &Growth, larger: f64) -> Vec<SizePlanPoint> {
    let measured = sweep.sizes();
    let (from, to) = (sweep.smallest(), sweep.largest().max(larger));
    let step = |step: u32| from + (to - from) * f64::from(step) / f64::from(STEPS);
    let mut nodes: Vec<f64> = (0..=STEPS).map(step).collect();
    nodes.push(larger);
    nodes.extend(measured.iter().map(|size| size.size));
    nodes.sort_by(f64::total_cmp);
    nodes.dedup();
    let point = |nodes: f64| SizePlanPoint {
        nodes,
        measured_per_s: measured
            .iter()
            .find(|size| size.size.total_cmp(&nodes).is_eq())
            .map(|size| size.per_s),
        predicted: Estimate::new(growth.forecast(nodes).prediction(), nodes <= growth.farthest()),
        beyond: nodes > growth.largest(),
    };
    nodes.into_iter().map(point).collect()
}

/// The models, and the prediction of each for a size; empty if growth is assumed.
pub(crate) fn models(
    sweep: &Sweep,
    growth: &Growth,
    nodes: f64,
    squares: Weighting,
) -> Vec<ModelPlan> {
    let points: Vec<Point> =
        sweep.sizes().iter().map(|size| Point { size: size.size, per_s: size.per_s }).collect();
    let Some(average) = growth.average() else {
        return Vec::new();
    };
    average
        .members()
        .iter()
        .map(|member| {
            let fit = fit(member.model(), &points, squares);
            let alone = average.forecast_by(member.model(), nodes);
            ModelPlan {
                model: member.model(),
                meaning: member.model().meaning().to_owned(),
                weight: member.weight,
                left_out_error: member.left_out_error,
                aicc: fit.as_ref().and_then(Fit::aicc),
                peak: fit.as_ref().and_then(|fit| fit.curve.peak()),
                prediction: alone.map(|forecast| {
                    Estimate::new(forecast.prediction(), nodes <= growth.farthest())
                }),
                fit,
            }
        })
        .collect()
}
