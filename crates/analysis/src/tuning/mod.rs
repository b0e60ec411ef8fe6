//! The search for the best setting: from the measured configurations to the next one, or to the end.
//!
//! A pure function of the tuning's record; a caller measures the configuration and calls again. Keeps no state:
//! each call replays the search from its start with the measurements so far, up to the first missing
//! configuration. Must not run anything.
//!
//! 1. *Sample*: some configurations of a large grid, sampled by the seed; the best half of them is measured
//!    again, then the best half of these … (successive halving: Z. Karnin, T. Koren & O. Somekh, "Almost
//!    optimal exploration in multi-armed bandits", ICML 2013). While no configuration of the sample is valid,
//!    another sample is taken. A small grid is sampled completely, and its last two configurations are left
//!    to the confirming round.
//! 2. *Lines*: from the best of the sample along each axis in turn, with all other values unchanged
//!    and halving on each line; then again along the axes, near the best, until nothing better is
//!    found.
//! 3. *Confirming round*: winner and runner-up alternate, in random order. Only this round decides which one is
//!    better: the figures by which a configuration was selected are biased in its favor. If two are tied, the
//!    smaller one is the best; so if the runner-up is smaller, the lines near it are searched, too.

mod state;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use highwater_model::judgment::{Judgment, Judgments, Measurement, ObjectiveValue, ReasonCode};
use highwater_model::record::{ExperimentRecord, IncidentKind, Question, RunRecord};
use highwater_model::target_telemetry::{names, sources};
use highwater_model::tune::{
    NoBestReason, RunObservations, TrialVerdict, TuneFigure, TuneOutcome, TuneRecord,
};

pub use self::state::TIE;
use self::state::{TuneState, no_best};
use crate::judge::{MeasuredStream, RunEnding, measured_streams};
use crate::telemetry::{self, busy_cpus, disk_bytes_per_row, mean, named};
use crate::whole::{self, Whole};

pub use state::{TuneStep, is_small, probes_left_out, probes_most};

/// The next step after the measured configurations.
pub fn next(tune: &TuneRecord) -> TuneStep {
    if let Some(why) = stopped(tune) {
        return TuneStep::End(end_early(tune, why));
    }
    match TuneState::new(tune).run() {
        Ok(outcome) => TuneStep::End(outcome),
        Err(step) => step,
    }
}

/// The end of a tuning that must not continue, with its results so far.
pub fn end_early(tune: &TuneRecord, why: NoBestReason) -> TuneOutcome {
    no_best(why, TuneState::new(tune).best_so_far())
}

/// Conditions that end a tuning regardless of its results.
fn stopped(tune: &TuneRecord) -> Option<NoBestReason> {
    let mut last = tune.trials.iter().rev().map(|trial| trial.verdict);
    match (last.next()?, last.next()) {
        (TrialVerdict::Interrupted, _) => Some(NoBestReason::Interrupted),
        (TrialVerdict::WrongData, _) => Some(NoBestReason::WrongData),
        (TrialVerdict::TargetLost, Some(TrialVerdict::TargetLost)) => {
            Some(NoBestReason::TargetLost)
        }
        _ => None,
    }
}

/// The record of a tuning so far; `last` is that of its last configuration.
pub fn conclude(last: RunRecord, tune: TuneRecord, id: String) -> ExperimentRecord {
    let why = match &tune.outcome {
        None => Some(NoBestReason::Interrupted),
        Some(TuneOutcome::Best(_)) => None,
        Some(TuneOutcome::NoBest(no_best)) => Some(no_best.why),
    };
    let mut whole = Whole::from_run(&last);
    whole.judgments.measurement = match why {
        None => Judgment { value: Measurement::Valid, reasons: Vec::new() },
        Some(why) => unknown(why, &tune),
    };
    // The best configuration is one that meets the objectives: others do not count.
    let value = match (last.plan.definition.objectives.is_empty(), why) {
        (true, _) => ObjectiveValue::NoneSet,
        (false, None) => ObjectiveValue::Met,
        (false, Some(_)) => ObjectiveValue::NotDecided,
    };
    whole.judgments.objective = Judgment { value, reasons: Vec::new() };
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

/// Reasons for an invalid measurement that are the load generator's fault.
const OUR_OWN: [ReasonCode; 3] =
    [ReasonCode::ClientSaturated, ReasonCode::ClientLag, ReasonCode::RateNotOffered];

/// The figures that a tuning takes from a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrialFigures {
    /// Whether and how it counts.
    pub verdict: TrialVerdict,
    /// Codes of the reasons why it does not count.
    pub reasons: Vec<ReasonCode>,
    /// Units of the first stream acknowledged per second.
    pub throughput_per_s: f64,
    /// The figure by which configurations are compared.
    pub figure: Option<f64>,
    /// Its run's other figures; absent if there was no run.
    pub showed: Option<RunObservations>,
}

