//! A tuning: the loop over measured configurations that the policy of `analysis::tuning` asks for.
//!
//! What to measure next is decided there; how configurations are run is the business of `probes`.

use std::rc::Rc;

use highwater_analysis::tuning::{Measured, TuneStep, conclude, end_early, measured, next};
use highwater_model::plan::Plan;
use highwater_model::record::RunRecord;
use highwater_model::tune::{
    NoBestReason, TrialPurpose, TrialRecord, TrialVerdict, TuneOutcome, TuneRecord,
};
use highwater_model::units::Nanos;
use highwater_report::ExperimentProgress;

use crate::interrupts::Interrupts;
use crate::observer::{Event, Observer};
use crate::probes::{Probes, progress, took};
use crate::request::{RunError, RunRequest};
use crate::store::{RunDirectory, StoreError};

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
    /// Position of the value on each axis.
    pub at: Vec<usize>,
    /// Whether this process measures its first configuration.
    pub is_first: bool,
    /// That one found rows of the workload, so its tables may not be made anew.
    pub tables_kept: bool,
}

/// Makes the runs of configurations.
pub trait TrialMaker {
    /// What can go wrong with it.
    type Error: From<RunError> + From<StoreError>;
    /// The plan of a configuration.
    fn plan(&self, requested: &TrialRequest) -> Result<Plan, Self::Error>;
    /// The run of a configuration, kept in `directory`.
    fn request(
        &self,
        requested: &TrialRequest,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Self::Error>;
}

/// Tunes to the end, and returns the tuning's record.
///
/// # Errors
/// Where no record can be made: the budget has no room for a configuration, the first one could not be run, or
/// one could not be made or kept.
pub fn tune<M: TrialMaker>(
    request: TuneRequest,
    maker: &M,
    observer: &Rc<dyn Observer>,
    interrupts: &Interrupts,
) -> Result<RunRecord, M::Error> {
    let mut tune_run = TuneRun {
        runs: Probes::new(request.directory, request.settle, observer, interrupts),
        tune: request.tune,
    };
    let end = tune_run.finish(maker);
    tune_run.runs.close();
    end
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
struct TuneRun<'a> {
    tune: TuneRecord,
    runs: Probes<'a>,
}

impl TuneRun<'_> {
    fn finish<M: TrialMaker>(&mut self, maker: &M) -> Result<RunRecord, M::Error> {
        loop {
            let outcome = match next(&self.tune) {
                // What was measured before has no record here that could stand for the whole.
                TuneStep::End(_) if self.runs.last.is_none() => self.again(maker)?,
                TuneStep::End(outcome) => Some(outcome),
                TuneStep::Measure { at, purpose } => self.trial(maker, at, purpose)?,
            };
            self.tune.outcome = outcome;
            if let Some(record) = self.record()? {
                return Ok(record);
            }
        }
    }

    /// A tuning that had come to its end is resumed: its last configuration once more.
    fn again<M: TrialMaker>(&mut self, maker: &M) -> Result<Option<TuneOutcome>, M::Error> {
        match self.tune.trials.pop() {
            Some(last) => self.trial(maker, last.at, last.purpose),
            None => Err(no_room(&self.tune).into()),
        }
    }

    /// Measures a configuration; an outcome if that was the end of it all.
    fn trial<M: TrialMaker>(
        &mut self,
        maker: &M,
        at: Vec<usize>,
        purpose: TrialPurpose,
    ) -> Result<Option<TuneOutcome>, M::Error> {
        let number = u32::try_from(self.tune.trials.len() + 1).unwrap_or(u32::MAX);
        let requested = TrialRequest {
            number,
            at,
            is_first: self.runs.last.is_none(),
            tables_kept: self.runs.tables_kept,
        };
        let plan = maker.plan(&requested)?;
        let (directory, run) = self.runs.place(&format!("{number:03}"), &plan)?;
        let request = maker.request(&requested, plan, directory)?;
        let begin = Event::Probe {
            number,
            about: self.about(&requested.at, purpose),
            progress: self.progress(),
        };
        let Some(ran) = self.runs.run(request, &begin)? else {
            return Ok(Some(end_early(&self.tune, NoBestReason::Interrupted)));
        };
        let record = self.runs.record_of(&ran);
        let measured =
            record.map_or_else(unreachable_target, |record| measured(self.tune.by, record));
        self.tune.trials.push(TrialRecord {
            number,
            purpose,
            at: requested.at,
            verdict: measured.verdict,
            reasons: measured.reasons,
            throughput_per_s: measured.throughput_per_s,
            figure: measured.figure,
            started_at: ran.started_at,
            took_ns: record.map_or(0, took).saturating_add(ran.settled.0),
            run,
        });
        Ok(None)
    }

    fn progress(&self) -> ExperimentProgress {
        let policy = &self.tune.policy;
        let took = self.tune.trials.iter().map(|trial| trial.took_ns);
        let (planned, budget) = (Nanos(policy.trial_cost_ns), Nanos(policy.budget_ns));
        progress(took, policy.probes_max, planned, Some(budget))
    }

    fn about(&self, at: &[usize], purpose: TrialPurpose) -> String {
        let values = self.tune.values(at);
        let words: Vec<String> = values
            .iter()
            .map(|(axis, v)| format!("{axis} {v}"))
            .collect();
        let purpose = match purpose {
            TrialPurpose::Search => "search",
            TrialPurpose::Confirm => "confirm",
        };
        format!("{purpose}, {}", words.join(" · "))
    }

    /// Writes the record so far; returns it where the tuning has ended.
    fn record(&self) -> Result<Option<RunRecord>, StoreError> {
        let record = self
            .runs
            .write(|last, id| conclude(last, self.tune.clone(), id))?;
        let ended = self.tune.outcome.is_some();
        if let Some(trial) = self.tune.trials.last().filter(|_| !ended) {
            self.runs.observer.event(&Event::Measured {
                trial: trial.clone(),
                unit: self.tune.unit.name(),
            });
        }
        Ok(record.filter(|_| ended))
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
