//! A growth: the next size, or the end, from the measured sizes.
//!
//! A pure function of the growth's record, so a stopped growth is resumed from it. Sizes are measured in ascending
//! order, then the first one is repeated: if its rate changed, the machine drifted, and apparent growth may be drift.
//! Must not measure or predict a size.
//!
//! The record of a growth has the gravest of its sizes' judgments, machine drift, whether the requested rate was
//! reached, and the last run.

mod compared;
mod findings;
mod sizes;

#[cfg(test)]
mod tests;

use highwater_model::display::{percent, percent_signed, rate};
use highwater_model::judgment::{
    Judgment, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode,
};
use highwater_model::record::{ExperimentRecord, IncidentKind, Question, RunRecord};
use highwater_model::scale::{
    NODE_LABEL, NODES_LABEL, ScaleOutcome, ScalePurpose, ScaleRecord, ScaleSize, ScaleTrial,
    SizeVerdict,
};
use highwater_workload::random::mix;

use self::sizes::spent;
use crate::whole::{TARGET_LOST, Whole, budget_spent, gravest, not_ended, unknown};

pub use compared::{
    ComparedGrowths, Grown, GrowthDifference, GrowthNoise, LoneReason, LoneSize, SharedSize,
    SizeChange, compare_growths,
};
pub use findings::findings;
pub use sizes::{
    ComparedSize, Drift, NodeRate, NodeSpread, REPEAT_ERROR, REPLICA_COST, SizedRate, counted,
    drift, figures, node_spread, replica_factor, replicas, replicas_of, table_layout,
};

/// Next step of a growth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrowthStep {
    /// Measure a size.
    Measure {
        /// The size.
        size: ScaleSize,
        /// The purpose.
        purpose: ScalePurpose,
    },
    /// Measure this node alone.
    Alone(u32),
    /// The growth is complete.
    End(ScaleOutcome),
}

/// The step after the measured sizes. A size that lost its target is measured again.
pub fn next(scale: &ScaleRecord) -> GrowthStep {
    // A node that fails to start alone does not end the growth: the nodes may still start together.
    let of_alone = stopped(&scale.alone.trials).filter(|of| *of != ScaleOutcome::TargetLost);
    if let Some(outcome) = stopped(&scale.trials).or(of_alone) {
        return GrowthStep::End(outcome);
    }
    if let Some(node) = sizes::next(scale) {
        return GrowthStep::Alone(node);
    }
    let (larger, outcome) = match ended(scale) {
        Some(outcome) => (None, outcome),
        None => (unmeasured(scale), ScaleOutcome::Complete),
    };
    if let Some(size) = larger {
        // Without the repeat of the first size, a larger one shows nothing for certain.
        let again = u64::from(counted(scale).next().is_some());
        if has_time(scale, 1 + again) {
            return GrowthStep::Measure {
                size: size.clone(),
                purpose: match scale.sizes.first() {
                    Some(first) if first == size => ScalePurpose::First,
                    _ => ScalePurpose::Grow,
                },
            };
        }
    }
    match unrepeated(scale) {
        Some(first) if has_time(scale, 1) => {
            GrowthStep::Measure { size: first.size.clone(), purpose: ScalePurpose::Again }
        }
        None if larger.is_none() => GrowthStep::End(outcome),
        _ => GrowthStep::End(ScaleOutcome::BudgetSpent),
    }
}

/// The smallest size that reached the requested rate; absent also if no rate was requested.
pub fn reached(scale: &ScaleRecord) -> Option<&ScaleTrial> {
    let until = scale.until_per_s?;
    counted(scale)
        .find(|trial| trial.figures.verdict == SizeVerdict::Counts && trial.figures.per_s >= until)
}

/// Outcomes that end a growth even if sizes are missing.
fn stopped(trials: &[ScaleTrial]) -> Option<ScaleOutcome> {
    let mut last = trials.iter().rev().map(|trial| trial.figures.verdict);
    match (last.next()?, last.next()) {
        (SizeVerdict::Interrupted, _) => Some(ScaleOutcome::Interrupted),
        (SizeVerdict::WrongData, _) => Some(ScaleOutcome::WrongData),
        (SizeVerdict::TargetLost, Some(SizeVerdict::TargetLost)) => Some(ScaleOutcome::TargetLost),
        _ => None,
    }
}

/// Why no larger size is measured although there is one.
fn ended(scale: &ScaleRecord) -> Option<ScaleOutcome> {
    let mut trials = scale.trials.iter();
    if reached(scale).is_some() {
        Some(ScaleOutcome::Reached)
    } else if trials.any(|trial| trial.figures.verdict == SizeVerdict::ClientCeiling) {
        Some(ScaleOutcome::ClientCeiling)
    } else {
        None
    }
}

