//! The plan: nodes, shards, disk, network, headroom, price, alternatives, and every input.
//!
//! Puts together what the neighbouring modules compute; it formats no report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::basis::{Basis, measured_sizes};
use super::inputs;
use super::layout::{Disk, Network, Shards};
use super::nodes::Unreached;
use super::request::{Need, Request};
use super::traced::{Input, Origin};
use crate::analysis::scaling::{Fit, LEVEL, Law, Peak, Prediction, Told, Weighting, fit};

/// Version of the plan's shape.
pub const PLAN_SCHEMA: &str = "highwater-size/1";
/// Hours of a month, for prices.
const HOURS_PER_MONTH: f64 = 730.0;
/// Nodes fewer and more than planned, in the table of alternatives.
const FEWER: u32 = 2;
const MORE: u32 = 2;
/// Numbers of further copies in that table.
const COPIES: [u32; 3] = [0, 1, 2];

/// Which cluster is needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizePlan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// Whether any figure rests on an assumption or on somebody else's figures.
    pub assumed: bool,
    /// Whether nodes lie beyond twice the largest measured size.
    pub extrapolated: bool,
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
    /// Today.
    pub per_s: f64,
    /// In the last month of the plan.
    pub per_s_at_end: f64,
    /// What the planned cluster can do of it alone: expected, with its 90 % interval.
    pub capacity: Prediction,
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
    /// The laws: fits, weights, predictions.
    pub laws: Vec<LawPlan>,
    /// What the points tell of contention, crosstalk and peak.
    pub told: Option<Told>,
}

/// A size: measured, predicted, or both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizePlanPoint {
    /// Nodes.
    pub nodes: f64,
    /// Measured there, per second.
    pub measured_per_s: Option<f64>,
    /// What the average predicts, with the copies and nodes of the measurements.
    pub predicted: Prediction,
    /// Whether it lies beyond the largest measured size.
    pub beyond: bool,
}

/// One law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LawPlan {
    /// Which.
    pub law: Law,
    /// What it says.
    pub meaning: String,
    /// Its mean share in the average.
    pub weight: f64,
    /// Root mean square of its relative errors on sizes left out.
    pub left_out_error: Option<f64>,
    /// Corrected Akaike criterion of the fit; from five sizes on.
    pub aicc: Option<f64>,
    /// What it alone predicts for the planned nodes, with the copies of the measurements.
    pub prediction: Option<Prediction>,
    /// Its least squares, where there are as many sizes as parameters.
    pub fit: Option<Fit>,
    /// The peak of that fit, where it has one.
    pub peak: Option<Peak>,
}

/// How many nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodePlan {
    /// Planned: carry the needs with the asked chance, after the loss that must be survived.
    pub planned: u32,
    /// Suffice with a chance of one half.
    pub expected: u32,
    /// May suffice, with a chance of 5 %.
    pub low: u32,
    /// Suffice with a chance of 95 %.
    pub high: u32,
    /// Of the planned nodes, those that may be lost.
    pub survive: u32,
    /// The chance that was asked for.
    pub chance: f64,
    /// The most nodes that can be named from these measurements.
    pub farthest: u32,
    /// Part of the capacity that is free with all planned nodes: expected, and its 90 % interval.
    pub headroom: Headroom,
    /// The same after the loss that must be survived.
    pub headroom_after_loss: Headroom,
}

/// Free capacity, as a part; below 0 where the needs are not carried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headroom {
    /// Middle.
    pub expected: f64,
    /// 5 % are below.
    pub low: f64,
    /// 5 % are above.
    pub high: f64,
}

/// Another cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// Nodes.
    pub nodes: u32,
    /// Further copies.
    pub replicas: u32,
    /// Whether it is the planned one.
    pub planned: bool,
    /// Free capacity after the loss that must be survived.
    pub headroom: Headroom,
    /// Probability that it carries the needs after that loss.
    pub chance: f64,
    /// Bytes of disk for each node.
    pub disk_per_node_bytes: Option<f64>,
    /// Price per month.
    pub price_per_month: Option<f64>,
    /// Why it should not be taken, where there is a reason.
    pub remark: Option<String>,
}

impl From<Prediction> for Headroom {
    fn from(used: Prediction) -> Self {
        Self {
            expected: 1.0 - used.expected,
            low: 1.0 - used.high,
            high: 1.0 - used.low,
        }
    }
}

/// Plans a cluster; or says why there is none.
pub fn size(request: &Request) -> Result<SizePlan, Unreached> {
    let replicas = request.replicas.value;
    let counts = request.node_counts(replicas)?;
    let nodes = counts.planned;
    let working = nodes - request.survive.value;
    let headroom = |nodes: u32| {
        let carried = request.carried(nodes, replicas);
        carried.map_or(Headroom::from(NOTHING), |carried| carried.used().into())
    };
    let needs: Vec<NeedPlan> = request
        .needs
        .iter()
        .map(|need| need_plan(request, need, working, nodes))
        .collect();
    let largest = request
        .needs
        .iter()
        .map(|need| need.basis.average.farthest());
    let extrapolated = f64::from(working) > largest.fold(f64::INFINITY, f64::min);
    let inputs = inputs::list(request);
    let mut plan = SizePlan {
        schema: PLAN_SCHEMA.to_owned(),
        assumed: inputs.iter().any(|input| input.origin.is_assumption()),
        extrapolated,
        nodes: NodePlan {
            planned: nodes,
            expected: counts.expected,
            low: counts.low,
            high: counts.high,
            survive: request.survive.value,
            chance: request.chance.value,
            farthest: request.farthest(),
            headroom: headroom(nodes),
            headroom_after_loss: headroom(working),
        },
        shards: request.shards(nodes, replicas),
        disk: request.disk(nodes, replicas),
        network: request.network(nodes, replicas),
        price_per_month: price(request, nodes),
        alternatives: alternatives(request, nodes),
        notes: inputs::notes(request, nodes, extrapolated),
        summary: String::new(),
        inputs,
        needs,
    };
    plan.summary = super::prose::summary(request, &plan);
    Ok(plan)
}

