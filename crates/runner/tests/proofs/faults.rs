//! Faults of the target, and their effect on the record.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use highwater_model::judgment::{Data, Measurement, ReasonCode};
use highwater_model::outcome::Outcome;
use highwater_model::record::RunRecord;
use highwater_model::units::Nanos;
use highwater_report as report;
use highwater_runner::run::RunEnding;

use crate::support::faulty::{Faults, refused, unknown};
use crate::support::{
    Job, closed, data_reasons, exit_code, measured, measurement_reasons, one_node, open,
};

#[test]
fn rejections_are_errors_of_their_class_and_leave_clean_data() {
    let target = "sim:?nodes=1&shards=1&replicas=0&rtt=0&row=0&queue=3&cores=1&service=constant&request=10ms";
    let mut job = Job::new(target, &[("insert", open(2_000))]);
    job.sessions = 64;
    let end = job.run();
    let result = measured(&end.record, "insert");
    let rejected = result.errors["rejected"];
    assert_eq!(result.errors.len(), 1, "no other class: {:?}", result.errors);
    assert_eq!((result.offered, result.sent), (2_000, 2_000), "the schedule goes on");
    assert_eq!(result.acknowledged + rejected, 2_000);
    assert!(
        (1_000..=1_004).contains(&result.acknowledged),
        "a core does 1,000 in ten seconds: {}",
        result.acknowledged
    );
    assert_eq!(result.rows.refused, 10 * rejected);
    assert_eq!(result.rows.unknown, 0);
    assert_eq!(result.error_latency_ns.count, rejected);
    let latency = &result.latency_ns;
    assert_eq!(latency.beyond, rejected, "a failed op took longer than any");
    assert_eq!(latency.count - latency.beyond, result.acknowledged);
    assert_eq!(end.record.judgments.data.value, Data::Clean);
    assert_eq!(end.record.audit.found, result.rows.acknowledged);
}

#[test]
fn lost_acknowledgements_are_unknown_rows_and_leave_clean_data() {
    let target = one_node("cores=4&service=constant&request=1ms&lose_ack=0.02");
    let end = Job::new(&target, &[("insert", closed(4))]).run();
    let result = measured(&end.record, "insert");
    let lost = result.errors["connection"];
    assert!(lost > 0);
    assert_eq!(result.rows.unknown, 10 * lost);
    let audit = &end.record.audit;
    assert_eq!(
        (audit.acknowledged, audit.unknown),
        (result.rows.acknowledged, result.rows.unknown)
    );
    assert_eq!(audit.found, audit.acknowledged + audit.unknown, "all were applied");
    assert_eq!(end.record.judgments.data.value, Data::Clean);
    assert_eq!(data_reasons(&end.record), [ReasonCode::ResentUnknown]);
    assert_eq!(end.record.target.hosts[0].sessions, 4 + lost, "each cut session was opened anew");
}

#[test]
fn dropped_rows_are_found_missing() {
    let target = one_node("cores=4&service=constant&request=1ms&drop=0.001");
    let end = Job::new(&target, &[("insert", closed(4))]).run();
    let audit = &end.record.audit;
    assert_eq!(audit.acknowledged, measured(&end.record, "insert").rows.acknowledged);
    assert!(audit.missing > 0);
    assert_eq!(audit.found + audit.missing, audit.acknowledged);
    assert_eq!(audit.surplus, 0);
    assert_eq!(end.record.judgments.data.value, Data::Lost);
    let reasons = [ReasonCode::RowsLost, ReasonCode::CounterDiffers];
    assert_eq!(data_reasons(&end.record), reasons, "the model's counter knows it too");
    assert_eq!(exit_code(&end), 4);
}

#[test]
fn rows_stored_twice_are_found_duplicated() {
    let target = one_node("cores=4&service=constant&request=1ms&duplicate=0.001");
    let end = Job::new(&target, &[("insert", closed(4))]).run();
    let audit = &end.record.audit;
    assert!(audit.duplicated > 0);
    assert_eq!(audit.found, audit.acknowledged + audit.duplicated);
    assert_eq!(audit.missing, 0);
    assert_eq!(end.record.judgments.data.value, Data::Duplicated);
    assert_eq!(data_reasons(&end.record), [ReasonCode::RowsSurplus]);
    assert_eq!(exit_code(&end), 4);
}

/// How an op of this many rows fails.
type Fails = fn(u64) -> Outcome;

/// One op in four fails with a temporary error.
#[test]
fn only_certainly_unapplied_ops_are_retried_and_none_on_a_lost_session() {
    let gone = |rows| Outcome { session_usable: false, ..refused(rows) };
    let cases: [(Fails, bool); 3] = [(refused, true), (unknown, false), (gone, false)];
    for (fails_with, is_asked_again) in cases {
        let faults = Arc::new(Faults {
            exhausted: 1,
            round: 4,
            fails_with: Some(fails_with),
            ..Faults::default()
        });
        let target = one_node("cores=4&service=constant&request=1ms");
        let mut job = Job::new(&target, &[("insert", closed(1))]);
        job.retries = 3;
        job.step = Nanos::from_secs(1);
        let record = job.run_faulty(&faults).record;
        let result = measured(&record, "insert");
        let failed: u64 = result.errors.values().sum();
        let found = (result.retries > 0, failed > 0);
        assert_eq!(found, (is_asked_again, !is_asked_again), "{result:?}");
    }
}

