//! The record of a growth: the gravest of its sizes' judgments, machine drift, whether the requested rate was reached,
//! and the last run. Must not predict.

use highwater_model::display::{percent, percent_signed, rate};
use highwater_model::judgment::{
    Judgment, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode,
};
use highwater_model::record::{ExperimentRecord, IncidentKind, Question, RunRecord};
use highwater_model::scale::{NODE_LABEL, NODES_LABEL, ScaleOutcome, ScaleRecord};

use super::{Drift, counted, drift, reached};
use crate::whole::{TARGET_LOST, Whole, budget_spent, gravest, not_ended, unknown};

/// The record of a growth so far; `last` is the record of its last run.
pub fn conclude(last: RunRecord, scale: ScaleRecord, id: String) -> ExperimentRecord {
    let mut whole = Whole::of(&last);
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
    let message = "the first size, measured again, is not what it was";
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
