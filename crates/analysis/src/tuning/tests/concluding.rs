//! The figures that a tuning takes from a configuration's record, the judgment of a whole tuning, and its
//! points.

use super::*;
use crate::fixture::{closed, incident, judged, lose_rows, open_gate};
use crate::{RunEnding, exit_code};
use highwater_model::judgment::{Measurement, ObjectiveValue, ReasonCode};
use highwater_model::record::{ExperimentRecord, IncidentKind, RunRecord, Steadiness};
use highwater_model::tune::NoBest;

/// The figures taken from a record with this change.
fn shown(mut record: RunRecord, change: fn(&mut RunRecord)) -> (TrialVerdict, Vec<ReasonCode>) {
    change(&mut record);
    let measured = measured(TuneFigure::Throughput, &judged(record));
    (measured.verdict, measured.reasons)
}

fn saturate(record: &mut RunRecord) {
    record.clients[0].cpu_fraction = 1.0;
}

#[test]
fn a_cell_counts_unless_it_missed_its_objective_or_something_spoilt_it() {
    let counts = (TrialVerdict::Counts, vec![]);
    assert_eq!(shown(closed(), |_| ()), counts);
    let drifts = |record: &mut RunRecord| {
        record.streams[0].steadiness = Steadiness::NotSteady;
        record.streams[0].drift_percent = Some(-20.0);
    };
    assert_eq!(shown(closed(), drifts), counts, "it is the target's");
    let saturated = (TrialVerdict::Invalid, vec![ReasonCode::ClientSaturated]);
    assert_eq!(shown(closed(), saturate), saturated);
    let piles_up = |record: &mut RunRecord| record.results[0].backlog = true;
    let missed = (TrialVerdict::Missed, vec![ReasonCode::Backlog]);
    assert_eq!(shown(open_gate(), piles_up), missed);
    let lost = |record: &mut RunRecord| {
        saturate(record);
        lose_rows(record, 1);
    };
    let wrong = (TrialVerdict::WrongData, vec![ReasonCode::RowsLost]);
    assert_eq!(shown(closed(), lost), wrong);
    let gone = |record: &mut RunRecord| incident(record, IncidentKind::TargetLost, "after 6 s");
    assert_eq!(shown(closed(), gone), (TrialVerdict::TargetLost, vec![]));
    let stopped = |record: &mut RunRecord| incident(record, IncidentKind::Interrupted, "after 6 s");
    let found = shown(closed(), stopped);
    assert_eq!(found, (TrialVerdict::Interrupted, vec![]));
    let nothing = |record: &mut RunRecord| record.streams[0].throughput.rows_per_s = 0.0;
    assert_eq!(shown(closed(), nothing).0, TrialVerdict::NotMeasured);
}

#[test]
fn bytes_per_row_are_a_figure_if_the_target_reports_them() {
    let mut record = closed();
    let rows: u64 = record.results.iter().map(|r| r.rows.acknowledged).sum();
    record.target.bytes_before = Some(0);
    record.target.bytes_after = Some(7 * rows);
    let by_bytes = |record: &RunRecord| measured(TuneFigure::DiskBytesPerRow, record);
    assert_eq!(by_bytes(&record).figure, Some(7.0));
    record.target.bytes_after = None;
    let unreported = by_bytes(&record);
    assert_eq!(unreported.verdict, TrialVerdict::NotMeasured);
    assert_eq!(unreported.figure, None);
}

/// The record of a tuning that ended so, and its exit code; its last configuration had missed its objective.
fn concluded(outcome: Option<TuneOutcome>) -> (ExperimentRecord, u8) {
    let mut last = open_gate();
    last.results[0].backlog = true;
    let mut tune = tune(&[2]);
    tune.outcome = outcome;
    let record = conclude(judged(last), tune, "tune".to_owned());
    let code = exit_code(&record.judgments, RunEnding::from_incidents(&record.incidents));
    (record, code)
}

fn measurement(record: &ExperimentRecord) -> (Measurement, Vec<ReasonCode>) {
    let judged = &record.judgments.measurement;
    (judged.value, judged.codes())
}

#[test]
fn a_tuning_is_judged_by_its_end_and_not_by_its_last_trial() {
    let mut whole = tune(&[2]);
    let outcome = run(&mut whole, counts, |at| 100.0 + len_to_f64(at[0]));
    let (record, code) = concluded(Some(outcome));
    assert_eq!(measurement(&record), (Measurement::Valid, vec![]));
    assert_eq!(code, 0);
    // Although its last configuration missed it: the best one is one that met it.
    let objective = &record.judgments.objective;
    assert_eq!((objective.value, objective.reasons.len()), (ObjectiveValue::Met, 0));
    let (record, code) = concluded(None);
    let unfinished = (Measurement::Inconclusive, vec![ReasonCode::Interrupted]);
    assert_eq!((measurement(&record), code), (unfinished, 3));
    for (why, reason, exit) in [
        (NoBestReason::NoneCounts, ReasonCode::TooFewSamples, 3),
        (NoBestReason::BudgetSpent, ReasonCode::TooShort, 3),
        (NoBestReason::WrongData, ReasonCode::Interrupted, 3),
        (NoBestReason::TargetLost, ReasonCode::TargetLost, 5),
        (NoBestReason::Interrupted, ReasonCode::Interrupted, 130),
    ] {
        let (record, code) =
            concluded(Some(TuneOutcome::NoBest(NoBest { why, best_so_far: None })));
        let expected = (Measurement::Inconclusive, vec![reason]);
        assert_eq!((measurement(&record), code), (expected, exit), "{why:?}");
        assert_eq!(record.judgments.objective.value, ObjectiveValue::NotDecided);
    }
}
