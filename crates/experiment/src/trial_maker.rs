//! The interface of an experiment's caller: makes the run of a trial, or its nested experiment. Must not run a trial.

use std::cell::RefCell;
use std::rc::Rc;

use highwater_driver::interrupts::Interrupts;
use highwater_model::plan::Plan;
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::WarmUpRun;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::request::Observer;
use highwater_runner::request::RunRequest;
use highwater_runner::store::RunDirectory;

/// A trial to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requested<T> {
    /// From 1.
    pub number: u32,
    /// The trial.
    pub trial: T,
    /// Whether it is the first trial of this process.
    pub is_first: bool,
    /// The first trial found rows of the workload, so its tables must not be recreated.
    pub tables_kept: bool,
}

/// Where a trial belongs, and what its preparation uses.
pub struct TrialPlace {
    /// The experiment's directory; a trial's own is below it.
    pub experiment: RunDirectory,
    /// Name of the trial's directory.
    pub name: String,
    /// Receives the events of the runs that the trial makes.
    pub observer: Rc<dyn Observer>,
    /// Its stop requests.
    pub interrupts: Interrupts,
    /// How the target was prepared before the trial; set by who prepares it.
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
        requested: &'a Requested<T>,
        place: &'a TrialPlace,
    ) -> Result<PreparedTrial<'a>, UserError>;
    /// Makes a nested experiment; required if the experiment has such trials.
    fn nested(&self, _: &Requested<T>, _: &TrialPlace) -> Result<ExperimentRecord, UserError> {
        Err(UserError::usage("cannot run: a trial is no experiment of its own"))
    }
}
