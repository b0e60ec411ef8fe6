//! Runs ended by their plan's own stop rule, and sessions that start one after the other.
//!
//! The rule is checked a quarter of a second after each second, when its reports have arrived.

use std::sync::Arc;

use highwater_model::judgment::{Data, Measurement};
use highwater_model::plan::{Arrivals, PhaseKind, Predicate};
use highwater_model::record::{PhaseRecord, RunRecord};
use highwater_model::units::{Nanos, Rate};
use highwater_runner::run::RunEnding;

use crate::support::faulty::{Faults, in_half};
use crate::support::{At, Job, closed, exit_code, measured, one_node, open, seconds};

/// A quarter of a second.
const LOOK: u64 = 250_000_000;

fn phase<'a>(record: &'a RunRecord, name: &str) -> &'a PhaseRecord {
    record.phases.iter().find(|p| p.name == name).unwrap()
}

fn lasted(record: &RunRecord, name: &str) -> f64 {
    Nanos(phase(record, name).duration_ns).as_secs_f64()
}

/// The record's notes on early ends.
fn early(record: &RunRecord) -> Vec<&str> {
    let early = record.notes.iter().filter(|finding| finding.code == "stopped_early");
    early.map(|finding| finding.message.as_str()).collect()
}

/// Half width of a stream's confidence interval, relative to its mean.
fn relative_ci(record: &RunRecord, stream: &str, phase: &str) -> f64 {
    let mut streams = record.streams.iter();
    let found = streams.find(|s| s.stream == stream && s.phase == phase);
    let throughput = &found.unwrap().throughput;
    let [low, high] = throughput.ci95.unwrap();
    (high - low) / (high + low)
}

fn until(ppm: u32) -> Predicate {
    Predicate::RelativeCiBelow { ppm }
}

/// One core without pauses: 200 ops a second with exponential times, so that ops of T seconds are a Poisson count N,
/// and the half width is about 2 / √N. 5% needs about 1,600 ops, 8 s; the variance itself is estimated, from a few
/// percent of the windows, and may be off by a factor.
fn noisy() -> Job {
    let target = one_node("cores=1&service=exp&request=5ms");
    let mut job = Job::new(&target, &[("insert", closed(4))]);
    job.step = Nanos::from_secs(60);
    job
}

#[test]
fn a_run_ends_when_its_interval_is_narrow_enough() {
    let mut job = noisy();
    job.stop.until = Some(until(50_000));
    let end = job.run();
    let record = &end.record;
    let length = lasted(record, "measure");
    assert!((4.0..32.0).contains(&length), "ended after {length} s");
    assert_eq!(
        phase(record, "measure").duration_ns % Nanos::SECOND.0,
        LOOK,
        "it is looked at once a second"
    );
    // The record has a quarter of a second more than the rule had seen.
    let ci = relative_ci(record, "insert", "measure");
    assert!(ci < 0.052, "{ci}");
    let [why] = early(record)[..] else {
        panic!("{:?}", record.notes);
    };
    assert!(why.starts_with("measure ended after "), "{why}");
    assert!(why.ends_with(" of 60 s: ci95<5% held"), "{why}");
    assert_eq!(end.ended, RunEnding::Complete);
    assert_eq!(exit_code(&end), 0, "{:?}", record.judgments);
    assert_eq!(record.audit.found, measured(record, "insert").rows.acknowledged);
}

#[test]
fn a_run_does_not_end_before_its_minimum() {
    let mut job = noisy();
    job.stop.until = Some(until(50_000));
    job.stop.minimum = Nanos::from_secs(30);
    let record = job.run().record;
    assert_eq!(phase(&record, "measure").duration_ns, 30 * Nanos::SECOND.0 + LOOK);
    assert_eq!(early(&record), ["measure ended after 30.2 s of 60 s: ci95<5% held"]);
}

#[test]
fn a_run_whose_interval_stays_wide_ends_at_its_maximum_without_a_note() {
    let mut job = noisy();
    job.stop.until = Some(until(1_000));
    let record = job.run().record;
    assert_eq!(phase(&record, "measure").duration_ns, 60 * Nanos::SECOND.0);
    assert!(relative_ci(&record, "insert", "measure") > 0.001);
    assert!(early(&record).is_empty());
}

