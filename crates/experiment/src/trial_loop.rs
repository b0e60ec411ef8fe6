//! The loop of an experiment: gets the next trial from the policy and runs it, until the policy ends the experiment.
//!
//! Must not select or interpret trials.

use std::rc::Rc;

use highwater_model::control::InterventionRecord;
use highwater_model::event::{Event, ExperimentProgress, Trial};
use highwater_model::plan::Plan;
use highwater_model::quantity::print_instant;
use highwater_model::record::{ExperimentRecord, RunRecord};
use highwater_model::units::Nanos;
use highwater_runner::clock::wall_clock;
use highwater_runner::interrupts::Interrupts;
use highwater_runner::observer::Observer;
use highwater_runner::request::RunError;
use highwater_runner::store::RunDirectory;

use crate::trial_maker::{MadeReady, Requested, TrialMaker};
use crate::trials::Trials;

/// The next trial.
pub struct Planned<T> {
    /// The trial.
    pub trial: T,
    /// From 1.
    pub number: u32,
    /// Name of its directory.
    pub name: String,
    /// The trial, as described in events.
    pub about: Trial,
    /// The progress of the experiment.
    pub progress: ExperimentProgress,
    /// It is a nested experiment.
    pub is_nested: bool,
}

/// A completed trial.
pub struct Made<'a> {
    /// For a nested experiment, its last run; absent if the target was unreachable.
    pub record: Option<&'a RunRecord>,
    /// The nested experiment, if it is one and could be run.
    pub nested: Option<&'a ExperimentRecord>,
    /// Its plan; absent for a nested experiment, which has several plans.
    pub plan: Option<Plan>,
    /// Its directory, relative to the experiment's.
    pub run: String,
    /// Wall clock at its start, RFC 3339, UTC.
    pub started_at: String,
    /// How long the target was idle before it.
    pub settled: Nanos,
    /// Preparation of the target before it.
    pub ready: MadeReady,
}

impl Made<'_> {
    /// Only its directory and its preparation are known.
    fn of(run: String, ready: MadeReady) -> Self {
        Self {
            record: None,
            nested: None,
            plan: None,
            run,
            started_at: print_instant(wall_clock()),
            settled: Nanos::ZERO,
            ready,
        }
    }
}

/// A question with its trials, as the loop sees it: a policy, and the stored results.
pub trait Experiment: Clone {
    /// A trial.
    type Trial;

    /// The next trial; `None` at the end, with the outcome recorded.
    fn next(&mut self) -> Option<Planned<Self::Trial>>;

    /// Adapts the plan of a trial to the length that the question needs.
    fn cut(&self, _: &Self::Trial, plan: Plan) -> Plan {
        plan
    }

    /// Adds the completed trial; returns its event.
    fn keep(&mut self, requested: Requested<Self::Trial>, made: Made<'_>) -> Event;

    /// Removes the last trial; returns whether there was one.
    fn take_back(&mut self) -> bool;

    /// The user stopped before a trial: concludes with the results so far.
    fn interrupt(&mut self);

    /// The experiment's record, based on the last trial's.
    fn conclude(&self, last: RunRecord, id: String) -> ExperimentRecord;

    /// Requirements of the first trial that exceed the budget: its duration, and its number of confirmations.
    fn no_room(&self) -> (Nanos, u32);

    /// Whether its leases are kept between trials, so that no other run takes the tables.
    fn holds_tables(&self) -> bool {
        true
    }
}

/// Rejects an experiment whose budget does not cover its first trial.
///
/// # Errors
/// No trial is possible.
pub fn check<E: Experiment>(experiment: &E) -> Result<(), RunError> {
    first(&mut experiment.clone()).map(drop)
}

/// An experiment to run.
pub struct Side<'a, E, M> {
    /// The experiment.
    pub experiment: E,
    /// Its own directory, made by the caller.
    pub directory: RunDirectory,
    /// Makes its trials.
    pub maker: &'a M,
    /// The pauses of the experiment that it resumes.
    pub pauses: Vec<InterventionRecord>,
}

/// Runs an experiment to completion, and returns its record. The target is left idle for `settle` before each trial
/// except the first; not on a simulated clock.
///
/// # Errors
/// No record can be made: the budget does not cover a trial, the first one could not run, or a trial could not be made
/// or stored.
/// could not be made or kept.
pub fn run<E: Experiment, M: TrialMaker<E::Trial>>(
    side: Side<'_, E, M>,
    settle: Nanos,
    observer: &Rc<dyn Observer>,
    interrupts: &Interrupts,
) -> Result<ExperimentRecord, M::Error> {
    let mut running = Running::new(side, settle, observer, interrupts);
    let end = running.finish();
    running.trials.close();
    end
}

/// The first trial of this process. There is no earlier record in memory that could represent the whole, so a completed
/// experiment is resumed by repeating its last trial.
fn first<E: Experiment>(experiment: &mut E) -> Result<Planned<E::Trial>, RunError> {
    let mut planned = experiment.next();
    if planned.is_none() && experiment.take_back() {
        planned = experiment.next();
    }
    planned.ok_or_else(|| {
        let (probe, confirmations) = experiment.no_room();
        RunError::Budget { probe, confirmations }
    })
}

