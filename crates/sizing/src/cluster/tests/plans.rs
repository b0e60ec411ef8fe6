//! Plans from known clusters.

use crate::cluster::fixture::{INGEST, QUERIES, basis, need, point, request};
use crate::cluster::{
    Basis, BasisError, Condition, NodeCounts, Origin, Reading, Request, SizeAxis, SizePlan,
    WithOrigin, size,
};
use crate::scaling::{Placement, ScalingModel};
use crate::series::{Setting, everywhere, names};

/// One million rows per second from the article's five clusters.
fn million() -> Request {
    request(vec![need(1e6, basis("rows/s", &INGEST))])
}

fn notes(plan: &SizePlan) -> String {
    plan.notes.join("\n")
}

#[test]
fn a_million_rows_need_five_nodes_and_to_be_sure_six() {
    let plan = size(&million());
    assert_eq!(plan.nodes.planned, 6);
    let interval = plan.nodes.interval.unwrap();
    assert_eq!((interval.expected, interval.high), (5, Some(6)));
    assert!((4..=5).contains(&interval.low), "{interval:?}");
    assert!(plan.nodes.headroom.interval.unwrap()[0] > 0.0);
}

/// Everything of a plan that an unproven number must not have.
fn intervals(plan: &SizePlan) -> usize {
    let beyond = plan.alternatives.iter().filter(|of| of.nodes > 10);
    let beyond = beyond.filter(|of| of.probability.is_some() || of.headroom.interval.is_some());
    let curve = plan.needs[0].curve.iter().filter(|point| point.nodes > 10.0);
    let nodes = &plan.nodes;
    [nodes.headroom, nodes.headroom_after_loss, plan.needs[0].capacity]
        .iter()
        .filter(|of| of.interval.is_some())
        .count()
        + beyond.count()
        + curve.filter(|point| point.predicted.interval.is_some()).count()
        + usize::from(nodes.interval.is_some())
}

#[test]
fn nodes_beyond_twice_the_measured_range_are_unproven_and_have_no_interval() {
    let plan = size(&request(vec![need(1.8e6, basis("rows/s", &INGEST))]));
    assert!(plan.nodes.reached && !plan.is_proven() && plan.nodes.planned > 10);
    assert_eq!(intervals(&plan), 0, "{plan:#?}");
    assert!(notes(&plan).contains("Unproven"));
    assert!(plan.summary.contains("unproven"), "{}", plan.summary);
    // The next size is one that can be had, and the number a range until then.
    let proof = plan.nodes.to_prove.unwrap();
    assert_eq!((proof.measure, proof.expected), (10, Some(plan.nodes.planned)));
    assert!(proof.low.unwrap() < plan.nodes.planned, "{proof:?}");
    assert!(proof.high.is_none_or(|high| high > plan.nodes.planned), "{proof:?}");
    let proven = size(&million());
    assert!(proven.is_proven() && proven.nodes.to_prove.is_none() && intervals(&proven) > 0);
}

#[test]
fn the_measurement_that_proves_a_number_leaves_the_interval_that_was_foretold() {
    let plan = size(&request(vec![need(2e6, basis("rows/s", &INGEST))]));
    let proof = plan.nodes.to_prove.unwrap();
    let measured = with_next(&INGEST);
    assert!((measured[5].0 - f64::from(proof.measure)).abs() < 1e-9);
    let then = basis("rows/s", &measured).forecast(f64::from(plan.nodes.planned), 0.0, None);
    let then = then.prediction();
    let interval = [then.low / then.expected - 1.0, then.high / then.expected - 1.0];
    for (promised, found) in proof.interval.unwrap().into_iter().zip(interval) {
        assert!((promised - found).abs() < 1e-6, "{proof:?} {interval:?}");
    }
}

