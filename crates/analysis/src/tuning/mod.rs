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

mod compare;
mod conclusion;
mod figures;
mod order;
mod state;
mod step;
#[cfg(test)]
mod tests;

use highwater_model::tune::{NoBestReason, TrialVerdict, TuneOutcome, TuneRecord};

pub use conclusion::conclude;
pub(crate) use figures::is_client_limited;
pub use figures::{Measured, measured, server_cpu_per_row, showed};
pub use state::{is_small, probes_left_out, probes_most};

pub use step::TuneStep;

use state::{TuneState, no_best};

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