/// A running experiment, executed one trial at a time.
pub(crate) struct Running<'a, E: Experiment, M> {
    experiment: E,
    pub(crate) trials: Trials<'a>,
    maker: &'a M,
    /// The next trial.
    upcoming: Option<Planned<E::Trial>>,
}

impl<'a, E: Experiment, M: TrialMaker<E::Trial>> Running<'a, E, M> {
    /// An experiment that has not started.
    pub(crate) fn new(
        side: Side<'a, E, M>,
        settle: Nanos,
        observer: &'a Rc<dyn Observer>,
        interrupts: &'a Interrupts,
    ) -> Self {
        Self {
            experiment: side.experiment,
            trials: Trials::new(side.directory, settle, observer, interrupts, side.pauses),
            maker: side.maker,
            upcoming: None,
        }
    }

    /// Determines the first trial.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn begin(&mut self) -> Result<(), RunError> {
        self.upcoming = Some(first(&mut self.experiment)?);
        Ok(())
    }

    /// The next trial; `None` if the experiment only has to conclude.
    pub(crate) fn upcoming(&self) -> Option<&E::Trial> {
        self.upcoming.as_ref().map(|planned| &planned.trial)
    }

    /// Runs the next trial, and writes the experiment's record, which is returned if this was the end.
    pub(crate) fn advance(&mut self) -> Result<Option<ExperimentRecord>, M::Error> {
        let Self { experiment, trials, maker, upcoming } = self;
        let made = match upcoming.take() {
            Some(planned) => Some(one(experiment, trials, *maker, planned)?),
            None => None,
        };
        if matches!(made, Some(None)) {
            experiment.interrupt();
        }
        let record = trials.write(|last, id| experiment.conclude(last, id))?;
        match (made.flatten(), record) {
            (None, Some(record)) => return Ok(Some(record)),
            (made, _) => made.iter().for_each(|event| trials.observer.event(event)),
        }
        *upcoming = experiment.next();
        Ok(None)
    }

    fn finish(&mut self) -> Result<ExperimentRecord, M::Error> {
        self.begin()?;
        loop {
            if let Some(record) = self.advance()? {
                self.trials.end(&record);
                return Ok(record);
            }
        }
    }
}

/// Runs a trial; returns its event, or `None` if the user stopped before it.
fn one<E: Experiment, M: TrialMaker<E::Trial>>(
    experiment: &mut E,
    trials: &mut Trials<'_>,
    maker: &M,
    planned: Planned<E::Trial>,
) -> Result<Option<Event>, M::Error> {
    let (number, name) = (planned.number, planned.name);
    let Some(requested) = trials.requested(&name, number, planned.trial)? else {
        return Ok(None);
    };
    let begin = Event::Trial { number, trial: planned.about, progress: planned.progress };
    if planned.is_nested {
        trials.observer.event(&begin);
        return nested(experiment, trials, maker, requested, &name);
    }
    let Some(plan) = trials.reached(maker.plan(&requested))? else {
        // The preparation was abandoned as well.
        if trials.is_stopped() {
            return Ok(None);
        }
        trials.observer.event(&begin);
        let (_, run) = trials.nested_place(&name);
        let made = Made::of(run, maker.made_ready());
        return Ok(Some(experiment.keep(requested, made)));
    };
    let plan = experiment.cut(&requested.trial, plan);
    let (directory, run) = trials.place(&name, &plan)?;
    let request = match maker.request(&requested, plan.clone(), directory.clone()) {
        Ok(request) => request,
        Err(error) => {
            directory.discard();
            // As above.
            if trials.is_stopped() {
                return Ok(None);
            }
            return Err(error);
        }
    };
    let Some(ran) = trials.run(request, &begin, experiment.holds_tables())? else {
        return Ok(None);
    };
    let made = Made {
        record: trials.record_of(&ran),
        plan: Some(plan),
        started_at: ran.started_at,
        settled: ran.settled,
        ..Made::of(run, maker.made_ready())
    };
    Ok(Some(experiment.keep(requested, made)))
}

/// Runs a nested experiment; returns its event, or `None` if the user stopped before it.
fn nested<E: Experiment, M: TrialMaker<E::Trial>>(
    experiment: &mut E,
    trials: &mut Trials<'_>,
    maker: &M,
    requested: Requested<E::Trial>,
    name: &str,
) -> Result<Option<Event>, M::Error> {
    let (started_at, begun) = (print_instant(wall_clock()), trials.now());
    let (place, run) = trials.nested_place(name);
    let record = trials.reached(maker.nested(&requested, place))?;
    if record.is_none() && trials.is_stopped() {
        return Ok(None);
    }
    let made = Made {
        record: record.as_ref().map(|record| &*record.last_run),
        nested: record.as_ref(),
        started_at,
        ..Made::of(run, maker.made_ready())
    };
    let event = experiment.keep(requested, made);
    trials.keep_last(record, begun);
    Ok(Some(event))
}
