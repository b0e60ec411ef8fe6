//! A group of runs: the next run, or the end, from the finished runs.
//!
//! A pure function of the group's record, so a stopped group is resumed from it. Rounds alternate in direction (a b c,
//! c b a, a b c …), so drift over time affects all variants alike. Must not execute runs.

#[cfg(test)]
mod tests;

use highwater_model::group::{
    DipRecord, FaultRecord, GroupOutcome, GroupRecord, GroupTrial, REPEAT_LABEL, Sample,
    VARIANT_LABEL,
};
use highwater_model::judgment::{Judgment, Measurement, RunEnding};
use highwater_model::record::{
    AuditStatus, ExperimentRecord, IncidentKind, Question, RecordRef, RunRecord,
};

use crate::availability::{Dip, fault_effects};
use crate::comparison::{Comparison, Criteria, compare_samples, sample};
use crate::judge::{MeasuredStream, measured_streams};
use crate::whole::{TARGET_LOST, Whole, budget_spent, gravest, not_ended, unknown};

/// Next step of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupStep {
    /// Run a variant.
    Run {
        /// Its position.
        variant: usize,
        /// Which of its runs it is, from 1.
        round: u32,
    },
    /// The group is complete.
    End(GroupOutcome),
}

/// The step after the finished runs. A run that lost its target is repeated.
pub fn next(group: &GroupRecord) -> GroupStep {
    if let Some(outcome) = stopped(group) {
        return GroupStep::End(outcome);
    }
    let complete = group.trials.iter().filter(|t| t.ended == RunEnding::Complete);
    let (variant, round) = run_at(group, complete.count());
    if round > group.times {
        GroupStep::End(GroupOutcome::Complete)
    } else if has_time(group) {
        GroupStep::Run { variant, round }
    } else {
        GroupStep::End(GroupOutcome::BudgetSpent)
    }
}

/// The variant after `complete` complete runs of a group, and its round, from 1. Before each fault, its baseline is run.
pub fn run_at(group: &GroupRecord, complete: usize) -> (usize, u32) {
    let variants = group.variants.len().max(1);
    let (round, variant) = if group.is_of_faults() {
        let (pair, faults) = (complete / 2, (variants - 1).max(1));
        (pair / faults, if complete.is_multiple_of(2) { 0 } else { 1 + pair % faults })
    } else {
        let (round, position) = (complete / variants, complete % variants);
        (round, if round.is_multiple_of(2) { position } else { variants - 1 - position })
    };
    let round = u32::try_from(round).unwrap_or(u32::MAX);
    (variant, round.saturating_add(1))
}

/// Outcomes that end a group even if runs are missing.
fn stopped(group: &GroupRecord) -> Option<GroupOutcome> {
    let mut last = group.trials.iter().rev().map(|trial| trial.ended);
    match (last.next()?, last.next()) {
        (RunEnding::Interrupted, _) => Some(GroupOutcome::Interrupted),
        (RunEnding::TargetLost, Some(RunEnding::TargetLost)) => Some(GroupOutcome::TargetLost),
        _ => None,
    }
}

/// Whether the budget allows one more run of the same length as those before.
fn has_time(group: &GroupRecord) -> bool {
    let spent = group.trials.iter().map(|trial| trial.took_ns).fold(0, u64::saturating_add);
    let each = spent.checked_div(group.trials.len() as u64);
    let each = each.unwrap_or(group.trial_cost_ns);
    let budget = group.budget_ns.unwrap_or(u64::MAX);
    spent.saturating_add(each) <= budget
}

/// The figures that a group takes from a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Units of the first stream acknowledged per second.
    pub throughput_per_s: f64,
    /// The greatest p99 of the first stream's ops.
    pub p99_ns: Option<u64>,
    /// Whether that is a lower bound.
    pub p99_at_least: bool,
    /// The sample for comparisons.
    pub sample: Sample,
    /// What its actions did.
    pub fault: Option<FaultRecord>,
}

/// Reads the record of a run.
pub fn seen(record: &RunRecord) -> Seen {
    let streams = measured_streams(record);
    let first = streams.first();
    Seen {
        throughput_per_s: first.map_or(0.0, MeasuredStream::units_per_s),
        p99_ns: first.and_then(|stream| stream.greatest(|result| result.latency_ns.p99)),
        p99_at_least: first.is_some_and(MeasuredStream::p99_at_least),
        sample: sample(RecordRef::Run(record)),
        fault: (!record.plan.definition.faults.is_empty()).then(|| fault(record)),
    }
}

fn fault(record: &RunRecord) -> FaultRecord {
    let effects = fault_effects(record);
    let dips = effects.iter().filter_map(|effect| effect.dip);
    let worst = dips.max_by_key(Dip::lasted_ns).map(|dip| DipRecord {
        noticed_ns: dip.noticed_ns,
        lowest: dip.lowest,
        rate_again_ns: dip.rate_again_ns,
        recovered_ns: dip.recovered_ns,
    });
    let audit = &record.audit;
    FaultRecord {
        dip: worst,
        failed: effects.iter().find_map(|effect| effect.failed).map(str::to_owned),
        lost: (audit.status == AuditStatus::Done).then_some(audit.missing),
        unknown: audit.unknown,
    }
}

/// Each variant except the first, by position, compared with the first, using the complete runs of both.
pub fn comparisons(group: &GroupRecord) -> Vec<(usize, Comparison)> {
    let samples = |variant| -> Vec<&Sample> {
        let trials = group.complete(variant);
        trials.map(|trial| &trial.sample).collect()
    };
    let baseline = samples(0);
    let others = (1..group.variants.len()).map(|variant| (variant, samples(variant)));
    others
        .filter(|(_, other)| !baseline.is_empty() && !other.is_empty())
        .map(|(variant, other)| {
            let comparison = compare_samples(&baseline, &other, Criteria::default());
            (variant, comparison)
        })
        .collect()
}

/// The record of a group so far; `last` is the record of its last run.
pub fn conclude(last: RunRecord, group: GroupRecord, id: String) -> ExperimentRecord {
    let mut whole = Whole::from_run(&last);
    let judged = group.trials.iter().filter_map(|t| t.judgments.as_ref());
    whole.judgments = gravest(&whole.judgments, judged);
    for trial in &group.trials {
        match trial.ended {
            RunEnding::Complete => {}
            RunEnding::Interrupted => whole.ended(IncidentKind::Interrupted, "a run was stopped"),
            RunEnding::TargetLost => whole.ended(IncidentKind::TargetLost, "a run lost its target"),
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
    let complete = |trial: &&GroupTrial| trial.ended == RunEnding::Complete;
    let made = group.trials.iter().filter(complete).count();
    let all = group.runs();
    let figures = format!("{made} of {all} runs");
    Some(unknown(code, message, &figures, Some(hint)))
}
