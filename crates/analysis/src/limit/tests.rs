//! Which resource is named, on both sides of each bound; none is named without telemetry of it.

use highwater_model::judgment::ObjectiveValue;
use highwater_model::limit::{LimitFigure, Resource, Resource as R, SaturationSign};
use highwater_model::plan::Objective;
use highwater_model::record::{CpuQuota, HostRecord};
use highwater_model::search::{ProbePurpose, ProbeVerdict};
use highwater_model::target_telemetry::SeriesKind::{Count, Level};
use highwater_model::target_telemetry::{names, sources};

use super::*;
use crate::{fixture, judge};

/// A series and its value in all samples.
type Metric = (&'static str, &'static str, f64);

/// Telemetry of an idle target.
const IDLE: [Metric; 4] = [
    (names::CPU_BUSY, "n1", 0.3),
    (names::DISK_BUSY, "n1", 0.1),
    (names::QUEUE, "n1", 0.0),
    (names::LOCK_WAITS, "n1", 0.0),
];

/// Closed load of four sessions on a server.
fn closed() -> RunRecord {
    let mut record = fixture::closed();
    record.target.embedded = false;
    record
}

/// The record with these levels, without `except`.
fn reporting(mut record: RunRecord, levels: &[Metric], except: &str) -> RunRecord {
    let is_set = |of: &Metric| levels.iter().any(|level| (level.0, level.1) == (of.0, of.1));
    let idle = IDLE.iter().filter(|of| !is_set(of));
    for (name, node, value) in idle.chain(levels).filter(|of| of.0 != except) {
        fixture::add_series(&mut record, (name, Some(node), Level), |_| *value);
    }
    record
}

fn named_and_next(record: &RunRecord) -> (Option<Resource>, Option<Resource>) {
    let limit = limit(record).expect("closed load is saturated");
    (limit.by.map(|by| by.resource), limit.next.map(|next| next.resource))
}

/// The resource that is named for closed load with these levels.
fn named(levels: &[Metric]) -> Option<Resource> {
    named_and_next(&reporting(closed(), levels, "")).0
}

#[test]
fn a_busy_cpu_or_disk_is_named_and_the_cpu_first() {
    let cpu = |busy| (names::CPU_BUSY, "n1", busy);
    let disk = |busy| (names::DISK_BUSY, "n1", busy);
    assert_eq!(named(&[cpu(0.9)]), Some(R::Cpu));
    assert_eq!(named(&[cpu(0.89)]), None, "busy, and not at its limit");
    assert_eq!(named(&[cpu(0.6), disk(0.9)]), Some(R::Disk));
    assert_eq!(named(&[cpu(0.6), disk(0.89)]), None);
    let both = reporting(closed(), &[cpu(0.95), disk(1.0)], "");
    assert_eq!(named_and_next(&both), (Some(R::Cpu), Some(R::Disk)));
    let near = reporting(closed(), &[cpu(0.95), disk(0.7)], "");
    assert_eq!(named_and_next(&near), (Some(R::Cpu), Some(R::Disk)), "the runner-up");
    let far = reporting(closed(), &[cpu(0.95), disk(0.3)], "");
    assert_eq!(named_and_next(&far), (Some(R::Cpu), None));
    let neither = reporting(closed(), &[cpu(0.7), disk(0.3)], "");
    assert_eq!(named_and_next(&neither), (None, Some(R::Cpu)), "the nearest");
}

#[test]
fn the_evidence_is_figures_of_the_node() {
    let levels =
        [(names::CPU_BUSY, "n2", 0.97), (names::QUEUE, "n2", 8.0), (names::CPU_BUSY, "n1", 0.9)];
    let by = limit(&reporting(closed(), &levels, "")).unwrap().by.unwrap();
    assert_eq!((by.resource, by.node.as_deref()), (R::Cpu, Some("n2")));
    let figures = [LimitFigure::Busy, LimitFigure::Waiting].map(|figure| by.value(figure));
    let [busy, waiting] = figures.map(Option::unwrap);
    assert!((busy - 0.97).abs() < 1e-9 && (waiting - 8.0).abs() < 1e-9, "{by:?}");
}