#[test]
fn many_lost_acknowledgements_are_reported_in_the_measurement() {
    let judged = |of: u64| {
        let faults = Arc::new(Faults {
            exhausted: 1,
            round: of,
            fails_with: Some(unknown),
            ..Faults::default()
        });
        let target = one_node("cores=4&service=constant&request=1ms");
        let job = Job::new(&target, &[("insert", open(4_000))]);
        let record = job.run_faulty(&faults).record;
        let value = record.judgments.measurement.value;
        (value, measurement_reasons(&record))
    };
    assert_eq!(judged(25), (Measurement::Valid, vec![]));
    let much = (Measurement::Inconclusive, vec![ReasonCode::OutcomeUnknown]);
    assert_eq!(judged(10), much);
}

#[test]
fn a_run_without_faults_is_clean_and_exits_with_zero() {
    let target = one_node("cores=4&service=constant&request=1ms");
    let end = Job::new(&target, &[("insert", closed(4))]).run();
    assert_eq!(end.record.judgments.data.value, Data::Clean);
    assert!(data_reasons(&end.record).is_empty());
    assert_eq!(end.record.audit.found, end.record.audit.acknowledged);
    assert_eq!(exit_code(&end), 0);
}

/// Eight sessions of an open load of four ops a second, each closed this long after it was opened.
fn closed_after(life: Nanos) -> (RunRecord, u64) {
    let faults = Arc::new(Faults { closes_after: Some(life), ..Faults::default() });
    let target = one_node("cores=4&service=constant&request=1ms");
    let mut job = Job::new(&target, &[("insert", open(40))]);
    job.sessions = 8;
    let end = job.run_faulty(&faults);
    (end.record, faults.opened.load(Ordering::Relaxed))
}

#[test]
fn an_idle_session_that_is_closed_is_replaced_before_its_next_op() {
    let (record, opened) = closed_after(Nanos::from_millis(1_500));
    let insert = measured(&record, "insert");
    assert!(opened > 16, "{opened}");
    assert_eq!(insert.errors.values().sum::<u64>(), 0, "{:?}", insert.errors);
    assert_eq!(insert.acknowledged, insert.offered);
}

/// A waiting session replaces one that is closed so soon that it must pause before reconnecting; the op that it had
/// claimed must not wait with it.
#[test]
fn an_op_whose_session_cannot_come_back_is_sent_by_another() {
    let faults = Arc::new(Faults {
        closes_after: Some(Nanos::from_millis(570)),
        sessions_max: Some(32),
        ..Faults::default()
    });
    let target = one_node("cores=4&service=constant&request=1ms");
    let mut job = Job::new(&target, &[("insert", open(400))]);
    job.sessions = 64;
    let record = job.run_faulty(&faults).record;
    let insert = measured(&record, "insert");
    assert_eq!(insert.offered, 400);
    assert_eq!(insert.offered, insert.sent + insert.dropped);
    assert_eq!(insert.acknowledged, insert.sent);
    // All of them may be closed at once, and pause for 100 ms; the first waiting one pauses as long between two
    // attempts. Then the next op is 25 ms away, and takes 1 ms.
    let latest = Nanos(insert.latency_ns.max.unwrap());
    let bound = Nanos::from_millis(226);
    assert!(latest <= bound, "{latest:?}");
    // Ops cut off by the end of the phase are at most as old: nine at forty a second.
    assert!(insert.dropped <= 9, "{}", insert.dropped);
}

#[test]
fn a_session_that_cannot_reconnect_while_others_run_is_missing_and_ends_no_run() {
    let faults = Arc::new(Faults {
        closes_after: Some(Nanos::from_millis(1_500)),
        closes_for_good: Some(0),
        ..Faults::default()
    });
    let target = one_node("cores=4&service=constant&request=10ms");
    let mut job = Job::new(&target, &[("insert", closed(4))]);
    job.step = Nanos::from_secs(40);
    let end = job.run_faulty(&faults);
    let (record, text) = (&end.record, report::text(&end.record));
    assert_eq!(end.ended, RunEnding::Complete, "{text}");
    assert_eq!(record.streams[0].working, Some(3), "{text}");
    let codes = measurement_reasons(record);
    assert!(codes.contains(&ReasonCode::SessionsMissing), "{text}");
    assert!(!codes.contains(&ReasonCode::TargetLost), "{text}");
    assert_eq!(record.judgments.data.value, Data::Clean, "{text}");
}

#[test]
fn a_server_that_closes_every_session_at_once_is_not_stormed() {
    let (record, opened) = closed_after(Nanos::ZERO);
    let run_s = record.phases.iter().map(|phase| phase.duration_ns).sum::<u64>() / 1_000_000_000;
    // Each of eight sessions at most ten times a second, and once for each op.
    assert!(opened <= 8 * 10 * (run_s + 1), "{opened} sessions in {run_s} s");
}
