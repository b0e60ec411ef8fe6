//! What experiments have in common: the time of their trials, resuming, running them to their end, and signals of the
//! operating system as stop requests.
//!
//! A process has one signal handler; each run or experiment in it has its own stop requests, to which signals are forwarded.
//! Must not decide which trial is next.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use highwater_driver::interrupts::{self, Interrupter, Interrupts};
use highwater_experiment as experiment;
use highwater_experiment::shares::ExperimentShare;
use highwater_experiment::trials::{TrialMaker, TrialPlace};
use highwater_experiment::{Experiment, ExperimentRun};
use highwater_model::display::duration;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::{AuditLevel, PhaseKind, Plan};
use highwater_model::record::{
    CommandRecord, ExperimentRecord, InterventionRecord, Question, SettingOrigin,
};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::record;
use highwater_runner::request::Observer;
use highwater_runner::store::{self, RunDirectory};
use highwater_workload::Workload;

use crate::intent::{RunIntent, RunOutput};
use crate::line_streams::EventLog;
use crate::progress::Progress;
use crate::{exit, line_streams, live, prepare, shares, terminal, workload_file};

/// Time for connecting, new tables, and drain.
const CONNECTING: Nanos = Nanos::from_secs(2);
/// Time in which shares meet and are merged.
const MEETING: Nanos = Nanos::from_secs(8);
/// Time to read back rows, as a fraction of the time for writing them at the maximum rate: 0.3 on a server that shares
/// two cores with the load generator, and less on one with more cores.
const AUDIT_FRACTION: f64 = 0.25;

/// A warm-up until throughput is steady is estimated at this fraction of its maximum.
const STEADY_PART: u64 = 4;

/// Estimated time of a trial in addition to its measured time, before the first trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialOverhead {
    /// Constant part: warm-up, settling, connecting, new tables, and drain.
    pub fixed: Nanos,
    /// Its audit, as a fraction of the measured time.
    pub audit_fraction: f64,
}

impl TrialOverhead {
    /// For trials of this plan, each after an idle time of `settle`. On a simulated clock, only phases take time.
    pub fn new(
        run: &RunIntent,
        settle: Nanos,
        workload: &Workload,
        plan: &Plan,
    ) -> Result<Self, UserError> {
        let warm_up = if run.plan.until_steady {
            Nanos(run.plan.warm_up.0 / STEADY_PART)
        } else {
            run.plan.warm_up
        };
        let target = prepare::open(run, &run.targets, &run.out)?;
        if target.capabilities().simulated_clock {
            return Ok(Self { fixed: warm_up, audit_fraction: 0.0 });
        }
        let meeting = if run.plan.share.of > 1 { MEETING } else { Nanos::ZERO };
        let audits = plan.audit.level != AuditLevel::Off && writes(workload, plan);
        Ok(Self {
            fixed: warm_up + settle + CONNECTING + meeting,
            audit_fraction: if audits { AUDIT_FRACTION } else { 0.0 },
        })
    }

    /// Time of a run of this plan.
    pub fn of_run(self, plan: &Plan) -> Nanos {
        let measured = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        let measured = measured.map(|phase| phase.duration.0);
        self.with(Nanos(measured.fold(0, u64::saturating_add)))
    }

    /// Time of a trial with this measured time.
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

/// The hash of a stored experiment's definition, and its trials; `None` of another kind.
pub type StoredTrials<T> = Option<(String, Vec<T>)>;

/// A request to resume an experiment of one kind; parts of the messages.
pub struct ResumeRequest<'a> {
    /// The run store's directory.
    pub out: &'a Path,
    /// The directory or ID of the experiment there; absent for a new one.
    pub name: Option<&'a str>,
    /// `a search`.
    pub what: &'static str,
    /// ``find` run``: follows the name of the program.
    pub command: &'static str,
    /// The settings that must be the same.
    pub definition: &'static str,
    /// The settings of this command.
    pub now: &'a CommandRecord,
    /// The flags that may change.
    pub free: &'static str,
    /// The experiment's directory, relative to that of the new one; absent if both are siblings.
    pub from: Option<&'a str>,
}

/// Pauses of an experiment by its user.
pub type Pauses = Vec<InterventionRecord>;

impl ResumeRequest<'_> {
    /// Takes over the trials of the named experiment, if there is one, and returns its pauses. It must have the same
    /// definition; paths are relative to a sibling. Trials at its end that ended early are omitted.
    pub fn take_over<T>(
        &self,
        hash: &str,
        resumed: &mut Vec<T>,
        of: impl FnOnce(Question) -> StoredTrials<T>,
        ended_early: impl Fn(&T) -> bool,
        run: impl Fn(&mut T) -> &mut String,
    ) -> Result<Pauses, UserError> {
        let Some(name) = self.name else {
            return Ok(Pauses::new());
        };
        let record = record::read(&store::find(self.out, Some(name))?)?;
        let id = record.header().id.clone();
        let then = record.header().command.clone();
        let experiment = record.into_experiment();
        let (question, pauses) = experiment.map(|of| (of.question, of.interventions)).unzip();
        let Some((earlier, mut trials)) = question.and_then(of) else {
            let hint = format!("name the directory or ID of a `highwater {}", self.command);
            let cause = format!("--resume: {id} is not {}", self.what);
            return Err(UserError::usage(cause).with_hint(hint));
        };
        if earlier != hash {
            let differing = differing(&then, self.now, self.free);
            let cause = match differing.as_slice() {
                [] => format!("cannot resume {id}: {} differ", self.definition),
                some => format!("cannot resume {id}: {}", some.join("; ")),
            };
            let hint = format!("use the same flags; only {} may change", self.free);
            return Err(UserError::usage(cause).with_hint(hint));
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
        *resumed = trials;
        Ok(pauses.unwrap_or_default())
    }
}