/// A constant pace is known exactly once there are the 30 windows of 100 ms that any interval needs. Windows of the
/// previous phase do not count, even if it stood still for a time.
#[test]
fn each_step_needs_separate_windows() {
    let target = one_node("cores=inf&service=constant&request=10ms&stall=500ms+1s");
    let mut job = Job::new(&target, &[("insert", closed(1))]);
    job.streams[0].1 = vec![closed(1), closed(2)];
    job.warm_up = Nanos::from_secs(2);
    job.stop.until = Some(until(10_000));
    let record = job.run().record;
    // 2 s to 5 s are 30 windows, seen at 5.25 s.
    assert_eq!(phase(&record, "step 1").duration_ns, 3_250_000_000);
    // From 5.3 s on: 37 windows have ended at 9 s, but only 27 at 8 s.
    assert_eq!(phase(&record, "step 2").start_ns, 5_250_000_000);
    assert_eq!(phase(&record, "step 2").duration_ns, 4_000_000_000);
    assert_eq!(
        early(&record),
        [
            "step 1 ended after 3.25 s of 10 s: ci95<1% held",
            "step 2 ended after 4.00 s of 10 s: ci95<1% held",
        ]
    );
}

/// Ten ops every 100 ms, which are soon known to 1%. In every other half second each of them stores half of its rows.
#[test]
fn the_row_rate_of_partly_acknowledged_ops_must_be_precise_enough() {
    let lengths = [0, 50].map(|exhausted| {
        let fails_with = Some(in_half as fn(u64) -> _);
        let faults = Faults { exhausted, round: 100, fails_with, ..Faults::default() };
        let target = one_node("cores=inf&service=constant&request=1ms");
        let mut job = Job::new(&target, &[("insert", open(1_000))]);
        (job.sessions, job.arrivals) = (1, Some(Arrivals::Constant));
        job.stop.until = Some(until(10_000));
        let record = job.run_faulty(&Arc::new(faults)).record;
        if exhausted > 0 {
            assert!(relative_ci(&record, "insert", "measure") > 0.01, "{:?}", record.streams);
        }
        phase(&record, "measure").duration_ns
    });
    let [whole, in_part] = lengths;
    assert!(whole < 10 * Nanos::SECOND.0, "{whole}");
    assert_eq!(in_part, 10 * Nanos::SECOND.0);
}

/// The constant stream is known after three seconds; the run waits for the other.
#[test]
fn every_stream_must_be_known_well_enough() {
    let target = one_node("cores=inf&service=exp&request=10ms&query=10ms");
    let mut job = Job::new(&target, &[("insert", open(1_000)), ("dashboards", closed(2))]);
    job.step = Nanos::from_secs(60);
    job.stop.until = Some(until(50_000));
    let record = job.run().record;
    let length = lasted(&record, "measure");
    assert!((4.0..60.0).contains(&length), "ended after {length} s");
    for stream in ["insert", "dashboards"] {
        let ci = relative_ci(&record, stream, "measure");
        assert!(ci < 0.052, "{stream}: {ci}");
    }
}

/// Ops failed by the end of a second, by finish time.
fn errors_by(record: &RunRecord, second: u64) -> u64 {
    let until = record.intervals.iter().filter(|interval| interval.second < second);
    until.map(|interval| interval.errors).sum()
}

#[test]
fn a_run_that_ends_on_errors_keeps_and_judges_its_measurements() {
    // Of a hundred ops a second, four fail: too few for doubt about the target.
    let target = one_node("cores=inf&service=constant&request=1ms&fail=0.04");
    let mut job = Job::new(&target, &[("insert", open(1_000))]);
    job.step = Nanos::from_secs(60);
    job.stop.until = Some(Predicate::ErrorsAbove { count: 50 });
    let end = job.run();
    let record = &end.record;
    let nanos = phase(record, "measure").duration_ns;
    let whole = nanos / Nanos::SECOND.0;
    assert_eq!(nanos % Nanos::SECOND.0, LOOK);
    assert!((8..19).contains(&whole), "ended after {whole} s");
    assert!(errors_by(record, whole) > 50, "the last second that it knew");
    assert!(errors_by(record, whole - 1) <= 50, "it ends at the first look");
    let [why] = early(record)[..] else {
        panic!("{:?}", record.notes);
    };
    assert!(why.ends_with(" of 60 s: errors>50 held"), "{why}");
    // Exactly the ops intended until then were sent.
    let result = measured(record, "insert");
    assert_eq!(result.offered, (nanos - 9_000_000).div_ceil(10_000_000));
    assert_eq!(result.sent, result.acknowledged + result.errors["connection"]);
    assert_eq!(end.ended, RunEnding::Complete);
    assert_eq!(record.judgments.measurement.value, Measurement::Valid);
    assert_eq!(record.judgments.data.value, Data::Clean);
    assert_eq!(record.audit.found, result.rows.acknowledged);
}

