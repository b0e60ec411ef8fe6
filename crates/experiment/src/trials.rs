//! Executes the runs of an experiment, one after the other: each is an ordinary run with its own record, in a
//! subdirectory of the experiment. The experiment's record is rewritten after each. The experiment's caller makes the
//! run of a trial, or its nested experiment, by the interface here. Must not select or interpret runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::future::select;

use highwater_driver::Timeline;
use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::interrupts::Interrupts;
use highwater_model::control::{Change, InterventionRecord};
use highwater_model::event::{Event, Part, WarningKind};
use highwater_model::plan::Plan;
use highwater_model::record::{
    ExperimentRecord, Incident, IncidentKind, Question, RunRecord, TableStart,
};
use highwater_model::scale::WarmUpRun;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_runner::leases::KeptLeases;
use highwater_runner::request::{Observer, RunEnd, RunEnding, RunRequest, kept_in};
use highwater_runner::run;
use highwater_runner::store::RunDirectory;

use crate::shares::{ExperimentShare, with_advice};
use crate::trial_loop::loaded;

/// Completed trials, and the state for the next one.
pub(crate) struct Trials<'a> {
    /// The experiment's directory.
    directory: RunDirectory,
    /// How long the target is left idle before each trial except the very first; not on a simulated clock.
    settle: Nanos,
    /// Receives the events of the experiment.
    pub(crate) observer: Rc<dyn Observer>,
    /// Receives the events of its runs.
    of_runs: &'a Rc<dyn Observer>,
    interrupts: &'a Interrupts,
    /// The record of the last trial that has one.
    last: Option<RunRecord>,
    /// Time spent filling tables so far, nanoseconds.
    loaded_ns: u64,
    /// The first trial found rows of the workload.
    tables_kept: bool,
    /// Another experiment used the target before the first trial.
    follows: bool,
    /// The leases passed from one trial to the next, by target.
    leases: BTreeMap<Vec<String>, KeptLeases>,
    /// Counts from the start.
    clock: RealClock,
    /// Pauses by the user, including those before it was resumed.
    pauses: Vec<InterventionRecord>,
    /// Absent if no other load generator takes part.
    share: Option<ExperimentShare>,
}

/// A completed trial.
pub(crate) struct CompletedRun {
    /// Its record is the last one; false if the target was unreachable.
    reached: bool,
    pub(crate) started_at: String,
    /// How long the target was idle before it.
    pub(crate) settled: Nanos,
}

impl<'a> Trials<'a> {
    /// Without trials; `pauses` are those of the resumed experiment.
    pub(crate) fn new(
        directory: RunDirectory,
        settle: Nanos,
        observer: &'a Rc<dyn Observer>,
        interrupts: &'a Interrupts,
        pauses: Vec<InterventionRecord>,
        share: Option<ExperimentShare>,
    ) -> Self {
        Self {
            observer: kept_in(&directory, Rc::clone(observer)),
            of_runs: observer,
            directory,
            settle,
            interrupts,
            last: None,
            loaded_ns: 0,
            tables_kept: false,
            follows: false,
            leases: BTreeMap::new(),
            clock: RealClock::start(),
            pauses,
            share,
        }
    }

    /// Whether no trial has a record yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// The first trial follows a run of another experiment, so the target is left idle before it as well.
    pub(crate) fn follow(&mut self) {
        self.follows = true;
    }

