//! The loop: from the policy the next trial, from the trial its run, until the policy says that it is over.
//!
//! What must not be here: what is tried, and what it shows.

use highwater_model::event::{Event, ExperimentProgress, Trial};
use highwater_model::plan::Plan;
use highwater_model::record::{ExperimentRecord, RunRecord};
use highwater_runner::request::{RunError, RunRequest};
use highwater_runner::store::{RunDirectory, StoreError};

use crate::trials::{Before, Ran, Trials};

/// What comes next.
pub(crate) enum Step<T> {
    /// This trial.
    Trial(T),
    /// Nothing: the question has its outcome.
    End,
}

/// A trial that was run.
pub(crate) struct Made<'a> {
    pub(crate) ran: Ran,
    /// Absent where the target could not be reached.
    pub(crate) record: Option<&'a RunRecord>,
    pub(crate) plan: Plan,
    /// Its directory, below that of the whole.
    pub(crate) run: String,
}

/// A question, as the loop sees it.
pub(crate) trait Experiment {
    /// What is tried.
    type Trial;
    /// What can go wrong with it.
    type Error: From<RunError> + From<StoreError>;

    /// The next trial, or the end, with its outcome noted.
    fn next(&mut self, before: Before) -> Result<Step<Self::Trial>, Self::Error>;

    fn plan(&self, trial: &Self::Trial) -> Result<Plan, Self::Error>;

    fn request(
        &self,
        trial: &Self::Trial,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Self::Error>;

    /// From 1.
    fn number(&self, trial: &Self::Trial) -> u32;

    /// How its directory is named.
    fn name(&self, trial: &Self::Trial) -> String;

    /// What is tried.
    fn about(&self, trial: &Self::Trial) -> Trial;

    fn progress(&self, trial: &Self::Trial) -> ExperimentProgress;

    /// Adds what was made to the trials.
    fn keep(&mut self, trial: Self::Trial, made: Made<'_>);

    /// The user stopped before a trial: the outcome is what is known all the same.
    fn interrupt(&mut self);

    fn is_over(&self) -> bool;

    /// The record of the whole, made of the last trial's.
    fn conclude(&self, last: RunRecord, id: String) -> ExperimentRecord;

    /// What the user is told of the last trial.
    fn made(&self) -> Option<Event>;
}

/// Asks until the question has its outcome, and returns the record of the whole.
pub(crate) fn run<E: Experiment>(
    experiment: &mut E,
    mut trials: Trials<'_>,
) -> Result<ExperimentRecord, E::Error> {
    let end = to_the_end(experiment, &mut trials);
    trials.close();
    end
}

fn to_the_end<E: Experiment>(
    experiment: &mut E,
    trials: &mut Trials<'_>,
) -> Result<ExperimentRecord, E::Error> {
    loop {
        if let Step::Trial(trial) = experiment.next(trials.before())? {
            one(experiment, trials, trial)?;
        }
        let record = trials.write(|last, id| experiment.conclude(last, id))?;
        match record {
            Some(record) if experiment.is_over() => {
                trials.end(&record);
                return Ok(record);
            }
            _ => experiment
                .made()
                .iter()
                .for_each(|event| trials.observer.event(event)),
        }
    }
}

fn one<E: Experiment>(
    experiment: &mut E,
    trials: &mut Trials<'_>,
    trial: E::Trial,
) -> Result<(), E::Error> {
    let plan = experiment.plan(&trial)?;
    let (directory, run) = trials.place(&experiment.name(&trial), &plan)?;
    let request = experiment.request(&trial, plan.clone(), directory)?;
    let begin = Event::Trial {
        number: experiment.number(&trial),
        trial: experiment.about(&trial),
        progress: experiment.progress(&trial),
    };
    match trials.run(request, &begin)? {
        None => experiment.interrupt(),
        Some(ran) => {
            let record = trials.record_of(&ran);
            experiment.keep(
                trial,
                Made {
                    ran,
                    record,
                    plan,
                    run,
                },
            );
        }
    }
    Ok(())
}
