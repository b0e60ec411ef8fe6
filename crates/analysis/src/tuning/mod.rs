//! The search for the best setting: from the measured configurations to the next one, or to the end.
//!
//! A pure function of the tuning's record; a caller measures the configuration and asks again. Nothing here
//! runs anything, or keeps state: each call replays the course from its begin, with what was measured
//! so far, up to the first configuration that is missing.
//!
//! 1. *Sample*: of a large grid some configurations, drawn by the seed; the best half of them is measured
//!    again, then the best half of these … (successive halving: Z. Karnin, T. Koren & O. Somekh,
//!    "Almost optimal exploration in multi-armed bandits", ICML 2013). While no configuration of the sample is
//!    valid, another one is drawn. A small grid is its own sample, and the last two of it are left to the
//!    confirming round.
//! 2. *Lines*: from the best of the sample along one axis after the other, all other values kept, with
//!    halving on each line; again along the axes, near the best, until nothing better is found.
//! 3. *Confirming round*: winner and runner-up in turn, in random order. Only this round says which one is better:
//!    figures by which a configuration was chosen flatter it. Of two that are tied the smaller one is the best.

mod figures;
mod state;
#[cfg(test)]
mod tests;

use highwater_model::judgment::{Judgment, Measurement, ObjectiveValue, ReasonCode};
use highwater_model::record::{ExperimentRecord, IncidentKind, Question, RunRecord};
use highwater_model::tune::{NoBestReason, TrialVerdict, TuneOutcome, TuneRecord};
use state::{TuneState, no_best};

use crate::whole::{self, Whole};

pub(crate) use figures::is_client_limited;
pub use figures::{Measured, measured, server_cpu_per_row, showed};
pub use state::{TuneStep, is_small, probes_left_out, probes_most};

/// What to do after the configurations that were measured.
pub fn next(tune: &TuneRecord) -> TuneStep {
    if let Some(why) = stopped(tune) {
        return TuneStep::End(end_early(tune, why));
    }
    match TuneState::new(tune).run() {
        Ok(outcome) => TuneStep::End(outcome),
        Err(step) => step,
    }
}

/// The end of a tuning that is not to go on, with what is known all the same.
pub fn end_early(tune: &TuneRecord, why: NoBestReason) -> TuneOutcome {
    no_best(why, TuneState::new(tune).best_so_far())
}

/// What ends a tuning whatever it knows.
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
