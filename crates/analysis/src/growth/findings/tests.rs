//! Each finding, on both sides of its bound.

use highwater_model::judgment::ReasonCode;
use highwater_model::limit::{Evidence, Limit, LimitingResource, SaturationSign};
use highwater_model::scale::{ScalePurpose, ScaleRecord};

use super::*;
use crate::fixture::growth::{add, grown, of_verdict};
use crate::growth::tests::add_alone;

/// Codes and sentences of the findings.
fn reported(scale: &ScaleRecord) -> Vec<(&'static str, String)> {
    let said = |finding: &RuleFinding| format!("{}: {}", finding.sentence, finding.evidence);
    findings(scale).into_iter().map(|found| (found.code, said(&found))).collect()
}

fn codes(scale: &ScaleRecord) -> Vec<&'static str> {
    reported(scale).into_iter().map(|(code, _)| code).collect()
}

/// A growth of sizes with these shards and replicas.
fn laid_out(sizes: &[(u32, f64)], shards: &[u64], replicas: &[u64]) -> ScaleRecord {
    let mut scale = grown(sizes);
    let layouts = shards.iter().zip(replicas);
    for (trial, (shards, replicas)) in scale.trials.iter_mut().zip(layouts) {
        trial.figures.shards = Some(*shards);
        trial.figures.replicas = Some(*replicas);
    }
    scale
}

fn limited_by(resource: Resource, figures: &[(LimitFigure, f64)]) -> Limit {
    let evidence = figures.iter().copied().map(|(figure, value)| Evidence { figure, value });
    Limit {
        phase: "measure".to_owned(),
        saturation: SaturationSign::ClosedLoad,
        by: Some(LimitingResource {
            resource,
            source: None,
            node: None,
            program: None,
            evidence: evidence.collect(),
        }),
        next: None,
        unseen: Vec::new(),
    }
}

#[test]
fn a_plain_growth_has_no_findings() {
    let none: [&str; 0] = [];
    assert_eq!(codes(&grown(&[(1, 1e3), (2, 1.9e3), (3, 2.7e3)])), none);
    assert_eq!(codes(&grown(&[(1, 1e3)])), none);
    assert_eq!(codes(&grown(&[])), none);
}

#[test]
fn a_load_generator_that_gave_out_is_named_with_the_size_that_still_shows_the_target() {
    let mut scale = grown(&[(1, 1e3), (2, 2e3)]);
    let mut figures = of_verdict(SizeVerdict::ClientCeiling, 3.4e3, None);
    figures.client_cpu = 0.97;
    figures.target_cpu = Some(0.71);
    add(&mut scale, 4, ScalePurpose::Grow, figures);
    let sentence = "the load generator limited the growth at 4 nodes, so only sizes up to 2 nodes show the target";
    let evidence = "its CPU was at 97%, the CPU of the busiest node at 71%";
    let expected = ("client_limits_growth", format!("{sentence}: {evidence}"));
    assert_eq!(reported(&scale), [expected]);
    let last = scale.trials.last_mut().unwrap();
    last.figures.client_cpu = 0.3;
    last.figures.reasons = vec![ReasonCode::ClientLag];
    let said = &findings(&scale)[0].evidence;
    assert_eq!(said, "client_lag, the CPU of the busiest node at 71%");
    let last = scale.trials.last_mut().unwrap();
    last.figures.target_cpu = None;
    let limit = limited_by(Resource::LoadGenerator, &[(LimitFigure::OfCeiling, 0.99)]);
    last.figures.limit = Some(limit);
    let evidence = "it reached 99% of its ceiling";
    assert_eq!(reported(&scale)[0].1, format!("{sentence}: {evidence}"));
    let mut none = grown(&[]);
    let figures = of_verdict(SizeVerdict::ClientCeiling, 3.4e3, None);
    add(&mut none, 1, ScalePurpose::First, figures);
    let said = &reported(&none)[0].1;
    let no_size = "at 1 node, so no size shows the target";
    assert!(said.contains(no_size), "{said}");
}