/// What no need uses.
const NOTHING: Prediction = Prediction {
    expected: 0.0,
    low: 0.0,
    high: 0.0,
};

fn price(request: &Request, nodes: u32) -> Option<f64> {
    let price = request.price_per_node_hour.as_ref()?.value;
    Some(price * f64::from(nodes) * HOURS_PER_MONTH)
}

fn alternatives(request: &Request, planned: u32) -> Vec<Alternative> {
    let survive = request.survive.value;
    let fewest = planned.saturating_sub(FEWER).max(survive + 1);
    let farthest = request.farthest() + survive;
    let most = (planned + MORE).min(farthest);
    let replicas = request.replicas.value;
    let mut clusters: Vec<(u32, u32)> = (fewest..=most).map(|nodes| (nodes, replicas)).collect();
    for copies in COPIES.into_iter().filter(|copies| *copies != replicas) {
        let nodes = request.node_counts(copies);
        clusters.extend(nodes.ok().map(|counts| (counts.planned, copies)));
    }
    clusters
        .into_iter()
        .filter_map(|(nodes, replicas)| alternative(request, nodes, replicas, planned))
        .collect()
}

fn alternative(request: &Request, nodes: u32, replicas: u32, planned: u32) -> Option<Alternative> {
    let survive = request.survive.value;
    let carried = request.carried(nodes - survive, replicas)?;
    let remark = if replicas < survive {
        Some(format!("loses data with {survive} lost"))
    } else if nodes <= replicas {
        Some("has fewer nodes than copies".to_owned())
    } else {
        None
    };
    Some(Alternative {
        nodes,
        replicas,
        planned: nodes == planned && replicas == request.replicas.value,
        headroom: carried.used().into(),
        chance: carried.chance(),
        disk_per_node_bytes: request
            .disk(nodes, replicas)
            .map(|disk| disk.per_node_bytes),
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
        per_s_at_end: need.per_s.value * request.growth(),
        capacity: basis
            .forecast(f64::from(nodes), replicas, vcpus)
            .prediction(),
        measured: measured_sizes(basis),
        origin: basis.origin.clone(),
        growth: basis.growth.clone(),
        error: basis.average.error(),
        curve: curve(basis, f64::from(working)),
        laws: laws(basis, f64::from(working), request.squares),
        told: basis.average.told(),
    }
}

/// Steps of the curve, so that a plot of it is smooth.
const STEPS: u32 = 60;

/// The measured sizes, the planned nodes, and steps between the smallest and the largest of both.
fn curve(basis: &Basis, working: f64) -> Vec<SizePlanPoint> {
    let measured = basis.sweep.sizes();
    let (from, to) = (basis.sweep.smallest(), basis.sweep.largest().max(working));
    let step = |step: u32| from + (to - from) * f64::from(step) / f64::from(STEPS);
    let mut nodes: Vec<f64> = (0..=STEPS).map(step).collect();
    nodes.push(working);
    nodes.extend(measured.iter().map(|size| size.size));
    nodes.sort_by(f64::total_cmp);
    nodes.dedup();
    let point = |nodes: f64| SizePlanPoint {
        nodes,
        measured_per_s: measured
            .iter()
            .find(|size| size.size.total_cmp(&nodes).is_eq())
            .map(|size| size.per_s),
        predicted: basis.average.forecast(nodes).prediction(),
        beyond: nodes > basis.average.largest(),
    };
    nodes.into_iter().map(point).collect()
}

fn laws(basis: &Basis, working: f64, squares: Weighting) -> Vec<LawPlan> {
    let points: Vec<crate::analysis::scaling::Point> = basis
        .sweep
        .sizes()
        .iter()
        .map(|size| crate::analysis::scaling::Point {
            size: size.size,
            per_s: size.per_s,
        })
        .collect();
    let members = basis.average.members().iter();
    members
        .map(|member| {
            let fit = fit(member.law(), &points, squares);
            let alone = basis.average.forecast_by(member.law(), working);
            LawPlan {
                law: member.law(),
                meaning: member.law().meaning().to_owned(),
                weight: member.weight,
                left_out_error: member.left_out_error,
                aicc: fit.as_ref().and_then(Fit::aicc),
                peak: fit.as_ref().and_then(|fit| fit.curve.peak()),
                prediction: alone.map(|forecast| forecast.prediction()),
                fit,
            }
        })
        .collect()
}

/// The level of every interval of a plan, as text.
pub(super) fn level() -> String {
    percent(LEVEL)
}

/// `95 %`, with as few digits as it needs.
pub(super) fn percent(part: f64) -> String {
    format!("{} %", crate::model::display::plain(100.0 * part))
}
