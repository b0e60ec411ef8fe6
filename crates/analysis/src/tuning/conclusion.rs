//! The record of a tuning: its configurations, the best one, a judgment of the whole, and the last run.

use highwater_model::judgment::{
    Judgment, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode,
};
use highwater_model::record::{
    ExperimentRecord, Header, Incident, IncidentKind, Question, RunRecord,
};
use highwater_model::tune::{NoBestReason, TrialVerdict, TuneOutcome, TuneRecord};

/// The record of a tuning so far; `last` is that of its last configuration.
pub fn conclude(last: RunRecord, tune: TuneRecord, id: String) -> ExperimentRecord {
    let why = match &tune.outcome {
        None => Some(NoBestReason::Interrupted),
        Some(TuneOutcome::Best(_)) => None,
        Some(TuneOutcome::NoBest(no_best)) => Some(no_best.why),
    };
    let measurement = match why {
        None => Judgment {
            value: Measurement::Valid,
            reasons: Vec::new(),
        },
        Some(why) => unknown(why, &tune),
    };
    let ends = match why {
        Some(NoBestReason::Interrupted) if tune.outcome.is_some() => {
            Some(IncidentKind::Interrupted)
        }
        Some(NoBestReason::TargetLost) => Some(IncidentKind::TargetLost),
        _ => None,
    };
    let mut incidents = last.incidents.clone();
    if let Some(kind) = ends
        && incidents.iter().all(|incident| incident.kind != kind)
    {
        let message = "the tuning did not come to its end";
        incidents.push(Incident::new(kind, message));
    }
    let first = tune.trials.first().map(|trial| trial.started_at.clone());
    ExperimentRecord {
        header: Header {
            id,
            started_at: first.unwrap_or_else(|| last.header.started_at.clone()),
            ..last.header.clone()
        },
        judgments: Judgments {
            measurement,
            // That of the last configuration says nothing of the others.
            objective: Judgment {
                value: ObjectiveValue::NoneSet,
                reasons: Vec::new(),
            },
            ..last.judgments.clone()
        },
        incidents,
        question: Question::Tune(tune),
        last_run: Box::new(last),
    }
}

fn unknown(why: NoBestReason, tune: &TuneRecord) -> Judgment<Measurement> {
    let (code, message, hint) = match why {
        NoBestReason::NoneCounts => (
            ReasonCode::TooFewSamples,
            "no configuration counts",
            "look at the verdicts of the configurations; --by names another figure",
        ),
        NoBestReason::BudgetSpent => (
            ReasonCode::TooShort,
            "probes or time ran out before the confirming round",
            "go on with --resume and a greater --budget",
        ),
        NoBestReason::TargetLost => (
            ReasonCode::TargetLost,
            "the target went away",
            "go on with --resume when it is back",
        ),
        NoBestReason::WrongData => (
            ReasonCode::Interrupted,
            "acknowledged data were not found as acknowledged, so no configuration can be the best",
            "look at the data first",
        ),
        NoBestReason::Interrupted => (
            ReasonCode::Interrupted,
            "the tuning has not ended",
            "go on with --resume",
        ),
    };
    let counting = tune
        .trials
        .iter()
        .filter(|c| c.verdict == TrialVerdict::Counts);
    let figures = format!(
        "{} trials, {} of which count",
        tune.trials.len(),
        counting.count()
    );
    Judgment {
        value: Measurement::Inconclusive,
        reasons: vec![Reason {
            hint: Some(hint.to_owned()),
            ..Reason::with_figures(code, message, &figures)
        }],
    }
}
