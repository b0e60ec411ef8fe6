//! The interim state of a run, read from its files: the same counts as in its final record.

use std::sync::Arc;

use highwater_model::control::Command;
use highwater_model::judgment::{ObjectiveValue, ReasonCode};
use highwater_model::plan::Objective;
use highwater_model::record::RunRecord;
use highwater_model::target_telemetry::TargetTelemetry;
use highwater_model::units::Nanos;
use highwater_runner::record::SoFar;

use crate::support::faulty::{Faults, in_half};
use crate::support::hooked::Hooked;
use crate::support::{At, Job, closed, one_node, open};

fn read(directory: &std::path::Path, before: u64) -> RunRecord {
    let mut so_far = SoFar::new(directory);
    // Frequent reads give the same result as a single one.
    for second in (0..before.min(60)).chain([before]) {
        so_far.read(second, "");
    }
    so_far.record(&TargetTelemetry::default()).unwrap()
}

/// The rate changes at 4.35 s, and the split of that second between the phases is unknown: four whole seconds belong to
/// the first, five to the second.
#[test]
fn whole_seconds_add_up_with_the_pace_of_their_phase() {
    let root = tempfile::tempdir().unwrap();
    let mut job =
        Job::new(&one_node("cores=inf&service=constant&request=5ms"), &[("insert", open(1_000))]);
    job.objectives =
        vec![Objective::Latency { quantile_ppm: 990_000, max: Nanos::from_millis(50), op: None }];
    let change = Command::Rate { stream: "insert".to_owned(), per_s: 2_000.0 };
    let target = job.open_target(root.path());
    let commanded = job.run_commanded_on(target, root.path(), &[(At::Second(4), change)]);
    let record = commanded.end.record;
    let seen = read(&root.path().join("test"), u64::MAX);
    let lengths: Vec<u64> = seen.phases.iter().map(|phase| phase.duration_ns).collect();
    assert_eq!(lengths, [4, 5].map(|seconds| Nanos::from_secs(seconds).0));
    let offered: Vec<u64> = seen.results.iter().map(|result| result.offered).collect();
    assert_eq!(offered, [4 * 100, 5 * 200]);
    for result in &seen.results {
        // At either end, one op is intended in a counted second and answered in another, or vice versa.
        assert!(result.acknowledged.abs_diff(result.offered) <= 1, "{result:?}");
        assert_eq!(result.dropped, 0);
    }
    assert_eq!(seen.interventions, record.interventions);
    let planned = |of: &RunRecord| -> Vec<Option<f64>> {
        of.streams.iter().map(|stream| stream.planned_rate).collect()
    };
    assert_eq!(planned(&seen), [Some(1_000.0), Some(2_000.0)]);
    assert_eq!(planned(&seen), planned(&record));
    assert!(seen.intervals.is_empty(), "it does not grow with the run");
    // Percentiles are judged by windows, which do not exist before the end; this is not a reason against it.
    let reasons = seen.judgments.measurement.codes();
    assert!(!reasons.contains(&ReasonCode::TooFewSamples), "{reasons:?}");
    assert_eq!(seen.limit, None, "open load that is sustained has none");
}

/// Every other op stores half of its ten rows. A record of a killed run is made from the same lines.
#[test]
fn partly_acknowledged_ops_have_not_failed() {
    let root = tempfile::tempdir().unwrap();
    let job =
        Job::new(&one_node("cores=inf&service=constant&request=5ms"), &[("insert", open(1_000))]);
    let fails_with = Some(in_half as fn(u64) -> _);
    let hooks = Arc::new(Faults { exhausted: 1, round: 2, fails_with, ..Faults::default() });
    let inner = job.open_target(root.path());
    job.run_on(Arc::new(Hooked { inner, hooks }), root.path());
    let seen = read(&root.path().join("test"), u64::MAX);
    let result = &seen.results[0];
    assert_eq!(result.failed_ops(), 0, "{result:?}");
    let (partial, ops) = (result.partial_ops(), result.acknowledged);
    // Each of 16 sessions begins with one that is stored as a whole.
    assert!(ops > 500 && partial.abs_diff(ops - partial) <= 16, "{partial} of {ops}");
    assert_eq!(result.rows.acknowledged, 10 * ops - 5 * partial);
}