#[test]
fn a_run_ended_by_its_rows_records_it() {
    let target = one_node("cores=4&service=constant&request=2ms");
    let mut job = Job::new(&target, &[("insert", closed(4))]);
    job.stop.rows = Some(12_340);
    let record = job.run().record;
    let [why] = early(&record)[..] else {
        panic!("{:?}", record.notes);
    };
    assert!(why.ends_with(" of 10 s: its 12,340 rows were sent"), "{why}");
}

/// Twenty sessions, each doing a hundred ops a second; four more of them start each second.
fn ramping() -> Job {
    let target = one_node("cores=inf&service=constant&request=10ms");
    let mut job = Job::new(&target, &[("insert", closed(20))]);
    job.spawn_rate = Some(Rate::per_second(4));
    job
}

/// Acknowledged ops of each second up to `behind`, in any phase.
fn per_second(record: &RunRecord, behind: u64) -> Vec<u64> {
    let of = |second: u64| {
        let inside = record.intervals.iter().filter(|interval| interval.second == second);
        inside.map(|interval| interval.acknowledged).sum()
    };
    (0..behind).map(of).collect()
}

#[test]
fn sessions_appear_at_the_spawn_rate_in_a_phase_of_their_own() {
    let mut job = ramping();
    job.warm_up = Nanos::from_secs(1);
    let record = job.run().record;
    let phases: Vec<(&str, PhaseKind, u64)> = record
        .phases
        .iter()
        .map(|p| (p.name.as_str(), p.kind, p.duration_ns / Nanos::SECOND.0))
        .collect();
    assert_eq!(
        phases[..3],
        [
            ("ramp", PhaseKind::WarmUp, 5),
            ("warm-up", PhaseKind::WarmUp, 1),
            ("measure", PhaseKind::Measure, 10),
        ]
    );
    // In a second, the first of its four new sessions does 100 ops, the last one 25; the op that ends with the second
    // may count in the next.
    for (second, ops) in (0..).zip(per_second(&record, 5)) {
        let expected = 400 * second + 250;
        assert!(ops.abs_diff(expected) <= 20, "second {second}: {ops} ops");
    }
    let result = measured(&record, "insert");
    assert_eq!(result.acknowledged, 20_000, "all were there from the first moment on");
    assert_eq!(result.windows.acknowledged[1..100], [200; 99]);
    assert!(seconds(result.latency_ns.max) < 0.011);
    assert_eq!(record.streams.len(), 1, "only what was measured is a stream's result");
    assert_eq!(record.judgments.measurement.value, Measurement::Valid);
}

/// Every second session belongs to the second share, so both together keep the rate.
#[test]
fn shares_keep_the_spawn_rate_together() {
    let root = tempfile::tempdir().unwrap();
    let target = ramping().open_target(root.path());
    let both = [1, 2].map(|index| {
        let part = ramping().share_of(index, 2);
        part.run_on(Arc::clone(&target), root.path()).record
    });
    for record in &both {
        assert_eq!(phase(record, "ramp").duration_ns, 5 * Nanos::SECOND.0);
    }
    let [first, second] = both.map(|record| per_second(&record, 5));
    for (second, (first, other)) in (0..).zip(first.into_iter().zip(second)) {
        // Sessions start at 0 and 0.5 s of a second, and at 0.25 and 0.75 s.
        assert!(first.abs_diff(200 * second + 150) <= 10, "second {second}: {first}");
        assert!(other.abs_diff(200 * second + 100) <= 10, "second {second}: {other}");
    }
}

/// A rate applies from its first arrival on, whatever the other closed stream does.
#[test]
fn an_open_stream_does_not_wait_for_closed_sessions_to_appear() {
    let target = one_node("cores=inf&service=constant&request=100ms&query=100ms");
    let streams = [("dashboards", closed(4)), ("insert", open(1_000))];
    let mut job = Job::new(&target, &streams);
    job.spawn_rate = Some(Rate::per_second(2));
    let record = job.run().record;
    let ramp = record.results.iter().find(|r| r.phase == "ramp" && r.stream == "insert");
    let ramp = ramp.unwrap();
    assert_eq!((ramp.offered, ramp.acknowledged), (200, 200));
    assert_eq!(ramp.session_wait_ns.max, Some(0));
}

/// Nine of twenty sessions have started after two seconds; the others would take three more.
#[test]
fn a_stop_does_not_wait_for_sessions_that_have_not_appeared() {
    let record = ramping().run_interrupted(At::Second(2), 1).record;
    let drain = phase(&record, "drain");
    assert_eq!(drain.start_ns, 2 * Nanos::SECOND.0 + LOOK);
    assert!(drain.duration_ns <= Nanos::from_millis(20).0, "{drain:?}");
    let opened = record.target.hosts[0].sessions;
    assert!((8..=10).contains(&opened), "{opened} sessions");
}