/// The sizes, and twice the largest one with exactly its predicted rate.
fn with_next(sizes: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let next = 2.0 * sizes[sizes.len() - 1].0;
    let expected = basis("rows/s", sizes).forecast(next, 0.0, None).prediction().expected;
    sizes.iter().copied().chain([(next, expected)]).collect()
}

/// The nodes for a rate.
fn counts(sizes: &[(f64, f64)], rate: f64) -> NodeCounts {
    request(vec![need(rate, basis("rows/s", sizes))]).node_counts(0)
}

#[test]
fn a_plan_is_stable_while_measurements_equal_expectations() {
    let walk = [(1.0, 210e3), (2.0, 380e3), (4.0, 640e3)];
    let middle = |sizes: &[(f64, f64)], rate: f64| {
        request(vec![need(rate, basis("rows/s", sizes))]).enough(0.5, 0).unwrap()
    };
    let cases = [(&INGEST[..], 2e6), (&INGEST[..], 4e6), (&walk[..], 1.2e6), (&walk[..], 1.8e6)];
    for (first, rate) in cases {
        assert!(counts(first, rate).to_prove.is_some(), "{rate}");
        let before = middle(first, rate);
        let mut sizes = first.to_vec();
        for _ in 0..3 {
            sizes = with_next(&sizes);
            let nodes = middle(&sizes, rate);
            let moved = f64::from(nodes) / f64::from(before) - 1.0;
            assert!(moved.abs() <= 0.25, "{rate}: {before} became {nodes} with {sizes:?}");
        }
    }
}

#[test]
fn the_range_of_an_unproven_number_follows_from_the_next_size() {
    for rate in [1.8e6, 2e6] {
        let proof = counts(&INGEST, rate).to_prove.unwrap();
        let predicted = basis("rows/s", &INGEST).forecast(10.0, 0.0, None).prediction();
        let after = |per_s: f64| {
            let sizes: Vec<_> = INGEST.iter().copied().chain([(10.0, per_s)]).collect();
            request(vec![need(rate, basis("rows/s", &sizes))]).enough(0.5, 0)
        };
        assert_eq!(after(predicted.high), proof.low, "{rate} {proof:?}");
        assert_eq!(after(predicted.low), proof.high, "{rate} {proof:?}");
    }
}

#[test]
fn a_number_that_the_next_size_would_not_prove_is_not_named() {
    let sizes = [(1.0, 210e3), (2.0, 380e3), (4.0, 640e3)];
    let plan = size(&request(vec![need(3.7e6, basis("rows/s", &sizes))]));
    let proof = plan.nodes.to_prove.unwrap();
    assert_eq!((proof.measure, proof.farthest, proof.expected), (8, 8, None));
    // Its order of magnitude is: 3.7 M rows/s are more than 17 nodes, each as fast as one alone.
    let least = proof.at_least.unwrap();
    assert!((17..=19).contains(&least), "{proof:?}");
    let text = format!("at least {least}");
    assert!(plan.nodes.reached && plan.nodes.is_exceeded, "{:?}", plan.nodes);
    // The bound is the largest proven number, and nothing is computed as if it were planned.
    assert!(plan.nodes.planned == 8 && plan.summary.contains(&text), "{}", plan.summary);
    assert!(plan.alternatives.is_empty() && plan.price_per_month.is_none(), "{plan:?}");
    assert!(!plan.summary.contains("are expected") && proof.low.is_none(), "{}", plan.summary);
}

#[test]
fn a_number_that_lacks_only_the_margin_is_more_than_the_largest_proven_one() {
    let plan = size(&request(vec![need(9e5, basis("rows/s", &INGEST[..3]))]));
    let proof = plan.nodes.to_prove.unwrap();
    assert_eq!((plan.nodes.planned, plan.nodes.is_exceeded), (6, true));
    assert_eq!((proof.farthest, proof.expected), (6, Some(5)));
    assert!((0.5..0.95).contains(&proof.probability), "{proof:?}");
}

