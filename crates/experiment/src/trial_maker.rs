//! What an experiment needs of its caller: the run of a trial, or the experiment that a trial is. Must not run a
//! trial.

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

/// A trial that is to be run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requested<T> {
    /// From 1.
    pub number: u32,
    /// What is tried.
    pub trial: T,
    /// Whether it is the first one of this process.
    pub is_first: bool,
    /// That one found rows of the workload, so its tables may not be made anew.
    pub tables_kept: bool,
}

/// Where a trial that is an experiment of its own is made, who watches it, and what stops it.
pub struct NestedPlace {
    /// The directory in which that of the experiment is made.
    pub root: PathBuf,
    /// Name of its own directory.
    pub name: String,
    /// Who watches.
    pub observer: Rc<dyn Observer>,
    /// What stops it.
    pub interrupts: Interrupts,
}

/// What can go wrong with a trial.
pub trait TrialError: From<RunError> + From<StoreError> {
    /// What the target answered, where it could not be reached, or what is said where the user stopped before the
    /// load: nothing else failed.
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

/// What was done to a trial's target before its run, apart from what the run does itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MadeReady {
    /// How long it took.
    pub took: Nanos,
    /// The warm-up before the quotas of a cluster's nodes began.
    pub before_quota: Option<WarmUpRun>,
}

/// Makes the runs of trials `T`.
pub trait TrialMaker<T> {
    /// What can go wrong with it.
    type Error: TrialError;
    /// The plan of a trial. How long a probe measures is the search's business.
    fn plan(&self, requested: &Requested<T>) -> Result<Plan, Self::Error>;
    /// The run of a trial, kept in `directory`.
    fn request(
        &self,
        requested: &Requested<T>,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Self::Error>;
    /// What was done to the target of the trial that was planned, or made, last.
    fn made_ready(&self) -> MadeReady {
        MadeReady::default()
    }
    /// Makes a trial that is an experiment of its own; needed where the experiment has such trials.
    fn nested(&self, _: &Requested<T>, _: NestedPlace) -> Result<ExperimentRecord, Self::Error> {
        let message = "a trial is no experiment of its own";
        Err(RunError::System(std::io::Error::other(message)).into())
    }
}
