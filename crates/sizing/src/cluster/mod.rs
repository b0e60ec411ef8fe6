//! The cluster for a target rate: arithmetic from measured or published points to a plan, which is the smallest number
//! of nodes that sustains all needs with a given probability, and what follows from it.
//!
//! Every figure is computed from inputs with a stated origin. Must not read files, or use a default that the plan does
//! not list.

mod basis;
mod counting;
mod decision;
#[cfg(any(test, feature = "fixture"))]
#[expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]
pub mod fixture;
mod layout;
mod plan;
mod prose;

#[cfg(test)]
mod tests;

use self::basis::measured_sizes;
use self::counting::price;
use self::decision::decide;
use crate::scaling::{Average, Fit, Growth, Point, Prediction, Sweep, Weighting, fit};

pub use basis::{Basis, BasisError, Reading, SizeAxis};
pub use counting::{CapacityUse, HOURS_PER_MONTH, NodeCounts, NodeInterval, ToProve};
pub use decision::{
    Assumption, AssumptionWeight, Condition, Decision, Regret, ReplicaEffect, SHORTAGE, Scenario,
};
pub use layout::{Disk, Network, Shards, length, uneven};
pub use plan::{
    Alternative, Estimate, Input, ModelPlan, Need, NeedPlan, NodePlan, Origin, PLAN_SCHEMA,
    Request, SizePlan, SizePlanPoint, WithOrigin,
};
pub use prose::estimate;

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
            is_exceeded: counts.is_exceeded,
            reached: counts.reached,
            interval: counts.interval,
            to_prove: counts.to_prove,
            survive: request.survive.value,
            probability: request.probability.value,
            headroom: headroom(nodes),
            headroom_after_loss: headroom(working),
        },
        shards: counts.enough().and_then(|nodes| request.shards(nodes, replicas)),
        disk: counts.enough().and_then(|nodes| request.disk(nodes, replicas)),
        network: counts.enough().and_then(|nodes| request.network(nodes, replicas)),
        price_per_month: counts.enough().and_then(|nodes| price(request, nodes)),
        decision: decide(as_stated, request, &counts),
        alternatives: counts.enough().map_or_else(Vec::new, |nodes| alternatives(request, nodes)),
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
        clusters.extend(counts.enough().map(|nodes| (nodes, copies)));
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
        required_per_s: need.per_s.value * request.growth() / (1.0 - request.spare.value),
        capacity: Estimate::new(
            basis.forecast(f64::from(nodes), replicas, vcpus).prediction(),
            request.is_proven(nodes),
        ),
        measured: measured_sizes(basis),
        origin: basis.origin.clone(),
        simulated: basis.simulated,
        growth: basis.growth_origin.clone(),
        error: basis.growth.error(),
        curve: planned_curve(basis, f64::from(working), replicas, vcpus),
        models: models(&basis.sweep, &basis.growth, f64::from(working), request.squares),
        identifiability: basis.growth.average().and_then(Average::identifiability),
    }
}

/// The curve up to the working nodes, and also with the plan's copies and vCPUs if they differ.
fn planned_curve(
    basis: &Basis,
    working: f64,
    replicas: f64,
    vcpus: Option<f64>,
) -> Vec<SizePlanPoint> {
    let mut points = curve(&basis.sweep, &basis.growth, working);
    let is_as_measured = (replicas - basis.replicas.value).abs() <= 0.0 && vcpus.is_none();
    for point in points.iter_mut().filter(|_| !is_as_measured) {
        let planned = basis.forecast(point.nodes, replicas, vcpus).prediction();
        point.planned = Some(Estimate::new(planned, point.nodes <= basis.growth.farthest()));
    }
    points
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
        planned: None,
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
    // Beyond that, the expected value is not an average of the models.
    let nodes = nodes.min(growth.farthest());
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
                nodes,
                prediction: alone.map(|forecast| Estimate::new(forecast.prediction(), true)),
                fit,
            }
        })
        .collect()
}
