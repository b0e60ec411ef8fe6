//! Every rule with a record that must break it and one that must not.

mod data;
mod failed_work;
mod objective;
mod shared_host;
mod steadiness;

use highwater_model::audit_record::{SqlPart, WrongSql};
use highwater_model::control::{Change, CommandSender, InterventionRecord};
use highwater_model::histogram::LatencySummary;
use highwater_model::judgment::{Judgment, ReasonCode};
use highwater_model::plan::{Arrivals, AuditLevel, Objective, Share};
use highwater_model::record::{
    AuditStatus, IncidentKind, RunRecord, StallKind, StallRecord, Steadiness,
};
use highwater_model::target_telemetry::{SeriesKind, TargetTelemetry, TelemetrySeries, names};
use highwater_model::units::{Nanos, Rate};

use super::*;
use crate::fixture::{
    MS, S, closed, gate_op, incident, lose_rows, note, open_gate, open_gate_of, open_steps,
};

/// The content of a judgment, without its text.
fn measurement(record: &RunRecord) -> (Measurement, Vec<ReasonCode>) {
    codes(judge(record).measurement)
}

fn data(record: &RunRecord) -> (Data, Vec<ReasonCode>) {
    codes(judge(record).data)
}

fn objective(record: &RunRecord) -> (ObjectiveValue, Vec<ReasonCode>) {
    codes(judge(record).objective)
}

fn codes<T>(judged: Judgment<T>) -> (T, Vec<ReasonCode>) {
    let codes = judged.codes();
    (judged.value, codes)
}

const VALID: (Measurement, Vec<ReasonCode>) = (Measurement::Valid, vec![]);
const CLEAN: (Data, Vec<ReasonCode>) = (Data::Clean, vec![]);
const MET: (ObjectiveValue, Vec<ReasonCode>) = (ObjectiveValue::Met, vec![]);

fn invalid(code: ReasonCode) -> (Measurement, Vec<ReasonCode>) {
    (Measurement::Invalid, vec![code])
}

fn inconclusive(code: ReasonCode) -> (Measurement, Vec<ReasonCode>) {
    (Measurement::Inconclusive, vec![code])
}

fn unverified(code: ReasonCode) -> (Data, Vec<ReasonCode>) {
    (Data::Unverified, vec![code])
}

fn missed(code: ReasonCode) -> (ObjectiveValue, Vec<ReasonCode>) {
    (ObjectiveValue::Missed, vec![code])
}

/// A change to a well record, and the measurement that it must lead to.
fn spoilt(change: impl FnOnce(&mut RunRecord)) -> (Measurement, Vec<ReasonCode>) {
    let mut record = closed();
    change(&mut record);
    measurement(&record)
}

#[test]
fn well_records_are_sound_and_clean_without_any_reason() {
    for record in [closed(), open_steps(), open_gate()] {
        assert_eq!(measurement(&record), VALID);
        assert_eq!(data(&record), CLEAN);
    }
    assert_eq!(objective(&closed()), (ObjectiveValue::NoneSet, vec![]));
    assert_eq!(objective(&open_steps()), MET);
    assert_eq!(objective(&open_gate()), MET);
}

#[test]
fn a_busy_load_generator_is_unsound_from_its_limit_on() {
    let busy = |share| spoilt(|record| record.clients[0].cpu_fraction = share);
    assert_eq!(busy(0.85), VALID);
    let saturated = invalid(ReasonCode::ClientSaturated);
    assert_eq!(busy(0.86), saturated);
    // Of a simulated target the CPU's seconds are not those of the run.
    let of_model = |record: &mut RunRecord| {
        record.target.simulated = true;
        record.clients[0].cpu_fraction = 1.5;
    };
    assert_eq!(spoilt(of_model), VALID);
    // 421,200 rows/s need a ceiling of 1.5 times that.
    let ceiling = |c| spoilt(|record| record.clients[0].calibrated_ceiling = Some(c));
    assert_eq!(ceiling(640_000.0), VALID);
    assert_eq!(ceiling(630_000.0), saturated);
}

