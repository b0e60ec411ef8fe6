//! Experiments whose trials are jobs, and their observers. Must not define trials.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use highwater_analysis::RunEnding;
use highwater_driver::interrupts::{self, Interrupter, Interrupts};
use highwater_experiment::trials::{NextTrial, PreparedTrial, TrialMaker, TrialPlace};
use highwater_experiment::{Experiment, ExperimentRun, run};
use highwater_model::event::Event;
use highwater_model::plan::Plan;
use highwater_model::record::{ExperimentRecord, InterventionRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::request::{Observer, Silent};
use highwater_runner::store::RunDirectory;

use crate::support::Job;

/// Whether an experiment was refused because its budget does not cover its first trial.
pub(crate) fn lacks_budget(error: &UserError) -> bool {
    error.message.starts_with("--budget: not one trial of ")
}

/// An experiment's observer and stop requests.
pub(crate) struct Watched {
    pub(crate) observer: Rc<dyn Observer>,
    pub(crate) interrupts: Interrupts,
    /// Without it, nothing stops the experiment.
    _interrupter: Option<Interrupter>,
}

impl Watched {
    /// Nothing stops it.
    pub(crate) fn silent() -> Self {
        let (interrupter, interrupts) = interrupts::channel();
        Self { _interrupter: Some(interrupter), ..Self::with(Rc::new(Silent), interrupts) }
    }

    pub(crate) fn with(observer: Rc<dyn Observer>, interrupts: Interrupts) -> Self {
        Self { observer, interrupts, _interrupter: None }
    }

    /// The observer holds the interrupter.
    pub(crate) fn by<O: Observer + 'static>(user: impl FnOnce(Interrupter) -> O) -> (Rc<O>, Self) {
        let (interrupter, interrupts) = interrupts::channel();
        let user = Rc::new(user(interrupter));
        let observer = Rc::clone(&user) as Rc<dyn Observer>;
        (user, Self::with(observer, interrupts))
    }

    /// The observer stops it after this many events of a kind.
    pub(crate) fn stopped_after(count: u32, is_one: fn(&Event) -> bool) -> Self {
        let user = |interrupter| Impatient { left: Cell::new(count), is_one, interrupter };
        Self::by(user).1
    }
}

struct Impatient {
    left: Cell<u32>,
    is_one: fn(&Event) -> bool,
    interrupter: Interrupter,
}

impl Observer for Impatient {
    fn event(&self, event: &Event) {
        if (self.is_one)(event) {
            self.left.set(self.left.get().wrapping_sub(1));
            if self.left.get() == 0 {
                self.interrupter.interrupt();
            }
        }
    }
}

/// An experiment.
pub(crate) struct Jobs<'a, E: Experiment> {
    pub(crate) experiment: E,
    /// The job of each trial.
    pub(crate) job_of: &'a dyn Fn(&NextTrial<E::Trial>) -> Job,
    /// Added to the seed of a trial's target, but not to that of its plan.
    pub(crate) chances_of: fn(&E::Trial) -> u64,
    /// The trial for whose plan the experiment's directory is made.
    pub(crate) first: E::Trial,
    pub(crate) settle: Nanos,
    pub(crate) pauses: Vec<InterventionRecord>,
}

impl<E: Experiment> Jobs<'_, E> {
    /// Runs it in a directory of that name, or next to it if that exists.
    pub(crate) fn run(
        self,
        root: &Path,
        name: &str,
        watched: &Watched,
    ) -> Result<ExperimentRecord, UserError> {
        let maker = Maker { root, job_of: self.job_of, chances_of: self.chances_of };
        let first = maker.plan(&NextTrial {
            number: 1,
            trial: self.first,
            is_first: true,
            tables_kept: false,
        });
        let side = ExperimentRun {
            experiment: self.experiment,
            directory: RunDirectory::create(root, name, &first)?
                .with_page(|record| highwater_report::html(record)),
            maker: &maker,
            pauses: self.pauses,
            share: None,
        };
        run(side, self.settle, &watched.observer, &watched.interrupts)
    }
}

struct Maker<'a, T> {
    root: &'a Path,
    job_of: &'a dyn Fn(&NextTrial<T>) -> Job,
    chances_of: fn(&T) -> u64,
}

impl<T> Maker<'_, T> {
    fn plan(&self, requested: &NextTrial<T>) -> Plan {
        let job = (self.job_of)(requested);
        job.plan(&job.workload(), 16)
    }
}

impl<T> TrialMaker<T> for Maker<'_, T> {
    fn prepare<'a>(
        &'a self,
        requested: &'a NextTrial<T>,
        _: &'a TrialPlace,
    ) -> Result<PreparedTrial<'a>, UserError> {
        Ok(PreparedTrial::new(self.plan(requested), |plan, directory| {
            let job = (self.job_of)(requested);
            let mut with_chances = job.clone();
            with_chances.seed += (self.chances_of)(&requested.trial);
            Ok(job.request_in(with_chances.open_target(self.root), plan, directory))
        }))
    }
}

/// The program's exit code.
pub(crate) fn code(record: &ExperimentRecord) -> u8 {
    highwater_analysis::exit_code(&record.judgments, RunEnding::from_incidents(&record.incidents))
}