#[test]
fn seconds_that_are_not_over_wait() {
    let root = tempfile::tempdir().unwrap();
    let target = one_node("cores=inf&service=constant&request=5ms");
    Job::new(&target, &[("insert", open(1_000))]).run_in(root.path());
    let mut so_far = SoFar::new(&root.path().join("test"));
    so_far.read(2, "");
    assert_eq!((so_far.until(), so_far.is_behind()), (2, false));
    let seen = read(&root.path().join("test"), 3);
    let [phase] = &seen.phases[..] else {
        panic!("{:?}", seen.phases);
    };
    assert_eq!(phase.duration_ns, Nanos::from_secs(3).0);
    assert_eq!(seen.results[0].offered, 300);
}

/// One core that is always busy, and reports it.
#[test]
fn the_limit_is_computed_from_the_record_so_far() {
    let root = tempfile::tempdir().unwrap();
    let job =
        Job::new(&one_node("cores=1&service=constant&request=10ms"), &[("insert", closed(4))]);
    let record = job.run_in(root.path()).record;
    let mut so_far = SoFar::new(&root.path().join("test"));
    so_far.read(6, "");
    let telemetry = record.target_telemetry.clone().unwrap();
    let seen = so_far.record(&telemetry).unwrap();
    let named = |of: &RunRecord| of.limit.clone().and_then(|limit| limit.by.map(|by| by.resource));
    assert!(named(&seen).is_some(), "{:?}", seen.limit);
    assert_eq!(named(&seen), named(&record));
    assert_eq!(seen.judgments.objective.value, ObjectiveValue::NoneSet);
}

/// A core that does 100 of 200 ops a second: the counts show that the rate is not sustained.
#[test]
fn what_counts_show_is_the_reason_and_no_window_that_is_not_there() {
    let root = tempfile::tempdir().unwrap();
    let mut job =
        Job::new(&one_node("cores=1&service=constant&request=10ms"), &[("insert", open(2_000))]);
    job.objectives =
        vec![Objective::Latency { quantile_ppm: 990_000, max: Nanos::from_millis(50), op: None }];
    job.run_in(root.path());
    let judged = read(&root.path().join("test"), 6).judgments;
    assert_eq!(judged.objective.value, ObjectiveValue::Missed);
    let why = [ReasonCode::RateNotSustained, ReasonCode::Backlog];
    assert_eq!(judged.objective.codes(), why);
    let reasons = judged.measurement.codes();
    assert!(!reasons.contains(&ReasonCode::SteadinessNotShown));
}

/// After the last line of the journal, nothing begins or ends: the target does not respond.
#[test]
fn an_outage_lowers_the_figures_so_far_and_is_not_the_load_generators() {
    let root = tempfile::tempdir().unwrap();
    let mut job =
        Job::new(&one_node("cores=inf&service=constant&request=5ms"), &[("insert", open(1_000))]);
    job.objectives =
        vec![Objective::Latency { quantile_ppm: 990_000, max: Nanos::from_millis(50), op: None }];
    let record = job.run_in(root.path()).record;
    let phase = &record.phases[0];
    let ran = Nanos(phase.duration_ns).as_secs_f64();
    let mut so_far = SoFar::new(&root.path().join("test"));
    so_far.read(30, &phase.name);
    let seen = so_far.record(&TargetTelemetry::default()).unwrap();
    assert_eq!(seen.phases[0].duration_ns, Nanos::from_secs(30).0);
    let result = &seen.results[0];
    assert_eq!(result.offered, 30 * 100);
    assert!((result.throughput.rows_per_s - 1_000.0 * ran / 30.0).abs() < 1.0, "{result:?}");
    assert_eq!(seen.judgments.objective.value, ObjectiveValue::Missed);
    // The run that ended had met it: only what waits shows that it is missed.
    assert_eq!(record.judgments.objective.value, ObjectiveValue::Met);
    assert!(result.latency_ns.max >= Some(Nanos::from_secs(10).0), "{:?}", result.latency_ns);
    let reasons = seen.judgments.measurement.codes();
    assert!(!reasons.contains(&ReasonCode::RateNotOffered), "{reasons:?}");
}

#[test]
fn a_directory_without_a_run_shows_nothing() {
    let mut so_far = SoFar::new(std::path::Path::new("no/such/run"));
    so_far.read(u64::MAX, "");
    assert_eq!(so_far.record(&TargetTelemetry::default()), None);
}
