//! Runs that do not end as planned keep and report their measurements.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use highwater_model::judgment::{Data, Measurement, ReasonCode};
use highwater_model::record::{AuditStatus, IncidentKind};
use highwater_model::units::Nanos;
use highwater_runner::run::{RunEnd, RunEnding};

use crate::support::faulty::Faults;
use crate::support::{At, Job, closed, exit_code, measured, measurement_reasons, one_node, open};

/// A response takes 100 ms, so that some are pending whenever the run is stopped.
fn slow() -> Job {
    let target = one_node("cores=inf&service=constant&request=100ms");
    let mut job = Job::new(&target, &[("insert", open(1_000))]);
    job.sessions = 64;
    job.step = Nanos::from_secs(20);
    job
}

/// Constant arrivals of ten rows, one every 10 ms, the first after 9 ms.
fn due(phase_ns: u64) -> u64 {
    (phase_ns - 9_000_000).div_ceil(10_000_000)
}

/// Everything intended before the stop was offered, and nothing after it.
fn check_stopped_near(end: &RunEnd, second: u64) {
    assert_eq!(end.ended, RunEnding::Interrupted);
    assert_eq!(exit_code(end), 130);
    let record = &end.record;
    assert_eq!(record.judgments.measurement.value, Measurement::Invalid);
    assert!(measurement_reasons(record).contains(&ReasonCode::Interrupted));
    let phase = record.phases.iter().find(|p| p.name == "measure").unwrap();
    let length = Nanos(phase.duration_ns).as_secs_f64();
    let killed_s = Nanos::from_secs(second).as_secs_f64();
    // A second is reported a quarter of a second late, when its reports have arrived.
    assert!((killed_s..killed_s + 0.3).contains(&length), "stopped after {length} s");
    let result = measured(record, "insert");
    assert_eq!(result.offered, due(phase.duration_ns), "after {length} s");
    assert_eq!(result.offered, result.sent + result.dropped);
}

#[test]
fn outstanding_ops_at_the_end_have_their_whole_time_limit() {
    // Ops intended in the load's last second get their responses forty seconds after its end.
    let target = one_node("cores=inf&service=constant&request=40s");
    let mut job = Job::new(&target, &[("insert", open(20))]);
    job.step = Nanos::from_secs(3);
    job.timeout = Nanos::from_secs(300);
    let waited = job.run().record;
    let result = measured(&waited, "insert");
    assert!(result.offered > 3);
    assert_eq!(result.acknowledged, result.offered);
    assert_eq!(result.errors, BTreeMap::new());
    assert_eq!(waited.audit.unknown, 0);

    job.timeout = Nanos::from_secs(30);
    let given_up = job.run().record;
    let result = measured(&given_up, "insert");
    assert_eq!(result.errors["timeout"], result.offered);
}

#[test]
fn interrupted_once_it_waits_for_answers_and_audits() {
    let end = slow().run_interrupted(At::Second(7), 1);
    check_stopped_near(&end, 7);
    let result = measured(&end.record, "insert");
    assert_eq!(result.acknowledged, result.offered, "all answers were waited for");
    assert_eq!(end.record.audit.status, AuditStatus::Done);
    assert_eq!(end.record.judgments.data.value, Data::Clean);
    assert_eq!(end.record.audit.found, result.rows.acknowledged);
}

#[test]
fn interrupted_twice_it_gives_up_answers_and_is_unverified() {
    let end = slow().run_interrupted(At::Second(7), 2);
    check_stopped_near(&end, 7);
    let result = measured(&end.record, "insert");
    let given_up = result.errors["timeout"];
    assert!((9..=11).contains(&given_up), "a tenth of a second of ops was under way: {given_up}");
    assert_eq!(result.acknowledged + given_up, result.sent);
    assert_eq!(end.record.audit.unknown, 10 * given_up);
    assert_eq!(end.record.judgments.data.value, Data::Unverified);
    assert_eq!(end.record.audit.acknowledged, result.rows.acknowledged);
}

