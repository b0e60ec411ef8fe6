//! The record of a group of runs: the gravest of what is judged of each of them, and the last run.
//!
//! Must not compare them.

use highwater_model::group::{GroupOutcome, GroupRecord, GroupTrial, REPEAT_LABEL, VARIANT_LABEL};
use highwater_model::incident::Ended;
use highwater_model::judgment::{
    Data, Judgment, Judgments, Measurement, ObjectiveValue, ReasonCode,
};
use highwater_model::record::{ExperimentRecord, IncidentKind, Question, RunRecord};

use crate::whole::{Whole, unknown};

/// The record of a group so far; `last` is that of its last run.
pub fn conclude(last: RunRecord, group: GroupRecord, id: String) -> ExperimentRecord {
    let mut whole = Whole::of(&last);
    whole.judgments = gravest(&group, &whole.judgments);
    for trial in &group.trials {
        match trial.ended {
            Ended::Complete => {}
            Ended::Interrupted => whole.ended(IncidentKind::Interrupted, "a run was stopped"),
            Ended::TargetLost => whole.ended(IncidentKind::TargetLost, "a run lost its target"),
        }
    }
    if group.outcome == Some(GroupOutcome::Interrupted) {
        whole.ended(IncidentKind::Interrupted, "the group was stopped");
    }
    if let Some(incomplete) = incomplete(&group) {
        let measurement = &mut whole.judgments.measurement;
        if measurement.value == Measurement::Valid {
            measurement.value = incomplete.value;
        }
        measurement.reasons.splice(0..0, incomplete.reasons);
    }
    let first = group.trials.first().map(|trial| trial.started_at.clone());
    let mut record = whole.record(last, id, first, Question::Group(group));
    for of_run in [VARIANT_LABEL, REPEAT_LABEL] {
        record.header.labels.remove(of_run);
    }
    record
}

/// Of each judgment the gravest of all runs, the first of those that are as grave.
fn gravest(group: &GroupRecord, of_last: &Judgments) -> Judgments {
    let trials = || group.trials.iter().filter_map(|t| t.judgments.as_ref());
    let mut gravest = trials().next().unwrap_or(of_last).clone();
    for judged in trials() {
        if by_measurement(judged) > by_measurement(&gravest) {
            gravest.measurement = judged.measurement.clone();
        }
        if by_data(judged) > by_data(&gravest) {
            gravest.data = judged.data.clone();
        }
        if by_objective(judged) > by_objective(&gravest) {
            gravest.objective = judged.objective.clone();
        }
    }
    gravest
}

const fn by_measurement(judged: &Judgments) -> u8 {
    match judged.measurement.value {
        Measurement::Valid => 0,
        Measurement::Inconclusive => 1,
        Measurement::Invalid => 2,
    }
}

/// What the user gave is wrong outranks what could not be verified, as in exit codes.
fn by_data(judged: &Judgments) -> u8 {
    let mut reasons = judged.data.reasons.iter();
    match judged.data.value {
        Data::NotChecked => 0,
        Data::Clean => 1,
        Data::Unverified if reasons.any(|r| r.code == ReasonCode::AuditSqlWrong) => 3,
        Data::Unverified => 2,
        Data::Surplus => 4,
        Data::Altered => 5,
        Data::Duplicated => 6,
        Data::Lost => 7,
    }
}

const fn by_objective(judged: &Judgments) -> u8 {
    match judged.objective.value {
        ObjectiveValue::NoneSet => 0,
        ObjectiveValue::Met => 1,
        ObjectiveValue::NotDecided => 2,
        ObjectiveValue::Missed => 3,
    }
}

/// Why runs are missing, if any are.
fn incomplete(group: &GroupRecord) -> Option<Judgment<Measurement>> {
    let (code, message, hint) = match group.outcome {
        Some(GroupOutcome::Complete) => return None,
        Some(GroupOutcome::BudgetSpent) => (
            ReasonCode::TooShort,
            "time ran out before all runs were made",
            "go on with --resume and a greater --budget",
        ),
        Some(GroupOutcome::TargetLost) => (
            ReasonCode::TargetLost,
            "the target went away",
            "go on with --resume when it is back",
        ),
        Some(GroupOutcome::Interrupted) | None => (
            ReasonCode::Interrupted,
            "the group has not ended",
            "go on with --resume",
        ),
    };
    let complete = |trial: &&GroupTrial| trial.ended == Ended::Complete;
    let made = group.trials.iter().filter(complete).count();
    let all = group.variants.len() as u64 * u64::from(group.times);
    let figures = format!("{made} of {all} runs");
    Some(unknown(code, message, &figures, Some(hint)))
}
