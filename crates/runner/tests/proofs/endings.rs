//! Runs that do not end as planned keep, and report, what was measured.

use highwater_core::model::judgement::{Data, Measurement, ReasonCode};
use highwater_core::model::record::RunRecord;
use highwater_core::model::units::Nanos;
use highwater_runner::run::{Ended, RunEnd};

use crate::support::{Job, closed, exit_code, measured, one_node, open};

fn measurement_reasons(record: &RunRecord) -> Vec<ReasonCode> {
    let reasons = record.judgements.measurement.reasons.iter();
    reasons.map(|reason| reason.code).collect()
}

/// One answer takes 100 ms, so that some are out whenever the run is stopped.
fn slow() -> Job {
    let target = one_node("cores=inf&service=constant&request=100ms");
    let mut job = Job::new(&target, &[("insert", open(1_000))]);
    job.sessions = 64;
    job.step = Nanos::from_secs(20);
    job
}

/// What was due before the stop was offered, and nothing behind it.
fn check_stopped_near(end: &RunEnd, second: u64) {
    assert_eq!(end.ended, Ended::Interrupted);
    assert_eq!(exit_code(end), 130);
    let record = &end.record;
    assert_eq!(record.judgements.measurement.value, Measurement::Unsound);
    assert!(measurement_reasons(record).contains(&ReasonCode::Interrupted));
    let phase = record.phases.iter().find(|p| p.name == "measure").unwrap();
    let length = Nanos(phase.duration_ns).as_secs_f64();
    let told = Nanos::from_secs(second).as_secs_f64();
    // A second is told a quarter of a second late, when its reports are in.
    assert!(
        (told..told + 0.3).contains(&length),
        "stopped after {length} s"
    );
    let result = measured(record, "insert");
    // Constant arrivals, one every 10 ms, the first after 9 ms.
    let due = (phase.duration_ns - 9_000_000).div_ceil(10_000_000);
    assert_eq!(result.offered, due, "after {length} s");
    assert_eq!(result.offered, result.sent + result.dropped);
}

#[test]
fn interrupted_once_it_waits_for_answers_and_audits() {
    let end = slow().run_interrupted(7, 1);
    check_stopped_near(&end, 7);
    let result = measured(&end.record, "insert");
    assert_eq!(
        result.acknowledged, result.offered,
        "all answers were waited for"
    );
    assert_eq!(end.record.audit.status, "done");
    assert_eq!(end.record.judgements.data.value, Data::Clean);
    assert_eq!(end.record.audit.found, result.rows.acknowledged);
}

#[test]
fn interrupted_twice_it_gives_up_answers_and_is_unverified() {
    let end = slow().run_interrupted(7, 2);
    check_stopped_near(&end, 7);
    let result = measured(&end.record, "insert");
    let given_up = result.errors["timeout"];
    assert!(
        (9..=11).contains(&given_up),
        "a tenth of a second of ops was under way: {given_up}"
    );
    assert_eq!(result.acknowledged + given_up, result.sent);
    assert_eq!(end.record.audit.unknown, 10 * given_up);
    assert_eq!(end.record.judgements.data.value, Data::Unverified);
    assert_eq!(end.record.audit.acknowledged, result.rows.acknowledged);
}

fn check_lost(end: &RunEnd) {
    let record = &end.record;
    assert_eq!(end.ended, Ended::TargetLost);
    assert_eq!(exit_code(end), 5);
    assert!(measurement_reasons(record).contains(&ReasonCode::TargetLost));
    assert_eq!(record.judgements.data.value, Data::Unverified);
    let result = measured(record, "insert");
    assert_eq!(result.offered, result.sent + result.dropped);
    for second in 0..5 {
        let interval = record
            .intervals
            .iter()
            .find(|i| i.second == second)
            .unwrap();
        assert_eq!(
            (interval.offered, interval.acknowledged),
            (100, 100),
            "second {second}"
        );
    }
    assert!((498..=500).contains(&result.acknowledged));
    let by_second: u64 = record.intervals.iter().map(|i| i.offered).sum();
    assert_eq!(by_second, result.offered, "no op is missing in the seconds");
}

fn dying(step: Nanos) -> Job {
    let target = one_node("cores=inf&service=constant&request=1us&die=5s");
    let mut job = Job::new(&target, &[("insert", open(1_000))]);
    job.step = step;
    job
}

#[test]
fn a_target_that_dies_is_lost_and_what_was_measured_is_kept() {
    let end = dying(Nanos::from_secs(30)).run();
    check_lost(&end);
    let phase = &end.record.phases[0];
    let length = Nanos(phase.duration_ns).as_secs_f64();
    assert!(
        (14.0..=16.0).contains(&length),
        "sessions tried for ten seconds to reconnect: {length} s"
    );
}

#[test]
fn a_target_that_dies_and_stays_away_to_the_end_is_lost_too() {
    check_lost(&dying(Nanos::from_secs(10)).run());
}

#[test]
fn a_closed_run_ends_when_its_rows_are_written() {
    let target = one_node("cores=4&service=exp&request=2ms");
    let mut job = Job::new(&target, &[("insert", closed(7))]);
    job.stop.rows = Some(12_340);
    let end = job.run();
    let result = measured(&end.record, "insert");
    assert_eq!((result.offered, result.rows.acknowledged), (1_234, 12_340));
    assert_eq!(end.record.audit.found, 12_340);
    assert_eq!(end.ended, Ended::Complete);
    assert!(end.record.phases[0].duration_ns < Nanos::from_secs(1).0);
}
