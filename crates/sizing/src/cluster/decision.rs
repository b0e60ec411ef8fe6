//! Criteria for choosing between clusters: the scenarios of headroom, a lost node, and growth, the assumptions that
//! affect the answer most, and regret.
//!
//! Each repeats the plan's arithmetic with one input changed. Must not format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counting::{HOURS_PER_MONTH, NodeCounts, NodeInterval, ToProve, price};
use super::plan::{Origin, Request, WithOrigin};
use crate::scaling::{Prediction, known, replicas_leave};

/// Assumed growth per month for a scenario if none is stated.
const USUAL_GROWTH: f64 = 0.05;
/// Headroom of a scenario, as a fraction of the capacity.
const USUAL_HEADROOM: f64 = 0.2;
/// A higher probability for a scenario.
const SURER: f64 = 0.99;
const LESS_SURE: f64 = 0.8;
/// Cost of a missing node as a multiple of a node's price: it is bought at short notice, and work is
/// lost until then.
pub const SHORTAGE: f64 = 3.0;

/// The alternatives and assumptions behind a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The number of nodes for the rates alone and under each condition.
    pub scenarios: Vec<Scenario>,
    /// Assumptions that affect the number of nodes, those with the greatest effect first.
    pub assumptions: Vec<AssumptionWeight>,
    /// The cost of choosing each size if demand is uncertain; empty if demand is known, and without a price.
    pub regrets: Vec<Regret>,
}

/// The number of nodes under one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// The condition.
    pub condition: Condition,
    /// Headroom or growth per month as a fraction, or the number of nodes lost; 0 without a condition.
    pub value: f64,
    /// Months of growth; 0 without growth.
    pub months: u32,
    /// Whether the condition was not stated, so that its value is an example.
    pub is_example: bool,
    /// Whether this is the planned scenario.
    pub is_planned: bool,
    /// Rate of each need, per second.
    pub per_s: Vec<f64>,
    /// Number of nodes that are enough, including those that may be lost; absent if no number is enough. If it is not
    /// proven, it is the expected number.
    pub nodes: Option<u32>,
    /// Whether more nodes than this are needed, with an unknown upper limit.
    pub is_exceeded: bool,
    /// Interval of the number of nodes; absent if the number is not proven, because it exceeds twice the largest
    /// measured size.
    pub interval: Option<NodeInterval>,
    /// What an unproven number depends on; absent for a proven one.
    pub to_prove: Option<ToProve>,
    /// Number of machines of this size, if sizes count vCPUs.
    pub machines: u32,
    /// Number of replicas of each row.
    pub replicas: u32,
    /// Throughput with this number of replicas, as a fraction of that with the measured number; absent if the numbers
    /// are equal.
    pub replicas_leave: Option<ReplicaEffect>,
    /// Price of the nodes per month of 730 hours; absent if no price was given, and if more nodes are needed.
    pub price_per_month: Option<f64>,
}

/// The condition of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// None: the rates as stated.
    Today,
    /// A fraction of the capacity remains free.
    Headroom,
    /// Nodes are lost.
    NodesLost,
    /// The rates grow.
    Growth,
    /// All stated conditions together.
    All,
}

/// The throughput that remains with replicas, as a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaEffect {
    /// The fraction, with its 90% interval.
    pub factor: Prediction,
    /// Whether their cost is assumed; otherwise it was measured or given.
    pub is_assumed: bool,
}

/// An assumption and its effect on the number of nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssumptionWeight {
    /// The assumption.
    pub what: Assumption,
    /// Its value in the plan.
    pub value: f64,
    /// Another plausible value.
    pub other: f64,
    /// Number of nodes with the other value; absent if no number is enough.
    pub nodes: Option<u32>,
    /// Whether more nodes than this are needed, with an unknown upper limit.
    pub is_exceeded: bool,
    /// Whether this number is at most twice the largest measured size.
    pub is_proven: bool,
}

/// An assumption that affects the number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    /// Number of replicas of each row.
    Replicas,
    /// Cost of writing a replica, as a fraction of that of the first copy.
    ReplicaCost,
    /// Probability that the nodes are enough.
    Confidence,
    /// Growth as in published clusters, in percent of the predicted capacity.
    Scaling,
}

/// The cost of choosing a size if demand turns out to be low or high.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Regret {
    /// Number of nodes.
    pub nodes: u32,
    /// Price of the nodes per month.
    pub price_per_month: f64,
    /// Excess cost per month if demand is at its lower end.
    pub if_low: f64,
    /// Excess cost per month if demand is at its upper end; a missing node costs [`SHORTAGE`] times its price.
    pub if_high: f64,
    /// Whether the higher of both excess costs is the lowest of all sizes.
    pub least: bool,
}

/// The criteria for a plan with these nodes; `with_copies` has the replicas that are planned for the request.
pub(super) fn decide(request: &Request, with_copies: &Request, planned: &NodeCounts) -> Decision {
    let scenarios = scenarios(request);
    let request = with_copies;
    Decision { scenarios, assumptions: assumptions(request, planned), regrets: regrets(request) }
}