#[test]
fn an_unproven_number_has_the_requested_headroom_and_no_margin() {
    let with = |probability: f64| {
        let mut request = request(vec![need(1.7e6, basis("rows/s", &INGEST))]);
        request.probability = WithOrigin::given(probability, "--confidence");
        request.spare = WithOrigin::given(0.2, "--headroom");
        size(&request).nodes
    };
    let [half, sure] = [0.5, 0.95].map(with);
    assert_eq!(half.planned, sure.planned);
    // One node less would leave less.
    assert!((0.2..0.25).contains(&sure.headroom.expected), "{:?}", sure.headroom);
}

#[test]
fn a_higher_rate_never_takes_fewer_nodes_across_the_proven_range() {
    let basis = basis("rows/s", &INGEST);
    let planned = |rate: f64| request(vec![need(rate, basis.clone())]).node_counts(0);
    let rates = (50..80).map(|step| 2e4 * f64::from(step));
    let nodes: Vec<_> = rates.map(planned).collect();
    assert!(nodes.windows(2).all(|pair| pair[0].planned <= pair[1].planned), "{nodes:?}");
    // The first unproven number is next to the last proven one.
    let last = nodes.iter().rev().find(|of| of.interval.is_some()).unwrap();
    let first = nodes.iter().find(|of| of.interval.is_none()).unwrap();
    assert!(first.planned - last.planned <= 2, "{last:?} {first:?}");
}

#[test]
fn the_interval_of_nodes_contains_no_size_that_was_measured_not_to_be_enough() {
    let sizes = [
        (1.0, 889.0),
        (2.0, 1_687.0),
        (4.0, 3_115.0),
        (8.0, 5_341.0),
        (16.0, 8_100.0),
        (32.0, 11_000.0),
    ];
    for known in 3..=sizes.len() {
        // 4% more than four nodes have, which a new measurement of them could show.
        for (rate, low) in [(4e3, 5), (3_240.0, 5), (1_700.0, 3)] {
            let plan = size(&request(vec![need(rate, basis("rows/s", &sizes[..known]))]));
            let interval = plan.nodes.interval.unwrap();
            assert!(interval.low >= low && interval.expected >= low, "{known} {rate} {interval:?}");
            assert!(
                plan.nodes.planned <= 8 && interval.high.unwrap() <= 8,
                "{known} {rate} {interval:?}"
            );
        }
    }
    // A gap of a factor of sixteen between two sizes leaves only the numbers within it
    // undetermined.
    let gap = [(1.0, 210e3), (2.0, 380e3), (4.0, 640e3), (63.0, 5e6)];
    let plan = size(&request(vec![need(1e6, basis("rows/s", &gap))]));
    assert!(plan.nodes.interval.unwrap().low > 4, "{:?}", plan.nodes);
}

#[test]
fn more_sizes_do_not_widen_intervals_between_smaller_ones() {
    let per_s = |n: f64| 210e3 * n.powf(0.85);
    let width = |sizes: &[f64]| {
        let pairs: Vec<_> = sizes.iter().map(|n| (*n, per_s(*n))).collect();
        let of = basis("rows/s", &pairs).forecast(6.0, 0.0, None).prediction();
        of.high / of.low
    };
    let few = width(&[1.0, 2.0, 4.0, 8.0]);
    for more in [&[1.0, 2.0, 4.0, 8.0, 16.0][..], &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]] {
        assert!(width(more) <= few * 1.01, "{} {few}", width(more));
    }
}

#[test]
fn if_throughput_stops_growing_no_number_is_enough_and_the_closest_is_planned() {
    let flat = [(1.0, 100.0), (2.0, 150.0), (3.0, 130.0), (4.0, 100.0), (5.0, 70.0)];
    let plan = size(&request(vec![need(1e4, basis("rows/s", &flat))]));
    assert!(!plan.nodes.reached && !plan.is_proven(), "{:?}", plan.nodes);
    assert!((1..=4).contains(&plan.nodes.planned), "{:?}", plan.nodes);
    assert!(plan.decision.scenarios.iter().all(|of| of.nodes.is_none() && of.to_prove.is_none()));
}