#[test]
fn one_busy_node_among_idle_ones_is_a_hot_one() {
    let nodes = |others| [(names::CPU_BUSY, "n1", 0.96), (names::CPU_BUSY, "n2", others)];
    assert_eq!(named(&nodes(0.63)), Some(R::HotNode));
    assert_eq!(named(&nodes(0.65)), Some(R::Cpu));
}

#[test]
fn an_exhausted_credit_makes_the_disk_the_limit() {
    let mut record = closed();
    let mut add = |name, of: fn(u32) -> f64| {
        fixture::add_series(&mut record, (name, Some("n1"), Level), of);
    };
    add(names::CPU_BUSY, |second| if second > 8 { 0.3 } else { 1.0 });
    add(names::DISK_BUSY, |second| f64::from(u8::from(second > 8)));
    add(names::DISK_CREDIT, |second| if second > 8 { 0.0 } else { 0.4 });
    let by = limit(&record).unwrap().by.unwrap();
    assert_eq!(by.resource, R::Disk, "{by:?}");
    assert_eq!(by.value(LimitFigure::CreditLeft), Some(0.0));
    // The first figure is the mean of the phase, as on its chart; the figure that decides has another name.
    let [mean, at_end] =
        [LimitFigure::Busy, LimitFigure::BusyAtEnd].map(|of| by.value(of).unwrap());
    assert!(mean < 0.5 && at_end > 0.999, "{by:?}");
}

#[test]
fn sessions_that_wait_for_a_disk_or_for_each_other_are_named_if_the_cpu_is_not_saturated() {
    let waits = |name, waiting, cpu| named(&[(name, "n1", waiting), (names::CPU_BUSY, "n1", cpu)]);
    // Four sessions: half of them for a disk, a quarter for locks, and one at least.
    assert_eq!(waits(names::DISK_WAITS, 2.0, 0.3), Some(R::Disk));
    assert_eq!(waits(names::DISK_WAITS, 1.9, 0.3), None);
    assert_eq!(waits(names::LOCK_WAITS, 1.0, 0.3), Some(R::Locks));
    assert_eq!(waits(names::LOCK_WAITS, 0.9, 0.3), None);
    assert_eq!(waits(names::LOCK_WAITS, 3.0, 0.95), Some(R::Cpu));
    assert_eq!(waits(names::ADMISSION_WAITS, 1.0, 0.8), Some(R::AdmissionControl));
    assert_eq!(waits(names::ADMISSION_STORE_WAITS, 0.9, 0.8), None);
}

#[test]
fn a_throttling_target_reports_the_cause() {
    let level = |name, value| named(&[(name, "n1", value)]);
    assert_eq!(level(names::REPLICATION_PAUSED, 0.21), Some(R::Replication));
    assert_eq!(level(names::REPLICATION_PAUSED, 0.19), None, "near, and no idle target");
    assert_eq!(level(names::COMPACTION_OVERLOAD, 1.0), Some(R::Compaction));
    assert_ne!(level(names::COMPACTION_OVERLOAD, 0.9), Some(R::Compaction));
    assert_eq!(level(names::DELAYED_INSERTS, 0.41), Some(R::Parts));
    assert_ne!(level(names::DELAYED_INSERTS, 0.3), Some(R::Parts));
    let parts = |parts| {
        let mut record = reporting(closed(), &[(names::PARTS_OF_PARTITION, "n1", parts)], "");
        let limit = ("parts_to_delay_insert".to_owned(), "150".to_owned());
        record.target.settings.extend([limit]);
        named_and_next(&record).0
    };
    assert_eq!(parts(150.0), Some(R::Parts));
    assert_ne!(parts(149.0), Some(R::Parts));
    let mut stalls = reporting(closed(), &[(names::CPU_BUSY, "n1", 0.95)], "");
    fixture::add_series(&mut stalls, (names::WRITE_STALLS, Some("1"), Count), |_| 1.0);
    assert_eq!(named_and_next(&stalls), (Some(R::WriteStalls), Some(R::Cpu)));
}

