//! What experiments share: what they resume, how their trials are observed, and what ends them.
//! Must not run a trial.

use std::path::Path;
use std::rc::Rc;

use highwater_experiment::trial_maker::{NestedPlace, TrialError, TrialMaker};
use highwater_experiment::{self as experiment, Experiment, Side};
use highwater_model::display::duration;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::{AuditLevel, PhaseKind, Plan};
use highwater_model::record::{ExperimentRecord, InterventionRecord, Question};
use highwater_model::units::Nanos;
use highwater_runner::interrupts::Interrupts;
use highwater_runner::observer::Observer;
use highwater_runner::record;
use highwater_runner::request::RunError;
use highwater_runner::store::{self, RunDirectory, StoreError};
use highwater_workload::Workload;

use crate::event_log::{self, EventLog};
use crate::failure::Failure;
use crate::intent::{RunIntent, RunOutput, WorkloadChoice};
use crate::live;
use crate::prepare::{self, Stops, target};
use crate::progress::Progress;
use crate::workload_file;
use crate::{exit, terminal};

/// Connecting, new tables, and drain.
const CONNECTING: Nanos = Nanos::from_secs(2);
/// What it takes to read back rows, as a fraction of the time in which they were written as fast as the target
/// takes them: 0.3 of a server that shares two cores with the load generator, less of one with more.
const AUDIT_FRACTION: f64 = 0.25;

/// A warm-up until throughput is steady is estimated at this part of its limit.
const STEADY_PART: u64 = 4;

/// What a trial takes beside what it measures, as estimated before the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Around {
    /// However long it measures: warm-up, settling, connecting, new tables, drain.
    pub fixed: Nanos,
    /// Its audit, as a fraction of what it measures.
    pub audit_fraction: f64,
}

impl Around {
    /// Of trials of this plan, before each of which the target is left alone for `settle`. On a simulated clock
    /// only phases take time.
    pub fn new(
        run: &RunIntent,
        settle: Nanos,
        workload: &Workload,
        plan: &Plan,
    ) -> Result<Self, Failure> {
        let warm_up = if run.plan.until_steady {
            Nanos(run.plan.warm_up.0 / STEADY_PART)
        } else {
            run.plan.warm_up
        };
        let target = target::open(run, &run.targets, &run.out)?;
        if target.capabilities().simulated_clock {
            return Ok(Self { fixed: warm_up, audit_fraction: 0.0 });
        }
        let audits = plan.audit.level != AuditLevel::Off && writes(workload, plan);
        Ok(Self {
            fixed: warm_up + settle + CONNECTING,
            audit_fraction: if audits { AUDIT_FRACTION } else { 0.0 },
        })
    }

    /// What a run of this plan takes.
    pub fn of_run(self, plan: &Plan) -> Nanos {
        let measured = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        let measured = measured.map(|phase| phase.duration.0);
        self.with(Nanos(measured.fold(0, u64::saturating_add)))
    }

    /// What a trial takes that measures so long.
    pub fn with(self, measured: Nanos) -> Nanos {
        self.fixed + measured + Nanos(round_to_u64(to_f64(measured.0) * self.audit_fraction))
    }
}

/// Whether the streams of a plan write rows.
pub fn writes(workload: &Workload, plan: &Plan) -> bool {
    let specs = plan.streams.iter().filter_map(|stream| workload.stream(&stream.name));
    let mut ops = specs.flat_map(|spec| spec.ops);
    ops.any(|(op, _)| workload.rows_per_op(op) > 0)
}

/// What ends an experiment without a record.
pub enum ProbeFailure {
    /// A probe's run failed.
    Run(RunError),
    /// Something else did.
    Other(Failure),
}

impl ProbeFailure {
    /// The failure; where the target refused a statement of the workload's file, with its place
    /// there.
    pub fn located(self, choice: &WorkloadChoice, workload: &Workload) -> Failure {
        match self {
            Self::Run(error) => workload_file::located(error, choice, workload),
            Self::Other(failure) => failure,
        }
    }
}

impl TrialError for ProbeFailure {
    fn unreachable(&self) -> Option<String> {
        match self {
            Self::Run(error) => error.unreachable(),
            // A target that is inspected before the first run of a nested experiment, or is not made ready because
            // the user stops.
            Self::Other(failure) => matches!(failure.exit, exit::TARGET | exit::INTERRUPTED)
                .then(|| failure.message.clone()),
        }
    }
}

