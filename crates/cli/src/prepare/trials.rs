//! What experiments share: what they resume, how their trials are observed, and what ends them.
//! Must not run a trial.

use std::path::Path;
use std::rc::Rc;

use highwater_model::record::Question;
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
}

impl Resuming<'_> {
    /// The trials of the experiment that `--resume` names, which must have the same definition, as
    /// seen from one beside it; without those at its end that ended early. `of` takes its hash and
    /// its trials out.
    pub fn trials<T>(
        &self,
        hash: &str,
        of: impl FnOnce(Question) -> Option<(String, Vec<T>)>,
        ended_early: impl Fn(&T) -> bool,
        run: impl Fn(&mut T) -> &mut String,
    ) -> Result<Vec<T>, Failure> {
        let record = record::read(&store::find(self.out, Some(self.name))?)?;
        let id = record.header().id.clone();
        let question = record.into_experiment().map(|of| of.question);
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
            if !run.starts_with("..") {
                *run = format!("../{id}/{run}");
            }
        }
        Ok(trials)
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
