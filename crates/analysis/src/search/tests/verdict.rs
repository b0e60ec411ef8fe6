//! The verdicts of probes: for each verdict, a record that must lead to it.

use super::*;
use crate::fixture::{
    MS, gate_op, incident, judged, lose_rows, open_gate, open_gate_of, open_steps,
};
use highwater_model::plan::PhaseKind;
use highwater_model::record::{IncidentKind, RunRecord, Steadiness, TableRecord, TableStart};

fn shown(record: RunRecord) -> ProbeResult {
    probed(&search(), ProbePurpose::Search, &judged(record))
}

/// The verdict of a valid probe after this change.
fn changed(change: impl FnOnce(&mut RunRecord)) -> ProbeVerdict {
    let mut record = open_gate();
    change(&mut record);
    shown(record).verdict
}

/// This many ops, of which `late` exceed the bound of the p99.
fn late(ops: u64, late: u64) -> RunRecord {
    let mut op = gate_op();
    op.latencies = vec![(4 * MS, ops - late), (30 * MS, late)];
    open_gate_of(&op)
}

fn saturate(record: &mut RunRecord) {
    record.clients[0].cpu_fraction = 1.0;
}

fn pile_up(record: &mut RunRecord) {
    record.results[0].backlog = true;
}

fn fail(record: &mut RunRecord, class: &str) {
    record.results[0].errors.insert(class.to_owned(), 1);
}

#[test]
fn the_reason_of_an_invalid_probe_outranks_its_misses() {
    assert_eq!(changed(|_| ()), ProbeVerdict::Passed);
    assert_eq!(changed(pile_up), ProbeVerdict::Failed);
    let both = |record: &mut RunRecord| {
        saturate(record);
        pile_up(record);
    };
    assert_eq!(changed(both), ProbeVerdict::Invalid);
    let lost = |record: &mut RunRecord| {
        both(record);
        lose_rows(record, 1);
    };
    assert_eq!(changed(lost), ProbeVerdict::WrongData);
    for (kind, verdict) in [
        (IncidentKind::TargetLost, ProbeVerdict::TargetLost),
        (IncidentKind::Interrupted, ProbeVerdict::Interrupted),
    ] {
        let ended = |record: &mut RunRecord| {
            lost(record);
            incident(record, kind, "after 6 s");
        };
        assert_eq!(changed(ended), verdict);
    }
}

#[test]
fn a_drift_is_the_targets_doing_and_a_phase_too_short_shows_nothing() {
    let drifts = changed(|record| {
        record.streams[0].steadiness = Steadiness::NotSteady;
        record.streams[0].drift_percent = Some(-20.0);
    });
    assert_eq!(drifts, ProbeVerdict::Failed, "it is not sustained");
    let short = changed(|record| {
        record.phases[1].duration_ns = 2 * S;
        record.streams[0].steadiness = Steadiness::NotTested;
    });
    assert_eq!(short, ProbeVerdict::NotDecided);
}

#[test]
fn a_latency_is_met_missed_or_not_shown_to_be_either() {
    let verdict = |ops, late_ones| shown(late(ops, late_ones)).verdict;
    assert_eq!(verdict(10_000, 80), ProbeVerdict::Passed);
    assert_eq!(verdict(10_000, 97), ProbeVerdict::NotDecided);
    assert_eq!(verdict(10_000, 200), ProbeVerdict::Failed);
    assert_eq!(verdict(999, 0), ProbeVerdict::TooFewOps);
    let mut record = late(10_000, 97);
    pile_up(&mut record);
    let found = shown(record).verdict;
    assert_eq!(found, ProbeVerdict::Failed, "not that alone");
    let pressure = |late_ones| shown(late(10_000, late_ones)).pressure.unwrap();
    let close = pressure(97);
    assert!(close.bound > 0.0, "{close:?}");
    assert!((close.share - 0.97).abs() < 1e-9, "{close:?}");
    assert!(pressure(80).bound <= 0.0);
}

