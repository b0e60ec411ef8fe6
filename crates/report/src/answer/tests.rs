//! What is said first of a record, as a reader reads it.

use super::*;
use highwater_analysis::fixture;
use highwater_analysis::fixture::group::grouped;
use highwater_analysis::judge::measured_streams;
use highwater_model::judgment::{Measurement, ObjectiveValue};
use highwater_model::plan::Objective;
use highwater_model::units::Nanos;
use highwater_sizing::growth::fixture::grown;

/// Question, answer, interval with basis, limit, judgments, key figures: a line each.
fn said(record: RecordRef<'_>) -> String {
    let run = record.measured_run();
    let answer = answer(record, &measured_streams(&run));
    let mut lines = vec![
        answer.question.clone(),
        format!(
            "{} {} {} {}",
            answer.lead, answer.figure, answer.unit, answer.condition
        ),
        format!("{}; {}", answer.interval, answer.basis),
    ];
    lines.extend(answer.caveat.map(str::to_owned));
    lines.extend(
        answer
            .limit
            .iter()
            .map(|of| format!("{} {} {}", of.label, of.what, of.more)),
    );
    let judged = answer.judgments.iter();
    lines.extend(judged.map(|of| format!("{} {}: {}", of.name, of.value, of.sentence)));
    let keys = answer.keys.iter();
    lines.extend(keys.map(|key| format!("{}: {} {}", key.name, key.figure, key.note)));
    lines
        .iter()
        .map(|line| format!("{}\n", line.trim()))
        .collect()
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

/// A rate with an objective is a question for yes or no.
#[test]
fn an_objective_is_answered_with_yes_or_no() {
    let mut record = fixture::open_steps();
    record.plan.definition.objectives = vec![Objective::Latency {
        quantile_ppm: 990_000,
        max: Nanos(50_000_000),
        op: None,
    }];
    for (value, lead) in [
        (ObjectiveValue::Met, "Yes:"),
        (ObjectiveValue::Missed, "No:"),
        (ObjectiveValue::NotDecided, ""),
    ] {
        record.judgments.objective.value = value;
        let answer = answer((&record).into(), &measured_streams(&record));
        assert_eq!(answer.lead, lead);
        assert!(answer.question.starts_with("Does "), "{}", answer.question);
        assert!(
            answer.question.contains("p99 ≤ 50 ms"),
            "{}",
            answer.question
        );
    }
}

/// No address of a target is in a question, and no answer of a spoiled measurement is to be quoted.
#[test]
fn an_answer_that_does_not_stand_says_so() {
    let mut record = fixture::closed();
    record.judgments.measurement.value = Measurement::Valid;
    let of = |record: &_| answer(RecordRef::Run(record), &measured_streams(record));
    assert_eq!(of(&record).caveat, None);
    record.judgments.measurement.value = Measurement::Invalid;
    let spoiled = of(&record);
    assert!(spoiled.caveat.unwrap().contains("not to be quoted"));
    assert!(!spoiled.question.contains(&record.target.urls[0]));
}
