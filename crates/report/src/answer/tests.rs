//! Answers of records, as readers see them.

use super::*;
use crate::kinds;
use crate::tests::p99;
use highwater_analysis::fixture;
use highwater_analysis::fixture::group::grouped;
use highwater_analysis::judge::measured_streams;
use highwater_model::control::{Change, InterventionRecord};
use highwater_model::judgment::{Measurement, ObjectiveValue};
use highwater_model::plan::Pace;
use highwater_model::record::{RecordRef, RunRecord};
use highwater_sizing::growth::fixture::grown;

/// The answer of a record, as its page shows it.
fn answer(record: RecordRef<'_>) -> Answer {
    let run = record.measured_run();
    let report = kinds::report(record, &run, &measured_streams(&run));
    report.answer.cautioned(record.judgments())
}

/// Question, answer, interval with basis, limit, judgments, key figures: a line each.
fn said(record: RecordRef<'_>) -> String {
    let answer = answer(record);
    let figure = [answer.lead, answer.figure, answer.unit, answer.condition];
    let known = format!("{}; {}", answer.interval, answer.basis);
    let mut lines = vec![answer.question, figure.join(" ").replace(" %", "%"), known];
    lines.extend(answer.caveat.map(str::to_owned));
    let limit = answer.limit.iter();
    lines.extend(limit.map(|of| format!("{} {} {}", of.label, of.what, of.more)));
    let judged = answer.judgments.iter();
    lines.extend(judged.map(|of| format!("{} {}: {}", of.name, of.value, of.sentence)));
    let keys = answer.keys.iter();
    lines.extend(keys.map(|key| format!("{}: {} {}", key.name, key.figure, key.note)));
    lines.iter().map(|line| format!("{}\n", line.trim())).collect()
}

#[test]
fn a_closed_run_answers_with_its_rate() {
    insta::assert_snapshot!(said((&fixture::closed()).into()));
}

#[test]
fn an_open_run_in_steps_answers_for_the_last_one() {
    insta::assert_snapshot!(said((&fixture::open_steps()).into()));
}

#[test]
fn variants_answer_with_their_difference() {
    insta::assert_snapshot!(said((&grouped()).into()));
}

#[test]
fn a_growth_answers_for_its_largest_size() {
    insta::assert_snapshot!(said((&grown()).into()));
}

/// A rate with an objective is a yes-or-no question.
#[test]
fn an_objective_is_answered_with_yes_or_no() {
    let mut record = fixture::open_steps();
    record.plan.definition.objectives = vec![p99(50)];
    for (value, lead) in [
        (ObjectiveValue::Met, "Yes:"),
        (ObjectiveValue::Missed, "No:"),
        (ObjectiveValue::NotDecided, "Not decided:"),
    ] {
        record.judgments.objective.value = value;
        let answer = answer((&record).into());
        assert_eq!(answer.lead, lead);
        let question = answer.question;
        assert!(question.starts_with("Does ") && question.contains("p99 ≤ 50 ms"));
    }
}

/// A phase without a step has the pace set by the user; a phase with a step has the planned pace again.
#[test]
fn a_question_names_the_pace_of_the_phase_that_is_answered_for() {
    let question = |record: &RunRecord| answer(record.into()).question;
    let mut record = fixture::closed();
    let (from, to) = (4, 7);
    record.interventions = vec![InterventionRecord {
        by: None,
        time_ns: 0,
        phase: "measure".to_owned(),
        change: Change::Pace {
            stream: record.streams[0].stream.clone(),
            unit: record.streams[0].unit,
            from: Pace::Closed { sessions: from },
            to: Pace::Closed { sessions: to },
            ramp_per_s: None,
        },
    }];
    record.streams[0].sessions = to;
    let planned = question(&record);
    assert!(planned.contains(" with 4 sessions"), "{planned}");
    for phase in &mut record.phases {
        phase.step = None;
    }
    let changed = question(&record);
    assert!(changed.contains(" with 7 sessions"), "{changed}");
    record.streams[0].planned_rate = Some(5_000.0);
    let changed = question(&record);
    assert!(changed.contains("How much of 5,000 rows/s "), "{changed}");
}

/// A question must not contain the target's address, and an answer of a spoiled measurement must not be quoted.
#[test]
fn an_invalid_answer_is_marked() {
    let mut record = fixture::closed();
    record.judgments.measurement.value = Measurement::Valid;
    let of = |record: &_| answer(RecordRef::Run(record));
    assert_eq!(of(&record).caveat, None);
    record.judgments.measurement.value = Measurement::Invalid;
    let spoiled = of(&record);
    assert!(spoiled.caveat.unwrap().contains("not to be quoted"));
    assert!(!spoiled.question.contains(&record.target.urls[0]));
}
