//! What the record of a size says to a growth: that of its run, or of its experiment.
//!
//! What must not be here: what follows from it.

use std::collections::BTreeMap;

use crate::judge::{Ended, MeasuredStream, measured_streams};
use crate::limit;
use crate::search::rows_before;
use crate::tuning::showed;
use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue, ReasonCode};
use highwater_model::record::{Question, RecordRef, RunRecord, TableStart};
use highwater_model::scale::{SizeFigures, SizeVerdict};
use highwater_model::search::{NoMark, NoMarkReason, SearchOutcome, SearchRecord};
use highwater_model::tune::{
    NoBestReason, Showed, TrialRecord, TrialVerdict, TuneOutcome, TuneRecord,
};

/// Reasons for an invalid measurement that are the load generator's doing.
const OF_CLIENT: [ReasonCode; 3] = [
    ReasonCode::ClientSaturated,
    ReasonCode::ClientLag,
    ReasonCode::RateNotOffered,
];

/// A figure, and whether it is one.
struct Figure {
    verdict: SizeVerdict,
    reasons: Vec<ReasonCode>,
    per_s: f64,
    best: BTreeMap<String, String>,
    interval: Option<[f64; 2]>,
}

impl Figure {
    fn none(verdict: SizeVerdict, reasons: Vec<ReasonCode>) -> Self {
        Self {
            verdict,
            reasons,
            per_s: 0.0,
            best: BTreeMap::new(),
            interval: None,
        }
    }

    /// An experiment that was stopped has not come to its end, whatever it had confirmed by then.
    fn unless_stopped(self, ended: Ended) -> Self {
        let verdict = match ended {
            Ended::Interrupted => SizeVerdict::Interrupted,
            Ended::TargetLost => SizeVerdict::TargetLost,
            Ended::Complete => return self,
        };
        if !self.verdict.counts() {
            return self;
        }
        Self { verdict, ..self }
    }
}

