//! Makes a plan from the results of the neighboring modules: the smallest number of nodes that sustains all needs
//! with a given probability, and what follows from it. Must not format reports.

use highwater_model::numbers::round_to_u32;

use super::basis::{SizeAxis, measured_sizes};
use super::decision::{HOURS_PER_MONTH, ToProve, decide};
use super::plan::{
    Alternative, ModelPlan, NeedPlan, NodeInterval, NodePlan, PLAN_SCHEMA, SizePlan, SizePlanPoint,
};
use super::prose;
use super::request::{Estimate, Need, Request};
use super::traced::{Origin, Traced};
use crate::scaling::{
    Average, FARTHEST, Fit, Forecast, Growth, Point, Prediction, Sweep, Weighting, fit,
};

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

/// Price per month of a cluster; of sizes in vCPUs, all machines together.
pub(super) fn price(request: &Request, nodes: u32) -> Option<f64> {
    let price = request.price_per_node_hour.as_ref()?.value;
    Some(price * f64::from(nodes) * f64::from(request.machines()) * HOURS_PER_MONTH)
}

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

/// Maximum number of nodes that is searched.
const MOST_NODES: u32 = 10_000;
/// Probabilities at the ends of the 90% interval of the number of nodes.
const LIKELY: (f64, f64) = (0.05, 0.95);
/// Of clusters that fall short, the smallest one that is this close to the best counts as the best.
const AS_GOOD: f64 = 1.01;

/// The nodes that are enough, including those that may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCounts {
    /// Sustain the needs with the requested probability.
    pub planned: u32,
    /// Whether they do; otherwise no number of nodes does, and these come closest.
    pub reached: bool,
    /// Absent beyond twice the largest measured size.
    pub interval: Option<NodeInterval>,
}

/// A cluster's used fraction of its capacity.
#[derive(Debug, Clone, Copy)]
pub struct CapacityUse {
    used: Forecast,
    /// The maximum fraction.
    most: f64,
}

impl CapacityUse {
    /// The used fraction of the capacity.
    pub fn used(&self) -> Prediction {
        self.used.prediction()
    }

    /// Probability that the needs are sustained with the requested headroom.
    pub fn probability(&self) -> f64 {
        1.0 - self.used.chance_of(self.most)
    }
}

impl Request {
    /// The use of a cluster of `nodes` running nodes by the needs of the last month.
    pub fn used(&self, nodes: u32, replicas: u32) -> Option<CapacityUse> {
        let vcpus = self.vcpus_per_node.as_ref().map(|vcpus| vcpus.value);
        let needs: Vec<(f64, Forecast)> = self
            .needs
            .iter()
            .map(|need| {
                let forecast = need.basis.forecast(f64::from(nodes), f64::from(replicas), vcpus);
                (need.per_s.value * self.growth(), forecast)
            })
            .collect();
        Some(CapacityUse { used: Forecast::used(&needs)?, most: 1.0 - self.spare.value })
    }

    /// Growth factor of the needs at the end.
    pub fn growth(&self) -> f64 {
        (1.0 + self.growth_per_month.value).powf(f64::from(self.months.value))
    }

    /// What sizes count; the same for all needs.
    pub fn axis(&self) -> SizeAxis {
        self.needs.first().map_or(SizeAxis::Nodes, |need| need.basis.axis)
    }

    /// Machines of each size: one for sizes in nodes, else those whose vCPUs are counted, and those that may be lost.
    pub fn machines(&self) -> u32 {
        match (self.axis(), self.needs.first()) {
            (SizeAxis::Vcpus, Some(need)) => need.basis.machines + self.survive.value,
            _ => 1,
        }
    }

    /// What sizes have more than the running nodes: the nodes that may be lost.
    pub(super) fn added(&self) -> u32 {
        if self.axis() == SizeAxis::Nodes { self.survive.value } else { 0 }
    }

    /// Planned replicas: as given, else as measured, but enough to keep all data if nodes fail.
    pub fn copies(&self) -> Traced<u32> {
        let (replicas, survive) = (&self.replicas, self.survive.value);
        if matches!(replicas.origin, Origin::Given(_)) || replicas.value >= survive {
            return replicas.clone();
        }
        Traced::assumed(survive, "as many as tolerated node failures, so that no data is lost")
    }