#[test]
fn a_run_beyond_the_ceiling_names_how_many_load_generators_its_rate_needs() {
    // Of 421,200 rows/s, with the headroom of 1.5.
    for (ceiling, clients, needed) in [(630_000.0, 1, 2), (200_000.0, 1, 4), (400_000.0, 2, 4)] {
        let mut record = closed();
        record.clients[0].calibrated_ceiling = Some(ceiling / f64::from(clients));
        let client = record.clients[0].clone();
        record.clients = (0..clients).map(|_| client.clone()).collect();
        let reasons = judge(&record).measurement.reasons;
        let said = format!("this rate needs {needed} load generators");
        assert!(reasons[0].evidence.contains(&said), "{reasons:?}");
    }
    let mut record = open_gate();
    let planned = record.streams[0].planned_rate.unwrap();
    record.clients[0].calibrated_ceiling = Some(planned / 2.0);
    let reasons = judge(&record).measurement.reasons;
    assert!(reasons[0].evidence.contains("needs 3 load generators"), "{reasons:?}");
}

#[test]
fn client_lag_is_unsound_above_a_millisecond_and_a_tenth_of_the_latency() {
    let lagging = |lag_ns, latency_ns| {
        let mut op = gate_op();
        op.lag_ns = lag_ns;
        op.latencies = vec![(latency_ns, 10_000)];
        measurement(&open_gate_of(&op))
    };
    assert_eq!(lagging(900_000, 4 * MS), VALID);
    let lag = invalid(ReasonCode::ClientLag);
    assert_eq!(lagging(1_100_000, 4 * MS), lag);
    assert_eq!(lagging(1_100_000, 20 * MS), VALID);
    assert_eq!(lagging(2_100_000, 20 * MS), lag);
}

#[test]
fn client_lag_is_no_matter_in_closed_load() {
    let mut record = closed();
    record.results[0].client_lag_ns.p99 = Some(S);
    let reasons = measurement(&record).1;
    assert!(!reasons.contains(&ReasonCode::ClientLag));
}

#[test]
fn an_offered_rate_below_99_percent_of_the_planned_one_is_invalid() {
    let offered = |n, arrivals| {
        let mut record = open_gate();
        record.results[0].offered = n;
        record.plan.definition.streams[0].arrivals = arrivals;
        measurement(&record)
    };
    let missed = invalid(ReasonCode::RateNotOffered);
    assert_eq!(offered(9_900, Arrivals::Constant), VALID);
    assert_eq!(offered(9_899, Arrivals::Constant), missed);
    // Three standard deviations of 10,000 Poisson arrivals are 300.
    assert_eq!(offered(9_710, Arrivals::Poisson), VALID);
    assert_eq!(offered(9_690, Arrivals::Poisson), missed);
}

#[test]
fn littles_law_is_checked_within_five_percent() {
    let sessions = |n| spoilt(|record| record.streams[0].sessions = n);
    assert_eq!(sessions(4), VALID);
    let broken = invalid(ReasonCode::LittlesLaw);
    assert_eq!(sessions(5), broken);
    assert_eq!(sessions(3), broken);
}

#[test]
fn littles_law_is_not_checked_with_failures_or_few_ops() {
    let with_errors = spoilt(|record| {
        record.streams[0].sessions = 5;
        record.results[0].errors.insert("timeout".to_owned(), 1);
    });
    assert_eq!(with_errors, VALID);
    assert_eq!(spoilt(|record| record.streams[0].sessions = 4_000), VALID);
}

#[test]
fn a_phase_below_three_seconds_cannot_be_judged() {
    let short = spoilt(|record| {
        record.phases[1].duration_ns = 3 * S - 1;
        record.streams[0].steadiness = Steadiness::NotTested;
    });
    assert_eq!(short, inconclusive(ReasonCode::TooShort));
    let found = spoilt(|record| record.phases[1].duration_ns = 3 * S).0;
    assert_eq!(found, Measurement::Valid);
}

