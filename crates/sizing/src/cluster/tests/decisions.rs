//! Criteria for choosing between clusters, on the published series.

use crate::cluster::fixture::{INGEST, QUERIES, basis, need, request};
use crate::cluster::{
    Assumption, AssumptionWeight, Condition, Decision, Origin, Request, SHORTAGE, Scenario,
    WithOrigin, size,
};
use crate::scaling::known;

fn million() -> Request {
    request(vec![need(1e6, basis("rows/s", &INGEST))])
}

fn decision(request: &Request) -> Decision {
    size(request).decision
}

/// The scenario of a condition.
fn scenario(request: &Request, condition: Condition) -> Option<Scenario> {
    decision(request).scenarios.into_iter().find(|scenario| scenario.condition == condition)
}

#[test]
fn scenarios_have_the_rates_alone_and_each_condition_with_examples_of_what_is_not_stated() {
    let all = decision(&million()).scenarios;
    let conditions: Vec<Condition> = all.iter().map(|of| of.condition).collect();
    let [today, headroom, lost, growth] =
        [Condition::Today, Condition::Headroom, Condition::NodesLost, Condition::Growth];
    assert_eq!(conditions, [today, headroom, lost, growth]);
    assert_eq!(all.iter().map(|of| of.is_example).collect::<Vec<_>>(), [false, true, true, true]);
    assert_eq!(all.iter().map(|of| of.is_planned).collect::<Vec<_>>(), [true, false, false, false]);
    assert!(all.iter().all(|of| of.nodes >= all[0].nodes && of.nodes.is_some()), "{all:?}");
    assert!((all[3].per_s[0] / (1e6 * 1.05_f64.powi(12)) - 1.0).abs() < 1e-9);
    // The lost node takes a replica, which leaves six tenths.
    let left = all[2].replicas_leave.unwrap();
    assert!(left.is_assumed && (left.factor.expected - 0.6).abs() < 1e-9 && all[2].replicas == 1);
    // A proven number has an interval; an unproven one has a size to measure, and no interval.
    for scenario in &all {
        assert_ne!(scenario.interval.is_some(), scenario.to_prove.is_some(), "{scenario:?}");
        assert_eq!(scenario.interval.is_some(), scenario.nodes.unwrap() <= 10, "{scenario:?}");
    }
}

/// The number that a scenario shows: proven, expected, or the lower bound of an unknown one.
fn shown(of: &Scenario) -> u32 {
    let bound = of.to_prove.and_then(|proof| proof.at_least);
    bound.or(of.nodes).unwrap_or(u32::MAX)
}

#[test]
fn all_conditions_together_never_take_fewer_nodes_than_one_of_them() {
    for per_s in [0.5e6, 1e6, 1.5e6, 2e6, 3e6, 6e6] {
        for (spare, growth, lost) in [(0.2, 0.02, 0), (0.3, 0.0, 1), (0.1, 0.05, 2), (0.5, 0.1, 1)]
        {
            let mut request = request(vec![need(per_s, basis("rows/s", &INGEST))]);
            request.spare = WithOrigin::given(spare, "--headroom");
            request.growth_per_month = WithOrigin::given(growth, "--growth");
            request.survive = WithOrigin::given(lost, "--tolerate-failures");
            // The lost node's copies are a condition of their own.
            request.replicas = WithOrigin::given(lost, "--replicas");
            let all = decision(&request).scenarios;
            let together = shown(all.last().unwrap());
            let alone = all.iter().map(|of| (of.condition, shown(of)));
            for (condition, nodes) in alone {
                assert!(nodes <= together, "{per_s} {condition:?}: {nodes} > {together}");
            }
        }
    }
}