    /// Waits while the user holds the experiment; a stop also ends the wait. The time does not count for the budget.
    fn wait_while_held(&mut self, next: &str) -> Result<(), UserError> {
        let is_over = |interrupts: &Interrupts| interrupts.requested().is_some();
        if !self.interrupts.is_held() || is_over(self.interrupts) {
            return Ok(());
        }
        self.observer.event(&Event::Part(Part::Paused));
        let [mut held, mut stop] = [self.interrupts.clone(), self.interrupts.clone()];
        let [begin, end] = RealTimeline::block_on(self.clock, |timeline| async move {
            let begin = timeline.now();
            let released = std::pin::pin!(held.released());
            if !is_over(&stop) {
                select(released, std::pin::pin!(stop.next())).await;
            }
            [begin, timeline.now()]
        })
        .map_err(|error| UserError::cannot("run", &error))?;
        let done = InterventionRecord {
            by: None,
            time_ns: begin.0,
            phase: next.to_owned(),
            change: Change::Pause { lasted_ns: end.saturating_sub(begin).0 },
        };
        self.observer.event(&Event::Intervention(done.clone()));
        self.pauses.push(done);
        Ok(())
    }

    /// The next trial with its context, once the user does not hold the experiment; `None` if the user stopped.
    pub(crate) fn requested<T>(
        &mut self,
        name: &str,
        number: u32,
        trial: T,
    ) -> Result<Option<NextTrial<T>>, UserError> {
        self.wait_while_held(name)?;
        Ok((!self.is_stopped()).then(|| NextTrial {
            number,
            trial,
            is_first: self.last.is_none(),
            tables_kept: self.tables_kept,
        }))
    }

    /// The context of the next trial.
    pub(crate) fn place(&self, name: &str) -> TrialPlace {
        TrialPlace {
            experiment: self.directory.clone(),
            name: name.to_owned(),
            observer: Rc::clone(self.of_runs),
            interrupts: self.interrupts.clone(),
            ready: RefCell::default(),
            share: self.share.clone(),
        }
    }

    /// Runs a trial, and reports its start; `None` if the user stopped first. The first trial reports itself what
    /// stopped it, and whether the target is reachable at all.
    pub(crate) fn run(
        &mut self,
        request: RunRequest,
        name: &str,
        begin: &Event,
        holds_tables: bool,
    ) -> Result<Option<CompletedRun>, UserError> {
        let is_first = self.last.is_none();
        let simulated = request.target.capabilities().simulated_clock;
        let settled =
            if simulated || (is_first && !self.follows) { Nanos::ZERO } else { self.pause()? };
        if self.is_stopped() {
            request.directory.discard();
            return Ok(None);
        }
        self.observer.event(begin);
        let started_at = request.started_at.clone();
        let leases = (holds_tables || self.share.is_some()).then(|| {
            let of_target = self.leases.entry(request.target.urls());
            of_target.or_default().clone()
        });
        let ran = self.run_part(request, name, leases);
        // A run stopped during preparation does not count; the first trial reports it itself.
        if matches!(&ran, Err(error) if error.kind == UserErrorKind::Interrupted)
            && self.is_stopped()
        {
            return Ok(None);
        }
        let end = self.reached(ran)?;
        let reached = end.is_some();
        if let Some(end) = end {
            if is_first {
                self.tables_kept = continues(&end.record);
            }
            self.loaded_ns = self.loaded_ns.saturating_add(loaded(&end.record));
            self.last = Some(end.record);
        }
        Ok(Some(CompletedRun { reached, started_at, settled }))
    }

    /// Executes this load generator's part of a trial, and returns the end of the whole.
    fn run_part(
        &self,
        request: RunRequest,
        name: &str,
        leases: Option<KeptLeases>,
    ) -> Result<RunEnd, UserError> {
        let (observer, interrupts) = (Rc::clone(self.of_runs), self.interrupts.clone());
        let (Some(share), Some(leases)) = (&self.share, &leases) else {
            return run::one_of(request, observer, interrupts, leases);
        };
        let own = request.directory.path().to_owned();
        let request = RunRequest { meets: Some(share.meets().clone()), ..request };
        let ran = run::one_of(request, observer, interrupts, Some(leases.clone()));
        let whole = ran.and_then(|end| {
            share.whole(&end.record, &own, leases, self.interrupts, |merged| {
                self.directory.create_trial(name, &merged.plan.definition)
            })
        });
        // The next trial is another meeting.
        leases.end();
        whole.map_err(|error| with_advice(error, self.is_empty()))
    }