#[test]
fn nothing_acknowledged_is_unknown() {
    let nothing = spoilt(|record| {
        record.results[0].acknowledged = 0;
        record.results[0].answered.ops = 0;
    });
    let unknown = inconclusive(ReasonCode::NothingAcknowledged);
    assert_eq!(nothing, unknown);
    assert_eq!(spoilt(|record| record.phases.truncate(1)), unknown);
}

#[test]
fn answers_to_earlier_ops_are_a_throughput_without_a_latency() {
    let unknown = vec![ReasonCode::LatencyUnknown];
    let found = spoilt(|record| record.results[0].acknowledged = 0);
    assert_eq!(found, (Measurement::Inconclusive, unknown));
}

#[test]
fn a_client_that_stood_still_in_a_measured_phase_is_invalid() {
    let stall = |start_ns, duration_ns| {
        spoilt(|record| {
            record.clients[0].stalls =
                vec![StallRecord { start_ns, duration_ns, kind: StallKind::NotRunning }];
        })
    };
    let stalled = invalid(ReasonCode::ClientStalled);
    assert_eq!(stall(5 * S, S), stalled);
    // Two seconds of warm-up.
    assert_eq!(stall(S, S), VALID);
    assert_eq!(stall(S, S + 1), stalled);
}

#[test]
fn a_run_of_which_more_than_a_twentieth_is_unknown_is_inconclusive() {
    let unknown = |rows| spoilt(|record| record.results[0].rows.unknown = rows);
    let sent = closed().results[0].rows.sent;
    assert_eq!(unknown(sent / 20), VALID);
    let too_much = vec![ReasonCode::OutcomeUnknown];
    let found = unknown(sent / 20 + 1);
    assert_eq!(found, (Measurement::Inconclusive, too_much.clone()));
    // Ops that were never sent were offered too: as many again.
    let dropped = spoilt(|record| {
        let result = &mut record.results[0];
        result.rows.unknown = sent / 20 + 1;
        result.offered = 2 * result.sent;
    });
    assert!(!dropped.1.contains(&ReasonCode::OutcomeUnknown));
    // Rows that are loaded are in no measured phase.
    let loaded = spoilt(|record| {
        let mut load = record.results[0].clone();
        load.phase = "load".to_owned();
        load.rows.unknown = sent;
        record.results.push(load);
    });
    assert_eq!(loaded, VALID);
}

#[test]
fn sessions_that_never_worked_are_missed_in_closed_load() {
    // Three of four sessions do three quarters of their ops, and Little's law holds of the three.
    let three_work = |record: &mut RunRecord| {
        record.streams[0].working = Some(3);
        record.streams[0].throughput.ops_per_s *= 0.75;
    };
    assert_eq!(spoilt(|record| record.streams[0].working = Some(4)), VALID);
    assert_eq!(spoilt(three_work), invalid(ReasonCode::SessionsMissing));
    let lost = spoilt(|record| {
        three_work(record);
        record.streams[0].throughput.ops_per_s *= 0.75;
    });
    let both = vec![ReasonCode::SessionsMissing, ReasonCode::LittlesLaw];
    assert_eq!(lost, (Measurement::Invalid, both));
    let fills = spoilt(|record| {
        three_work(record);
        record.plan.definition.stop.fills = true;
    });
    assert_eq!(fills, VALID);
    let mut open = open_gate();
    open.streams[0].working = Some(1);
    assert_eq!(measurement(&open), VALID);
}