fn check_lost(end: &RunEnd) {
    let record = &end.record;
    assert_eq!(end.ended, RunEnding::TargetLost);
    assert_eq!(exit_code(end), 5);
    assert!(measurement_reasons(record).contains(&ReasonCode::TargetLost));
    assert_eq!(record.judgments.data.value, Data::Unverified);
    let result = measured(record, "insert");
    assert_eq!(result.offered, result.sent + result.dropped);
    // Ops intended while all sessions were away were also offered.
    assert_eq!(result.offered, due(record.phases[0].duration_ns));
    for second in 0..5 {
        let interval = record.intervals.iter().find(|i| i.second == second).unwrap();
        assert_eq!((interval.offered, interval.acknowledged), (100, 100), "second {second}");
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
fn a_target_that_dies_is_lost_and_the_measurements_are_kept() {
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
    assert_eq!(end.ended, RunEnding::Complete);
    assert!(end.record.phases[0].duration_ns < Nanos::from_secs(1).0);
}

/// A session with this many consecutive ops that fail for lack of resources, and then one that succeeds.
fn exhausted(in_a_row: u64) -> RunEnd {
    let target = one_node("cores=1&service=constant&request=10ms");
    let faults = Faults { exhausted: in_a_row, round: in_a_row + 1, ..Faults::default() };
    let job = Job::new(&target, &[("insert", closed(1))]);
    job.run_faulty(&Arc::new(faults))
}

#[test]
fn ten_ops_in_a_row_without_resources_end_the_run() {
    let end = exhausted(10);
    let record = &end.record;
    assert_eq!(end.ended, RunEnding::TargetLost);
    assert_eq!(exit_code(&end), 5);
    let mut lost = record.incidents.iter();
    let lost = lost.find(|i| i.kind == IncidentKind::TargetLost);
    let why = &lost.unwrap().message;
    assert_eq!(why, "the target is out of resources: no space left on device");
    let result = measured(record, "insert");
    assert_eq!((result.acknowledged, result.errors["resource"]), (1, 10));
    assert_eq!(record.audit.found, 10, "what had been stored was looked at");
}

#[test]
fn nine_in_a_row_do_not() {
    let end = exhausted(9);
    assert_eq!(end.ended, RunEnding::Complete);
    let result = measured(&end.record, "insert");
    assert_eq!(end.record.phases[0].duration_ns, Nanos::from_secs(10).0);
    assert!(result.errors["resource"] > 900, "{:?}", result.errors);
}

/// The record of a run that was stopped before any measurement.
fn check_nothing_measured(end: &RunEnd) {
    assert_eq!(end.ended, RunEnding::Interrupted);
    assert_eq!(exit_code(end), 130);
    let reasons = measurement_reasons(&end.record);
    assert!(reasons.contains(&ReasonCode::Interrupted), "{reasons:?}");
    assert!(end.record.streams.is_empty());
}

#[test]
fn the_wait_for_the_start_can_be_interrupted() {
    let mut job = slow();
    job.start_in = Nanos::from_secs(3_600);
    let end = job.run_interrupted(At::Start, 1);
    check_nothing_measured(&end);
    assert!(end.record.results.is_empty());
    // Its clock stood at the start of the wait.
    assert_eq!(end.record.phases.last().unwrap().start_ns, 0);
}

/// Half a million rows are to be loaded, ten at a time by sixteen sessions.
fn loading() -> Job {
    let target = one_node("cores=inf&service=constant&request=100ms");
    let mut job = Job::new(&target, &[("insert", open(1_000))]);
    job.settings.push(("rows", "500000".to_owned()));
    job
}

#[test]
fn a_load_that_is_interrupted_is_kept_and_audited() {
    let end = loading().run_interrupted(At::Second(2), 1);
    check_nothing_measured(&end);
    let [loaded] = &end.record.results[..] else {
        panic!("{} results", end.record.results.len());
    };
    assert_eq!(loaded.phase, "load");
    // Sixteen sessions, ten ops a second each, for 2.25 s; all responses were awaited.
    assert_eq!(loaded.acknowledged, 16 * 23);
    assert_eq!(end.record.audit.found, 10 * loaded.acknowledged);
    assert_eq!(end.record.judgments.data.value, Data::Clean);
}

#[test]
fn a_load_that_is_interrupted_twice_ends_at_once() {
    let end = loading().run_interrupted(At::Second(2), 2);
    check_nothing_measured(&end);
    let loaded = &end.record.results[0];
    assert_eq!((loaded.acknowledged, loaded.errors["timeout"]), (16 * 22, 16));
    assert_eq!(end.record.audit.unknown, 160);
    assert_eq!(end.record.judgments.data.value, Data::Unverified);
}

/// The measurement was complete: it stays valid, and the audit completes normally.
#[test]
fn an_audit_interrupted_once_continues() {
    let end = slow().run_interrupted(At::Audit, 1);
    let record = &end.record;
    assert_eq!((end.ended, exit_code(&end)), (RunEnding::Interrupted, 130));
    assert_eq!(record.judgments.measurement.value, Measurement::Valid);
    assert_eq!(record.judgments.data.value, Data::Clean);
    assert_eq!(record.audit.found, 20_000);
}

#[test]
fn an_audit_that_is_interrupted_twice_is_given_up() {
    let end = slow().run_interrupted(At::Audit, 2);
    let record = &end.record;
    assert_eq!((end.ended, exit_code(&end)), (RunEnding::Interrupted, 130));
    assert_eq!(record.judgments.measurement.value, Measurement::Valid);
    assert_eq!(record.judgments.data.value, Data::Unverified);
    assert_eq!(measured(record, "insert").acknowledged, 2_000);
    assert_eq!(record.audit.found, 0);
}

fn audited(faults: Faults) -> (RunEnd, u64) {
    let faults = Arc::new(faults);
    let end = slow().run_faulty(&faults);
    let sizes_requested = faults.sizes_requested.load(Ordering::Relaxed);
    (end, sizes_requested)
}

/// Its query may still be running on the connection, so that nothing else can be sent there; and checking whether the
/// target was idle did not fail.
#[test]
fn after_a_failed_audit_nothing_more_is_queried_or_claimed() {
    let (end, sizes_requested) = audited(Faults::default());
    assert_eq!((end.record.target.bytes_after, sizes_requested), (Some(2), 2));

    let (end, sizes_requested) = audited(Faults { refuses_to_count: true, ..Faults::default() });
    let record = &end.record;
    assert_eq!(record.audit.status, AuditStatus::Failed);
    assert_eq!(record.audit.error.as_deref(), Some("it does not count"));
    assert_eq!((record.target.bytes_after, sizes_requested), (None, 1));
    assert_eq!(record.judgments.data.value, Data::Unverified);
    assert!(record.incidents.is_empty(), "{:?}", record.incidents);
    assert!(record.notes.is_empty(), "{:?}", record.notes);

    let (end, _) = audited(Faults { never_quiet: true, ..Faults::default() });
    let kinds: Vec<IncidentKind> =
        end.record.incidents.iter().map(|incident| incident.kind).collect();
    assert_eq!(kinds, [IncidentKind::NotIdle]);
    assert!(end.record.notes.is_empty(), "{:?}", end.record.notes);
    assert_eq!(end.record.judgments.data.value, Data::Unverified);
}

/// Temporary refusals of each of the audit's requests: a few are retried, and rows read before one are not counted
/// twice.
#[test]
fn a_temporarily_rejected_audit_retries_with_narrower_ranges() {
    for (sums, reads) in [(1, 0), (5, 0), (0, 1), (0, 3), (2, 2)] {
        let faults = Arc::new(Faults {
            sums_refused: sums.into(),
            reads_refused: reads.into(),
            ..Faults::default()
        });
        let refusals = (sums, reads);
        let end = slow().run_faulty(&faults);
        let (audit, data) = (&end.record.audit, &end.record.judgments.data);
        assert_eq!(audit.status, AuditStatus::Done, "{refusals:?}: {audit:?}");
        assert_eq!(data.value, Data::Clean, "{refusals:?}: {data:?}");
        assert_eq!(audit.found, audit.acknowledged, "{refusals:?}");
        assert_eq!(audit.read_back, 200, "{refusals:?}: the sample, once");
        assert!(end.record.incidents.is_empty() && end.record.notes.is_empty());
        let slices = faults.slices_requested.lock().unwrap();
        let narrowed = slices.iter().any(Option::is_some);
        assert_eq!(narrowed, sums > 0, "{refusals:?}: {slices:?}");
        let exhausted = audit.exhausted.as_ref().unwrap();
        assert_eq!(exhausted.statements, sums + reads, "{exhausted:?}");
    }
}

/// A request for which the target lacks memory is split into smaller slices, and never resent unchanged; the record
/// contains the target's message.
#[test]
fn a_statement_without_room_is_followed_by_smaller_ones_and_never_by_itself() {
    const ROWS: u64 = 20_000;
    for (keys, status) in [(5_120, AuditStatus::Done), (0, AuditStatus::Failed)] {
        let faults = Arc::new(Faults { room: Some((keys, ROWS)), ..Faults::default() });
        let end = slow().run_faulty(&faults);
        let (audit, data) = (&end.record.audit, &end.record.judgments.data);
        assert_eq!(audit.status, status, "{audit:?}");
        let slices = faults.slices_requested.lock().unwrap();
        let same = (1..slices.len()).find(|at| slices[..*at].contains(&slices[*at]));
        assert_eq!(same.map(|at| slices[at]), None, "{slices:?}");
        let exhausted = audit.exhausted.as_ref().unwrap();
        assert_eq!(exhausted.error, "CircuitBreakingException");
        assert_eq!(exhausted.ended, status == AuditStatus::Failed);
        if status == AuditStatus::Done {
            assert_eq!((data.value, exhausted.statements), (Data::Clean, 2));
            assert_eq!(audit.found, audit.acknowledged);
            assert_eq!(slices.len(), 7, "{slices:?}");
        } else {
            assert_eq!(data.value, Data::Unverified);
            let reason = &data.reasons[0];
            assert_eq!(reason.code, ReasonCode::AuditFailed);
            let shown = format!("{reason:?}");
            assert!(shown.contains("CircuitBreakingException"), "{shown}");
            assert!(shown.contains("more memory"), "{shown}");
        }
    }
}

#[test]
fn a_statement_without_room_that_cannot_be_made_smaller_ends_the_audit_at_once() {
    let faults = Arc::new(Faults {
        room: Some((5_120, 20_000)),
        refuses_whole_counts: true,
        ..Faults::default()
    });
    let end = slow().run_faulty(&faults);
    let audit = &end.record.audit;
    assert_eq!(audit.status, AuditStatus::Failed, "{audit:?}");
    assert_eq!(faults.whole_counts.load(Ordering::Relaxed), 1);
    let exhausted = audit.exhausted.as_ref().unwrap();
    assert!(exhausted.ended && exhausted.error == "CircuitBreakingException", "{exhausted:?}");
    assert_eq!(end.record.judgments.data.value, Data::Unverified);
}

#[test]
fn an_audit_of_an_absent_target_waits_to_its_limit_and_states_the_cause() {
    let end = dying(Nanos::from_secs(10)).run();
    let audit = &end.record.audit;
    assert_eq!(audit.status, AuditStatus::Timeout);
    let why = audit.error.as_deref().unwrap();
    assert!(why.starts_with("it was still waiting for the target: "), "{why}");
    let took = Nanos(audit.duration_ns).as_secs_f64();
    assert!((60.0..61.0).contains(&took), "{took} s of 60");
    let incidents = end.record.incidents.iter();
    assert!(incidents.clone().all(|incident| incident.kind != IncidentKind::NotIdle));
}
