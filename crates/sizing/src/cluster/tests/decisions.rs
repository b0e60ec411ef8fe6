//! Criteria for choosing between clusters, on the published series.

use crate::cluster::fixture::{INGEST, QUERIES, basis, need, request};
use crate::cluster::{
    Assumption, AssumptionWeight, Decision, Origin, Request, SHORTAGE, Traced, size,
};

fn million() -> Request {
    request(vec![need(1e6, basis("rows/s", &INGEST))])
}

fn decision(request: &Request) -> Decision {
    size(request).unwrap().decision
}

#[test]
fn a_lost_node_leaves_less_and_without_a_copy_its_rows_go_with_it() {
    let of = decision(&million());
    let lost = of.one_lost.unwrap();
    assert_eq!(lost.nodes, 5);
    assert!(!lost.keeps_data);
    assert!((0.5..0.95).contains(&lost.probability), "{lost:?}");
    // These are the five nodes of the table of alternatives.
    let plan = size(&million()).unwrap();
    let five = plan.alternatives.iter().find(|other| other.nodes == 5);
    assert_eq!(five.unwrap().headroom, lost.headroom);
}

#[test]
fn six_months_grow_as_stated_or_as_an_example() {
    let example = decision(&million()).ahead;
    assert!(!example.stated);
    assert!((example.per_s[0] / (1e6 * 1.05_f64.powi(6)) - 1.0).abs() < 1e-9);
    let mut growing = million();
    growing.growth_per_month = Traced::given(0.02, "--growth");
    let stated = decision(&growing).ahead;
    assert!(stated.stated && stated.per_s[0] < example.per_s[0]);
    // Absent, above the maximum, is more than any number.
    let number = |nodes: Option<u32>| nodes.unwrap_or(u32::MAX);
    assert!(number(stated.nodes) <= number(example.nodes));
    // Zero growth can be stated, too.
    growing.growth_per_month = Traced::given(0.0, "--growth");
    let flat = decision(&growing).ahead;
    assert!(flat.stated, "{flat:?}");
    assert!((flat.per_s[0] - 1e6).abs() < 1e-6, "{flat:?}");
}

#[test]
fn what_published_growth_is_worth_counts_only_for_the_work_that_it_is_assumed_for() {
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
fn assumptions_are_ordered_by_how_far_they_move_the_answer_and_what_is_given_is_none() {
    let mut request = million();
    request.months = Traced::given(12, "--months");
    let planned = size(&request).unwrap().nodes.planned;
    let of = decision(&request).assumptions;
    let moved = |nodes: Option<u32>| nodes.map_or(u32::MAX, |nodes| nodes.abs_diff(planned));
    let moves: Vec<u32> = of.iter().map(|weight| moved(weight.nodes)).collect();
    assert!(moves.is_sorted_by(|a, b| a >= b), "{of:?}");
    assert_eq!(of[0].what, Assumption::Growth, "{of:?}");
    assert!(!moves.contains(&0), "{of:?}");
    request.growth_per_month = Traced::given(0.0, "--growth");
    let of = decision(&request).assumptions;
    let is_growth = |weight: &AssumptionWeight| weight.what == Assumption::Growth;
    assert!(!of.iter().any(is_growth), "{of:?}");
}

#[test]
fn a_demand_that_is_not_known_has_a_size_of_least_regret() {
    let mut request = million();
    // Demand is known, but there is no price.
    assert!(decision(&request).regrets.is_empty());
    request.price_per_node_hour = Some(Traced::given(1.0, "--price"));
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