    /// Gives the first share's record of the experiment to `take_over` until that accepts it; does nothing in the first
    /// share itself.
    pub(crate) fn follow_first(
        &self,
        take_over: &mut dyn FnMut(Question) -> bool,
    ) -> Result<(), UserError> {
        match self.share.as_ref().filter(|share| !share.is_first()) {
            Some(share) => share.follow(self.directory.path(), take_over),
            None => Ok(()),
        }
    }

    /// Whether the user stopped before the next trial, which is recorded; the first trial reports it itself.
    pub(crate) fn is_stopped(&mut self) -> bool {
        let stopped = self.interrupts.requested().is_some() && self.last.is_some();
        // A stop between two trials is in neither record.
        let last = self.last.iter_mut().filter(|_| stopped);
        for record in last
            .filter(|record| RunEnding::from_incidents(&record.incidents) == RunEnding::Complete)
        {
            record.incidents.push(Incident::new(
                IncidentKind::Interrupted,
                "stopped by the user between two runs",
            ));
        }
        stopped
    }

    /// Warns about an unreachable target.
    ///
    /// # Errors
    /// It is the first trial, or another error.
    fn unreached(&self, error: UserError) -> Result<(), UserError> {
        let is_unreached = error.may_pass() || error.kind == UserErrorKind::Interrupted;
        if !is_unreached || self.last.is_none() {
            return Err(error);
        }
        // After a stop, the user knows why it was not made.
        if self.interrupts.requested().is_none() {
            let (kind, message) = (WarningKind::TargetUnreachable, error.message);
            self.observer.event(&Event::Warning { kind, message });
        }
        Ok(())
    }

    /// A prepared trial or a nested experiment, or `None` if the target was unreachable.
    pub(crate) fn reached<T>(&self, made: Result<T, UserError>) -> Result<Option<T>, UserError> {
        match made {
            Ok(made) => Ok(Some(made)),
            Err(error) => self.unreached(error).map(|()| None),
        }
    }

    /// The time since the start.
    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Takes the last run of a nested experiment, which began at that time, as the last run of the whole, and adds its
    /// pauses.
    pub(crate) fn keep_last(&mut self, nested: Option<ExperimentRecord>, begun: Nanos) {
        if let Some(record) = nested {
            for done in record.interventions {
                // A resumed nested experiment also has its earlier pauses.
                let mut known = self.pauses.iter();
                if !known.any(|known| known.phase == done.phase && known.change == done.change) {
                    self.pauses.push(InterventionRecord {
                        time_ns: begun.0.saturating_add(done.time_ns),
                        ..done
                    });
                }
            }
            self.loaded_ns = self.loaded_ns.saturating_add(record.loaded_ns);
            self.last = Some(*record.last_run);
        }
    }

    /// The record of a completed trial.
    pub(crate) fn record_of(&self, ran: &CompletedRun) -> Option<&RunRecord> {
        self.last.as_ref().filter(|_| ran.reached)
    }

    /// Writes the experiment's record, based on the last trial's; does nothing without one.
    pub(crate) fn write(
        &self,
        conclude: impl FnOnce(RunRecord, String) -> ExperimentRecord,
    ) -> Result<Option<ExperimentRecord>, UserError> {
        let Some(last) = self.last.clone() else {
            return Ok(None);
        };
        let record = ExperimentRecord {
            loaded_ns: self.loaded_ns,
            interventions: self.pauses.clone(),
            ..conclude(last, self.directory.id())
        };
        if self.is_recorded_here() {
            self.directory.write_record(&record)?;
        }
        Ok(Some(record))
    }

    /// Reports the end of the experiment.
    pub(crate) fn end(&self, record: &ExperimentRecord) {
        self.observer.event(&Event::Ended {
            directory: self.directory.path().display().to_string(),
            judgments: record.judgments.clone(),
            rows_found: None,
        });
    }

