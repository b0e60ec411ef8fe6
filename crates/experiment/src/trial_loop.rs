//! The loop of an experiment: gets the next trial from the policy and runs it, until the policy ends the experiment.
//!
//! Several experiments can alternate trial by trial, such as the growths of two versions of a database. Each has its
//! own record and directory, as if it ran alone. Progress is estimated from the durations of trials. Must not select or
//! interpret trials.

use std::rc::Rc;

use highwater_driver::clock::wall_clock;
use highwater_driver::interrupts::Interrupts;
use highwater_model::control::InterventionRecord;
use highwater_model::display::duration;
use highwater_model::event::{Event, ExperimentProgress, Trial};
use highwater_model::plan::{PhaseKind, Plan};
use highwater_model::quantity::print_instant;
use highwater_model::record::{ExperimentRecord, Question, RunRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::request::{Observer, RunRequest};
use highwater_runner::store::{PROBES, RunDirectory};

use crate::shares::ExperimentShare;
use crate::trials::{NextTrial, PreparedTrial, TargetPreparation, TrialMaker, TrialPlace, Trials};

/// The next trial.
pub struct UpcomingTrial<T> {
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

/// A finished trial.
pub struct FinishedTrial<'a> {
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
    pub ready: TargetPreparation,
}

impl FinishedTrial<'_> {
    /// A trial whose target was not reached in its preparation: only its place and the preparation are known.
    fn unreached(place: &TrialPlace) -> Self {
        Self {
            record: None,
            nested: None,
            plan: None,
            run: format!("{PROBES}/{}", place.name),
            started_at: print_instant(wall_clock()),
            settled: Nanos::ZERO,
            ready: place.ready.take(),
        }
    }
}

/// What a budget must cover at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetShortfall {
    /// The total duration of the first trial.
    pub probe: Nanos,
    /// Trials that must be possible after it.
    pub confirmations: u32,
}

/// A question with its trials, as the loop sees it: a policy, and the stored results.
pub trait Experiment: Clone {
    /// A trial.
    type Trial;

    /// The next trial; `None` at the end, with the outcome recorded.
    fn next(&mut self) -> Option<UpcomingTrial<Self::Trial>>;

    /// Adapts the plan of a trial to the length that the question needs.
    fn cut(&self, _: &Self::Trial, plan: Plan) -> Plan {
        plan
    }

    /// Adds the completed trial; returns its event.
    fn keep(&mut self, requested: NextTrial<Self::Trial>, finished: FinishedTrial<'_>) -> Event;

    /// Replaces the trials by those that another share has recorded; returns false, and keeps its own, if that is another
    /// experiment, or has fewer of them.
    fn take_over(&mut self, recorded: Question) -> bool;

    /// Removes the last trial; returns whether there was one.
    fn take_back(&mut self) -> bool;

    /// The user stopped before a trial: concludes with the results so far.
    fn interrupt(&mut self);

    /// The experiment's record, based on the last trial's.
    fn conclude(&self, last: RunRecord, id: String) -> ExperimentRecord;

    /// The least budget that allows one trial.
    fn budget_shortfall(&self) -> BudgetShortfall;

    /// Whether its leases are kept between trials, so that no other run takes the tables.
    fn holds_tables(&self) -> bool {
        true
    }
}

/// Rejects an experiment whose budget does not cover its first trial.
///
/// # Errors
/// No trial is possible.
pub fn check<E: Experiment>(experiment: &E) -> Result<(), UserError> {
    first(&mut experiment.clone()).map(drop)
}

/// An experiment to run.
pub struct ExperimentRun<'a, E, M> {
    /// The experiment.
    pub experiment: E,
    /// Its own directory, made by the caller.
    pub directory: RunDirectory,
    /// Makes its trials.
    pub maker: &'a M,
    /// The pauses of the experiment that it resumes.
    pub pauses: Vec<InterventionRecord>,
    /// Absent if no other load generator takes part.
    pub share: Option<ExperimentShare>,
}

