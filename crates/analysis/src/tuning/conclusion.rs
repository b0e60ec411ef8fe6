//! The record of a tuning: that of its last configuration, with all configurations and a judgment of the whole.

use highwater_model::judgment::{Judgment, Measurement, ObjectiveValue, Reason, ReasonCode};
use highwater_model::record::{Incident, IncidentKind, RunRecord};
use highwater_model::tune::{NoBestReason, TrialVerdict, TuneOutcome, TuneRecord};

/// The record of a tuning so far, from that of its last configuration.
pub fn conclude(last: RunRecord, tune: TuneRecord, id: String) -> RunRecord {
    let mut record = RunRecord {
        id,
        started_at: tune
            .trials
            .first()
            .map_or_else(|| last.started_at.clone(), |trial| trial.started_at.clone()),
        ..last
    };
    let judged = &mut record.judgments;
    let why = match &tune.outcome {
        None => Some(NoBestReason::Interrupted),
        Some(TuneOutcome::Best(_)) => None,
        Some(TuneOutcome::NoBest(no_best)) => Some(no_best.why),
    };
    // That of the last configuration says nothing of the others.
    judged.objective = Judgment {
        value: ObjectiveValue::NoneSet,
        reasons: Vec::new(),
    };
    judged.measurement = match why {
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
    if let Some(kind) = ends
        && record
            .incidents
            .iter()
            .all(|incident| incident.kind != kind)
    {
        let message = "the tuning did not come to its end";
        record.incidents.push(Incident::new(kind, message));
    }
    record.tune = Some(tune);
    record
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