/// Reads the record of a size; nothing where its target could not be reached.
pub fn figures(stream: &str, record: Option<RecordRef<'_>>) -> SizeFigures {
    let Some(record) = record else {
        return unreached();
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
    let figure = figure.unless_stopped(Ended::of(incidents));
    let last = showed(run, measured);
    let showed = match experiment.map(|of| &of.question) {
        Some(Question::Search(search)) => Showed {
            limit: limit::of_search(search).cloned(),
            ..last
        },
        Some(Question::Tune(tune)) => of_best(tune).unwrap_or(last),
        Some(Question::Group(_) | Question::Scale(_)) | None => last,
    };
    let layout = |name| layout(run, &figure.best, name);
    let (shards, replicas) = (layout("shards"), layout("replicas"));
    let mut tables = run.target.tables.iter();
    // The last run of a tuning need not be one of its best configuration.
    let sessions = figure.best.get("sessions").and_then(|n| n.parse().ok());
    let sessions = sessions.or(measured.map(|one| one.stream.sessions));
    SizeFigures {
        verdict: figure.verdict,
        reasons: figure.reasons,
        judgments: Some(record.judgments().clone()),
        per_s: figure.per_s,
        best: figure.best,
        interval: figure.interval,
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
    }
}

/// Shards or replicas. The parameter of a workload says nothing of a target without them; one that has them counts
/// its nodes, and refuses the flag otherwise.
fn layout(run: &RunRecord, best: &BTreeMap<String, String>, name: &str) -> Option<u64> {
    let settings = &run.target.settings;
    let counts_nodes = settings
        .get("nodes")
        .is_some_and(|n| n.parse::<u64>().is_ok());
    let has_them = counts_nodes || run.header.given.contains_key(name);
    let parameter = run.workload.parameters.get(name).filter(|_| has_them);
    let stated = best.get(name).or_else(|| settings.get(name)).or(parameter);
    stated?.parse().ok()
}

fn unreached() -> SizeFigures {
    SizeFigures {
        verdict: SizeVerdict::TargetLost,
        reasons: Vec::new(),
        judgments: None,
        per_s: 0.0,
        best: BTreeMap::new(),
        interval: None,
        p99_ns: None,
        sessions: 0,
        shards: None,
        replicas: None,
        target_cpu: None,
        client_cpu: 0.0,
        limit: None,
        not_warm: false,
        rows: 0,
        continued: false,
    }
}

fn of_search(search: &SearchRecord, judged: &Judgments) -> Figure {
    match &search.outcome {
        None => Figure::none(SizeVerdict::Interrupted, Vec::new()),
        Some(SearchOutcome::Mark(mark)) => {
            let estimate = mark.estimate.map(|found| [found.low90, found.high90]);
            Figure {
                verdict: match judged.objective.value {
                    ObjectiveValue::Missed => SizeVerdict::Missed,
                    _ => SizeVerdict::Counts,
                },
                reasons: codes(judged.objective.reasons.iter().map(|reason| reason.code)),
                per_s: mark.confirmed,
                best: BTreeMap::new(),
                interval: estimate.or(mark.failed.map(|failed| [mark.confirmed, failed])),
            }
        }
        Some(SearchOutcome::NoMark(no_mark)) => without_mark(no_mark, judged),
    }
}

fn without_mark(no_mark: &NoMark, judged: &Judgments) -> Figure {
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
    let measurement = judged.measurement.reasons.iter().map(|reason| reason.code);
    let objective = judged.objective.reasons.iter().map(|reason| reason.code);
    Figure::none(verdict, codes(objective.chain(measurement)))
}

fn of_tuning(tune: &TuneRecord) -> Figure {
    match &tune.outcome {
        None => Figure::none(SizeVerdict::Interrupted, Vec::new()),
        Some(TuneOutcome::Best(best)) => {
            let gave_out = client_gave_out(tune, best.figure);
            Figure {
                verdict: match gave_out {
                    None => SizeVerdict::Counts,
                    Some(_) => SizeVerdict::ClientCeiling,
                },
                reasons: gave_out.map_or_else(Vec::new, |trial| trial.reasons.clone()),
                per_s: best.figure,
                best: best.values.clone(),
                interval: None,
            }
        }
        Some(TuneOutcome::NoBest(no_best)) => {
            let gave_out = client_gave_out(tune, 0.0);
            let verdict = match no_best.why {
                NoBestReason::NoneCounts if gave_out.is_some() => SizeVerdict::ClientCeiling,
                NoBestReason::NoneCounts | NoBestReason::BudgetSpent => SizeVerdict::NotMeasured,
                NoBestReason::TargetLost => SizeVerdict::TargetLost,
                NoBestReason::WrongData => SizeVerdict::WrongData,
                NoBestReason::Interrupted => SizeVerdict::Interrupted,
            };
            Figure::none(verdict, Vec::new())
        }
    }
}

/// The configuration with which the load generator gave out although the target made more than that: without it,
/// the size may have been better.
fn client_gave_out(tune: &TuneRecord, per_s: f64) -> Option<&TrialRecord> {
    let invalid = |trial: &&TrialRecord| trial.verdict == TrialVerdict::Invalid;
    let invalid = tune.trials.iter().filter(invalid);
    invalid
        .max_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s))
        .filter(|most| most.throughput_per_s > per_s)
}

/// What the last run of the best configuration showed.
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

fn of_run(run: &RunRecord, measured: Option<&MeasuredStream<'_>>) -> Figure {
    let judged = &run.judgments;
    match Ended::of(&run.incidents) {
        Ended::Interrupted => return Figure::none(SizeVerdict::Interrupted, Vec::new()),
        Ended::TargetLost => return Figure::none(SizeVerdict::TargetLost, Vec::new()),
        Ended::Complete => {}
    }
    if matches!(
        judged.data.value,
        Data::Lost | Data::Duplicated | Data::Surplus | Data::Altered
    ) {
        let reasons = judged.data.reasons.iter().map(|reason| reason.code);
        return Figure::none(SizeVerdict::WrongData, codes(reasons));
    }
    let of_measurement = codes(judged.measurement.reasons.iter().map(|reason| reason.code));
    let per_s = measured.map_or(0.0, MeasuredStream::units_per_s);
    if per_s <= 0.0 {
        return Figure::none(SizeVerdict::NotMeasured, of_measurement);
    }
    let is_invalid = judged.measurement.value == Measurement::Invalid;
    let of_client = OF_CLIENT.iter().any(|code| of_measurement.contains(code));
    let (verdict, reasons) = if is_invalid && of_client {
        (SizeVerdict::ClientCeiling, of_measurement)
    } else if judged.objective.value == ObjectiveValue::Missed {
        let reasons = judged.objective.reasons.iter().map(|reason| reason.code);
        (SizeVerdict::Missed, codes(reasons))
    } else {
        (SizeVerdict::Counts, Vec::new())
    };
    Figure {
        verdict,
        reasons,
        per_s,
        best: BTreeMap::new(),
        interval: measured.and_then(|one| one.stream.throughput.ci95),
    }
}

fn codes(codes: impl Iterator<Item = ReasonCode>) -> Vec<ReasonCode> {
    codes.collect()
}