    /// Maximum number of running nodes that is proven.
    pub fn farthest(&self) -> u32 {
        let farthest = self.needs.iter().map(|need| need.basis.growth.farthest());
        round_to_u32(farthest.fold(f64::from(MOST_NODES), f64::min).floor())
    }

    /// Whether a prediction for this many running nodes has an interval.
    pub(super) fn is_proven(&self, nodes: u32) -> bool {
        nodes <= self.farthest()
    }

    /// The number of nodes needed with this number of replicas.
    pub fn node_counts(&self, replicas: u32) -> NodeCounts {
        let probabilities = [LIKELY.0, 0.5, LIKELY.1, self.probability.value];
        let mut found = [None; 4];
        let farthest = self.farthest();
        for nodes in 1..=farthest {
            let probability = self.probability_of(nodes, replicas);
            for (found, requested) in found.iter_mut().zip(probabilities) {
                if found.is_none() && probability >= requested {
                    *found = Some(nodes);
                }
            }
            if found.iter().all(Option::is_some) {
                break;
            }
        }
        let with_lost = |nodes: u32| nodes + self.added();
        if let [Some(low), Some(expected), high, Some(planned)] = found {
            let [low, expected, planned, farthest] =
                [low, expected, planned, farthest].map(with_lost);
            let high = high.map(with_lost);
            let interval = Some(NodeInterval { expected, low, high, farthest });
            return NodeCounts { planned, reached: true, interval };
        }
        let beyond = self.beyond(replicas);
        let planned = with_lost(beyond.unwrap_or_else(|| self.closest(replicas)));
        NodeCounts { planned, reached: beyond.is_some(), interval: None }
    }

    fn probability_of(&self, nodes: u32, replicas: u32) -> f64 {
        self.used(nodes, replicas).map_or(1.0, |used| used.probability())
    }

    /// The smallest number beyond the proven ones that is enough, if growth continues. It does not fall there, so that
    /// the number is bracketed and halved.
    fn beyond(&self, replicas: u32) -> Option<u32> {
        let is_enough = |nodes| self.probability_of(nodes, replicas) >= self.probability.value;
        let mut few = self.farthest();
        let mut enough = few;
        while enough == few || !is_enough(enough) {
            few = enough;
            enough = few.saturating_mul(2).min(MOST_NODES);
            if enough == few {
                return None;
            }
        }
        while enough - few > 1 {
            let middle = few + (enough - few) / 2;
            if is_enough(middle) { enough = middle } else { few = middle }
        }
        Some(enough)
    }

    /// Of the proven numbers, none of which is enough, the smallest one that uses nearly the least of its capacity.
    fn closest(&self, replicas: u32) -> u32 {
        let used = |nodes| self.used(nodes, replicas).map_or(0.0, |used| used.used().expected);
        let all: Vec<(u32, f64)> =
            (1..=self.farthest()).map(|nodes| (nodes, used(nodes))).collect();
        let least = all.iter().map(|(_, used)| *used).fold(f64::INFINITY, f64::min);
        let closest = all.iter().find(|(_, used)| *used <= AS_GOOD * least);
        closest.map_or(1, |(nodes, _)| *nodes)
    }

    /// The size whose measurement proves an unproven number; `None` for a proven one.
    pub(super) fn to_prove(&self, counts: &NodeCounts) -> Option<ToProve> {
        let working = f64::from(counts.planned - self.added());
        let growths = self.needs.iter().map(|need| &need.basis.growth);
        let least = growths.min_by(|a, b| a.largest().total_cmp(&b.largest()))?;
        let measure = (working / FARTHEST).ceil();
        let is_open = counts.interval.is_none() && counts.reached && measure > least.largest();
        is_open.then(|| {
            let after = least.interval_after(measure, working);
            ToProve { measure: round_to_u32(measure), low: after.low - 1.0, high: after.high - 1.0 }
        })
    }
}