#[test]
fn the_greatest_of_several_bounds_presses() {
    let mut record = late(10_000, 80);
    let bounds = &mut record.plan.definition.objectives;
    bounds.push(Objective::Latency {
        quantile_ppm: 500_000,
        max: Nanos::from_millis(10),
        op: None,
    });
    let windows = &mut record.results[0].windows.over;
    windows.push(windows[0].clone());
    let only = shown(late(10_000, 80)).pressure;
    let found = shown(record).pressure;
    assert_eq!(found, only, "half of the ops may be late by the other");
}

/// 10,000 ops, of which this many were rejected, evenly; fifty are allowed.
fn rejecting(rejected: u64) -> RunRecord {
    let mut record = open_gate();
    record.plan.definition.objectives = vec![Objective::Rejected { max_ppm: 5_000 }];
    let result = &mut record.results[0];
    result.errors.insert("rejected".to_owned(), rejected);
    result.windows.offered = vec![100; 100];
    result.windows.failed =
        (0..99).map(|window| rejected * (window + 1) / 99 - rejected * window / 99).collect();
    record
}

#[test]
fn a_share_of_failures_is_met_missed_or_not_shown_to_be_either() {
    let of = |rejected| shown(rejecting(rejected));
    assert_eq!(of(30).verdict, ProbeVerdict::Passed);
    for close in [45, 55] {
        let close = of(close);
        assert_eq!(close.verdict, ProbeVerdict::NotDecided);
        assert_eq!(close.reasons, [ReasonCode::ObjectiveRejected]);
    }
    assert_eq!(of(80).verdict, ProbeVerdict::Failed);
    let pressure = of(45).pressure.unwrap();
    assert!(pressure.bound > 0.0, "{pressure:?}");
    assert!((pressure.share - 0.9).abs() < 1e-9, "{pressure:?}");
}

#[test]
fn a_fraction_of_failures_is_judged_by_the_count_if_its_margin_is_unknown() {
    let verdict = |rejected, change: fn(&mut RunRecord)| {
        let mut record = rejecting(rejected);
        change(&mut record);
        let mut search = search();
        search.objective.no_errors = false;
        let probed = probed(&search, ProbePurpose::Search, &judged(record));
        (probed.verdict, probed.pressure)
    };
    let unknown: [fn(&mut RunRecord); 2] =
        [|record| fail(record, "timeout"), |closed| closed.results[0].windows.offered.clear()];
    for change in unknown {
        assert_eq!(verdict(45, change), (ProbeVerdict::Passed, None));
        assert_eq!(verdict(55, change), (ProbeVerdict::Failed, None));
    }
    let none_allowed: fn(&mut RunRecord) =
        |record| record.plan.definition.objectives = vec![Objective::Rejected { max_ppm: 0 }];
    assert_eq!(verdict(1, none_allowed), (ProbeVerdict::Failed, None));
}

#[test]
fn an_op_that_failed_is_missed_though_a_latency_is_not_decided() {
    let mut record = late(10_000, 97);
    assert_eq!(shown(record.clone()).verdict, ProbeVerdict::NotDecided);
    fail(&mut record, "timeout");
    assert_eq!(shown(record).verdict, ProbeVerdict::Failed);
}

#[test]
fn an_op_that_failed_is_missed_unless_errors_are_bounded_and_a_rejection_is_none() {
    let failing = |class: &str, no_errors: bool| {
        let mut record = open_gate();
        fail(&mut record, class);
        let mut search = search();
        search.objective.no_errors = no_errors;
        probed(&search, ProbePurpose::Search, &judged(record))
    };
    let failed = failing("timeout", true);
    assert_eq!(failed.verdict, ProbeVerdict::Failed);
    assert_eq!(failed.failed_ops, 1);
    assert_eq!(failed.reasons, [ReasonCode::ObjectiveErrors]);
    assert_eq!(failing("timeout", false).verdict, ProbeVerdict::Passed);
    let rejected = failing("rejected", true);
    assert_eq!(rejected.verdict, ProbeVerdict::Passed);
    assert_eq!(rejected.failed_ops, 1);
}

