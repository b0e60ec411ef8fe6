//! The loop: from the policy the next trial, from the trial its run, until the policy says that it is over.
//!
//! What must not be here: what is tried, and what it shows.

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

/// A trial that comes next.
pub struct Planned<T> {
    /// What is tried.
    pub trial: T,
    /// From 1.
    pub number: u32,
    /// Name of its directory.
    pub name: String,
    /// What is tried, as events have it.
    pub about: Trial,
    /// How far the experiment is.
    pub progress: ExperimentProgress,
    /// It is an experiment of its own.
    pub is_nested: bool,
}

/// A trial that was run.
pub struct Made<'a> {
    /// Of a nested experiment its last run; absent where the target could not be reached.
    pub record: Option<&'a RunRecord>,
    /// The nested experiment, if it is one that could be made.
    pub nested: Option<&'a ExperimentRecord>,
    /// What was run; absent of a nested experiment, which has several plans.
    pub plan: Option<Plan>,
    /// Its directory, below that of the whole.
    pub run: String,
    /// Wall clock at its begin, RFC 3339, UTC.
    pub started_at: String,
    /// How long the target was left alone before it.
    pub settled: Nanos,
    /// What was done to the target before it.
    pub ready: MadeReady,
}

impl Made<'_> {
    /// One of which nothing is known but where it is, and what was done before it.
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

/// A question with its trials, as the loop sees it: a policy, and what is kept.
pub trait Experiment: Clone {
    /// What is tried.
    type Trial;

    /// The next trial; none at the end, with its outcome noted.
    fn next(&mut self) -> Option<Planned<Self::Trial>>;

    /// The plan of a trial, as long as the question needs it.
    fn cut(&self, _: &Self::Trial, plan: Plan) -> Plan {
        plan
    }

    /// Adds what was made to the trials; returns what is reported of it.
    fn keep(&mut self, requested: Requested<Self::Trial>, made: Made<'_>) -> Event;

    /// Takes the last trial back; says whether there was one.
    fn take_back(&mut self) -> bool;

    /// The user stopped before a trial: the outcome is what is known all the same.
    fn interrupt(&mut self);

    /// The record of the whole, made of the last trial's.
    fn conclude(&self, last: RunRecord, id: String) -> ExperimentRecord;

    /// What has no room where not even one trial is made: how long it takes, and how many confirm it.
    fn no_room(&self) -> (Nanos, u32);

    /// Whether its tables are held from one trial to the next, so that nobody else takes them in between.
    fn holds_tables(&self) -> bool {
        true
    }
}

/// Refuses an experiment whose budget has no room for its first trial.
///
/// # Errors
/// Where nothing can be tried.
pub fn check<E: Experiment>(experiment: &E) -> Result<(), RunError> {
    first(&mut experiment.clone()).map(drop)
}

/// An experiment that is to be run.
pub struct Side<'a, E, M> {
    /// Its question.
    pub experiment: E,
    /// Its own, made by the caller.
    pub directory: RunDirectory,
    /// Makes its trials.
    pub maker: &'a M,
    /// Of the experiment that it resumes.
    pub pauses: Vec<InterventionRecord>,
}

/// Runs an experiment to its end, and returns its record. The target is left alone for `settle` before each trial
/// but the first, not on a simulated clock.
///
/// # Errors
/// Where no record can be made: the budget has no room for a trial, the first one could not be run, or one
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

/// The first trial of this process. What was measured before has no record here that could stand for the
/// whole: an experiment that had come to its end is resumed with its last trial once more.
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

/// An experiment that goes on, a trial at a time.
pub(crate) struct Running<'a, E: Experiment, M> {
    experiment: E,
    pub(crate) trials: Trials<'a>,
    maker: &'a M,
    /// What comes next.
    upcoming: Option<Planned<E::Trial>>,
}

impl<'a, E: Experiment, M: TrialMaker<E::Trial>> Running<'a, E, M> {
    /// One that has not begun.
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

    /// Finds out what the first trial is.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn begin(&mut self) -> Result<(), RunError> {
        self.upcoming = Some(first(&mut self.experiment)?);
        Ok(())
    }

    /// The trial that comes next; none where only the end does.
    pub(crate) fn upcoming(&self) -> Option<&E::Trial> {
        self.upcoming.as_ref().map(|planned| &planned.trial)
    }

    /// Runs the next trial and writes the record of the whole, which is returned where that was the end.
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

/// Runs a trial; returns what is reported of it, or nothing where the user stopped before it.
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
        // What was being made ready was given up with the rest.
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

/// Runs a trial that is an experiment of its own; returns what is reported of it, or nothing where the user
/// stopped before it.
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
