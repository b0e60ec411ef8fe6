//! What an experiment asks of its caller: the run of a trial. Must not run it.

use highwater_model::plan::Plan;
use highwater_runner::request::{RunError, RunRequest};
use highwater_runner::store::{RunDirectory, StoreError};

/// Makes the runs of trials `T`.
pub trait TrialMaker<T> {
    /// What can go wrong with it.
    type Error: From<RunError> + From<StoreError>;
    /// The plan of a trial. How long a probe measures is the search's business.
    fn plan(&self, requested: &T) -> Result<Plan, Self::Error>;
    /// The run of a trial, kept in `directory`.
    fn request(
        &self,
        requested: &T,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Self::Error>;
}