#[test]
fn each_reason_is_reported_once_and_the_objectives_come_first() {
    let mut record = late(10_000, 200);
    fail(&mut record, "timeout");
    saturate(&mut record);
    let expected = [ReasonCode::ObjectiveLatency, ReasonCode::ClientSaturated];
    let found = shown(record.clone()).reasons;
    assert_eq!(found, expected, "invalid: no error decides");
    record.clients[0].cpu_fraction = 0.1;
    let expected = [ReasonCode::ObjectiveErrors, ReasonCode::ObjectiveLatency];
    assert_eq!(shown(record.clone()).reasons, expected);
    // A missed bound on errors repeats the same reason, and so does a throughput floor with the
    // rate.
    let min = highwater_model::units::Rate::per_second(900);
    let bounds = [Objective::Errors { max_ppm: 0 }, Objective::Throughput { min }];
    record.plan.definition.objectives.extend(bounds);
    record.streams[0].throughput.rows_per_s = 500.0;
    let expected =
        [ReasonCode::ObjectiveErrors, ReasonCode::ObjectiveLatency, ReasonCode::RateNotSustained];
    assert_eq!(shown(record).reasons, expected);
}

#[test]
fn an_estimate_judges_only_its_end_and_its_data() {
    let estimate = |change: fn(&mut RunRecord)| {
        let mut record = open_gate();
        change(&mut record);
        probed(&search(), ProbePurpose::Estimate, &judged(record))
    };
    let spoilt = estimate(|record| {
        saturate(record);
        fail(record, "timeout");
    });
    assert_eq!(spoilt.verdict, ProbeVerdict::Estimated);
    assert_eq!(spoilt.reasons, vec![ReasonCode::ClientSaturated]);
    assert_eq!(spoilt.failed_ops, 1);
    let lost = estimate(|record| lose_rows(record, 1));
    assert_eq!(lost.verdict, ProbeVerdict::WrongData);
    let stopped = estimate(|record| incident(record, IncidentKind::Interrupted, "by the user"));
    assert_eq!(stopped.verdict, ProbeVerdict::Interrupted);
}

#[test]
fn rows_before_a_probe_are_those_of_earlier_runs_and_of_its_load() {
    let mut record = open_gate();
    record.target.tables.push(TableRecord {
        name: "cpu".to_owned(),
        start: TableStart::Continued,
        rows_before: Some(500),
        first_index: 500,
        next_index: None,
        recovered: false,
    });
    assert_eq!(shown(record.clone()).rows_before, 500);
    record.phases[0].kind = PhaseKind::Load;
    let mut load = record.results[0].clone();
    load.phase.clone_from(&record.phases[0].name);
    load.rows.acknowledged = 300;
    record.results.push(load);
    assert_eq!(shown(record).rows_before, 800);
}

#[test]
fn figures_are_those_of_the_searched_stream_and_of_its_slowest_op() {
    let record = open_steps();
    let of = |stream: &str| {
        let mut search = search();
        stream.clone_into(&mut search.stream);
        let probed = probed(&search, ProbePurpose::Search, &record);
        (probed.acknowledged_per_s, probed.p99_ns.unwrap())
    };
    let (rows, p99_of_inserts) = of("insert");
    let (queries, p99_of_queries) = of("dashboards");
    assert!(rows > 40_000.0 && queries < 100.0, "{rows} {queries}");
    assert!(p99_of_inserts < p99_of_queries);
    let mut record = open_gate();
    let mut other = record.results[0].clone();
    "other".clone_into(&mut other.op);
    let slower = record.results[0].latency_ns.p99.unwrap() + 1;
    other.latency_ns.p99 = Some(slower);
    record.results.insert(0, other);
    assert_eq!(shown(record).p99_ns, Some(slower));
}
