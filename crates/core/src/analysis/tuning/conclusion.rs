//! The record of a tuning: that of its last cell, with all cells and a judgment of the whole; and the
//! cells as points, for tables.

use std::collections::BTreeMap;

use crate::analysis::series::{Origin, Point, Setting, names};
use crate::model::judgment::{Judgment, Measurement, ObjectiveValue, Reason, ReasonCode};
use crate::model::record::{Incident, IncidentKind, RunRecord};
use crate::model::tune::{NoBestReason, TrialRecord, TrialVerdict, TuneOutcome, TuneRecord};

/// The record of a tuning so far, from that of its last cell.
pub fn conclude(last: RunRecord, tune: TuneRecord, id: String) -> RunRecord {
    let mut record = RunRecord {
        id,
        started_at: tune
            .cells
            .first()
            .map_or_else(|| last.started_at.clone(), |cell| cell.started_at.clone()),
        ..last
    };
    let judged = &mut record.judgments;
    let why = match &tune.outcome {
        None => Some(NoBestReason::Interrupted),
        Some(TuneOutcome::Best(_)) => None,
        Some(TuneOutcome::NoBest(no_best)) => Some(no_best.why),
    };
    // That of the last cell says nothing of the others.
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
            "no cell counts",
            "look at the verdicts of the cells; --by names another figure",
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
            "acknowledged data were not found as acknowledged, so no cell can be the best",
            "look at the data first",
        ),
        NoBestReason::Interrupted => (
            ReasonCode::Interrupted,
            "the tuning has not ended",
            "go on with --resume",
        ),
    };
    let counting = tune
        .cells
        .iter()
        .filter(|c| c.verdict == TrialVerdict::Counts);
    Judgment {
        value: Measurement::Inconclusive,
        reasons: vec![Reason {
            code,
            message: message.to_owned(),
            evidence: format!(
                "{} cells measured, {} count",
                tune.cells.len(),
                counting.count()
            ),
            hint: Some(hint.to_owned()),
        }],
    }
}

/// The cells that count as points of one series, for tables over an axis.
pub fn points(tune: &TuneRecord, of: impl Fn(&TrialRecord) -> bool) -> Vec<Point> {
    let counting = tune
        .cells
        .iter()
        .filter(|c| c.verdict == TrialVerdict::Counts);
    let cells = counting.filter(|cell| of(cell) && cell.throughput_per_s > 0.0);
    cells.map(|cell| point(tune, cell)).collect()
}

fn point(tune: &TuneRecord, cell: &TrialRecord) -> Point {
    let settings = tune.values(&cell.at).into_iter().map(|(axis, value)| {
        let setting = value
            .parse()
            .map_or_else(|_| Setting::Word(value.clone()), Setting::Number);
        (setting_of(&axis).to_owned(), setting)
    });
    Point {
        origin: Origin::Run(cell.run.clone()),
        series: tune.stream.clone(),
        source: String::new(),
        claim: String::new(),
        throughput: cell.throughput_per_s,
        unit: format!("{}/s", tune.unit.name()),
        interval: None,
        settings: settings.collect(),
        figures: BTreeMap::new(),
        parts: BTreeMap::new(),
    }
}

/// The name of an axis among the settings of points.
pub(crate) fn setting_of(axis: &str) -> &str {
    match axis {
        "batch" => names::BATCH_ROWS,
        "sessions" => names::SESSIONS,
        "shards" => names::PRIMARY_SHARDS,
        "replicas" => names::REPLICAS,
        "rows" => names::ROWS,
        "sim.nodes" => names::NODES,
        other => other,
    }
}