    /// Whether this share has the experiment's record.
    fn is_recorded_here(&self) -> bool {
        self.share.as_ref().is_none_or(ExperimentShare::is_first)
    }

    /// Removes the directory if nothing was run, or if another share has the record.
    pub(crate) fn close(&self) {
        if self.last.is_none() || !self.is_recorded_here() {
            self.directory.discard();
        }
    }

    /// Leaves the target idle for a while, unless the user stops; returns for how long.
    fn pause(&self) -> Result<Nanos, UserError> {
        if self.settle == Nanos::ZERO {
            return Ok(Nanos::ZERO);
        }
        let (length, mut interrupts) = (self.settle, self.interrupts.clone());
        RealTimeline::block_on(RealClock::start(), |timeline| async move {
            let over = timeline.sleep_until(length);
            select(over, std::pin::pin!(interrupts.next())).await;
            timeline.now()
        })
        .map_err(|error| UserError::cannot("run", &error))
    }
}

impl Drop for Trials<'_> {
    fn drop(&mut self) {
        self.leases.values().for_each(KeptLeases::end);
    }
}

/// Whether a run continued after existing rows.
fn continues(record: &RunRecord) -> bool {
    let mut tables = record.target.tables.iter();
    tables.any(|table| table.start == TableStart::Continued)
}

/// A trial to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextTrial<T> {
    /// From 1.
    pub number: u32,
    /// The trial.
    pub trial: T,
    /// Whether it is the first trial of this process.
    pub is_first: bool,
    /// The first trial found rows of the workload, so its tables must not be recreated.
    pub tables_kept: bool,
}

/// The context of a trial, and the inputs of its preparation.
pub struct TrialPlace {
    /// The experiment's directory; a trial's own is below it.
    pub experiment: RunDirectory,
    /// Name of the trial's directory.
    pub name: String,
    /// Receives the events of the runs that the trial makes.
    pub observer: Rc<dyn Observer>,
    /// Its stop requests.
    pub interrupts: Interrupts,
    /// Absent if no other load generator takes part.
    pub share: Option<ExperimentShare>,
    /// How the target was prepared before the trial; set by the code that prepares it.
    pub ready: RefCell<TargetPreparation>,
}

/// Preparation of a trial's target before its run, other than by the run itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetPreparation {
    /// Its duration.
    pub took: Nanos,
    /// The warm-up before the CPU quotas of a cluster's nodes began.
    pub before_quota: Option<WarmUpRun>,
}

/// Makes the request of a run with this plan, which is stored in this directory.
type MakeRequest<'a> = Box<dyn FnOnce(Plan, RunDirectory) -> Result<RunRequest, UserError> + 'a>;

/// A trial whose target is ready.
pub struct PreparedTrial<'a> {
    /// The plan of its run. A search determines how long a probe measures.
    pub plan: Plan,
    pub(crate) request: MakeRequest<'a>,
}

impl<'a> PreparedTrial<'a> {
    /// `request` makes the run of the plan, with its length as the experiment needs it, in the trial's directory.
    pub fn new(
        plan: Plan,
        request: impl FnOnce(Plan, RunDirectory) -> Result<RunRequest, UserError> + 'a,
    ) -> Self {
        Self { plan, request: Box::new(request) }
    }
}

/// Makes the runs of trials `T`.
pub trait TrialMaker<T> {
    /// Prepares a trial that is a run.
    fn prepare<'a>(
        &'a self,
        requested: &'a NextTrial<T>,
        place: &'a TrialPlace,
    ) -> Result<PreparedTrial<'a>, UserError>;
    /// Makes a nested experiment; required if the experiment has such trials.
    fn nested(&self, _: &NextTrial<T>, _: &TrialPlace) -> Result<ExperimentRecord, UserError> {
        Err(UserError::usage("cannot run: a trial is no experiment of its own"))
    }
}