#[test]
fn a_number_that_meets_the_requested_probability_is_planned_below_95_percent() {
    let mut request = request(vec![need(1.55e6, basis("rows/s", &INGEST))]);
    assert!(!size(&request).is_proven());
    request.probability = WithOrigin::given(0.6, "--confidence");
    let plan = size(&request);
    assert_eq!(plan.nodes.interval.unwrap().high, None);
    let said = &plan.summary;
    assert!(said.contains("or more)"), "{said}");
}

/// Points of one machine by its vCPUs.
fn machine(nodes: Option<f64>, pairs: &[(f64, f64)]) -> Basis {
    let one = |&(vcpus, per_s): &(f64, f64)| {
        let mut point = point("rows/s", per_s, &[(names::VCPUS_PER_NODE, vcpus)]);
        point.settings.extend(nodes.map(|of| (names::NODES.to_owned(), Setting::Number(of))));
        point
    };
    let points: Vec<_> = pairs.iter().map(one).collect();
    let points: Vec<_> = points.iter().collect();
    Basis::new(&points, &Reading::default()).unwrap()
}

#[test]
fn sizes_count_vcpus_where_these_vary_and_nodes_do_not() {
    let pairs = [(4.0, 90e3), (8.0, 165e3), (16.0, 290e3)];
    for nodes in [None, Some(3.0)] {
        let mut request = request(vec![need(3.2e5, machine(nodes, &pairs))]);
        request.price_per_node_hour = Some(WithOrigin::given(0.1, "--price"));
        let plan = size(&request);
        assert_eq!(plan.axis, SizeAxis::Vcpus);
        assert!((20..=32).contains(&plan.nodes.planned) && plan.is_proven(), "{:?}", plan.nodes);
        // The price is one of a vCPU, of all machines.
        let machines = nodes.unwrap_or(1.0);
        let price = 730.0 * 0.1 * machines * f64::from(plan.nodes.planned);
        assert!((plan.price_per_month.unwrap() - price).abs() < 1e-6);
        // A lost machine takes another one of the same size, which holds a replica.
        let lost = plan.decision.scenarios.iter().find(|of| of.condition == Condition::NodesLost);
        let lost = lost.unwrap();
        assert_eq!((f64::from(lost.machines), lost.replicas), (machines + 1.0, 1));
        assert!(lost.nodes.unwrap() > plan.nodes.planned);
    }
    // One size alone grows as machines with more CPUs did.
    let one = machine(None, &pairs[..1]).assuming(None);
    let doubled = one.forecast(8.0, 0.0, None).prediction();
    assert!((doubled.expected / (90e3 * 2f64.powf(0.64)) - 1.0).abs() < 1e-9, "{doubled:?}");
    // Nodes that vary are counted, whatever vCPUs they have.
    let both = [(1.0, 4.0, 9e4), (2.0, 8.0, 3e5)].map(|(nodes, vcpus, per_s)| {
        point("rows/s", per_s, &[(names::NODES, nodes), (names::VCPUS_PER_NODE, vcpus)])
    });
    let both: Vec<_> = both.iter().collect();
    assert_eq!(Basis::new(&both, &Reading::default()).unwrap().axis, SizeAxis::Nodes);
}

#[test]
fn nodes_that_may_be_lost_are_added_and_their_headroom_shown() {
    let mut request = million();
    request.survive = WithOrigin::given(1, "--tolerate-failures");
    request.replicas = WithOrigin::given(0, "--replicas");
    let plan = size(&request);
    assert_eq!((plan.nodes.interval.unwrap().expected, plan.nodes.planned), (6, 7));
    assert!(plan.nodes.headroom_after_loss.expected < plan.nodes.headroom.expected);
    // Without a replica, a lost node loses data.
    assert!(notes(&plan).contains("--replicas 1"));
    // Unstated replicas are enough to keep the data.
    request.replicas = WithOrigin::assumed(0, "as measured");
    let plan = size(&request);
    assert!(!notes(&plan).contains("--replicas 1"));
    assert!(plan.nodes.planned > 7);
}