/// The settings that were others then: `--p99 was 20ms, and is 50ms`. Defaults count as not given. Trials add values of
/// their own to some settings, which are the same with more of them.
fn differing(then: &CommandRecord, now: &CommandRecord, free: &str) -> Vec<String> {
    let is_free = |name: &str| name == "resume" || free.contains(&format!("--{name}"));
    let given = |of: &CommandRecord, name: &str| {
        let all = of.settings.get(name).into_iter().flatten();
        let given = all.filter(|one| one.origin != SettingOrigin::Default);
        let words: Vec<&str> = given.map(|one| one.value.as_deref().unwrap_or("on")).collect();
        words.join(" ")
    };
    let names: BTreeSet<&String> = then.settings.keys().chain(now.settings.keys()).collect();
    let differ = names.into_iter().filter(|name| !is_free(name)).filter_map(|name| {
        let [then, now] = [then, now].map(|of| given(of, name));
        let is_place = matches!(name.as_str(), "workload" | "target");
        let has_more = if now.is_empty() { is_place } else { then.starts_with(&format!("{now} ")) };
        let is_same = then == now || has_more;
        let word = |of: String| if of.is_empty() { "not given".to_owned() } else { of };
        let flag = if is_place { "" } else { "--" };
        (!is_same).then(|| format!("{flag}{name} was {}, and is {}", word(then), word(now)))
    });
    differ.collect()
}

/// The time of all trials in words, or the budget if it is less.
pub fn within_budget(all_ns: u64, budget_ns: Option<u64>) -> String {
    match budget_ns {
        Some(budget) if all_ns > budget => format!("{}, the budget", duration(budget)),
        _ => duration(all_ns),
    }
}

/// The line of a preview with the number of resumed trials, if there are any.
pub fn resumed(number: usize, trials: &str) -> String {
    match number {
        0 => String::new(),
        _ => format!(
            "{number} {trials} are resumed, and are not repeated; the new record has them, too\n"
        ),
    }
}

/// A preview, and what its times are on a simulated clock.
pub fn on_its_clock(preview: String, run: &RunIntent) -> Result<String, UserError> {
    let target = prepare::open(run, &run.targets, &run.out)?;
    if !target.capabilities().simulated_clock {
        return Ok(preview);
    }
    Ok(preview + "simulated time; the computing usually takes much less\n")
}

/// An experiment before its first trial.
pub struct Prepared<E, M> {
    /// The question, with the trials of the experiment that it resumes.
    pub experiment: E,
    /// Makes its trials.
    pub maker: M,
    /// The plan of the first trial.
    pub first: Plan,
    /// The workload of the first trial.
    pub workload: Arc<Workload>,
    /// What `--dry-run` prints: the trials, and their time.
    pub preview: String,
    /// Its estimated time, without the time for filling tables.
    pub cost: Nanos,
    /// Pauses of the experiment that it resumes.
    pub pauses: Pauses,
    /// How long the target is left idle before each trial.
    pub settle: Nanos,
}

impl<E: Experiment, M: TrialMaker<E::Trial>> Prepared<E, M> {
    /// Prints the preview.
    pub fn show(&self) -> Result<u8, UserError> {
        terminal::data(&self.preview).map(|()| exit::SUCCESS)
    }

    /// Runs it as the experiment of a command; `kind` and `hash` are parts of its ID. Returns its record and its
    /// directory, for printing.
    pub fn measure(
        self,
        run: &RunIntent,
        kind: &str,
        hash: &str,
        stops: &Stops,
    ) -> Result<(ExperimentRecord, String), UserError> {
        prepare::warn_about_audit(&self.workload, &self.first);
        prepare::warn_about_other_programs(run)?;
        let observer = observer(&run.output, &self.preview, stops)?;
        let id = prepare::id(kind, &self.first.workload.name, hash);
        let share = shares::of_experiment(run, &stops.interrupter)?;
        let id = shares::of_part(&id, &run.plan.share);
        let directory = prepare::directory(&run.out, &id, &self.first)?;
        let shown = directory.path().display().to_string();
        let workload = Arc::clone(&self.workload);
        let record = self.run(directory, &observer, &stops.interrupts, share);
        // The end of the observer also ends the drawing.
        drop(observer);
        let record =
            record.map_err(|error| workload_file::located(error, &run.workload, &workload))?;
        Ok((record, shown))
    }