impl From<RunError> for ProbeFailure {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<StoreError> for ProbeFailure {
    fn from(error: StoreError) -> Self {
        Self::Other(error.into())
    }
}

impl From<Failure> for ProbeFailure {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

/// How experiments of one kind are resumed, in words.
pub struct Resuming<'a> {
    /// The run store's directory.
    pub out: &'a Path,
    /// The directory or ID of the experiment there.
    pub name: &'a str,
    /// `a search`.
    pub what: &'static str,
    /// ``find` run``: behind the name of the program.
    pub command: &'static str,
    /// What must be the same.
    pub definition: &'static str,
    /// The flags that may change.
    pub free: &'static str,
    /// The experiment's directory, as seen from that of the new one; beside it when absent.
    pub from: Option<&'a str>,
}

/// How its user let an experiment wait.
pub type Pauses = Vec<InterventionRecord>;

/// What is taken over of an experiment.
pub struct Resumed<T> {
    /// Its trials.
    pub trials: Vec<T>,
    /// Its pauses.
    pub pauses: Pauses,
}

impl Resuming<'_> {
    /// The trials and pauses of the experiment that `--resume` names, which must have the same definition, as
    /// seen from one beside it; without those at its end that ended early. `of` takes its hash and
    /// its trials out.
    pub fn trials<T>(
        &self,
        hash: &str,
        of: impl FnOnce(Question) -> Option<(String, Vec<T>)>,
        ended_early: impl Fn(&T) -> bool,
        run: impl Fn(&mut T) -> &mut String,
    ) -> Result<Resumed<T>, Failure> {
        let record = record::read(&store::find(self.out, Some(self.name))?)?;
        let id = record.header().id.clone();
        let experiment = record.into_experiment();
        let (question, pauses) = experiment.map(|of| (of.question, of.interventions)).unzip();
        let Some((earlier, mut trials)) = question.and_then(of) else {
            let hint = format!("name the directory or ID of a `highwater {}", self.command);
            let cause = format!("--resume: {id} is not {}", self.what);
            return Err(Failure::usage(cause).with_hint(hint));
        };
        if earlier != hash {
            let cause = format!("cannot resume {id}: {} differ", self.definition);
            let hint = format!("use the same flags; only {} may change", self.free);
            return Err(Failure::usage(cause).with_hint(hint));
        }
        while trials.last().is_some_and(&ended_early) {
            trials.pop();
        }
        for run in trials.iter_mut().map(run) {
            match self.from {
                Some(from) => *run = format!("{from}/{run}"),
                None if run.starts_with("..") => {}
                None => *run = format!("../{id}/{run}"),
            }
        }
        let pauses = pauses.unwrap_or_default();
        Ok(Resumed { trials, pauses })
    }
}

/// What all trials take, in words; the budget where that is less.
pub fn within_budget(all_ns: u64, budget_ns: Option<u64>) -> String {
    match budget_ns {
        Some(budget) if all_ns > budget => format!("{}, the budget", duration(budget)),
        _ => duration(all_ns),
    }
}

/// The line of a preview that says how many trials are resumed, if any are.
pub fn resumed(number: usize, trials: &str) -> String {
    match number {
        0 => String::new(),
        _ => format!("{number} {trials} are resumed\n"),
    }
}

/// An experiment that begins: where it is stored, who watches it, and what stops it.
pub struct Begun {
    /// Its own directory.
    pub directory: RunDirectory,
    observer: Rc<dyn Observer>,
    interrupts: Interrupts,
}

impl Begun {
    /// One that a command is about, behind its preview; `kind` and `hash` are parts of its ID.
    pub fn new(
        run: &RunIntent,
        stops: &Stops,
        kind: &str,
        hash: &str,
        first: &Plan,
        preview: &str,
    ) -> Result<Self, Failure> {
        let observer = observer(&run.output, preview, stops)?;
        let id = prepare::id(kind, &first.workload.name, hash);
        Ok(Self {
            directory: RunDirectory::create(&run.out, &id, first)?,
            observer,
            interrupts: stops.interrupts.clone(),
        })
    }

    /// One that is a trial of another, below whose directory its own is.
    pub fn nested(place: &NestedPlace, first: &Plan) -> Result<Self, StoreError> {
        Ok(Self {
            directory: RunDirectory::create(&place.root, &place.name, first)?,
            observer: Rc::clone(&place.observer),
            interrupts: place.interrupts.clone(),
        })
    }

    /// Its directory, as people see it.
    pub fn shown(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// Runs it to its end, with which the drawing ends.
    pub fn run<E: Experiment, M: TrialMaker<E::Trial>>(
        self,
        experiment: E,
        maker: &M,
        pauses: Pauses,
        settle: Nanos,
    ) -> Result<ExperimentRecord, M::Error> {
        let side = Side { experiment, directory: self.directory, maker, pauses };
        experiment::run(side, settle, &self.observer, &self.interrupts)
    }
}

/// Prints the preview, and returns the observer.
pub fn observer(
    output: &RunOutput,
    preview: &str,
    stops: &Stops,
) -> Result<Rc<dyn Observer>, Failure> {
    let log = EventLog::open(output.events.as_ref())?;
    let live = live::of_trials(&output.live, &stops.interrupter)?;
    Ok(event_log::observer(output, log.as_ref(), live, || {
        terminal::note(preview);
        Rc::new(Progress::of_trials())
    }))
}
