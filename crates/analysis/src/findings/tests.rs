//! Each rule with records that must and must not trigger it, on both sides of its bound.
//! Series with and without a change, and the telemetry that is reported with a change.

use highwater_model::record::{HostRecord, IntervalRecord, RunRecord, Steadiness};
use highwater_model::search::{ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchRecord};
use highwater_model::target_telemetry::{SeriesKind, TargetTelemetry, TelemetrySeries};

use super::*;
use crate::fixture::{self, S};
use crate::synthetic::Noise;

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
fn sessions_are_too_few_if_waiting_for_one_takes_longer_than_the_response() {
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
fn shards_are_compared_with_cores() {
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
fn stalls_are_reported_if_they_are_regular() {
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

/// Ten minutes; ops of 1,000 rows each second around a level, and their median latency.
fn record_of(
    mut record: RunRecord,
    ops: impl Fn(u64) -> f64,
    p50_ms: impl Fn(u64) -> f64,
) -> RunRecord {
    let mut phases = record.phases.iter_mut();
    let phase = phases.find(|phase| phase.name == "measure").unwrap();
    phase.duration_ns = 600 * S;
    let mut noise = Noise::new(7);
    let pattern = record.intervals[0].clone();
    record.intervals = (0..600)
        .map(|t| {
            let around =
                |level: f64, noise: &mut Noise| round_to_u64(level * (1.0 + 0.03 * noise.normal()));
            let acknowledged = around(ops(t), &mut noise);
            IntervalRecord {
                second: 2 + t,
                acknowledged,
                rows_acknowledged: 1_000 * acknowledged,
                p50_ns: Some(around(p50_ms(t) * 1e6, &mut noise)),
                ..pattern.clone()
            }
        })
        .collect();
    record
}

fn add_series(record: &mut RunRecord, name: &str, value: impl Fn(u64) -> f64) {
    record
        .target_telemetry
        .get_or_insert_with(|| TargetTelemetry {
            interval_ns: S,
            times_ns: (0..=602).map(|second| second * S).collect(),
            ..TargetTelemetry::default()
        })
        .series
        .push(TelemetrySeries {
            source: "target".to_owned(),
            name: name.to_owned(),
            unit: "share".to_owned(),
            node: Some("n1".to_owned()),
            kind: SeriesKind::Level,
            values: (0..=602).map(|second| Some(value(second))).collect(),
        });
}

fn findings_over_time(record: &RunRecord) -> Vec<RuleFinding> {
    let codes = ["throughput_changed", "latency_changed", "regular_slowdowns"];
    let found = findings(record).into_iter();
    found.filter(|found| codes.contains(&found.code)).collect()
}

#[track_caller]
fn says(found: &RuleFinding, part: &str) {
    let said = format!("{}: {}", found.sentence, found.evidence);
    assert!(said.contains(part), "{said}");
}

#[test]
fn a_permanent_drop_is_dated_and_explained_by_simultaneous_changes() {
    let closed = fixture::closed();
    let mut record = record_of(closed, |t| if t < 400 { 1_000.0 } else { 250.0 }, |_| 4.0);
    add_series(&mut record, "disk_credit", |s| {
        if s < 402 { 1.0 - 0.0025 * f64::from(u32::try_from(s).unwrap()) } else { 0.0 }
    });
    add_series(&mut record, "disk_busy", |s| f64::from(u8::from(s >= 402)));
    add_series(&mut record, "cpu_busy", |s| if s < 402 { 0.97 } else { 0.25 });
    add_series(&mut record, "memory_used", |_| 0.5);
    let found = findings_over_time(&record);
    let [found] = found.as_slice() else {
        panic!("{found:?}");
    };
    says(found, "throughput fell by 75");
    says(found, "at 402 s, from ");
    for part in ["disk_busy of n1 0% → 100%", "cpu_busy of n1 97", "→ 25"] {
        assert!(found.evidence.contains(part), "{part}: {found:?}");
    }
    assert!(!found.evidence.contains("memory_used"), "{found:?}");
    assert!(found.hint.contains("the disk became the limit"));
}

#[test]
fn a_course_without_a_change_is_not_reported_nor_is_a_small_one() {
    let flat = record_of(fixture::closed(), |_| 1_000.0, |_| 4.0);
    assert_eq!(findings_over_time(&flat), []);
    let small = record_of(fixture::closed(), |t| if t < 300 { 1_000.0 } else { 960.0 }, |_| 4.0);
    assert_eq!(findings_over_time(&small), []);
    let larger = record_of(fixture::closed(), |t| if t < 300 { 1_000.0 } else { 930.0 }, |_| 4.0);
    assert_eq!(findings_over_time(&larger)[0].code, "throughput_changed");
    says(&findings_over_time(&larger)[0], "no telemetry moved then");
}

#[test]
fn latency_is_looked_at_in_open_load_only() {
    let slower = |t: u64| if t < 200 { 4.0 } else { 9.0 };
    let open = record_of(fixture::open_gate(), |_| 1_000.0, slower);
    let found = findings_over_time(&open);
    assert_eq!(found.len(), 1, "{found:?}");
    says(&found[0], "the median latency rose by 12");
    says(&found[0], "at 202 s");
    let record = record_of(fixture::closed(), |_| 1_000.0, slower);
    assert_eq!(findings_over_time(&record), []);
}

#[test]
fn repeated_slowdowns_are_reported_with_their_period() {
    let repeated = |depth: f64| {
        let ops = move |t: u64| {
            if t % 30 < 3 { 1_000.0 * (1.0 - depth) } else { 1_000.0 }
        };
        findings_over_time(&record_of(fixture::closed(), ops, |_| 4.0))
    };
    let found = repeated(0.3);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].code, "regular_slowdowns");
    says(&found[0], "about every 30 s");
    assert_eq!(repeated(0.06), [], "not deep");
}

#[test]
fn short_phases_have_no_course() {
    let mut record =
        record_of(fixture::closed(), |t| if t < 100 { 1_000.0 } else { 250.0 }, |_| 4.0);
    let phase = record.phases.iter_mut().find(|phase| phase.name == "measure").unwrap();
    phase.duration_ns = 200 * S;
    assert_eq!(findings_over_time(&record), []);
}

/// The finding of the only rule about changes that reports one.
#[track_caller]
fn only(record: &RunRecord) -> RuleFinding {
    let mut found = findings_over_time(record);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Steps: a level from each of these seconds of the phase on.
fn levels(steps: &[(u64, f64)]) -> impl Fn(u64) -> f64 + use<> {
    let steps = steps.to_vec();
    move |t| {
        let passed = steps.iter().rev().find(|(from, _)| *from <= t);
        passed.map_or(0.0, |(_, level)| *level)
    }
}

#[test]
fn the_largest_of_several_changes_is_reported_and_the_rest_are_counted() {
    let falls = levels(&[(0, 1_000.0), (200, 800.0), (400, 250.0)]);
    let found = only(&record_of(fixture::closed(), falls, |_| 4.0));
    says(&found, "throughput fell by 68");
    says(&found, "at 402 s");
    says(&found, "; one more change was smaller;");
}

#[test]
fn telemetry_is_compared_up_to_the_neighboring_changes() {
    // Half a minute lies between the two; telemetry is compared over a whole minute.
    for (ops, busy) in
        [([1_000.0, 400.0, 700.0], [0.9, 0.3, 0.9]), ([400.0, 700.0, 900.0], [0.3, 0.9, 0.5])]
    {
        let steps = |begin: u64, values: [f64; 3]| {
            let from = [0, begin, begin + 30];
            levels(&[0, 1, 2].map(|step| (from[step], values[step])))
        };
        let mut record = record_of(fixture::closed(), steps(300, ops), |_| 4.0);
        // A sample describes the second before it.
        let busy = steps(303, busy);
        add_series(&mut record, "cpu_busy", busy);
        let found = only(&record);
        says(&found, "throughput rose by 7");
        says(&found, "then cpu_busy of n1 30.0% → 90.0%");
    }
}

#[test]
fn only_clear_shifts_are_named_and_only_the_node_that_shifted_most() {
    let falls = levels(&[(0, 1_000.0), (300, 250.0)]);
    let mut record = record_of(fixture::closed(), falls, |_| 4.0);
    let moves = |before: f64, after: f64| levels(&[(0, before), (303, after)]);
    add_series(&mut record, "cpu_busy", moves(0.9, 0.6));
    add_series(&mut record, "cpu_busy", moves(0.9, 0.2));
    add_series(&mut record, "memory_used", moves(0.5, 0.55));
    // Scattered this widely, it shifts at random.
    let scattered = moves(0.0, 0.12);
    add_series(&mut record, "heap_used", |second| {
        scattered(second) + f64::from(u8::from(second % 2 == 0))
    });
    add_series(&mut record, "disk_busy", moves(0.1, 0.9));
    let series = &mut record.target_telemetry.as_mut().unwrap().series;
    series[1].node = Some("n2".to_owned());
    // Two values before the change and two after it are too few.
    let told_at = [250, 270, 320, 340];
    for (second, value) in series[4].values.iter_mut().enumerate() {
        *value = value.filter(|_| told_at.contains(&second));
    }
    let found = only(&record);
    says(&found, "then cpu_busy of n2 90.0% → 20.0%");
}

#[test]
fn a_stream_is_described_by_its_own_seconds() {
    let mut record = record_of(fixture::closed(), |_| 1_000.0, |_| 4.0);
    let own = record.intervals.clone();
    let later = own.iter().filter(|interval| interval.second > 300);
    for interval in later {
        let mut of_other_stream = interval.clone();
        "dashboards".clone_into(&mut of_other_stream.stream);
        let mut of_other_phase = interval.clone();
        "drain".clone_into(&mut of_other_phase.phase);
        record.intervals.extend([of_other_stream, of_other_phase]);
    }
    assert_eq!(findings_over_time(&record), []);
    // With only occasional ops there is no time series.
    record.intervals = own;
    record.intervals.retain(|interval| interval.second % 3 == 0);
    assert_eq!(findings_over_time(&record), []);
}

#[test]
fn a_stream_of_queries_is_described_in_queries() {
    let falls = levels(&[(0, 1_000.0), (300, 250.0)]);
    let mut record = record_of(fixture::closed(), falls, |_| 4.0);
    record.streams[0].unit = highwater_model::plan::Unit::Queries;
    for interval in &mut record.intervals {
        interval.rows_acknowledged = 0;
    }
    let found = only(&record);
    says(&found, " queries/s");
}

#[test]
fn latency_is_that_of_the_most_frequent_op_and_is_carried_over_silent_seconds() {
    let mut record = record_of(fixture::open_gate(), |_| 1_000.0, |_| 4.0);
    let mut other = record.results[0].clone();
    "other".clone_into(&mut other.op);
    other.acknowledged /= 2;
    record.results.push(other);
    let slower = record_of(fixture::open_gate(), |_| 500.0, levels(&[(0, 4.0), (200, 9.0)]));
    let slower = slower.intervals.into_iter().map(|interval| IntervalRecord {
        op: "other".to_owned(),
        acknowledged: 0,
        rows_acknowledged: 0,
        ..interval
    });
    record.intervals.extend(slower);
    assert_eq!(findings_over_time(&record), []);

    let rises = levels(&[(0, 4.0), (200, 9.0)]);
    let mut record = record_of(fixture::open_gate(), |_| 1_000.0, rises);
    for interval in &mut record.intervals[50..100] {
        interval.p50_ns = None;
    }
    let found = only(&record);
    says(&found, "at 202 s");
}

#[test]
fn slowdowns_are_found_despite_a_permanent_change_and_stalls_are_reported_once() {
    let ops = |t: u64| {
        let level = if t < 300 { 1_000.0 } else { 500.0 };
        if t % 30 < 3 { 0.7 * level } else { level }
    };
    let mut record = record_of(fixture::closed(), ops, |_| 4.0);
    let found = findings_over_time(&record);
    let codes: Vec<&str> = found.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["throughput_changed", "regular_slowdowns"]);
    assert!(found[1].sentence.contains("about every 30 s"), "{found:?}");
    let seconds = (0..600).map(|t| if t % 30 == 3 { 0 } else { 1_000 });
    record.availability.acknowledged_per_s = seconds.collect();
    let found = findings(&record);
    let codes: Vec<&str> = found.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["periodic_stalls", "throughput_changed"]);
}
