//! Plans from known clusters.

use crate::cluster::fixture::{INGEST, QUERIES, basis, need, point, request};
use crate::cluster::{Basis, BasisError, Origin, Reading, Request, SizePlan, Traced, size};
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
    let plan = size(&million()).unwrap();
    assert_eq!((plan.nodes.expected, plan.nodes.planned), (5, 6));
    assert!((4..=5).contains(&plan.nodes.low), "{:?}", plan.nodes);
    assert_eq!(plan.nodes.high, Some(6));
    assert!(plan.nodes.headroom.low > 0.0);
}

#[test]
fn nodes_beyond_twice_the_measured_range_are_refused_and_labeled_on_demand() {
    let mut request = request(vec![need(3e6, basis("rows/s", &INGEST))]);
    let refused = size(&request).unwrap_err();
    assert_eq!((refused.farthest, refused.refused), (10, true));
    assert!(refused.used.expected > 1.0);
    request.extrapolate = true;
    // Growth may have ended this far out, so no number of nodes is enough with 95% probability.
    assert_eq!(size(&request).unwrap_err().farthest, 1_000);
    request.probability = Traced::given(0.5, "--confidence");
    let plan = size(&request).unwrap();
    assert!(plan.extrapolated && plan.nodes.planned > 10);
    assert!(notes(&plan).contains("EXTRAPOLATED"));
    assert!(plan.summary.contains("EXTRAPOLATED"));
}

#[test]
fn what_is_enough_for_the_chance_is_planned_although_95_percent_are_out_of_reach() {
    let mut request = request(vec![need(1.55e6, basis("rows/s", &INGEST))]);
    let refused = size(&request).unwrap_err();
    assert_eq!((refused.probability, refused.farthest), (0.95, 10));
    request.probability = Traced::given(0.6, "--confidence");
    let plan = size(&request).unwrap();
    assert_eq!(plan.nodes.high, None);
    let said = &plan.summary;
    assert!(said.contains("to more than 10 at a level"), "{said}");
}

#[test]
fn nodes_that_may_be_lost_are_added_and_their_headroom_shown() {
    let mut request = million();
    request.survive = Traced::given(1, "--tolerate-failures");
    let plan = size(&request).unwrap();
    assert_eq!((plan.nodes.expected, plan.nodes.planned), (6, 7));
    assert!(plan.nodes.headroom_after_loss.expected < plan.nodes.headroom.expected);
    // Without a replica, a lost node loses data.
    assert!(notes(&plan).contains("--replicas 1"));
}

#[test]
fn a_copy_that_costs_as_much_as_the_first_doubles_the_work() {
    let mut request = request(vec![need(4e5, basis("rows/s", &INGEST))]);
    let without = request.carried(4, 0).unwrap().used().expected;
    let with = request.carried(4, 1).unwrap().used().expected;
    assert!((with / without - 2.0).abs() < 1e-9);
    request.replicas = Traced::given(1, "--replicas");
    let plan = size(&request).unwrap();
    let cost = plan.inputs.iter().find(|input| input.flag == "--replica-cost").unwrap();
    assert!(matches!(cost.origin, Origin::Assumed(_)));
}

#[test]
fn growth_counts_from_month_to_month() {
    let mut request = million();
    request.needs[0].per_s.value = 5e5;
    request.growth_per_month = Traced::given(0.05, "--growth");
    request.months = Traced::given(12, "--months");
    // 1.05^12 = 1.7958563
    assert!((request.rows_per_s() - 897_928.16).abs() < 0.01);
}

#[test]
fn capacity_that_must_stay_free_is_not_used() {
    let mut request = million();
    let probability = |request: &Request| request.carried(6, 0).unwrap().probability();
    let all = probability(&request);
    request.spare = Traced::given(0.2, "--headroom");
    assert!(probability(&request) < all - 0.1);
    assert!(size(&request).unwrap().nodes.planned > 6);
}

#[test]
fn rows_and_queries_share_the_cluster() {
    let rows = || need(5e5, basis("rows/s", &INGEST));
    let queries = || need(5.0, basis("queries/s", &QUERIES));
    let alone = request(vec![rows()]).carried(6, 0).unwrap().used().expected;
    let other = request(vec![queries()]).carried(6, 0).unwrap().used().expected;
    let both = request(vec![rows(), queries()]);
    let together = both.carried(6, 0).unwrap().used().expected;
    assert!((together - alone - other).abs() < 1e-9);
    let plan = size(&both).unwrap();
    assert_eq!(plan.needs.len(), 2);
    assert!(notes(&plan).contains("is assumed"));
}