/// The smallest size that was not measured yet.
fn unmeasured(scale: &ScaleRecord) -> Option<&ScaleSize> {
    scale.sizes.iter().find(|size| {
        let mut trials = scale.trials.iter();
        !trials.any(|trial| {
            trial.size == **size
                && trial.purpose != ScalePurpose::Again
                && trial.figures.verdict != SizeVerdict::TargetLost
        })
    })
}

/// The first size that counts, unless it was repeated after all others. A single size shows no growth and need not be
/// repeated.
fn unrepeated(scale: &ScaleRecord) -> Option<&ScaleTrial> {
    let mut trials = scale.trials.iter().rev();
    let last = trials.find(|trial| trial.figures.verdict != SizeVerdict::TargetLost);
    let repeated = last.is_some_and(|trial| trial.purpose == ScalePurpose::Again);
    let mut counted = counted(scale);
    let first = counted.next()?;
    (!repeated && counted.next().is_some()).then_some(first)
}

/// Whether the budget allows this many more sizes of the same length as those before; time to prepare a size does not
/// count.
fn has_time(scale: &ScaleRecord, trials: u64) -> bool {
    let spent = spent(&scale.trials);
    let each = spent.checked_div(scale.trials.len() as u64);
    let each = each.unwrap_or(scale.trial_cost_ns);
    let budget = scale.budget_ns.unwrap_or(u64::MAX);
    let all = spent.saturating_add(sizes::spent(&scale.alone.trials));
    all.saturating_add(each.saturating_mul(trials)) <= budget
}

/// The next measurement of a growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its purpose.
    pub purpose: ScalePurpose,
    /// Nodes of the size, or the number of the node measured alone.
    pub nodes: u32,
}

/// Position of the growth to run next; `None` if all are complete. Equal candidates are ordered by the seed.
pub fn chosen(next: &[Option<Candidate>], seed: u64) -> Option<usize> {
    let turns = next.iter().enumerate().filter_map(|(at, turn)| Some((at, (*turn)?)));
    let first = turns.min_by_key(|(at, turn)| {
        let stage: u64 = match turn.purpose {
            ScalePurpose::Alone => 0,
            ScalePurpose::First | ScalePurpose::Grow => 1,
            ScalePurpose::Again => 2,
        };
        let of_turn = mixed(mixed(seed ^ stage) ^ u64::from(turn.nodes));
        (stage, turn.nodes, mixed(of_turn ^ *at as u64))
    });
    first.map(|(at, _)| at)
}