#[test]
fn rejections_are_attributed_to_the_pool_if_the_cpu_is_not_saturated() {
    let rejecting = |pieces: f64, cpu| {
        let mut record = reporting(closed(), &[(names::CPU_BUSY, "n1", cpu)], "");
        let rejected = (names::REJECTED, Some("n1"), Count);
        fixture::add_series(&mut record, rejected, |_| pieces);
        named_and_next(&record).0
    };
    // 4,212 ops in ten seconds, and one rejected task per hundred ops.
    assert_eq!(rejecting(4.3, 0.8), Some(R::WritePool));
    assert_eq!(rejecting(4.0, 0.8), None);
    assert_eq!(rejecting(4.3, 0.95), Some(R::Cpu));
    let queue =
        |waiting, cpu| named(&[(names::QUEUE, "n1", waiting), (names::CPU_BUSY, "n1", cpu)]);
    assert_eq!(queue(3.0, 0.59), Some(R::WritePool), "always something, and cores are free");
    assert_eq!(queue(3.0, 0.61), None);
    assert_eq!(queue(0.9, 0.55), None);
}

#[test]
fn an_objective_of_few_rejections_makes_them_the_reason() {
    let mut op = fixture::gate_op();
    op.errors = vec![("rejected", 4)];
    let mut record = fixture::open_gate_of(&op);
    record.plan.definition.objectives = vec![Objective::Rejected { max_ppm: 0 }];
    record.judgments = judge(&record);
    let record = reporting(record, &[(names::CPU_BUSY, "n1", 0.6)], "");
    let found = limit(&record).unwrap();
    assert_eq!(found.saturation, SaturationSign::Objective);
    assert_eq!(found.by.unwrap().resource, R::WritePool);
}

