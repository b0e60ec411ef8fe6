//! What experiments share: what they resume, how their trials are observed, and what ends them.
//! Must not run a trial.

use std::path::Path;
use std::rc::Rc;

use highwater_model::record::ExperimentRecord;
use highwater_model::units::Nanos;
use highwater_runner::observer::Observer;
use highwater_runner::record;
use highwater_runner::request::RunError;
use highwater_runner::store::{self, StoreError};
use highwater_workload::Workload;

use crate::event_log::{self, EventLog};
use crate::failure::Failure;
use crate::intent::{RunOutput, WorkloadChoice};
use crate::progress::Progress;
use crate::terminal;
use crate::workload_file;

/// Time of a probe outside its phases with a pace: connecting, drain, audit.
pub const AROUND: Nanos = Nanos::from_secs(2);

/// What ends a search or a tuning without a record.
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

/// The experiment that is to be resumed, with its ID.
pub fn earlier(out: &Path, name: &str) -> Result<(String, Option<ExperimentRecord>), Failure> {
    let record = record::read(&store::find(out, Some(name))?)?;
    let id = record.header().id.clone();
    Ok((id, record.into_experiment()))
}

/// Where a trial of the experiment `id` lies, as seen from one that goes on with it.
pub fn seen_from_beside(run: &mut String, id: &str) {
    if !run.starts_with("..") {
        *run = format!("../{id}/{run}");
    }
}

/// Prints the preview, and returns the observer.
pub fn observer(output: &RunOutput, preview: &str) -> Result<Rc<dyn Observer>, Failure> {
    let log = EventLog::open(output.events.as_ref())?;
    Ok(event_log::observer(output, log.as_ref(), || {
        terminal::note(preview);
        Rc::new(Progress::of_trials())
    }))
}