#[test]
fn a_replica_leaves_six_tenths_of_the_throughput_unless_it_was_measured() {
    let mut request = request(vec![need(4e5, basis("rows/s", &INGEST))]);
    let without = request.used(4, 0).unwrap().used().expected;
    let with = request.used(4, 1).unwrap().used().expected;
    assert!((with / without - 1.0 / 0.6).abs() < 1e-9);
    request.replicas = WithOrigin::given(1, "--replicas");
    let plan = size(&request);
    let cost = plan.inputs.iter().find(|input| input.flag == "--replica-cost").unwrap();
    assert!(matches!(cost.origin, Origin::Assumed(_)));
}

#[test]
fn growth_counts_from_month_to_month() {
    let mut request = million();
    request.needs[0].per_s.value = 5e5;
    request.growth_per_month = WithOrigin::given(0.05, "--growth");
    request.months = WithOrigin::given(12, "--months");
    // 1.05^12 = 1.7958563
    assert!((request.rows_per_s() - 897_928.16).abs() < 0.01);
}

#[test]
fn capacity_that_must_stay_free_is_not_used() {
    let mut request = million();
    let probability = |request: &Request| request.used(6, 0).unwrap().probability();
    let all = probability(&request);
    request.spare = WithOrigin::given(0.2, "--headroom");
    assert!(probability(&request) < all - 0.1);
    assert!(size(&request).nodes.planned > 6);
}

#[test]
fn rows_and_queries_share_the_cluster() {
    let rows = || need(5e5, basis("rows/s", &INGEST));
    let queries = || need(5.0, basis("queries/s", &QUERIES));
    let alone = request(vec![rows()]).used(6, 0).unwrap().used().expected;
    let other = request(vec![queries()]).used(6, 0).unwrap().used().expected;
    let both = request(vec![rows(), queries()]);
    let together = both.used(6, 0).unwrap().used().expected;
    assert!((together - alone - other).abs() < 1e-9);
    let plan = size(&both);
    assert_eq!(plan.needs.len(), 2);
    assert!(notes(&plan).contains("is assumed"));
}

#[test]
fn one_measured_cluster_grows_as_published_ones_did() {
    let own = basis("rows/s", &[(3.0, 300e3)]).assuming(None);
    // 5 nodes: 300,000 · (5/3)^0.8 = 451,400.
    let expected = own.forecast(5.0, 0.0, None).prediction().expected;
    assert!((expected / 451_400.0 - 1.0).abs() < 1e-3, "{expected}");
    let plan = size(&request(vec![need(3.6e5, own)]));
    // 3 · 1.2^(1/0.8) = 3.8 nodes; a single size does not exclude that there is no growth at all.
    let proof = plan.nodes.to_prove.unwrap();
    assert_eq!((proof.expected, proof.farthest), (Some(4), 6));
    assert!((0.5..0.95).contains(&proof.probability), "{proof:?}");
    assert!(plan.assumed);
    assert!(plan.needs[0].models.is_empty() && plan.needs[0].identifiability.is_none());
    assert!(plan.summary.contains("nodes^0.80"), "{}", plan.summary);
}

