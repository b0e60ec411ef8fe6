//! Criteria for choosing between clusters: a lost node, growth, the assumptions that affect the answer most, and
//! regret.
//!
//! Each repeats the plan's arithmetic with one input changed. Must not format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::Headroom;
use super::request::Request;
use super::traced::{Origin, Traced};

/// Months ahead that are always shown, in addition to the plan's own.
const AHEAD: u32 = 6;
/// Growth per month that is tried if none is stated.
const USUAL_GROWTH: f64 = 0.05;
/// Headroom that is tried, as a fraction of the capacity.
const USUAL_HEADROOM: f64 = 0.2;
/// A higher probability that is tried.
const SURER: f64 = 0.99;
const LESS_SURE: f64 = 0.8;
/// Hours per month, for prices.
pub(super) const HOURS_PER_MONTH: f64 = 730.0;
/// Cost of a missing node, in prices of a node: it is bought in a hurry, and work is lost until then.
pub const SHORTAGE: f64 = 3.0;

/// What decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// With one node fewer running; absent for one node.
    pub one_lost: Option<OneLost>,
    /// In six months.
    pub ahead: Ahead,
    /// Assumptions that move the number of nodes, the one that moves it most first.
    pub assumptions: Vec<AssumptionWeight>,
    /// Sizes between which a demand that is not known decides; empty where it is known, and without a price.
    pub regrets: Vec<Regret>,
}

/// The planned cluster with one node lost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneLost {
    /// Nodes that are left.
    pub nodes: u32,
    /// Free capacity then; below 0 where the needs are not carried.
    pub headroom: Headroom,
    /// Probability that they carry the needs.
    pub probability: f64,
    /// Whether a copy of all data is left.
    pub keeps_data: bool,
}

/// The needs and the nodes in some months.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ahead {
    /// From now.
    pub months: u32,
    /// Growth per month, as a part.
    pub growth_per_month: f64,
    /// Whether that is the plan's own growth; else it is an example, as none was stated.
    pub stated: bool,
    /// Of each need, per second.
    pub per_s: Vec<f64>,
    /// Nodes that are enough then; absent beyond what may be named.
    pub nodes: Option<u32>,
}

/// An assumption, and how far it moves the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssumptionWeight {
    /// What is assumed.
    pub what: Assumption,
    /// As the plan has it.
    pub value: f64,
    /// Another value that is as plausible.
    pub other: f64,
    /// Nodes with that one; absent beyond what may be named.
    pub nodes: Option<u32>,
}

/// What can be assumed and moves the number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    /// Growth per month, as a part.
    Growth,
    /// Part of the capacity that is kept free.
    Headroom,
    /// Nodes that may be lost.
    Failures,
    /// Replicas of each row.
    Replicas,
    /// What writing a further copy costs, as a part of the first.
    ReplicaCost,
    /// Probability that the nodes suffice.
    Confidence,
    /// Growth with nodes as published clusters grew, in percent of the capacity that it predicts.
    Scaling,
}

/// What a size costs in the end, if demand turns out to be low or high.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Regret {
    /// Nodes.
    pub nodes: u32,
    /// Price per month.
    pub price_per_month: f64,
    /// Too much paid per month if demand is at its lowest.
    pub if_low: f64,
    /// Too much paid per month if it is at its highest; a missing node costs [`SHORTAGE`] times its price.
    pub if_high: f64,
    /// Whether the greater of both is the least of all sizes.
    pub least: bool,
}

/// The criteria for a plan with `planned` nodes.
pub(super) fn decide(request: &Request, planned: u32) -> Decision {
    Decision {
        one_lost: one_lost(request, planned),
        ahead: ahead(request),
        assumptions: assumptions(request, planned),
        regrets: regrets(request),
    }
}

fn one_lost(request: &Request, planned: u32) -> Option<OneLost> {
    let nodes = planned.checked_sub(1).filter(|nodes| *nodes > 0)?;
    let replicas = request.replicas.value;
    let carried = request.carried(nodes, replicas)?;
    Some(OneLost {
        nodes,
        headroom: carried.used().into(),
        probability: carried.probability(),
        keeps_data: replicas > 0,
    })
}

fn ahead(request: &Request) -> Ahead {
    let stated = !request.growth_per_month.origin.is_assumption();
    let mut then = request.clone();
    then.months.value = AHEAD;
    if !stated {
        then.growth_per_month.value = USUAL_GROWTH;
    }
    let needs = then.needs.iter();
    Ahead {
        months: AHEAD,
        growth_per_month: then.growth_per_month.value,
        stated,
        per_s: needs.map(|need| need.per_s.value * then.growth()).collect(),
        nodes: nodes(&then),
    }
}

fn nodes(request: &Request) -> Option<u32> {
    let counts = request.node_counts(request.replicas.value);
    counts.ok().map(|counts| counts.planned)
}

/// The effect of other values of a request's assumptions.
struct Weights<'a> {
    request: &'a Request,
    all: Vec<AssumptionWeight>,
}

