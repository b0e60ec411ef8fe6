//! What an experiment needs of its caller: the run of a trial. Must not run it.

use highwater_model::plan::Plan;
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

/// Makes the runs of trials `T`.
pub trait TrialMaker<T> {
    /// What can go wrong with it.
    type Error: From<RunError> + From<StoreError>;
    /// The plan of a trial. How long a probe measures is the search's business.
    fn plan(&self, requested: &Requested<T>) -> Result<Plan, Self::Error>;
    /// The run of a trial, kept in `directory`.
    fn request(
        &self,
        requested: &Requested<T>,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Self::Error>;
}
