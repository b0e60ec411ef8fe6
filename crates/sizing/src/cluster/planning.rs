//! Makes a plan from the results of the neighboring modules: the smallest number of nodes that sustains all needs
//! with a given probability, and what follows from it. Must not format reports.

use highwater_model::numbers::round_to_u32;

use super::basis::measured_sizes;
use super::decision::{HOURS_PER_MONTH, decide};
use super::plan::{
    Alternative, ModelPlan, NeedPlan, NodePlan, PLAN_SCHEMA, SizePlan, SizePlanPoint,
};
use super::prose;
use super::request::{Headroom, Need, Request};
use crate::scaling::{Average, Fit, Forecast, Growth, Point, Prediction, Sweep, Weighting, fit};

/// Number of nodes below and above the plan in the table of alternatives.
const FEWER: u32 = 2;
const MORE: u32 = 2;
/// Numbers of replicas in that table.
const COPIES: [u32; 3] = [0, 1, 2];

/// Plans a cluster, or returns why there is none.
pub fn size(request: &Request) -> Result<SizePlan, Unreached> {
    let replicas = request.replicas.value;
    let counts = request.node_counts(replicas)?;
    let nodes = counts.planned;
    let working = nodes - request.survive.value;
    let headroom = |nodes: u32| {
        let carried = request.carried(nodes, replicas);
        carried.map_or(Headroom::from(NOTHING), |carried| carried.used().into())
    };
    let needs: Vec<NeedPlan> =
        request.needs.iter().map(|need| need_plan(request, need, working, nodes)).collect();
    let largest = request.needs.iter().map(|need| need.basis.growth.farthest());
    let extrapolated = f64::from(working) > largest.fold(f64::INFINITY, f64::min);
    let inputs = prose::list(request);
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
            probability: request.probability.value,
            farthest: request.farthest(),
            headroom: headroom(nodes),
            headroom_after_loss: headroom(working),
        },
        shards: request.shards(nodes, replicas),
        disk: request.disk(nodes, replicas),
        network: request.network(nodes, replicas),
        price_per_month: price(request, nodes),
        decision: decide(request, nodes),
        alternatives: alternatives(request, nodes),
        notes: prose::notes(request, nodes, extrapolated),
        summary: String::new(),
        inputs,
        needs,
    };
    plan.summary = prose::summary(request, &plan);
    Ok(plan)
}

/// Zero use of capacity, for a missing need.
const NOTHING: Prediction = Prediction { expected: 0.0, low: 0.0, high: 0.0 };

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
        probability: carried.probability(),
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
        capacity: basis.forecast(f64::from(nodes), replicas, vcpus).prediction(),
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
        predicted: growth.forecast(nodes).prediction(),
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
                prediction: alone.map(|forecast| forecast.prediction()),
                fit,
            }
        })
        .collect()
}

/// Maximum number of nodes of a plan that may extrapolate.
const MOST_NODES: u32 = 1_000;
/// Probabilities at the ends of the 90% interval of the number of nodes.
const LIKELY: (f64, f64) = (0.05, 0.95);

/// Numbers of nodes, including those that may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCounts {
    /// Sustains the needs with the requested probability.
    pub planned: u32,
    /// Sustains the needs with a probability of one half.
    pub expected: u32,
    /// Lower end: enough with a probability of 5%.
    pub low: u32,
    /// Upper end: enough with a probability of 95%. Absent above the maximum number of nodes.
    pub high: Option<u32>,
}

/// Why there is no number of nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unreached {
    /// The largest number of nodes tried, without those that may be lost.
    pub farthest: u32,
    /// The fraction of the capacity that the needs would use there.
    pub used: Prediction,
    /// The number of nodes that sustain the needs with a probability of one half, if up to that.
    pub expected: Option<u32>,
    /// The probability that was requested.
    pub probability: f64,
    /// Whether more nodes could be tried on request.
    pub refused: bool,
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
    pub fn carried(&self, nodes: u32, replicas: u32) -> Option<CapacityUse> {
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

    /// Maximum number of running nodes in a plan.
    pub fn farthest(&self) -> u32 {
        if self.extrapolate {
            return MOST_NODES;
        }
        let nodes = self
            .needs
            .iter()
            .map(|need| need.basis.growth.farthest())
            .fold(f64::from(MOST_NODES), f64::min);
        round_to_u32(nodes.floor())
    }

    /// The number of nodes needed with this number of replicas.
    pub fn node_counts(&self, replicas: u32) -> Result<NodeCounts, Unreached> {
        let probabilities = [LIKELY.0, 0.5, LIKELY.1, self.probability.value];
        let mut found = [None; 4];
        for nodes in 1..=self.farthest() {
            let Some(probability) =
                self.carried(nodes, replicas).map(|carried| carried.probability())
            else {
                break;
            };
            for (found, requested) in found.iter_mut().zip(probabilities) {
                if found.is_none() && probability >= requested {
                    *found = Some(nodes);
                }
            }
            if found.iter().all(Option::is_some) {
                break;
            }
        }
        let with_lost = |nodes: u32| nodes + self.survive.value;
        match found {
            [Some(low), Some(expected), high, Some(planned)] => Ok(NodeCounts {
                planned: with_lost(planned),
                expected: with_lost(expected),
                low: with_lost(low),
                high: high.map(with_lost),
            }),
            _ => Err(self.unreached(replicas, found[1])),
        }
    }

    fn unreached(&self, replicas: u32, expected: Option<u32>) -> Unreached {
        let farthest = self.farthest();
        let used = self.carried(farthest, replicas).map(|carried| carried.used());
        Unreached {
            farthest,
            used: used.unwrap_or(Prediction {
                expected: f64::INFINITY,
                low: f64::INFINITY,
                high: f64::INFINITY,
            }),
            expected,
            probability: self.probability.value,
            refused: !self.extrapolate,
        }
    }
}