#[test]
fn a_cluster_whose_nodes_hold_all_rows_grows_as_published_ones_of_its_kind_did() {
    let points = everywhere();
    let galera: Vec<_> = points.iter().filter(|of| of.series == "galera-ec2").collect();
    let reading = Reading { published: true, ..Reading::default() };
    let published = Basis::new(&galera, &reading).unwrap().assuming(None);
    assert_eq!(published.placement, Some(Placement::Everywhere));
    // Own nodes grow like those of the named series, unless their file states how rows are placed.
    let own = basis("tx/s", &[(3.0, 300.0)]).assuming(published.placement);
    for (basis, nodes, measured) in [(published, 4.0, 1_034.0), (own, 3.0, 300.0)] {
        let doubled = basis.forecast(2.0 * nodes, 0.0, None).prediction();
        let expected = measured * 2f64.powf(0.45);
        assert!((doubled.expected / expected - 1.0).abs() < 1e-3, "{doubled:?}");
        let plan = size(&request(vec![need(measured / 2.0, basis)]));
        assert!(plan.summary.contains("nodes^0.45"), "{}", plan.summary);
    }
    let mut divided = point("tx/s", 300.0, &[(names::NODES, 3.0)]);
    divided.settings.insert(names::PLACEMENT.to_owned(), Setting::Word("divided".to_owned()));
    let divided = Basis::new(&[&divided], &Reading::default()).unwrap();
    let divided = divided.assuming(Some(Placement::Everywhere));
    assert_eq!(divided.placement, Some(Placement::Divided));
}

/// The notes of a plan from two sizes.
fn notes_from(pairs: &[(f64, f64); 2]) -> String {
    let plan = size(&request(vec![need(50.0, basis("rows/s", pairs))]));
    plan.notes.join("\n")
}

#[test]
fn two_sizes_are_warned_of_and_two_that_do_not_differ_all_the_more() {
    let rising = notes_from(&[(1.0, 100.0), (2.0, 190.0)]);
    let two_sizes = "WARNING: growth of rows/s rests on two sizes";
    assert!(rising.contains(two_sizes), "{rising}");
    // SPTAG's 1M vectors: 142.4 on one node, 134.5 on two, and 184.2 on three.
    let flat = notes_from(&[(1.0, 142.4), (2.0, 134.5)]);
    let narrow = "is not known, and the interval is too narrow";
    assert!(flat.contains(narrow), "{flat}");
    let three = size(&million()).notes.join("\n");
    assert!(!three.contains("WARNING"), "{three}");
}

#[test]
fn disk_holds_all_copies_of_the_retention_with_room_to_spare() {
    let mut request = million();
    request.replicas = WithOrigin::given(1, "--replicas");
    request.survive = WithOrigin::given(1, "--tolerate-failures");
    request.retention_s = Some(WithOrigin::given(10.0 * 86_400.0, "--retention"));
    request.stored_bytes_per_row = Some(WithOrigin::given(100.0, "--bytes-per-row"));
    let disk = request.disk(11, 1).unwrap();
    // 10⁶ rows/s × 100 B × 864,000 s = 86.4 TB; two copies on ten nodes, filled to 85%.
    assert!((disk.data_bytes - 86.4e12).abs() < 1.0);
    assert!((disk.stored_bytes - 172.8e12).abs() < 1.0);
    assert!((disk.per_node_bytes - 172.8e12 / 10.0 / 0.85).abs() < 1.0);
    assert!((disk.per_day_bytes - 8.64e12).abs() < 1.0);
}

#[test]
fn shards_follow_the_vcpus_and_partitions_their_size() {
    let mut request = million();
    let shards = request.shards(6, 0).unwrap();
    assert_eq!(shards.primaries, 96);
    assert_eq!(shards.partitions, 1);
    assert_eq!(shards.partition_days, None);
    request.retention_s = Some(WithOrigin::given(10.0 * 86_400.0, "--retention"));
    request.stored_bytes_per_row = Some(WithOrigin::given(100.0, "--bytes-per-row"));
    let shards = request.shards(6, 0).unwrap();
    // 8.64 TB per day on 96 shards are 90 GB per shard and day: twice as many shards of 45 GB in daily partitions give
    // far fewer shards in total than hourly partitions of 96.
    assert_eq!((shards.primaries, shards.partition_days), (192, Some(1.0)));
    assert_eq!(shards.partitions, 11);
    assert!((shards.bytes.unwrap() - 45e9).abs() < 1.0);
    assert!((shards.per_node - 32.0 * 11.0).abs() < 1e-9);
    request.retention_s = Some(WithOrigin::given(365.0 * 86_400.0, "--retention"));
    let plan = size(&request);
    assert!(notes(&plan).contains("are advised"));
}