#[test]
fn client_lag_counts_by_its_effect_on_a_percentile() {
    let undelayed = |p99, lag| {
        let mut record = open_gate();
        let result = &mut record.results[0];
        result.latency_ns.p99 = Some(100 * MS);
        result.undelayed_ns = Some(LatencySummary { p99: Some(p99), ..result.latency_ns.clone() });
        result.client_lag_ns.p99 = Some(lag);
        measurement(&record)
    };
    // Late by 30 ms, but the percentile is the same without the delay.
    assert_eq!(undelayed(95 * MS, 30 * MS), VALID);
    assert_eq!(undelayed(94 * MS, MS / 10), invalid(ReasonCode::ClientLag));
    // Without our delay the objective would be met, and with it it is not.
    let decides = |without, op: Option<&str>| {
        let mut record = open_gate();
        record.plan.definition.objectives = vec![Objective::Latency {
            quantile_ppm: 990_000,
            max: Nanos(98 * MS),
            op: op.map(str::to_owned),
        }];
        let result = &mut record.results[0];
        result.latency_ns.p99 = Some(100 * MS);
        result.undelayed_ns =
            Some(LatencySummary { p99: Some(without), ..result.latency_ns.clone() });
        measurement(&record).1.contains(&ReasonCode::ClientLag)
    };
    assert!(decides(97 * MS, None) && !decides(99 * MS, None));
    // An objective of another op is not decided by the delays of this one.
    assert!(decides(97 * MS, Some("insert")) && !decides(97 * MS, Some("dashboards")));
}

#[test]
fn findings_of_the_runner_become_reasons() {
    for (kind, code) in [
        (IncidentKind::Interrupted, ReasonCode::Interrupted),
        (IncidentKind::TargetLost, ReasonCode::TargetLost),
        (IncidentKind::DiskFull, ReasonCode::DiskFull),
        (IncidentKind::RecordIncomplete, ReasonCode::RecordIncomplete),
    ] {
        let found = spoilt(|record| incident(record, kind, "after 6 s"));
        assert_eq!(found, invalid(code));
    }
    let after = spoilt(|record| incident(record, IncidentKind::AuditInterrupted, "after 6 s"));
    assert_eq!(after, VALID);
    // A note is for people: no judgment reads its code.
    let found = spoilt(|record| note(record, "interrupted", "after 6 s"));
    assert_eq!(found, VALID);
}

fn wrong_key() -> WrongSql {
    WrongSql {
        table: "cpu".to_owned(),
        part: SqlPart::Key,
        column: None,
        expression: "a +\n  b".to_owned(),
        evidence: "0 came out for row 7".to_owned(),
    }
}

#[test]
fn a_stop_names_who_sent_it() {
    let evidence = |by: Option<CommandSender>| {
        let mut record = closed();
        incident(&mut record, IncidentKind::Interrupted, "Ctrl-C, or a signal");
        let stop = |by| InterventionRecord {
            time_ns: S,
            phase: "measure".to_owned(),
            by: Some(by),
            change: Change::Stop,
        };
        record.interventions.extend(by.map(stop));
        judge(&record).measurement.reasons[0].evidence.clone()
    };
    assert_eq!(evidence(None), "Ctrl-C, or a signal");
    assert_eq!(evidence(Some(CommandSender::Page)), "from its page");
    assert_eq!(evidence(Some(CommandSender::Control)), "by --control");
}

#[test]
fn exit_codes_rank_data_then_the_end_then_soundness_then_the_objective() {
    let mut record = open_gate();
    let code = |record: &RunRecord| {
        exit_code(&judge(record), RunEnding::from_incidents(&record.incidents))
    };
    assert_eq!(code(&record), 0);
    record.results[0].backlog = true;
    assert_eq!(code(&record), 1);
    record.clients[0].cpu_fraction = 1.0;
    assert_eq!(code(&record), 3);
    record.audit.status = AuditStatus::Failed;
    record.audit.wrong_sql.push(wrong_key());
    assert_eq!(code(&record), 2);
    record.audit.status = AuditStatus::Done;
    incident(&mut record, IncidentKind::Interrupted, "by the user");
    assert_eq!(code(&record), 130);
    incident(&mut record, IncidentKind::TargetLost, "no session for 30 s");
    assert_eq!(code(&record), 5);
    lose_rows(&mut record, 1);
    assert_eq!(code(&record), 4);
}

#[test]
fn unverified_data_are_no_success_if_an_audit_was_requested() {
    let mut record = closed();
    record.audit.status = AuditStatus::Timeout;
    assert_eq!(exit_code(&judge(&record), RunEnding::Complete), 3);
    record.audit.status = AuditStatus::Off;
    assert_eq!(exit_code(&judge(&record), RunEnding::Complete), 0);
}
