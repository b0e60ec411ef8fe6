//! The record of a tuning: its configurations, the best one, a judgment of the whole, and the last run.

use highwater_model::judgment::{Judgment, Measurement, ObjectiveValue, ReasonCode};
use highwater_model::record::{ExperimentRecord, IncidentKind, Question, RunRecord};
use highwater_model::tune::{NoBestReason, TrialVerdict, TuneOutcome, TuneRecord};

use crate::whole::{self, Whole};

/// The record of a tuning so far; `last` is that of its last configuration.
pub fn conclude(last: RunRecord, tune: TuneRecord, id: String) -> ExperimentRecord {
    let why = match &tune.outcome {
        None => Some(NoBestReason::Interrupted),
        Some(TuneOutcome::Best(_)) => None,
        Some(TuneOutcome::NoBest(no_best)) => Some(no_best.why),
    };
    let mut whole = Whole::of(&last);
    whole.judgments.measurement = match why {
        None => Judgment { value: Measurement::Valid, reasons: Vec::new() },
        Some(why) => unknown(why, &tune),
    };
    // That of the last configuration says nothing of the others.
    whole.judgments.objective = Judgment { value: ObjectiveValue::NoneSet, reasons: Vec::new() };
    let kind = match why {
        Some(NoBestReason::Interrupted) if tune.outcome.is_some() => {
            Some(IncidentKind::Interrupted)
        }
        Some(NoBestReason::TargetLost) => Some(IncidentKind::TargetLost),
        _ => None,
    };
    if let Some(kind) = kind {
        whole.ended(kind, "the tuning did not come to its end");
    }
    let first = tune.trials.first().map(|trial| trial.started_at.clone());
    whole.record(last, id, first, Question::Tune(tune))
}

fn unknown(why: NoBestReason, tune: &TuneRecord) -> Judgment<Measurement> {
    let (code, message, hint) = match why {
        NoBestReason::NoneCounts => (
            ReasonCode::TooFewSamples,
            "no configuration counts",
            "look at the verdicts of the configurations; --by names another figure",
        ),
        NoBestReason::BudgetSpent => {
            whole::budget_spent("probes or time ran out before the confirming round")
        }
        NoBestReason::TargetLost => whole::TARGET_LOST,
        NoBestReason::WrongData => (
            ReasonCode::Interrupted,
            "acknowledged data were not found as acknowledged, so no configuration can be the best",
            "look at the data first",
        ),
        NoBestReason::Interrupted => whole::not_ended("the tuning has not ended"),
    };
    let counting = tune.trials.iter().filter(|c| c.verdict == TrialVerdict::Counts);
    let (trials, counting) = (tune.trials.len(), counting.count());
    let figures = format!("{trials} trials, {counting} of which count");
    whole::unknown(code, message, &figures, Some(hint))
}