#[test]
fn a_stated_condition_is_planned_and_several_are_planned_together() {
    let mut request = million();
    request.spare = WithOrigin::given(0.1, "--headroom");
    let headroom = scenario(&request, Condition::Headroom).unwrap();
    assert!(headroom.is_planned && !headroom.is_example && (headroom.value - 0.1).abs() < 1e-9);
    assert_eq!(headroom.nodes, Some(size(&request).nodes.planned));
    request.growth_per_month = WithOrigin::given(0.02, "--growth");
    let (all, plan) = (scenario(&request, Condition::All).unwrap(), size(&request));
    assert!(all.is_planned);
    assert_eq!(all.nodes, Some(plan.nodes.planned));
    assert_eq!(plan.decision.scenarios.iter().filter(|of| of.is_planned).count(), 1);
    // A condition that is stated as zero is not a scenario.
    request.growth_per_month = WithOrigin::given(0.0, "--growth");
    request.survive = WithOrigin::given(0, "--tolerate-failures");
    assert_eq!(scenario(&request, Condition::Growth), None);
    assert_eq!(scenario(&request, Condition::NodesLost), None);
}

#[test]
fn replicas_that_were_measured_or_given_state_their_own_cost() {
    let mut request = million();
    request.needs[0].basis.replica_cost = WithOrigin::given(known(1.0), "--replica-cost");
    let left = scenario(&request, Condition::NodesLost).unwrap().replicas_leave.unwrap();
    assert!(!left.is_assumed && (left.factor.expected - 0.5).abs() < 1e-9, "{left:?}");
    // As many replicas as were measured cost nothing more.
    request.needs[0].basis.replicas.value = 1.0;
    request.replicas.value = 1;
    assert_eq!(scenario(&request, Condition::NodesLost).unwrap().replicas_leave, None);
}

#[test]
fn published_growth_counts_only_for_the_work_that_it_is_assumed_for() {
    let moved = |origins: [Origin; 2]| {
        let mut request = request(vec![
            need(1e6, basis("rows/s", &INGEST)),
            need(1e-3, basis("queries/s", &QUERIES)),
        ]);
        for (need, origin) in request.needs.iter_mut().zip(origins) {
            need.basis.growth_origin = origin;
        }
        let weights = decision(&request).assumptions;
        weights.iter().any(|weight| weight.what == Assumption::Scaling)
    };
    let measured = || Origin::Measured("a run".to_owned());
    let published = || Origin::Published("an article".to_owned());
    assert!(moved([published(), measured()]));
    // Hardly anything depends on the assumption: a tenth less of it has no effect.
    assert!(!moved([measured(), published()]));
}

#[test]
fn assumptions_are_ordered_by_effect_and_given_values_are_none() {
    let mut request = million();
    let planned = size(&request).nodes.planned;
    let weights = decision(&request).assumptions;
    let moved = |nodes: Option<u32>| nodes.map_or(u32::MAX, |nodes| nodes.abs_diff(planned));
    let moves: Vec<u32> = weights.iter().map(|weight| moved(weight.nodes)).collect();
    assert!(moves.is_sorted_by(|a, b| a >= b), "{weights:?}");
    assert_eq!(weights[0].what, Assumption::Replicas, "{weights:?}");
    assert!(!moves.contains(&0) && !weights[0].is_proven, "{weights:?}");
    request.replicas = WithOrigin::given(0, "--replicas");
    let weights = decision(&request).assumptions;
    let is_replicas = |weight: &AssumptionWeight| weight.what == Assumption::Replicas;
    assert!(!weights.iter().any(is_replicas), "{weights:?}");
}

#[test]
fn a_demand_that_is_not_known_has_a_size_of_least_regret() {
    let mut request = million();
    // Demand is known, but there is no price.
    assert!(decision(&request).regrets.is_empty());
    request.price_per_node_hour = Some(WithOrigin::given(1.0, "--price"));
    request.needs[0].at_least_per_s = Some(5e5);
    let all = decision(&request).regrets;
    let [first, .., last] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!((first.if_low, last.if_high), (0.0, 0.0));
    let price = 730.0;
    let between = f64::from(last.nodes - first.nodes);
    assert!((last.if_low - price * between).abs() < 1e-6);
    assert!((first.if_high - price * between * (SHORTAGE - 1.0)).abs() < 1e-6);
    let greatest = |of: &crate::cluster::Regret| of.if_low.max(of.if_high);
    let least: Vec<_> = all.iter().filter(|regret| regret.least).collect();
    assert_eq!(least.len(), 1);
    let mut greatest_of_all = all.iter().map(greatest);
    assert!(greatest_of_all.all(|regret| regret >= greatest(least[0])));
}