#[test]
fn an_objective_that_lacks_ops_to_be_judged_is_no_sign_of_saturation() {
    let found = |latencies: &[(u64, u64)], errors: &[(&'static str, u64)]| {
        let mut op = fixture::gate_op();
        op.latencies = latencies.to_vec();
        op.errors = errors.to_vec();
        let mut record = fixture::open_gate_of(&op);
        let share_of_errors = Objective::Errors { max_ppm: 1_000 };
        record.plan.definition.objectives.push(share_of_errors);
        record.judgments = judge(&record);
        assert_ne!(record.judgments.objective.value, ObjectiveValue::Met);
        limit(&record).map(|limit| limit.saturation)
    };
    let (fast, slow) = (4_000_000, 40_000_000);
    assert_eq!(found(&[(fast, 999)], &[]), None, "a p99 needs 1,000 ops");
    let missed = Some(SaturationSign::Objective);
    assert_eq!(found(&[(slow, 200)], &[]), missed, "a plain miss");
    assert_eq!(found(&[(fast, 9_903), (slow, 97)], &[]), missed, "enough ops");
    assert_eq!(found(&[(fast, 999)], &[("timeout", 2)]), missed, "too many failed");
}

#[test]
fn an_idle_target_has_too_few_sessions_or_rows() {
    assert_eq!(named(&[]), Some(R::Sessions));
    assert_eq!(named(&[(names::CPU_BUSY, "n1", 0.5)]), None, "it is half busy");
    assert_eq!(named(&[(names::DISK_BUSY, "n1", 0.5)]), None);
    let small = |sessions, rows: u64, cores: &str| {
        let mut record = reporting(closed(), &[], "");
        record.streams[0].sessions = sessions;
        let result = &mut record.results[0];
        result.rows.acknowledged = rows * result.acknowledged;
        let cores = ("cores".to_owned(), cores.to_owned());
        record.target.settings.extend([cores]);
        named_and_next(&record)
    };
    assert_eq!(small(4, 99, "4"), (Some(R::Batch), Some(R::Sessions)));
    assert_eq!(small(4, 100, "4").0, Some(R::Sessions));
    assert_eq!(small(3, 99, "4").0, Some(R::Sessions), "no session for each core");
    assert_eq!(named_and_next(&reporting(fixture::closed(), &[], "")).0, None, "of one writer");
}

#[test]
fn a_saturated_load_generator_comes_first() {
    let mut record = reporting(closed(), &[(names::CPU_BUSY, "n1", 0.95)], "");
    record.clients[0].cpu_fraction = 0.86;
    assert_eq!(named_and_next(&record), (Some(R::LoadGenerator), Some(R::Cpu)));
    record.clients[0].cpu_fraction = 0.84;
    assert_eq!(named_and_next(&record), (Some(R::Cpu), Some(R::LoadGenerator)));
    record.clients[0].cpu_fraction = 0.1;
    // It acknowledged 421,200 rows/s.
    record.clients[0].calibrated_ceiling = Some(460_000.0);
    assert_eq!(named_and_next(&record).0, Some(R::LoadGenerator));
}

#[test]
fn a_network_is_full_near_the_speed_of_one() {
    let received = |bytes: f64, cpu: f64| {
        let mut record = reporting(closed(), &[(names::CPU_BUSY, "n1", cpu)], "");
        let wire = (names::NET_RECEIVED, Some("eth0"), Count);
        fixture::add_series(&mut record, wire, |_| bytes);
        named_and_next(&record).0
    };
    assert_eq!(received(118e6, 0.6), Some(R::Network));
    assert_eq!(received(110e6, 0.6), None);
    assert_eq!(received(118e6, 0.75), None);
}

#[test]
fn a_resource_without_telemetry_is_not_named_nor_are_those_that_it_might_explain() {
    let all = |levels: &[Metric], except| named_and_next(&reporting(closed(), levels, except)).0;
    for except in [names::CPU_BUSY, names::DISK_BUSY] {
        assert_eq!(all(&[], except), None, "{except}");
        let waiting = [(names::QUEUE, "n1", 3.0)];
        assert_eq!(all(&waiting, except), None, "{except}");
    }
    assert_eq!(all(&[(names::LOCK_WAITS, "n1", 3.0)], names::CPU_BUSY), None);
    assert_eq!(all(&[(names::DISK_BUSY, "n1", 1.0)], names::CPU_BUSY), None);
    let bare = limit(&closed()).unwrap();
    assert_eq!((bare.by, bare.next), (None, None));
    assert_eq!(bare.unseen, [R::Cpu, R::Disk, R::WritePool]);
    // One of three nodes shows nothing: it may be the busy one.
    let mut one_of_three = reporting(closed(), &[], "");
    let host = one_of_three.target.hosts[0].clone();
    one_of_three.target.hosts = [1, 2, 3].map(|_| HostRecord { ..host.clone() }).to_vec();
    assert_eq!(named_and_next(&one_of_three).0, None);
    assert_eq!(limit(&one_of_three).unwrap().unseen, [R::Cpu]);
}

/// The record with CPU reported by another source: the host, or the control groups of nodes.
fn with_cpu_of(source: &str, cpus: &[(&str, f64)]) -> RunRecord {
    let mut record = reporting(closed(), &[], names::CPU_BUSY);
    for (node, busy) in cpus {
        fixture::add_series(&mut record, (names::CPU_BUSY, Some(node), Level), |_| *busy);
        let telemetry = record.target_telemetry.as_mut().unwrap();
        source.clone_into(&mut telemetry.series.last_mut().unwrap().source);
    }
    record
}

fn quotas(cores: &[(&str, f64)]) -> Vec<CpuQuota> {
    cores.iter().map(|(node, cores)| CpuQuota { node: (*node).to_owned(), cores: *cores }).collect()
}

#[test]
fn an_idle_host_rules_out_the_cpu_only_without_quotas_and_a_busy_one_is_the_limit() {
    let named = |busy, quotas| {
        let mut record = with_cpu_of(sources::HOST, &[("", busy)]);
        record.target.cpu_quotas = quotas;
        (named_and_next(&record).0, limit(&record).unwrap().unseen)
    };
    assert_eq!(named(0.3, quotas(&[("1", 0.3)])), (None, vec![R::Cpu]));
    assert_eq!(named(0.3, quotas(&[])), (Some(R::Sessions), Vec::new()));
    assert_eq!(named(0.95, quotas(&[("1", 0.3)])).0, Some(R::Cpu));
}

#[test]
fn the_cpu_of_a_host_is_told_apart_by_who_took_it_and_that_of_a_node_is_not() {
    let shared = |source| {
        let mut record = with_cpu_of(source, &[("", 1.0)]);
        for (name, node, part) in [
            (names::CPU_OF_SERVER, Some("pgbouncer"), 0.06),
            (names::CPU_OF_SERVER, Some("postgres"), 0.4),
            (names::CPU_OF_LOAD_GENERATOR, None, 0.38),
        ] {
            fixture::add_series(&mut record, (name, node, Level), |_| part);
            let telemetry = record.target_telemetry.as_mut().unwrap();
            sources::HOST.clone_into(&mut telemetry.series.last_mut().unwrap().source);
        }
        let by = limit(&record).unwrap().by.unwrap();
        let parts = [LimitFigure::OfServer, LimitFigure::OfLoadGenerator];
        (by.program.clone(), parts.map(|figure| by.value(figure)))
    };
    let (program, [server, client]) = shared(sources::HOST);
    assert_eq!(program.as_deref(), Some("postgres"), "the busiest");
    assert!((server.unwrap() - 0.46).abs() < 1e-9 && (client.unwrap() - 0.38).abs() < 1e-9);
    assert_eq!(shared(sources::CONTROL_GROUPS), (None, [None, None]));
}

/// Reports that the quota of this node was used up for a fraction of the time.
fn held_back(record: &mut RunRecord, node: &'static str, part: f64) {
    let throttled = (names::CPU_THROTTLED, Some(node), Level);
    fixture::add_series(record, throttled, |_| part);
    let telemetry = record.target_telemetry.as_mut().unwrap();
    let last = telemetry.series.last_mut().unwrap();
    sources::CONTROL_GROUPS.clone_into(&mut last.source);
}

#[test]
fn a_node_that_used_up_its_quota_is_named_although_the_host_idles() {
    let measured = |cpus: &[(&str, f64)], host| {
        let mut record = with_cpu_of(sources::HOST, &[("", host)]);
        let of_groups = with_cpu_of(sources::CONTROL_GROUPS, cpus);
        let series = of_groups.target_telemetry.unwrap().series.into_iter();
        let of_groups = series.filter(|series| series.source == sources::CONTROL_GROUPS);
        let telemetry = record.target_telemetry.as_mut().unwrap();
        telemetry.series.extend(of_groups);
        record.target.cpu_quotas = quotas(&[("1", 0.3), ("2", 0.3)]);
        record
    };
    let mut record = measured(&[("1", 0.95), ("2", 0.98)], 0.3);
    held_back(&mut record, "2", 0.9);
    let by = limit(&record).unwrap().by.unwrap();
    assert_eq!((by.resource, by.node.as_deref()), (R::Cpu, Some("2")));
    let figures = [LimitFigure::QuotaCores, LimitFigure::Throttled].map(|figure| by.value(figure));
    assert_eq!(figures[0], Some(0.3));
    assert!(figures[1].is_some_and(|part| (part - 0.9).abs() < 1e-9), "{by:?}");
    // Throttled nearly all the time, whatever CPU time was reported.
    let mut record = measured(&[("1", 0.86), ("2", 0.85)], 0.3);
    assert_eq!(named_and_next(&record).0, None);
    held_back(&mut record, "2", 0.95);
    let by = limit(&record).unwrap().by.unwrap();
    assert_eq!((by.resource, by.node.as_deref()), (R::Cpu, Some("2")));
    let idle = [("1", 0.3), ("2", 0.3)];
    assert_eq!(named_and_next(&measured(&idle, 0.8)).0, Some(R::Sessions));
    let full = limit(&measured(&idle, 0.95)).unwrap().by.unwrap();
    assert_eq!((full.resource, full.source.as_deref()), (R::Cpu, Some(sources::HOST)));
    assert_eq!(named_and_next(&measured(&[("1", 0.3)], 0.3)).0, None, "node 2 is not seen");
    assert_eq!(named_and_next(&measured(&[("1", 0.3), ("2", 0.95)], 0.3)).0, Some(R::HotNode));
}

#[test]
fn open_load_is_saturated_only_with_a_sign_of_it() {
    assert_eq!(limit(&fixture::open_gate()), None);
    assert_eq!(limit(&fixture::open_steps()), None);
    let sign = |change: fn(&mut RunRecord)| {
        let mut record = fixture::open_gate();
        change(&mut record);
        limit(&record).map(|limit| limit.saturation)
    };
    assert_eq!(limit(&closed()).unwrap().saturation, SaturationSign::ClosedLoad);
    assert_eq!(sign(|record| record.results[0].offered = 5_000), Some(SaturationSign::NotOffered));
    assert_eq!(
        sign(|record| record.streams[0].throughput.rows_per_s = 900.0),
        Some(SaturationSign::NotAcknowledged)
    );
    assert_eq!(
        sign(|record| record.results[0].backlog = true),
        Some(SaturationSign::NotAcknowledged)
    );
    assert_eq!(
        sign(|record| record.results[0].session_wait_ns.p50 = Some(3_100_000)),
        Some(SaturationSign::SessionWait)
    );
    let rejected = |ops: u64| {
        let mut record = fixture::open_gate();
        record.results[0].errors.insert("rejected".to_owned(), ops);
        limit(&record).map(|limit| limit.saturation)
    };
    assert_eq!(rejected(10), Some(SaturationSign::Rejected));
    assert_eq!(rejected(9), None);
}

#[test]
fn the_last_saturated_step_is_the_one_that_is_explained() {
    let mut record = fixture::open_steps();
    for stream in &mut record.streams {
        stream.throughput.rows_per_s *= 0.9;
        stream.throughput.ops_per_s *= 0.9;
    }
    assert_eq!(limit(&record).unwrap().phase, "step 2");
}

#[test]
fn a_mark_has_the_limit_of_the_probe_above_it() {
    let limited = |at: f64, purpose, resource: Option<Resource>| {
        let levels: &[Metric] = match resource {
            Some(R::Cpu) => &[(names::CPU_BUSY, "n1", 0.95)],
            Some(_) => &[(names::DISK_BUSY, "n1", 0.95)],
            None => &[(names::CPU_BUSY, "n1", 0.7)],
        };
        ProbeRecord {
            limit: limit(&reporting(closed(), levels, "")),
            ..fixture::probe(purpose, at, ProbeVerdict::Failed)
        }
    };
    let by = |probes: &[ProbeRecord]| {
        let mut search = fixture::search(Vec::new());
        search.probes = probes.to_vec();
        search.outcome = Some(SearchOutcome::Mark(fixture::mark(1_000.0, 1_020.0)));
        of_search(&search).and_then(|limit| limit.by.as_ref()).map(|by| by.resource)
    };
    let estimate = limited(64.0, ProbePurpose::Estimate, Some(R::Disk));
    let far = limited(1_200.0, ProbePurpose::Search, Some(R::Disk));
    let near = |resource| limited(1_020.0, ProbePurpose::Search, resource);
    assert_eq!(by(&[estimate.clone(), far.clone(), near(Some(R::Cpu))]), Some(R::Cpu));
    assert_eq!(by(&[estimate.clone(), far, near(None)]), Some(R::Disk), "the next one");
    assert_eq!(by(&[estimate]), Some(R::Disk), "of the estimate");
    assert_eq!(by(&[near(None)]), None);
    let soak = limited(1_000.0, ProbePurpose::Soak, Some(R::Disk));
    assert_eq!(by(&[near(Some(R::Cpu)), soak]), Some(R::Disk), "it did not hold for long");
}
