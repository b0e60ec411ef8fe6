//! The figures of a size, from the record of its run or experiment. Must not draw conclusions from them.

use std::collections::BTreeMap;

use crate::judge::{Ended, MeasuredStream, measured_streams};
use crate::limit;
use crate::search::{confirmation, rows_before};
use crate::tuning::{is_client_limited, showed};
use highwater_model::judgment::{Judgments, ObjectiveValue};
use highwater_model::record::{Question, RecordRef, RunRecord, TableStart};
use highwater_model::scale::{SizeFigures, SizeVerdict};
use highwater_model::search::{NoMark, NoMarkReason, SearchOutcome, SearchRecord};
use highwater_model::tune::{
    NoBestReason, Showed, TrialRecord, TrialVerdict, TuneOutcome, TuneRecord,
};

/// Reads the record of a size; empty figures if its target was unreachable.
pub fn figures(stream: &str, record: Option<RecordRef<'_>>) -> SizeFigures {
    let Some(record) = record else {
        return SizeFigures::none(SizeVerdict::TargetLost);
    };
    let run = record.measured_run().run;
    let measured = measured_streams(run);
    let measured = measured.iter().find(|one| one.stream.stream == stream);
    let experiment = record.experiment();
    let figure = match experiment.map(|of| &of.question) {
        Some(Question::Search(search)) => of_search(search, record.judgments()),
        Some(Question::Tune(tune)) => of_tuning(tune),
        Some(Question::Group(_) | Question::Scale(_)) | None => of_run(run, measured),
    };
    let incidents = experiment.map_or(&run.incidents, |of| &of.incidents);
    let figure = unless_stopped(figure, Ended::of(incidents));
    let last = showed(run, measured);
    let showed = match experiment.map(|of| &of.question) {
        Some(Question::Search(search)) => Showed {
            limit: limit::of_search(search).cloned(),
            per_s_by_op: confirmation(search)
                .map_or_else(BTreeMap::new, |of| of.per_s_by_op.clone()),
            ..last
        },
        Some(Question::Tune(tune)) => of_best(tune).unwrap_or(last),
        Some(Question::Group(_) | Question::Scale(_)) | None => last,
    };
    let layout = |name| layout(run, &figure.best, name);
    let (shards, replicas) = (layout("shards"), layout("replicas"));
    let mut tables = run.target.tables.iter();
    // The last run of a tuning need not use its best configuration.
    let sessions = figure.best.get("sessions").and_then(|n| n.parse().ok());
    let sessions = sessions.or(measured.map(|one| one.stream.sessions));
    SizeFigures {
        judgments: Some(record.judgments().clone()),
        per_s_by_op: showed.per_s_by_op,
        p99_ns: showed.p99_ns,
        sessions: sessions.unwrap_or(0),
        shards,
        replicas,
        target_cpu: showed.target_cpu,
        client_cpu: showed.client_cpu,
        limit: showed.limit,
        not_warm: run.phases.iter().any(|phase| phase.steady == Some(false)),
        rows: rows_before(run),
        continued: tables.any(|table| table.start == TableStart::Continued),
        ..figure
    }
}

/// Shards or replicas. The workload parameter has no effect on a target without shards. A target has shards if it
/// reports its number of nodes, or if the flag was given: targets without shards reject it.
fn layout(run: &RunRecord, best: &BTreeMap<String, String>, name: &str) -> Option<u64> {
    let settings = &run.target.settings;
    let counts_nodes = settings.get("nodes").is_some_and(|n| n.parse::<u64>().is_ok());
    let has_them = counts_nodes || run.header.given.contains_key(name);
    let parameter = run.workload.parameters.get(name).filter(|_| has_them);
    let stated = best.get(name).or_else(|| settings.get(name)).or(parameter);
    stated?.parse().ok()
}

/// A stopped experiment is not complete, even if it had confirmed a value.
fn unless_stopped(figure: SizeFigures, ended: Ended) -> SizeFigures {
    let verdict = match ended {
        Ended::Interrupted => SizeVerdict::Interrupted,
        Ended::TargetLost => SizeVerdict::TargetLost,
        Ended::Complete => return figure,
    };
    if !figure.verdict.counts() {
        return figure;
    }
    SizeFigures { verdict, ..figure }
}

fn of_search(search: &SearchRecord, judged: &Judgments) -> SizeFigures {
    match &search.outcome {
        None => SizeFigures::none(SizeVerdict::Interrupted),
        Some(SearchOutcome::Mark(mark)) => {
            let verdict = match judged.objective.value {
                ObjectiveValue::Missed => SizeVerdict::Missed,
                _ => SizeVerdict::Counts,
            };
            SizeFigures {
                reasons: judged.objective.codes(),
                per_s: mark.confirmed,
                estimate: mark.estimate,
                failed: mark.failed,
                failed_by: mark.limited_by.clone(),
                ..SizeFigures::none(verdict)
            }
        }
        Some(SearchOutcome::NoMark(no_mark)) => without_mark(no_mark, judged),
    }
}

