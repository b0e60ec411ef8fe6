//! Each rule with records that must and must not trigger it, on both sides of its bound.

use super::*;
use crate::fixture;
use highwater_model::record::{HostRecord, Steadiness};
use highwater_model::search::{ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchRecord};

/// The codes of the findings for this record after a change.
fn codes(mut record: RunRecord, change: impl FnOnce(&mut RunRecord)) -> Vec<&'static str> {
    change(&mut record);
    findings(&record).iter().map(|codes| codes.code).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn records_without_anything_to_say() {
    assert_eq!(codes(fixture::closed(), |_| ()), NONE);
    assert_eq!(codes(fixture::open_gate(), |_| ()), NONE);
    assert_eq!(codes(fixture::open_steps(), |_| ()), NONE);
}

#[test]
fn rejections_are_reported_from_a_tenth_of_a_per_cent_on() {
    let reject = |ops: u64, of: u64| {
        move |record: &mut RunRecord| {
            let result = &mut record.results[0];
            result.offered = of;
            result.errors.insert("rejected".to_owned(), ops);
        }
    };
    let gate = fixture::open_gate;
    assert_eq!(codes(gate(), reject(10, 10_000)), ["rejected_ops"]);
    assert_eq!(codes(gate(), reject(10, 10_001)), NONE);
    assert_eq!(codes(gate(), reject(9, 1_000)), NONE, "hardly any");
    let other = |record: &mut RunRecord| {
        record.results[0].errors.insert("timeout".to_owned(), 500);
    };
    assert_eq!(codes(fixture::open_gate(), other), NONE);
}

#[test]
fn sessions_are_too_few_where_waiting_for_one_is_longer_than_the_answer() {
    let waits = |door: u64, service: u64| {
        move |record: &mut RunRecord| {
            record.results[0].session_wait_ns.p50 = Some(door);
            record.results[0].service_ns.p50 = Some(service);
        }
    };
    let open = fixture::open_gate;
    assert_eq!(codes(open(), waits(4_001, 4_000)), ["sessions_busy"]);
    assert_eq!(codes(open(), waits(4_000, 4_000)), NONE);
    let closed = codes(fixture::closed(), waits(4_001, 4_000));
    assert_eq!(closed, NONE);
}

/// The finding of a search with probes at these values that reached these rates.
fn code_of_search(axis: SearchAxis, probes: &[(f64, f64)]) -> Option<&'static str> {
    let probes = probes.iter().map(|(at, reached)| ProbeRecord {
        acknowledged_per_s: *reached,
        ..fixture::probe(ProbePurpose::Search, *at, ProbeVerdict::Passed)
    });
    let search = SearchRecord { axis, probes: probes.collect(), ..fixture::search(Vec::new()) };
    more_sessions_less(&search).map(|finding| finding.code)
}

#[test]
fn throughput_that_falls_with_more_sessions_is_reported() {
    let of_sessions = |last| {
        let probes = [(4.0, 900.0), (8.0, 1_000.0), (16.0, last)];
        code_of_search(SearchAxis::Sessions, &probes)
    };
    assert_eq!(of_sessions(949.0), Some("too_many_sessions"));
    assert_eq!(of_sessions(951.0), None);
    assert_eq!(of_sessions(0.0), None, "a probe that reached nobody");
    let overload = [(800.0, 800.0), (1_600.0, 400.0)];
    assert_eq!(code_of_search(SearchAxis::Rate, &overload), None);
}

fn layout(shards: u32, replicas: u32) -> impl FnOnce(&mut RunRecord) {
    move |record| {
        let layout = [("shards", shards), ("replicas", replicas)];
        let settings = [("nodes", 3), ("cores", 4)].into_iter().chain(layout);
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_string()));
        record.target.settings.extend(settings);
    }
}

#[test]
fn shards_are_held_against_cores() {
    let closed = fixture::closed;
    assert_eq!(codes(closed(), layout(5, 1)), ["few_shards"]);
    assert_eq!(codes(closed(), layout(6, 1)), NONE);
    assert_eq!(codes(closed(), layout(11, 0)), ["few_shards"]);
    assert_eq!(codes(closed(), layout(240, 0)), NONE);
    assert_eq!(codes(closed(), layout(241, 0)), ["many_shards"]);
    let reads = |record: &mut RunRecord| {
        layout(5, 1)(record);
        record.results[0].rows.acknowledged = 0;
    };
    assert_eq!(codes(closed(), reads), NONE, "nothing is written");
    let parameter = |record: &mut RunRecord| {
        layout(6, 1)(record);
        record.target.settings.remove("shards");
        let parameters = &mut record.workload.parameters;
        parameters.insert("shards".to_owned(), "2".to_owned());
    };
    // The table's own setting.
    assert_eq!(codes(closed(), parameter), ["few_shards"]);
    let both = |record: &mut RunRecord| {
        layout(6, 1)(record);
        let parameters = &mut record.workload.parameters;
        parameters.insert("shards".to_owned(), "2".to_owned());
    };
    assert_eq!(codes(closed(), both), NONE, "the target knows better");
    let processors = |record: &mut RunRecord| {
        layout(5, 1)(record);
        let settings = &mut record.target.settings;
        let cores = settings.remove("cores").unwrap();
        settings.insert("processors".to_owned(), cores);
    };
    assert_eq!(codes(closed(), processors), ["few_shards"]);
    let unknown = |record: &mut RunRecord| {
        layout(5, 1)(record);
        record.target.settings.remove("cores");
    };
    assert_eq!(codes(closed(), unknown), NONE, "nobody told the cores");
}