    /// Runs it as a trial of another experiment, in whose directory it is stored.
    pub fn nest(self, place: &TrialPlace) -> Result<ExperimentRecord, UserError> {
        let directory = place.experiment.create_trial(&place.name, &self.first)?;
        self.run(directory, &place.observer, &place.interrupts, place.share.clone())
    }

    fn run(
        self,
        directory: RunDirectory,
        observer: &Rc<dyn Observer>,
        interrupts: &Interrupts,
        share: Option<ExperimentShare>,
    ) -> Result<ExperimentRecord, UserError> {
        let Self { experiment, maker, pauses, settle, .. } = self;
        let run = ExperimentRun { experiment, directory, maker: &maker, pauses, share };
        experiment::run(run, settle, observer, interrupts)
    }
}

/// Prints the preview, and returns the observer.
pub fn observer(
    output: &RunOutput,
    preview: &str,
    stops: &Stops,
) -> Result<Rc<dyn Observer>, UserError> {
    let log = EventLog::open(output.events.as_ref())?;
    let live = live::of_trials(&output.live, &stops.interrupter)?;
    Ok(line_streams::observer(output, log.as_ref(), live, || {
        terminal::note(preview);
        Rc::new(Progress::of_trials())
    }))
}

/// Further signals do not make a stop more urgent.
const URGENT: u32 = 2;

static SIGNALS: Mutex<Signals> = Mutex::new(Signals::new());

/// Interrupts (Ctrl-C) and requests to end (SIGTERM) of this process, and their receivers.
struct Signals {
    is_listening: bool,
    /// Whether a load may be running, whose audit follows a stop.
    has_load: bool,
    /// Number of signals, at most [`URGENT`].
    arrived: u32,
    /// Senders of runs and experiments that may still be running.
    interrupters: Vec<Interrupter>,
}

/// Stop requests of a run or an experiment, and the sender for other sources of them.
pub struct Stops {
    /// Sends a stop request.
    pub interrupter: Interrupter,
    /// Receives stop requests.
    pub interrupts: Interrupts,
}

/// Interrupts (Ctrl-C) and requests to end (SIGTERM) as stop requests of a command without a load.
pub fn signals() -> Result<Interrupts, UserError> {
    Ok(listening()?.open().interrupts)
}

/// Like [`signals`], with both ends. A request by one sender reaches no other run of this process, but a signal
/// reaches all of them, including those that begin after it.
pub fn stops() -> Result<Stops, UserError> {
    let mut signals = listening()?;
    signals.has_load = true;
    Ok(signals.open())
}

fn listening() -> Result<MutexGuard<'static, Signals>, UserError> {
    let mut signals = all();
    if !signals.is_listening {
        ctrlc::set_handler(|| {
            let mut signals = all();
            let urgent = signals.arrive();
            terminal::note(match (signals.has_load, urgent) {
                (false, _) => "stopping\n",
                (true, true) => "stopping at once: no audit\n",
                (true, false) => {
                    "stopping: open ops end, then the audit; Ctrl-C again stops at once\n"
                }
            });
        })
        .map_err(|error| UserError::usage(format!("cannot listen for interrupts: {error}")))?;
        signals.is_listening = true;
    }
    Ok(signals)
}

fn all() -> MutexGuard<'static, Signals> {
    SIGNALS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Signals {
    const fn new() -> Self {
        Self { is_listening: false, has_load: false, arrived: 0, interrupters: Vec::new() }
    }

    fn open(&mut self) -> Stops {
        let (interrupter, interrupts) = interrupts::channel();
        (0..self.arrived).for_each(|_| interrupter.interrupt());
        self.interrupters.retain(|other| !other.is_closed());
        self.interrupters.push(interrupter.clone());
        Stops { interrupter, interrupts }
    }

    /// Whether everything is to stop at once.
    fn arrive(&mut self) -> bool {
        self.arrived = (self.arrived + 1).min(URGENT);
        self.interrupters.iter().for_each(Interrupter::interrupt);
        self.arrived == URGENT
    }
}

#[cfg(test)]
mod tests {
    use highwater_driver::interrupts::StopRequest::{Stop, StopAtOnce};

    use super::*;

    #[test]
    fn a_signal_reaches_every_run_of_the_process_and_a_stop_only_its_own() {
        let mut signals = Signals::new();
        let (first, second) = (signals.open(), signals.open());
        first.interrupter.interrupt();
        assert_eq!(first.interrupts.requested(), Some(Stop));
        assert_eq!(second.interrupts.requested(), None);
        signals.arrive();
        assert_eq!(first.interrupts.requested(), Some(StopAtOnce));
        assert_eq!(second.interrupts.requested(), Some(Stop));
        let later = signals.open();
        assert_eq!(later.interrupts.requested(), Some(Stop));
    }

    #[test]
    fn ended_runs_are_forgotten_and_signals_escalate_to_the_most_urgent() {
        let mut signals = Signals::new();
        for _ in 0..10 {
            drop(signals.open());
            signals.arrive();
        }
        let last = signals.open();
        assert_eq!(last.interrupts.requested(), Some(StopAtOnce));
        assert_eq!((signals.interrupters.len(), signals.arrived), (1, URGENT));
    }
}