fn without_mark(no_mark: &NoMark, judged: &Judgments) -> SizeFigures {
    let verdict = match no_mark.why {
        NoMarkReason::ClientCeiling => SizeVerdict::ClientCeiling,
        NoMarkReason::TargetLost => SizeVerdict::TargetLost,
        NoMarkReason::WrongData => SizeVerdict::WrongData,
        NoMarkReason::Interrupted => SizeVerdict::Interrupted,
        NoMarkReason::BelowLowest
        | NoMarkReason::TooFewOps
        | NoMarkReason::OpsTooLong
        | NoMarkReason::BudgetSpent
        | NoMarkReason::NothingAcknowledged => SizeVerdict::NotMeasured,
    };
    SizeFigures {
        reasons: [judged.objective.codes(), judged.measurement.codes()].concat(),
        ..SizeFigures::none(verdict)
    }
}

fn of_tuning(tune: &TuneRecord) -> SizeFigures {
    match &tune.outcome {
        None => SizeFigures::none(SizeVerdict::Interrupted),
        Some(TuneOutcome::Best(best)) => {
            let gave_out = client_gave_out(tune, best.figure);
            let verdict = match gave_out {
                None => SizeVerdict::Counts,
                Some(_) => SizeVerdict::ClientCeiling,
            };
            SizeFigures {
                reasons: gave_out.map_or_else(Vec::new, |trial| trial.reasons.clone()),
                per_s: best.figure,
                best: best.values.clone(),
                ..SizeFigures::none(verdict)
            }
        }
        Some(TuneOutcome::NoBest(no_best)) => {
            let gave_out = client_gave_out(tune, 0.0);
            let verdict = match no_best.why {
                NoBestReason::NoneCounts | NoBestReason::BudgetSpent
                    if gave_out.is_some() && no_best.best_so_far.is_none() =>
                {
                    SizeVerdict::ClientCeiling
                }
                NoBestReason::NoneCounts | NoBestReason::BudgetSpent => SizeVerdict::NotMeasured,
                NoBestReason::TargetLost => SizeVerdict::TargetLost,
                NoBestReason::WrongData => SizeVerdict::WrongData,
                NoBestReason::Interrupted => SizeVerdict::Interrupted,
            };
            SizeFigures::none(verdict)
        }
    }
}

/// The configuration with which the load generator was saturated although the target exceeded the best rate: without
/// the saturation, the size might have been better.
fn client_gave_out(tune: &TuneRecord, per_s: f64) -> Option<&TrialRecord> {
    let invalid = |trial: &&TrialRecord| trial.verdict == TrialVerdict::Invalid;
    tune.trials
        .iter()
        .filter(invalid)
        .max_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s))
        .filter(|most| most.throughput_per_s > per_s)
}

/// The figures of the last run with the best configuration.
fn of_best(tune: &TuneRecord) -> Option<Showed> {
    let Some(TuneOutcome::Best(best)) = &tune.outcome else {
        return None;
    };
    let mut trials = tune.trials.iter().rev();
    trials
        .find(|trial| trial.at == best.at && trial.verdict == TrialVerdict::Counts)?
        .showed
        .clone()
}

fn of_run(run: &RunRecord, measured: Option<&MeasuredStream<'_>>) -> SizeFigures {
    let judged = &run.judgments;
    match Ended::of(&run.incidents) {
        Ended::Interrupted => return SizeFigures::none(SizeVerdict::Interrupted),
        Ended::TargetLost => return SizeFigures::none(SizeVerdict::TargetLost),
        Ended::Complete => {}
    }
    if judged.data.value.is_wrong() {
        return SizeFigures {
            reasons: judged.data.codes(),
            ..SizeFigures::none(SizeVerdict::WrongData)
        };
    }
    let of_measurement = judged.measurement.codes();
    let per_s = measured.map_or(0.0, MeasuredStream::units_per_s);
    if per_s <= 0.0 {
        return SizeFigures {
            reasons: of_measurement,
            ..SizeFigures::none(SizeVerdict::NotMeasured)
        };
    }
    let (verdict, reasons) = if is_client_limited(judged) {
        (SizeVerdict::ClientCeiling, of_measurement)
    } else if matches!(judged.objective.value, ObjectiveValue::Missed | ObjectiveValue::NotDecided)
    {
        (SizeVerdict::Missed, judged.objective.codes())
    } else {
        (SizeVerdict::Counts, Vec::new())
    };
    SizeFigures {
        reasons,
        per_s,
        interval: measured.and_then(|one| one.stream.throughput.ci95),
        ..SizeFigures::none(verdict)
    }
}