#[test]
fn a_host_that_does_more_than_its_share_is_reported() {
    let hosts = |acknowledged: &[u64]| {
        let hosts: Vec<HostRecord> = acknowledged
            .iter()
            .enumerate()
            .map(|(number, acknowledged)| HostRecord {
                url: format!("db://h{number}"),
                sessions: 4,
                acknowledged: *acknowledged,
                failed: 0,
            })
            .collect();
        move |record: &mut RunRecord| record.target.hosts = hosts
    };
    let of = |acknowledged: &[u64]| codes(fixture::closed(), hosts(acknowledged));
    assert_eq!(of(&[1_000, 1_000, 2_100]), ["unequal_hosts"]);
    assert_eq!(of(&[1_000, 1_000, 1_900]), NONE);
    assert_eq!(of(&[100, 100, 500]), NONE, "too few ops");
    assert_eq!(of(&[9_000]), NONE, "only one");
}

/// A minute of 100 ops per second, with breaks of two seconds that begin at these seconds.
fn breaks(begins: &[usize]) -> impl FnOnce(&mut RunRecord) {
    let mut series = vec![100; 60];
    for begin in begins {
        series[*begin] = 20;
        series[*begin + 1] = 0;
    }
    move |record| record.availability.acknowledged_per_s = series
}

#[test]
fn stalls_are_reported_where_they_are_regular() {
    let of = |begins: &[usize]| codes(fixture::closed(), breaks(begins));
    assert_eq!(of(&[8, 20, 33, 45]), ["periodic_stalls"]);
    assert_eq!(of(&[8, 20, 33]), NONE, "three may be chance");
    assert_eq!(of(&[3, 8, 33, 45]), NONE, "irregular");
    let mut record = fixture::closed();
    breaks(&[10, 20, 30, 40, 50])(&mut record);
    let said = &findings(&record)[0].sentence;
    assert_eq!(said, "throughput broke down about every 10 s");
}

#[test]
fn a_fall_over_the_phase_is_reported_for_closed_load_that_writes() {
    use Steadiness::{NotSteady, NotTested};
    let drift = |percent: f64, steadiness: Steadiness| {
        move |record: &mut RunRecord| {
            for stream in &mut record.streams {
                stream.drift_percent = Some(percent);
                stream.drift_ci95 = None;
                stream.steadiness = steadiness;
            }
        }
    };
    let closed = fixture::closed;
    let of = |percent, steadiness| codes(closed(), drift(percent, steadiness));
    assert_eq!(of(-12.0, NotSteady), ["slows_with_data"]);
    assert_eq!(of(-9.0, NotSteady), NONE);
    assert_eq!(of(12.0, NotSteady), NONE, "it rose");
    assert_eq!(of(-12.0, NotTested), NONE);
    let said = |thirds: Option<[f64; 2]>| {
        let mut record = closed();
        drift(-139.3, NotSteady)(&mut record);
        record.streams[0].thirds_per_s = thirds;
        findings(&record)[0].sentence.clone()
    };
    let from_and_to = "throughput fell from 1,858 rows/s in the first third to 668 in the last while rows were added";
    assert_eq!(said(Some([1_858.0, 668.0])), from_and_to);
    assert!(!said(None).contains('%'), "{}", said(None));
    let known_within = |half: f64| {
        move |record: &mut RunRecord| {
            drift(-12.0, Steadiness::NotShown)(record);
            record.streams[0].drift_ci95 = Some([-12.0 - half, -12.0 + half]);
        }
    };
    assert_eq!(codes(closed(), known_within(6.0)), ["slows_with_data"]);
    assert_eq!(codes(closed(), known_within(13.0)), NONE, "may be none");
    let reads = |record: &mut RunRecord| {
        drift(-12.0, Steadiness::NotSteady)(record);
        record.results[0].rows.acknowledged = 0;
    };
    assert_eq!(codes(closed(), reads), NONE, "no rows came in");
    let open = codes(fixture::open_gate(), drift(-12.0, NotSteady));
    assert_eq!(open, NONE);
}