/// The output function of SplitMix64: one bit more or less changes half of all bits.
fn mixed(value: u64) -> u64 {
    mix(value.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// The record of a growth so far; `last` is the record of its last run.
pub fn conclude(last: RunRecord, scale: ScaleRecord, id: String) -> ExperimentRecord {
    let mut whole = Whole::from_run(&last);
    let judged = scale
        .trials
        .iter()
        .map(|trial| &trial.figures)
        .filter_map(|figures| figures.judgments.as_ref());
    whole.judgments = gravest(&whole.judgments, judged);
    match scale.outcome {
        Some(ScaleOutcome::Interrupted) => {
            whole.ended(IncidentKind::Interrupted, "the growth was stopped");
        }
        Some(ScaleOutcome::TargetLost) => {
            whole.ended(IncidentKind::TargetLost, "a size lost its target");
        }
        _ => {}
    }
    judge_rate(&mut whole.judgments, &scale);
    judge_growth(&mut whole.judgments.measurement, &scale);
    let mut all = scale.alone.trials.iter().chain(&scale.trials);
    let first = all.next().map(|trial| trial.started_at.clone());
    let mut record = whole.record(last, id, first, Question::Scale(scale));
    // The whole is of no single size.
    record.header.labels.retain(|name, _| name != NODES_LABEL && name != NODE_LABEL);
    record
}

/// A growth with drift is not valid, and an incomplete one shows less than requested.
fn judge_growth(measurement: &mut Judgment<Measurement>, scale: &ScaleRecord) {
    let drifted = drift(scale).filter(Drift::is_drifted);
    let incomplete = incomplete(scale);
    if drifted.is_some() {
        measurement.value = Measurement::Invalid;
    } else if let (Some(incomplete), Measurement::Valid) = (&incomplete, measurement.value) {
        measurement.value = incomplete.value;
    }
    let reasons = incomplete.map(|incomplete| incomplete.reasons);
    let all = drifted
        .map(|drift| of_drift(scale, &drift))
        .into_iter()
        .chain(reasons.into_iter().flatten());
    measurement.reasons.splice(0..0, all);
}

fn of_drift(scale: &ScaleRecord, drift: &Drift) -> Reason {
    let unit = scale.unit.name();
    let figures = format!(
        "{} node{} made {} {unit}/s at first and {} {unit}/s at the end, {}; unchanged ones differ by at most {}",
        drift.nodes,
        if drift.nodes == 1 { "" } else { "s" },
        rate(drift.first),
        rate(drift.again),
        percent_signed(drift.change),
        percent(drift.allowed),
    );
    let message = "the first size, measured again at the end, differs";
    Reason {
        hint: Some("find out what else ran, and measure all sizes again".to_owned()),
        ..Reason::with_figures(ReasonCode::MachineDrifted, message, &figures)
    }
}

/// Why a part of the growth is missing, if any.
fn incomplete(scale: &ScaleRecord) -> Option<Judgment<Measurement>> {
    let (code, message, hint) = match scale.outcome {
        Some(ScaleOutcome::Complete | ScaleOutcome::Reached) if counted(scale).nth(1).is_none() => {
            (
                ReasonCode::TooFewSamples,
                "fewer than two sizes were measured",
                "look at the verdicts of the sizes",
            )
        }
        Some(ScaleOutcome::Complete | ScaleOutcome::Reached) => return None,
        Some(ScaleOutcome::ClientCeiling) => (
            ReasonCode::ClientSaturated,
            "the load generator reached its limit before the target did",
            "use a larger load generator, or several",
        ),
        Some(ScaleOutcome::BudgetSpent) => {
            budget_spent("time ran out before all sizes were measured")
        }
        Some(ScaleOutcome::TargetLost) => TARGET_LOST,
        Some(ScaleOutcome::WrongData) => (
            ReasonCode::Interrupted,
            "acknowledged data were not found as acknowledged, so no larger size was measured",
            "look at the data first",
        ),
        Some(ScaleOutcome::Interrupted) | None => not_ended("the growth has not ended"),
    };
    let figures = format!("{} of {} sizes", counted(scale).count(), scale.sizes.len());
    Some(unknown(code, message, &figures, Some(hint)))
}

/// Whether the rate that was requested was reached.
fn judge_rate(judged: &mut Judgments, scale: &ScaleRecord) {
    let Some(until) = scale.until_per_s else {
        return;
    };
    let objective = &mut judged.objective;
    // A larger size was measured because smaller ones missed the rate.
    if reached(scale).is_some() {
        objective.value = ObjectiveValue::Met;
        objective.reasons.clear();
        return;
    }
    let unit = scale.unit.name();
    let most = counted(scale).map(|trial| trial.figures.per_s).fold(0.0, f64::max);
    let (most, until) = (rate(most), rate(until));
    let figures = format!("at most {most} {unit}/s; {until} {unit}/s were requested");
    let message = "no size reached the rate that was requested";
    let reason = Reason::with_figures(ReasonCode::RateNotSustained, message, &figures);
    objective.reasons.insert(0, reason);
    objective.value = match scale.outcome {
        Some(ScaleOutcome::Complete) => ObjectiveValue::Missed,
        _ => ObjectiveValue::NotDecided,
    };
}

#[cfg(test)]
mod order_tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "the sides that are over are none")]
    fn candidate(purpose: ScalePurpose, nodes: u32) -> Option<Candidate> {
        Some(Candidate { purpose, nodes })
    }

    #[test]
    fn the_smallest_size_comes_first_and_repeated_ones_last() {
        use ScalePurpose::{Again, Alone, First, Grow};
        for (next, expected) in [
            (vec![candidate(Grow, 3), candidate(Grow, 2)], Some(1)),
            (vec![candidate(Again, 1), candidate(Grow, 5)], Some(1)),
            (vec![candidate(First, 1), candidate(Alone, 9)], Some(1)),
            (vec![candidate(Again, 1), None], Some(0)),
            (vec![None, None], None),
        ] {
            assert_eq!(chosen(&next, 1), expected, "{next:?}");
        }
    }

    #[test]
    fn the_order_within_a_size_is_random_and_reproducible() {
        let both = |nodes| [candidate(ScalePurpose::Grow, nodes); 2];
        let order = |seed| (1..=64).map(move |nodes| chosen(&both(nodes), seed));
        assert!(order(7).eq(order(7)));
        assert!(!order(7).eq(order(8)));
        // 64 fair coins show between 16 and 48 heads, except in 6 of 100,000 cases.
        let firsts = order(7).filter(|at| *at == Some(0)).count();
        assert!((16..=48).contains(&firsts), "{firsts}");
    }
}
