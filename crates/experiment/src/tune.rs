//! A tuning: the trials that the policy of `highwater_analysis::tuning` asks for.
//!
//! What to measure next is decided there.

use std::rc::Rc;

use highwater_analysis::tuning::{Measured, TuneStep, conclude, end_early, measured, next};
use highwater_model::event::{Event, ExperimentProgress, Trial};
use highwater_model::plan::Plan;
use highwater_model::record::{ExperimentRecord, RunRecord};
use highwater_model::tune::{NoBestReason, TrialPurpose, TrialRecord, TrialVerdict, TuneRecord};
use highwater_model::units::Nanos;

use crate::progress::{progress, took};
use crate::trial_loop::{self, Experiment, Made, Step};
use crate::trial_maker::TrialMaker;
use crate::trials::{Before, Trials};
use highwater_runner::interrupts::Interrupts;
use highwater_runner::observer::Observer;
use highwater_runner::request::{RunError, RunRequest};
use highwater_runner::store::RunDirectory;

/// What is tuned, and where it is kept.
pub struct TuneRequest {
    /// Without an outcome; with the configurations of a tuning that is resumed.
    pub tune: TuneRecord,
    /// The tuning's own directory, made by the caller.
    pub directory: RunDirectory,
    /// How long the target is left alone before each configuration; not on a simulated clock.
    pub settle: Nanos,
}

/// A configuration that is to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialRequest {
    /// From 1.
    pub number: u32,
    /// Why.
    pub purpose: TrialPurpose,
    /// Position of the value on each axis.
    pub at: Vec<usize>,
    /// Whether this process measures its first configuration.
    pub is_first: bool,
    /// That one found rows of the workload, so its tables may not be made anew.
    pub tables_kept: bool,
}

/// Tunes to the end, and returns the tuning's record.
///
/// # Errors
/// Where no record can be made: the budget has no room for a configuration, the first one could not be run, or
/// one could not be made or kept.
pub fn tune<M: TrialMaker<TrialRequest>>(
    request: TuneRequest,
    maker: &M,
    observer: &Rc<dyn Observer>,
    interrupts: &Interrupts,
) -> Result<ExperimentRecord, M::Error> {
    let trials = Trials::new(request.directory, request.settle, observer, interrupts);
    let mut tune_run = TuneRun {
        tune: request.tune,
        maker,
    };
    trial_loop::run(&mut tune_run, trials)
}

/// Refuses a tuning whose budget has no room for its first configuration and the confirming round behind it.
///
/// # Errors
/// Where nothing can be measured.
pub fn check(tune: &TuneRecord) -> Result<(), RunError> {
    match next(tune) {
        TuneStep::End(_) if tune.trials.is_empty() => Err(no_room(tune)),
        _ => Ok(()),
    }
}

fn no_room(tune: &TuneRecord) -> RunError {
    RunError::Budget {
        probe: Nanos(tune.policy.trial_cost_ns),
        confirmations: tune.policy.confirmations.saturating_mul(2),
    }
}

/// A tuning under way.
struct TuneRun<'a, M> {
    tune: TuneRecord,
    maker: &'a M,
}

impl<M: TrialMaker<TrialRequest>> Experiment for TuneRun<'_, M> {
    type Trial = TrialRequest;
    type Error = M::Error;

    fn next(&mut self, before: Before) -> Result<Step<TrialRequest>, M::Error> {
        let (at, purpose) = match next(&self.tune) {
            TuneStep::Measure { at, purpose } => (at, purpose),
            // What was measured before has no record here that could stand for the whole: a tuning that had
            // come to its end is resumed with its last trial once more.
            TuneStep::End(_) if before.is_first => match self.tune.trials.pop() {
                Some(last) => (last.at, last.purpose),
                None => return Err(no_room(&self.tune).into()),
            },
            TuneStep::End(outcome) => {
                self.tune.outcome = Some(outcome);
                return Ok(Step::End);
            }
        };
        Ok(Step::Trial(TrialRequest {
            number: u32::try_from(self.tune.trials.len() + 1).unwrap_or(u32::MAX),
            purpose,
            at,
            is_first: before.is_first,
            tables_kept: before.tables_kept,
        }))
    }

    fn plan(&self, trial: &TrialRequest) -> Result<Plan, M::Error> {
        self.maker.plan(trial)
    }

    fn request(
        &self,
        trial: &TrialRequest,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, M::Error> {
        self.maker.request(trial, plan, directory)
    }

    fn number(&self, trial: &TrialRequest) -> u32 {
        trial.number
    }

    fn name(&self, trial: &TrialRequest) -> String {
        format!("{:03}", trial.number)
    }

    fn about(&self, trial: &TrialRequest) -> Trial {
        let values = self.tune.values(&trial.at).into_iter();
        Trial::Configuration {
            purpose: trial.purpose,
            values: values.map(|(axis, value)| [axis, value]).collect(),
        }
    }

    fn progress(&self, _: &TrialRequest) -> ExperimentProgress {
        let policy = &self.tune.policy;
        let took = self.tune.trials.iter().map(|trial| trial.took_ns);
        let (planned, budget) = (Nanos(policy.trial_cost_ns), Nanos(policy.budget_ns));
        progress(took, policy.probes_max, planned, Some(budget))
    }

    fn keep(&mut self, trial: TrialRequest, made: Made<'_>) {
        let by = self.tune.by;
        let seen = made
            .record
            .map_or_else(unreachable_target, |record| measured(by, record));
        self.tune.trials.push(TrialRecord {
            number: trial.number,
            purpose: trial.purpose,
            at: trial.at,
            verdict: seen.verdict,
            reasons: seen.reasons,
            throughput_per_s: seen.throughput_per_s,
            figure: seen.figure,
            started_at: made.ran.started_at,
            took_ns: made
                .record
                .map_or(0, took)
                .saturating_add(made.ran.settled.0),
            run: made.run,
        });
    }

    fn interrupt(&mut self) {
        self.tune.outcome = Some(end_early(&self.tune, NoBestReason::Interrupted));
    }

    fn is_over(&self) -> bool {
        self.tune.outcome.is_some()
    }

    fn conclude(&self, last: RunRecord, id: String) -> ExperimentRecord {
        conclude(last, self.tune.clone(), id)
    }

    fn made(&self) -> Option<Event> {
        let trial = self.tune.trials.last()?.clone();
        let unit = self.tune.unit;
        Some(Event::Measured { trial, unit })
    }
}

/// What a configuration shows that could not be run.
fn unreachable_target() -> Measured {
    Measured {
        verdict: TrialVerdict::TargetLost,
        reasons: Vec::new(),
        throughput_per_s: 0.0,
        figure: None,
    }
}