impl Weights<'_> {
    /// A value of the request, if it is assumed.
    fn of<T: Copy + Into<f64>>(
        &mut self,
        what: Assumption,
        other: T,
        at: fn(&mut Request) -> &mut Traced<T>,
    ) {
        let mut request = self.request.clone();
        let traced = at(&mut request);
        if traced.origin.is_assumption() {
            let value = traced.value.into();
            self.add(what, value, other.into(), |changed| {
                at(changed).value = other;
            });
        }
    }

    fn add(&mut self, what: Assumption, value: f64, other: f64, change: impl Fn(&mut Request)) {
        let mut changed = self.request.clone();
        change(&mut changed);
        self.all.push(AssumptionWeight { what, value, other, nodes: nodes(&changed) });
    }
}

/// Every assumption with another value; those without effect are left out.
fn assumptions(request: &Request, planned: u32) -> Vec<AssumptionWeight> {
    let mut weights = Weights { request, all: Vec::new() };
    let usual = USUAL_GROWTH;
    weights.of(Assumption::Growth, usual, |of| &mut of.growth_per_month);
    weights.of(Assumption::Headroom, USUAL_HEADROOM, |of| &mut of.spare);
    let (lost, more) = (&request.survive, request.survive.value.saturating_add(1));
    if lost.origin.is_assumption() {
        let (value, other) = (lost.value.into(), more.into());
        weights.add(Assumption::Failures, value, other, |changed| {
            changed.survive.value = more;
            changed.replicas.value = changed.replicas.value.max(more);
        });
    }
    let more = request.replicas.value.saturating_add(1);
    weights.of(Assumption::Replicas, more, |of| &mut of.replicas);
    let is_surer = request.probability.value >= SURER;
    let other = if is_surer { LESS_SURE } else { SURER };
    weights.of(Assumption::Confidence, other, |of| &mut of.probability);
    of_needs(&mut weights);
    let mut all = weights.all;
    let moved = |weight: &AssumptionWeight| weight.nodes.map_or(u32::MAX, |n| n.abs_diff(planned));
    all.retain(|weight| moved(weight) > 0);
    all.sort_by_key(|weight| std::cmp::Reverse(moved(weight)));
    all
}

/// Assumptions about the work itself.
fn of_needs(weights: &mut Weights<'_>) {
    let request = weights.request;
    let assumed = request
        .needs
        .iter()
        .map(|need| &need.basis.replica_cost)
        .clone()
        .find(|cost| cost.origin.is_assumption());
    if let (Some(cost), true) = (assumed, request.replicas.value > 0) {
        let (value, other) = (cost.value.cost, cost.value.cost / 2.0);
        weights.add(Assumption::ReplicaCost, value, other, |changed| {
            for need in &mut changed.needs {
                if need.basis.replica_cost.origin.is_assumption() {
                    need.basis.replica_cost.value.cost /= 2.0;
                }
            }
        });
    }
    let is_assumed = request
        .needs
        .iter()
        .map(|need| &need.basis.growth_origin)
        .clone()
        .any(Origin::is_assumption);
    if is_assumed {
        // A tenth less throughput than predicted is equivalent to a ninth more demand.
        weights.add(Assumption::Scaling, 1.0, 0.9, |changed| {
            let assumed = changed.needs.iter_mut();
            for need in assumed.filter(|need| need.basis.growth_origin.is_assumption()) {
                need.per_s.value /= 0.9;
            }
        });
    }
}

/// The final cost of each size from that of the lowest to that of the highest demand.
fn regrets(request: &Request) -> Vec<Regret> {
    let Some(price) = &request.price_per_node_hour else {
        return Vec::new();
    };
    let price = price.value * HOURS_PER_MONTH;
    let of = |scale: &dyn Fn(&Traced<f64>, Option<f64>) -> f64| {
        let mut demand = request.clone();
        for need in &mut demand.needs {
            need.per_s.value = scale(&need.per_s, need.at_least_per_s);
        }
        nodes(&demand)
    };
    let is_open = request.needs.iter().any(|need| need.at_least_per_s.is_some());
    let low = of(&|per_s, least| least.unwrap_or(per_s.value));
    let high = of(&|per_s, _| per_s.value);
    let (Some(low), Some(high), true) = (low, high, is_open) else {
        return Vec::new();
    };
    let mut all: Vec<Regret> = (low..=high)
        .map(|nodes| Regret {
            nodes,
            price_per_month: price * f64::from(nodes),
            if_low: price * f64::from(nodes - low),
            if_high: price * f64::from(high - nodes) * (SHORTAGE - 1.0),
            least: false,
        })
        .collect();
    let greatest = |regret: &Regret| regret.if_low.max(regret.if_high);
    let least = all.iter().map(greatest).fold(f64::INFINITY, f64::min);
    if let Some(first) = all.iter_mut().find(|regret| greatest(regret) <= least) {
        first.least = true;
    }
    all
}
