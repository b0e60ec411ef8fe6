//! The interface of an experiment's caller: makes the run of a trial, or its nested experiment. Must not run a trial.

use std::path::PathBuf;
use std::rc::Rc;

use highwater_model::plan::Plan;
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::WarmUpRun;
use highwater_model::units::Nanos;
use highwater_runner::interrupts::Interrupts;
use highwater_runner::observer::Observer;
use highwater_runner::request::{RunError, RunRequest};
use highwater_runner::store::{RunDirectory, StoreError};

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

/// The place of a nested experiment, its observer, and its stop requests.
pub struct NestedPlace {
    /// The directory that contains the experiment's.
    pub root: PathBuf,
    /// Name of its own directory.
    pub name: String,
    /// Its observer.
    pub observer: Rc<dyn Observer>,
    /// Its stop requests.
    pub interrupts: Interrupts,
}

/// Errors of a trial.
pub trait TrialError: From<RunError> + From<StoreError> {
    /// The message if the target was unreachable, or if the user stopped before the load; otherwise `None`.
    fn unreachable(&self) -> Option<String>;
}

impl TrialError for RunError {
    fn unreachable(&self) -> Option<String> {
        match self {
            Self::Target(error) if error.may_pass() => Some(error.to_string()),
            Self::Interrupted => Some(self.to_string()),
            _ => None,
        }
    }
}

/// Preparation of a trial's target before its run, other than by the run itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MadeReady {
    /// Its duration.
    pub took: Nanos,
    /// The warm-up before the CPU quotas of a cluster's nodes began.
    pub before_quota: Option<WarmUpRun>,
}

/// Makes the runs of trials `T`.
pub trait TrialMaker<T> {
    /// The error of a trial.
    type Error: TrialError;
    /// The plan of a trial. The search determines how long a probe measures.
    fn plan(&self, requested: &Requested<T>) -> Result<Plan, Self::Error>;
    /// The run of a trial, stored in `directory`.
    fn request(
        &self,
        requested: &Requested<T>,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Self::Error>;
    /// Preparation of the target for the last planned or completed trial.
    fn made_ready(&self) -> MadeReady {
        MadeReady::default()
    }
    /// Makes a nested experiment; required if the experiment has such trials.
    fn nested(&self, _: &Requested<T>, _: NestedPlace) -> Result<ExperimentRecord, Self::Error> {
        let message = "a trial is no experiment of its own";
        Err(RunError::System(std::io::Error::other(message)).into())
    }
}