/// The rates alone, then with each condition that is stated or usual, then with all that are stated.
fn scenarios(request: &Request) -> Vec<Scenario> {
    let mut bare = request.clone();
    bare.spare.value = 0.0;
    bare.survive.value = 0;
    bare.growth_per_month.value = 0.0;
    let survive = request.survive.clone();
    let lost = WithOrigin { value: f64::from(survive.value), origin: survive.origin };
    let conditions = [
        (Condition::Headroom, request.spare.clone(), USUAL_HEADROOM),
        (Condition::NodesLost, lost, 1.0),
        (Condition::Growth, request.growth_per_month.clone(), USUAL_GROWTH),
    ];
    let is_stated = |of: &WithOrigin<f64>| !of.origin.is_assumption();
    let stated = conditions.iter().filter(|(_, of, _)| is_stated(of) && of.value > 0.0).count();
    let mut all = vec![scenario(&bare, Condition::Today, 0.0)];
    all[0].is_planned = stated == 0;
    for (condition, of, usual) in conditions {
        let is_stated = is_stated(&of);
        let value = if is_stated { of.value } else { usual };
        if value <= 0.0 {
            continue;
        }
        let mut with = bare.clone();
        match condition {
            Condition::Headroom => with.spare.value = value,
            Condition::Growth => with.growth_per_month.value = value,
            Condition::NodesLost => {
                with.survive.value = if is_stated { request.survive.value } else { 1 }
            }
            Condition::Today | Condition::All => {}
        }
        let mut scenario = scenario(&with, condition, value);
        scenario.is_example = !is_stated;
        scenario.is_planned = is_stated && stated == 1;
        all.push(scenario);
    }
    if stated > 1 {
        all.push(Scenario { is_planned: true, ..scenario(request, Condition::All, 0.0) });
    }
    all
}

fn scenario(request: &Request, condition: Condition, value: f64) -> Scenario {
    let replicas = request.copies().value;
    let counts = request.node_counts(replicas);
    let nodes = counts.reached.then_some(counts.planned);
    let of_rows = request.needs.iter().map(|need| &need.basis).find(|basis| basis.counts_rows());
    let replicas_leave = of_rows.and_then(|basis| {
        let (cost, to) = (&basis.replica_cost, f64::from(replicas));
        let is_other = (to - basis.replicas.value).abs() > 0.0;
        is_other.then(|| ReplicaEffect {
            factor: replicas_leave(cost.value, basis.replicas.value, to),
            is_assumed: cost.origin.is_assumption(),
        })
    });
    Scenario {
        condition,
        value,
        months: if request.growth_per_month.value > 0.0 { request.months.value } else { 0 },
        is_example: false,
        is_planned: false,
        per_s: request.needs.iter().map(|need| need.per_s.value * request.growth()).collect(),
        nodes,
        is_exceeded: counts.is_exceeded,
        interval: counts.interval,
        to_prove: counts.to_prove,
        machines: request.machines(),
        replicas,
        replicas_leave,
        price_per_month: counts.enough().and_then(|nodes| price(request, nodes)),
    }
}

fn counts(request: &Request) -> NodeCounts {
    request.node_counts(request.replicas.value)
}

/// The effect of other values of a request's assumptions.
struct Weights<'a> {
    request: &'a Request,
    all: Vec<AssumptionWeight>,
}

impl Weights<'_> {
    /// A value of the request, if it is assumed.
    fn add_assumed<T: Copy + Into<f64>>(
        &mut self,
        what: Assumption,
        other: T,
        at: fn(&mut Request) -> &mut WithOrigin<T>,
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
        let counts = counts(&changed);
        self.all.push(AssumptionWeight {
            what,
            value,
            other,
            nodes: counts.reached.then_some(counts.planned),
            is_exceeded: counts.is_exceeded,
            is_proven: counts.interval.is_some(),
        });
    }
}

/// Every assumption with another value; those without effect are omitted.
fn assumptions(request: &Request, planned: &NodeCounts) -> Vec<AssumptionWeight> {
    let mut weights = Weights { request, all: Vec::new() };
    let more = request.replicas.value.saturating_add(1);
    weights.add_assumed(Assumption::Replicas, more, |of| &mut of.replicas);
    let is_surer = request.probability.value >= SURER;
    let other = if is_surer { LESS_SURE } else { SURER };
    weights.add_assumed(Assumption::Confidence, other, |of| &mut of.probability);
    of_needs(&mut weights);
    let mut all = weights.all;
    // An open number, and none at all, differ from every named one.
    let moved = |of: &AssumptionWeight| match of.nodes {
        None if planned.reached => u32::MAX,
        Some(_) if of.is_exceeded && !planned.is_exceeded => u32::MAX - 1,
        Some(nodes) if !of.is_exceeded => {
            nodes.abs_diff(planned.planned).max(u32::from(planned.is_exceeded))
        }
        _ => 0,
    };
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
        let (value, other) = (cost.value.expected, cost.value.high);
        weights.add(Assumption::ReplicaCost, value, other, |changed| {
            for need in &mut changed.needs {
                if need.basis.replica_cost.origin.is_assumption() {
                    need.basis.replica_cost.value = known(need.basis.replica_cost.value.high);
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

/// The final cost of each size, from the one for the lowest demand to the one for the highest.
fn regrets(request: &Request) -> Vec<Regret> {
    let Some(price) = &request.price_per_node_hour else {
        return Vec::new();
    };
    let price = price.value * f64::from(request.machines()) * HOURS_PER_MONTH;
    let of = |scale: &dyn Fn(&WithOrigin<f64>, Option<f64>) -> f64| {
        let mut demand = request.clone();
        for need in &mut demand.needs {
            need.per_s.value = scale(&need.per_s, need.at_least_per_s);
        }
        let counts = counts(&demand);
        counts.interval.map(|_| counts.planned)
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