/// Runs an experiment to completion, and returns its record. The target is left idle for `settle` before each trial
/// except the first; not on a simulated clock.
///
/// # Errors
/// No record can be made: the budget does not cover a trial, the first one could not run, or a trial could not be made
/// or stored.
pub fn run<E: Experiment, M: TrialMaker<E::Trial>>(
    run: ExperimentRun<'_, E, M>,
    settle: Nanos,
    observer: &Rc<dyn Observer>,
    interrupts: &Interrupts,
) -> Result<ExperimentRecord, UserError> {
    let mut running = Running::new(run, settle, observer, interrupts);
    let end = running.finish();
    running.trials.close();
    end
}

/// The first trial of this process. There is no earlier record in memory that could represent the whole, so a completed
/// experiment is resumed by repeating its last trial.
fn first<E: Experiment>(experiment: &mut E) -> Result<UpcomingTrial<E::Trial>, UserError> {
    let mut upcoming = experiment.next();
    if upcoming.is_none() && experiment.take_back() {
        upcoming = experiment.next();
    }
    upcoming.ok_or_else(|| {
        let BudgetShortfall { probe, confirmations } = experiment.budget_shortfall();
        let beside = match confirmations {
            0 => String::new(),
            trials => format!(" beside the {trials} that confirm"),
        };
        let message = format!("--budget: not one trial of {} fits{beside}", duration(probe.0));
        UserError::usage(message).with_hint("raise --budget, or use shorter probes with --quick")
    })
}

/// A running experiment, executed one trial at a time.
pub(crate) struct Running<'a, E: Experiment, M> {
    experiment: E,
    pub(crate) trials: Trials<'a>,
    maker: &'a M,
    /// The next trial.
    upcoming: Option<UpcomingTrial<E::Trial>>,
}

impl<'a, E: Experiment, M: TrialMaker<E::Trial>> Running<'a, E, M> {
    /// An experiment that has not started.
    pub(crate) fn new(
        run: ExperimentRun<'a, E, M>,
        settle: Nanos,
        observer: &'a Rc<dyn Observer>,
        interrupts: &'a Interrupts,
    ) -> Self {
        Self {
            experiment: run.experiment,
            trials: Trials::new(run.directory, settle, observer, interrupts, run.pauses, run.share),
            maker: run.maker,
            upcoming: None,
        }
    }