/// Four times the shards made 40% less on a simulated cluster: a capacity is that of the shards it was measured with.
#[test]
fn shards_are_those_that_were_measured_evenly_on_the_planned_nodes() {
    let mut request = million();
    request.needs[0].basis.primary_shards = Some(24.0);
    let primaries = |nodes| request.shards(nodes, 1).unwrap().primaries;
    assert_eq!([4, 5, 6, 7, 30].map(primaries), [24, 25, 24, 28, 30]);
    let rules = request.shards(7, 1).unwrap().rules;
    assert_eq!(rules[0], "all sizes were measured with 24; evenly on 7 nodes: 28");
    // What the user asks for is planned.
    request.guidance.value.are_shards_given = true;
    assert_eq!(request.shards(6, 1).unwrap().primaries, 96);
}

#[test]
fn traffic_counts_rows_forwarded_to_another_node() {
    let mut request = million();
    assert!(request.network(4, 1).is_none());
    request.sent_bytes_per_row = Some(WithOrigin::given(1_000.0, "--sent-bytes-per-row"));
    let network = request.network(4, 1).unwrap();
    assert!((network.in_bytes_per_s - 1e9).abs() < 1.0);
    // Three of four rows arrive at a node other than their own, and each is copied to one more.
    assert!((network.between_bytes_per_s - 1.75e9).abs() < 1.0);
    assert!((network.per_node_bytes_per_s - (1e9 + 3.5e9) / 4.0).abs() < 1.0);
}

#[test]
fn a_price_is_that_of_a_month_of_730_hours() {
    let mut request = million();
    request.price_per_node_hour = Some(WithOrigin::given(2.0, "--price"));
    let plan = size(&request);
    assert_eq!(plan.price_per_month, Some(6.0 * 2.0 * 730.0));
}

#[test]
fn every_input_names_the_flag_that_changes_it() {
    let plan = size(&million());
    assert!(plan.inputs.len() > 8);
    for input in &plan.inputs {
        let flag = &input.flag;
        assert!(flag.starts_with("--") || flag == "RATE", "{input:?}");
        assert!(!input.origin.detail().is_empty(), "{input:?}");
    }
}

#[test]
fn points_that_miss_the_latency_objective_are_left_out() {
    let mut slow = point("rows/s", 9e5, &[(names::NODES, 3.0)]);
    slow.figures.insert(names::P99_LATENCY.to_owned(), 0.2);
    let mut fast = point("rows/s", 2e5, &[(names::NODES, 1.0)]);
    fast.figures.insert(names::P99_LATENCY.to_owned(), 0.02);
    let silent = point("rows/s", 4e5, &[(names::NODES, 2.0)]);
    let reading = Reading { p99_s: Some(0.05), ..Reading::default() };
    let basis = Basis::new(&[&slow, &fast, &silent], &reading).unwrap();
    assert_eq!(basis.sweep.sizes().len(), 2);
    assert_eq!(basis.notes.len(), 2, "{:?}", basis.notes);
    assert!(matches!(Basis::new(&[&slow], &reading), Err(BasisError::TooSlow)));
}