/// Reads the record of a configuration.
pub fn measured(by: TuneFigure, record: &RunRecord) -> TrialFigures {
    let streams = measured_streams(record);
    let throughput_per_s = streams.first().map_or(0.0, MeasuredStream::units_per_s);
    let figure = match by {
        TuneFigure::Throughput => Some(throughput_per_s).filter(|reached| *reached > 0.0),
        TuneFigure::ServerCpuPerRow => server_cpu_per_row(record),
        TuneFigure::DiskBytesPerRow => disk_bytes_per_row(record),
    };
    let (verdict, reasons) = verdict(record, figure.is_some());
    TrialFigures {
        verdict,
        reasons,
        throughput_per_s,
        figure,
        showed: Some(showed(record, streams.first())),
    }
}

/// The figures of a stream, its target, and its load generator other than the throughput.
pub fn showed(record: &RunRecord, stream: Option<&MeasuredStream<'_>>) -> RunObservations {
    let clients = record.clients.iter().map(|client| client.cpu_fraction);
    let cpus = busy_cpus(record).into_iter().map(|(_, busy)| busy);
    RunObservations {
        per_s_by_op: stream.map_or_else(BTreeMap::new, MeasuredStream::per_s_by_op),
        p99_ns: stream.and_then(|stream| stream.greatest(|result| result.latency_ns.p99)),
        p99_at_least: stream.is_some_and(MeasuredStream::p99_at_least),
        target_cpu: cpus.reduce(f64::max),
        client_cpu: clients.fold(0.0, f64::max),
        limit: record.limit.clone(),
    }
}

/// Whether the measurement is invalid because of the load generator.
pub(crate) fn is_client_limited(judged: &Judgments) -> bool {
    let codes = judged.measurement.codes();
    judged.measurement.value == Measurement::Invalid
        && OUR_OWN.iter().any(|code| codes.contains(code))
}

fn verdict(record: &RunRecord, has_figure: bool) -> (TrialVerdict, Vec<ReasonCode>) {
    let judged = &record.judgments;
    let of_measurement = judged.measurement.codes();
    match RunEnding::from_incidents(&record.incidents) {
        RunEnding::Interrupted => return (TrialVerdict::Interrupted, Vec::new()),
        RunEnding::TargetLost => return (TrialVerdict::TargetLost, Vec::new()),
        RunEnding::Complete => {}
    }
    if judged.data.value.is_wrong() {
        (TrialVerdict::WrongData, judged.data.codes())
    } else if is_client_limited(judged) {
        (TrialVerdict::Invalid, of_measurement)
    } else if judged.objective.value == ObjectiveValue::Missed {
        (TrialVerdict::Missed, judged.objective.codes())
    } else if judged.objective.value == ObjectiveValue::NotDecided {
        (TrialVerdict::NotMeasured, judged.objective.codes())
    } else if has_figure {
        (TrialVerdict::Counts, Vec::new())
    } else {
        (TrialVerdict::NotMeasured, Vec::new())
    }
}

/// CPU seconds of the target per row written: of the threads of an embedded database; otherwise from
/// the busy fraction of the target's CPUs over the measured time, if it reports that and the number
/// of cores of its nodes.
pub fn server_cpu_per_row(record: &RunRecord) -> Option<f64> {
    let rows: u64 = record.results.iter().map(|r| r.rows.acknowledged).sum();
    let rows = highwater_model::display::ratio(rows, 1);
    let embedded: f64 = record.clients.iter().map(|c| c.embedded_cpu_seconds).sum();
    if record.target.embedded && embedded > 0.0 && rows > 0.0 {
        return Some(embedded / rows);
    }
    let cores: f64 = record.target.settings.get("cores")?.parse().ok()?;
    let telemetry = record.target_telemetry.as_ref()?;
    let range = telemetry::measured(record)?;
    let busy: f64 = named(telemetry, names::CPU_BUSY)
        .filter(|series| series.source == sources::TARGET)
        .filter_map(|series| mean(telemetry, series, range))
        .sum();
    let streams = measured_streams(record);
    let rows_per_s: f64 = streams.iter().map(|s| s.stream.throughput.rows_per_s).sum();
    (busy > 0.0 && rows_per_s > 0.0).then(|| busy * cores / rows_per_s)
}