    /// Determines the first trial.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn begin(&mut self) -> Result<(), UserError> {
        self.upcoming = Some(first(&mut self.experiment)?);
        Ok(())
    }

    /// The next trial; `None` if the experiment only has to conclude.
    fn upcoming(&self) -> Option<&E::Trial> {
        self.upcoming.as_ref().map(|upcoming| &upcoming.trial)
    }

    /// Runs the next trial, and writes the experiment's record, which is returned if this was the end.
    fn advance(&mut self) -> Result<Option<ExperimentRecord>, UserError> {
        let Self { experiment, trials, maker, upcoming } = self;
        let made = match upcoming.take() {
            Some(next) => {
                let made = run_trial(experiment, trials, *maker, next)?;
                if made.is_some() {
                    trials.follow_first(&mut |recorded| experiment.take_over(recorded))?;
                }
                Some(made)
            }
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

    fn finish(&mut self) -> Result<ExperimentRecord, UserError> {
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
fn run_trial<E: Experiment, M: TrialMaker<E::Trial>>(
    experiment: &mut E,
    trials: &mut Trials<'_>,
    maker: &M,
    upcoming: UpcomingTrial<E::Trial>,
) -> Result<Option<Event>, UserError> {
    let (number, name) = (upcoming.number, upcoming.name);
    let Some(requested) = trials.requested(&name, number, upcoming.trial)? else {
        return Ok(None);
    };
    let begin = Event::Trial { number, trial: upcoming.about, progress: upcoming.progress };
    let place = trials.place(&name);
    if upcoming.is_nested {
        trials.observer.event(&begin);
        return run_nested(experiment, trials, maker, requested, &place);
    }
    let request = match trial_request(experiment, trials, maker, &requested, &place)? {
        TrialRequest::Run(request) => *request,
        TrialRequest::Unreached => {
            trials.observer.event(&begin);
            return Ok(Some(experiment.keep(requested, FinishedTrial::unreached(&place))));
        }
        TrialRequest::Stopped => return Ok(None),
    };
    let plan = request.plan.clone();
    let id = if place.share.is_some() { name.clone() } else { request.directory.id() };
    let Some(ran) = trials.run(request, &name, &begin, experiment.holds_tables())? else {
        return Ok(None);
    };
    let finished = FinishedTrial {
        record: trials.record_of(&ran),
        nested: None,
        plan: Some(plan),
        run: format!("{PROBES}/{id}"),
        started_at: ran.started_at,
        settled: ran.settled,
        ready: place.ready.take(),
    };
    Ok(Some(experiment.keep(requested, finished)))
}

/// The run of a trial.
enum TrialRequest {
    Run(Box<RunRequest>),
    /// The target was unreachable in the preparation.
    Unreached,
    /// The user stopped during the preparation.
    Stopped,
}

/// Prepares the run of a trial.
fn trial_request<E: Experiment, M: TrialMaker<E::Trial>>(
    experiment: &E,
    trials: &mut Trials<'_>,
    maker: &M,
    requested: &NextTrial<E::Trial>,
    place: &TrialPlace,
) -> Result<TrialRequest, UserError> {
    let Some(prepared) = trials.reached(maker.prepare(requested, place))? else {
        let is_stopped = trials.is_stopped();
        return Ok(if is_stopped { TrialRequest::Stopped } else { TrialRequest::Unreached });
    };
    let PreparedTrial { plan, request } = prepared;
    let plan = experiment.cut(&requested.trial, plan);
    let name =
        place.share.as_ref().map_or_else(|| place.name.clone(), |share| share.name(&place.name));
    let directory = place.experiment.create_trial(&name, &plan)?;
    match request(plan, directory.clone()) {
        Ok(request) => Ok(TrialRequest::Run(Box::new(request))),
        Err(error) => {
            directory.discard();
            if trials.is_stopped() { Ok(TrialRequest::Stopped) } else { Err(error) }
        }
    }
}

/// Runs a nested experiment; returns its event, or `None` if the user stopped before it.
fn run_nested<E: Experiment, M: TrialMaker<E::Trial>>(
    experiment: &mut E,
    trials: &mut Trials<'_>,
    maker: &M,
    requested: NextTrial<E::Trial>,
    place: &TrialPlace,
) -> Result<Option<Event>, UserError> {
    let (started_at, begun) = (print_instant(wall_clock()), trials.now());
    let record = trials.reached(maker.nested(&requested, place))?;
    if record.is_none() && trials.is_stopped() {
        return Ok(None);
    }
    let finished = FinishedTrial {
        record: record.as_ref().map(|record| &*record.last_run),
        nested: record.as_ref(),
        started_at,
        ..FinishedTrial::unreached(place)
    };
    let event = experiment.keep(requested, finished);
    trials.keep_last(record, begun);
    Ok(Some(event))
}

/// Runs all of them to completion, and leaves the target idle for `settle` before each trial except the very first.
/// Returns their records, except of those stopped before their first trial. `choose` receives each experiment's next
/// trial, and returns the one to run. See [`super::run`].
///
/// # Errors
/// Like [`super::run`], for the first one for which no record can be made; the records of the others are stored as
/// far as they got.
pub fn run_side_by_side<'a, E: Experiment, M: TrialMaker<E::Trial>>(
    sides: Vec<ExperimentRun<'a, E, M>>,
    settle: Nanos,
    observer: &'a Rc<dyn Observer>,
    interrupts: &'a Interrupts,
    choose: impl Fn(&[Option<&E::Trial>]) -> Option<usize>,
) -> Result<Vec<Option<ExperimentRecord>>, UserError> {
    let count = sides.len();
    let running = sides.into_iter().map(|side| Running::new(side, settle, observer, interrupts));
    let mut all = Sides {
        running: running.collect(),
        records: vec![None; count],
        is_over: vec![false; count],
        interrupts,
    };
    let end = all.finish(choose);
    all.running.iter().for_each(|side| side.trials.close());
    end.map(|()| all.records)
}

struct Sides<'a, E: Experiment, M> {
    running: Vec<Running<'a, E, M>>,
    /// The record of each completed experiment.
    records: Vec<Option<ExperimentRecord>>,
    /// Whether each is completed, or was stopped before its first trial.
    is_over: Vec<bool>,
    interrupts: &'a Interrupts,
}

impl<E: Experiment, M: TrialMaker<E::Trial>> Sides<'_, E, M> {
    fn finish(
        &mut self,
        choose: impl Fn(&[Option<&E::Trial>]) -> Option<usize>,
    ) -> Result<(), UserError> {
        for side in &mut self.running {
            side.begin()?;
        }
        while let Some(at) = self.chosen(&choose) {
            self.is_over[at] = self.advance(at)?;
        }
        Ok(())
    }

    /// A side that only has to conclude, or else the chosen one.
    fn chosen(&self, choose: impl Fn(&[Option<&E::Trial>]) -> Option<usize>) -> Option<usize> {
        let goes_on = |at: usize| !self.is_over[at];
        let next: Vec<Option<&E::Trial>> = self
            .running
            .iter()
            .enumerate()
            .map(|(at, side)| side.upcoming().filter(|_| goes_on(at)))
            .collect();
        let mut ending = (0..next.len()).filter(|at| goes_on(*at) && next[*at].is_none());
        ending.next().or_else(|| choose(&next))
    }

    /// Runs the next trial of an unfinished side; returns whether it completed the side.
    fn advance(&mut self, at: usize) -> Result<bool, UserError> {
        let is_empty = self.running[at].trials.is_empty();
        let mut others = self.running.iter();
        // The very first trial reports itself what stopped it.
        let is_stopped = |interrupts: &Interrupts| interrupts.requested().is_some();
        let may_be_none = is_empty && others.any(|side| !side.trials.is_empty());
        if may_be_none && is_stopped(self.interrupts) {
            return Ok(true);
        }
        let side = &mut self.running[at];
        if may_be_none {
            side.trials.follow();
        }
        match side.advance() {
            Ok(None) => Ok(false),
            Ok(Some(record)) => {
                // Observers see only one end, that of the last side.
                if self.is_over.iter().filter(|is_over| !**is_over).count() == 1 {
                    side.trials.end(&record);
                }
                self.records[at] = Some(record);
                Ok(true)
            }
            Err(_) if may_be_none && is_stopped(self.interrupts) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// The progress after trials of these durations, with at most this many in total.
pub(crate) fn progress(
    took: impl ExactSizeIterator<Item = u64>,
    most: u32,
    planned: Nanos,
    budget: Option<Nanos>,
) -> ExperimentProgress {
    let done = u32::try_from(took.len()).unwrap_or(u32::MAX);
    let spent = took.fold(0, u64::saturating_add);
    let each = spent.checked_div(done.into()).map(Nanos);
    let progress = ExperimentProgress {
        done,
        most,
        likely: most,
        spent: Nanos(spent),
        each: each.unwrap_or(planned),
        left: Nanos::ZERO,
        budget,
    };
    let to_come = u64::from(most.saturating_sub(done));
    ExperimentProgress {
        left: within(&progress, progress.each.0.saturating_mul(to_come)),
        ..progress
    }
}

/// Trials that take this many nanoseconds, but end with the budget.
pub(crate) fn within(progress: &ExperimentProgress, takes: u64) -> Nanos {
    let rest = progress.budget.map(|budget| budget.saturating_sub(progress.spent).0);
    Nanos(takes.min(rest.unwrap_or(u64::MAX)))
}

/// Replaces trials by those of another share, unless it has fewer; returns whether it did.
pub(crate) fn take_trials<T>(own: &mut Vec<T>, other: Vec<T>) -> bool {
    let accepts = other.len() >= own.len();
    if accepts {
        *own = other;
    }
    accepts
}

/// The number of the next trial.
pub(crate) fn number<T>(trials: &[T]) -> u32 {
    u32::try_from(trials.len() + 1).unwrap_or(u32::MAX)
}

/// A run's length on its own timeline, including load and audit.
pub(crate) fn took(record: &RunRecord) -> u64 {
    took_by(record, |_| true)
}

/// The time that filling a run's tables took.
pub(crate) fn loaded(record: &RunRecord) -> u64 {
    took_by(record, |kind| kind == PhaseKind::Load)
}

fn took_by(record: &RunRecord, counts: impl Fn(PhaseKind) -> bool) -> u64 {
    record
        .phases
        .iter()
        .filter(|phase| counts(phase.kind))
        .map(|phase| phase.duration_ns)
        .fold(0, u64::saturating_add)
}