#[test]
fn unevenly_divided_shards_are_reported_if_throughput_is_missing() {
    let sizes = |third| [(1, 1_000.0), (2, 2_000.0), (3, third)];
    // Two of four shards are on one of three nodes: it is saturated at half of the total capacity.
    let uneven = laid_out(&sizes(2_050.0), &[4, 4, 4], &[0, 0, 0]);
    let sentence =
        "with 3 nodes one node had more shards than the others, and was full before them";
    let evidence = "4 shards on 3 nodes: the fullest one has 150% of its equal share";
    let expected = ("unbalanced_shards", format!("{sentence}: {evidence}"));
    assert_eq!(reported(&uneven), [expected]);
    let none: [&str; 0] = [];
    // A loss of a sixth of the linear rate is half of the third that the shards explain.
    let of = |third, shards| codes(&laid_out(&sizes(third), &[shards; 3], &[0, 0, 0]));
    assert_eq!(of(2_499.0, 4), ["unbalanced_shards"]);
    assert_eq!(of(2_510.0, 4), none, "it grew");
    assert_eq!(of(2_050.0, 6), none, "divided");
    // 31 on 3 nodes: one more than 30.
    assert_eq!(of(2_050.0, 31), none, "few more");
    // The copies are spread over the nodes.
    let copies = laid_out(&[(3, 3e3), (4, 2e3)], &[4, 3], &[2, 2]);
    let said = reported(&copies)[0].1.clone();
    assert!(said.contains("3 shards in 3 copies on 4 nodes"), "{said}");
    let unknown = grown(&sizes(2_050.0));
    assert_eq!(codes(&unknown), none, "the target has none");
}

#[test]
fn a_hot_node_is_reported_if_the_first_size_had_none() {
    let hot = [(LimitFigure::Busy, 0.97), (LimitFigure::OthersBusy, 0.41)];
    let with = |sizes: &[(u32, f64)], limits: &[Resource]| {
        let mut scale = grown(sizes);
        for (trial, resource) in scale.trials.iter_mut().zip(limits) {
            trial.figures.limit = Some(limited_by(*resource, &hot));
        }
        scale
    };
    let sizes = [(1, 1e3), (2, 1.3e3)];
    let said = "with 2 nodes one node was at its limit while the others had room: its CPU was at 97%, \
                that of the others at 41% on average";
    let growth = with(&sizes, &[Resource::Cpu, Resource::HotNode]);
    assert_eq!(reported(&growth), [("unbalanced_shards", said.to_owned())]);
    let none: [&str; 0] = [];
    assert_eq!(codes(&with(&sizes, &[Resource::Cpu, Resource::Cpu])), none);
    // A node that is hot at every size is reported by each run.
    let always = with(&[(2, 1e3), (3, 1.3e3)], &[Resource::HotNode, Resource::HotNode]);
    assert_eq!(codes(&always), none);
}

#[test]
fn the_cost_of_replicas_is_reported_if_a_size_has_more_of_them() {
    let with =
        |second: f64, replicas: &[u64]| laid_out(&[(1, 1_000.0), (2, second)], &[8, 8], replicas);
    // The 0.8 rule expects 1,800 of two nodes; one node holds no replica, however many are requested.
    let sentence = "from 1 node to 2 nodes the number of replicas grew, too, which cost 44.4% of the throughput";
    let evidence = "1,000 with no replica, 1,000 with 1 replica; without more replicas the 0.8 rule expects 1,800";
    let expected = [("replica_cost", format!("{sentence}: {evidence}"))];
    assert_eq!(reported(&with(1_000.0, &[1, 1])), expected);
    assert_eq!(reported(&with(1_000.0, &[0, 1])), expected);
    assert_eq!(codes(&with(1_619.0, &[0, 1])), ["replica_cost"]);
    let none: [&str; 0] = [];
    assert_eq!(codes(&with(1_621.0, &[0, 1])), none, "a tenth");
    assert_eq!(codes(&with(1_000.0, &[0, 0])), none, "no more of them");
    let fewer = laid_out(&[(3, 3e3), (4, 2e3)], &[12, 12], &[2, 1]);
    assert_eq!(codes(&fewer), none);
}

#[test]
fn nodes_are_unequal_when_they_differ_by_more_than_measurements_do() {
    // Three measurements that scatter by 3% differ by up to exp(3.314 × 0.03) - 1 = 10.5%.
    let of_nodes = |rates: [f64; 3]| {
        let mut scale = grown(&[(1, 1e3), (2, 1.9e3), (3, 2.7e3)]);
        scale.alone.nodes = 3;
        for (at, per_s) in (1..).zip(rates) {
            let figures = of_verdict(SizeVerdict::Counts, per_s, Some([per_s; 2]));
            add_alone(&mut scale, at, figures);
        }
        scale
    };
    assert!(codes(&of_nodes([1_000.0, 1_040.0, 1_100.0])).is_empty());
    let mut unequal = of_nodes([1_000.0, 1_040.0, 1_110.0]);
    let said = reported(&unequal);
    let [(code, said)] = &said[..] else {
        panic!("{said:?}");
    };
    assert_eq!(*code, "unequal_alone");
    for part in [
        "node 3 alone makes 11.0% more than node 1",
        "1,000 to 1,110; equal nodes are apart by up to 10.5%",
        "from node 1 would show as 105% of linear",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // A node that varied too much for an interval may be as fast as the others.
    unequal.alone.trials[2].figures.interval = None;
    assert!(codes(&unequal).is_empty());
    unequal.alone.trials[1].figures.interval = Some([0.0, 2_000.0]);
    assert_eq!(node_spread(&unequal), None);
}
