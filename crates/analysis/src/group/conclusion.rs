//! The record of a group of runs: the gravest of each run's judgments, and the last run. Must not compare runs.

use highwater_model::group::{GroupOutcome, GroupRecord, GroupTrial, REPEAT_LABEL, VARIANT_LABEL};
use highwater_model::judgment::Ended;
use highwater_model::judgment::{Judgment, Measurement};
use highwater_model::record::{ExperimentRecord, IncidentKind, Question, RunRecord};

use crate::whole::{TARGET_LOST, Whole, budget_spent, gravest, not_ended, unknown};

/// The record of a group so far; `last` is the record of its last run.
pub fn conclude(last: RunRecord, group: GroupRecord, id: String) -> ExperimentRecord {
    let mut whole = Whole::of(&last);
    let judged = group.trials.iter().filter_map(|t| t.judgments.as_ref());
    whole.judgments = gravest(&whole.judgments, judged);
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

/// Why runs are missing, if any are.
fn incomplete(group: &GroupRecord) -> Option<Judgment<Measurement>> {
    let (code, message, hint) = match group.outcome {
        Some(GroupOutcome::Complete) => return None,
        Some(GroupOutcome::BudgetSpent) => budget_spent("time ran out before all runs were made"),
        Some(GroupOutcome::TargetLost) => TARGET_LOST,
        Some(GroupOutcome::Interrupted) | None => not_ended("the group has not ended"),
    };
    let complete = |trial: &&GroupTrial| trial.ended == Ended::Complete;
    let made = group.trials.iter().filter(complete).count();
    let all = group.variants.len() as u64 * u64::from(group.times);
    let figures = format!("{made} of {all} runs");
    Some(unknown(code, message, &figures, Some(hint)))
}