#[test]
fn one_measured_cluster_grows_as_published_ones_did() {
    let own = basis("rows/s", &[(3.0, 300e3)]).assuming(None);
    // 5 nodes: 300,000 · (5/3)^0.8 = 451,400.
    let expected = own.forecast(5.0, 0.0, None).prediction().expected;
    assert!((expected / 451_400.0 - 1.0).abs() < 1e-3, "{expected}");
    let plan = size(&request(vec![need(3.6e5, own)])).unwrap();
    // 3 · 1.2^(1/0.8) = 3.8 nodes; with the lower side 4.95.
    assert_eq!((plan.nodes.expected, plan.nodes.planned), (4, 5));
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
        let plan = size(&request(vec![need(measured / 2.0, basis)])).unwrap();
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
    let plan = size(&request(vec![need(50.0, basis("rows/s", pairs))])).unwrap();
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
    let three = size(&million()).unwrap().notes.join("\n");
    assert!(!three.contains("WARNING"), "{three}");
}

#[test]
fn disk_holds_all_copies_of_the_retention_with_room_to_spare() {
    let mut request = million();
    request.replicas = Traced::given(1, "--replicas");
    request.survive = Traced::given(1, "--tolerate-failures");
    request.retention_s = Some(Traced::given(10.0 * 86_400.0, "--retention"));
    request.stored_bytes_per_row = Some(Traced::given(100.0, "--bytes-per-row"));
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
    request.retention_s = Some(Traced::given(10.0 * 86_400.0, "--retention"));
    request.stored_bytes_per_row = Some(Traced::given(100.0, "--bytes-per-row"));
    let shards = request.shards(6, 0).unwrap();
    // 8.64 TB per day on 96 shards are 90 GB per shard and day: twice as many shards of 45 GB in daily partitions give
    // far fewer shards in total than hourly partitions of 96.
    assert_eq!((shards.primaries, shards.partition_days), (192, Some(1.0)));
    assert_eq!(shards.partitions, 11);
    assert!((shards.bytes.unwrap() - 45e9).abs() < 1.0);
    assert!((shards.per_node - 32.0 * 11.0).abs() < 1e-9);
    request.retention_s = Some(Traced::given(365.0 * 86_400.0, "--retention"));
    let plan = size(&request).unwrap();
    assert!(notes(&plan).contains("are advised"));
}

#[test]
fn traffic_counts_rows_that_go_on_to_another_node() {
    let mut request = million();
    assert!(request.network(4, 1).is_none());
    request.sent_bytes_per_row = Some(Traced::given(1_000.0, "--sent-bytes-per-row"));
    let network = request.network(4, 1).unwrap();
    assert!((network.in_bytes_per_s - 1e9).abs() < 1.0);
    // Three of four rows arrive at a node other than their own, and each is copied to one more.
    assert!((network.between_bytes_per_s - 1.75e9).abs() < 1.0);
    assert!((network.per_node_bytes_per_s - (1e9 + 3.5e9) / 4.0).abs() < 1.0);
}

#[test]
fn a_price_is_that_of_a_month_of_730_hours() {
    let mut request = million();
    request.price_per_node_hour = Some(Traced::given(2.0, "--price"));
    let plan = size(&request).unwrap();
    assert_eq!(plan.price_per_month, Some(6.0 * 2.0 * 730.0));
}

#[test]
fn every_input_names_the_flag_that_changes_it() {
    let plan = size(&million()).unwrap();
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
fn one_model_alone_predicts_by_itself_and_its_lack_of_sizes_is_said() {
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
fn clusters_with_copies_show_what_a_copy_costs() {
    let with = |replicas: f64, per_s: f64| {
        point("rows/s", per_s, &[(names::NODES, 3.0), (names::REPLICAS, replicas)])
    };
    let points = [with(0.0, 300e3), with(1.0, 200e3)];
    let points: Vec<_> = points.iter().collect();
    let basis = Basis::new(&points, &Reading::default()).unwrap();
    assert_eq!(basis.sweep.sizes().len(), 1);
    assert!((basis.replica_cost.value.cost - 0.5).abs() < 1e-9);
    assert!(matches!(basis.replica_cost.origin, Origin::Measured(_)));
}