#[test]
fn sizes_with_the_usual_number_of_replicas_are_the_growth_and_others_are_named() {
    let point = |nodes: f64, per_s: f64, replicas: f64| {
        point("rows/s", per_s, &[(names::NODES, nodes), (names::REPLICAS, replicas)])
    };
    let points = [point(1.0, 236e3, 0.0), point(3.0, 380e3, 1.0), point(5.0, 600e3, 1.0)];
    let basis = Basis::new(&points.iter().collect::<Vec<_>>(), &Reading::default()).unwrap();
    assert_eq!((basis.sweep.sizes().len(), basis.replicas.value), (2, 1.0));
    assert!(basis.notes[0].starts_with("1 of the points have another number"), "{:?}", basis.notes);
}

#[test]
fn a_run_that_was_stopped_or_is_invalid_shows_no_capacity() {
    let mut stopped = point("rows/s", 30e3, &[(names::NODES, 1.0)]);
    stopped.invalid = true;
    let valid = point("rows/s", 200e3, &[(names::NODES, 2.0)]);
    let basis = Basis::new(&[&stopped, &valid], &Reading::default()).unwrap();
    assert_eq!((basis.sweep.sizes().len(), basis.notes.len()), (1, 1), "{:?}", basis.notes);
    assert!(matches!(Basis::new(&[&stopped], &Reading::default()), Err(BasisError::Invalid)));
}

/// What is counted is not known, so a replica is not free.
#[test]
fn a_replica_costs_as_much_without_a_unit_as_of_rows() {
    let cost = |unit| {
        let point = point(unit, 200e3, &[(names::NODES, 2.0)]);
        Basis::new(&[&point], &Reading::default()).unwrap().replica_cost.value
    };
    assert_eq!(cost("units/s"), cost("rows/s"));
    assert_ne!(cost("queries/s"), cost("rows/s"));
}

#[test]
fn points_without_nodes_need_a_flag_for_them() {
    let point = point("rows/s", 2e5, &[]);
    let read = |nodes| {
        let reading = Reading { nodes, ..Reading::default() };
        Basis::new(&[&point], &reading).map(|basis| basis.sweep.largest())
    };
    assert_eq!(read(None), Err(BasisError::NoNodes));
    assert_eq!(read(Some(3.0)), Ok(3.0));
}

#[test]
fn a_single_model_predicts_alone_and_its_lack_of_sizes_is_reported() {
    let point = |nodes: f64, per_s: f64| point("rows/s", per_s, &[(names::NODES, nodes)]);
    let points = [point(1.0, 293e3), point(2.0, 494e3), point(3.0, 677e3)];
    let points: Vec<_> = points.iter().collect();
    let by = |model| {
        let reading = Reading { model, ..Reading::default() };
        Basis::new(&points, &reading).unwrap()
    };
    let (averaged, alone) = (by(None), by(Some(ScalingModel::Usl)));
    let five = |basis: &Basis| basis.forecast(5.0, 0.0, None).prediction();
    assert!(averaged.notes.is_empty(), "{:?}", averaged.notes);
    let linear = by(Some(ScalingModel::Linear));
    assert!(five(&linear).expected > 1.1 * five(&averaged).expected, "the middle is the model's");
    assert_eq!(alone.growth.average().unwrap().members().len(), 1);
    let notes = alone.notes.join(" ");
    assert!(notes.contains("3 parameters, and 3 sizes"), "{notes}");
    assert!(by(Some(ScalingModel::Linear)).notes.is_empty());
}

#[test]
fn clusters_with_copies_show_the_cost_of_a_copy() {
    let with = |replicas: f64, per_s: f64| {
        point("rows/s", per_s, &[(names::NODES, 3.0), (names::REPLICAS, replicas)])
    };
    let points = [with(0.0, 300e3), with(1.0, 200e3)];
    let points: Vec<_> = points.iter().collect();
    let basis = Basis::new(&points, &Reading::default()).unwrap();
    assert_eq!(basis.sweep.sizes().len(), 1);
    assert!((basis.replica_cost.value.expected - 0.5).abs() < 1e-9);
    assert!(matches!(basis.replica_cost.origin, Origin::Measured(_)));
}
