//! The runs of a search or a tuning, one after the other: each a run like any other, with its own
//! record, in a directory below that of the whole; the record of the whole is written anew after each.
//!
//! What is run next, and what a run shows, is the business of who asks.

use std::rc::Rc;

use futures_util::future::select;
use highwater_driver::{TargetErrorKind, Timeline};
use highwater_model::plan::Plan;
use highwater_model::record::{Incident, IncidentKind, RunRecord, TableStart};
use highwater_model::units::Nanos;
use highwater_report::ExperimentProgress;

use crate::clock::{RealClock, RealTimeline};
use crate::interrupts::Interrupts;
use crate::leases::KeptLeases;
use crate::observer::{Event, Observer};
use crate::request::{Ended, RunError, RunRequest};
use crate::run;
use crate::store::{PROBES, RunDirectory, StoreError};

/// Those that were made, and what the next one needs.
pub(crate) struct Probes<'a> {
    /// Of the whole.
    directory: RunDirectory,
    /// How long the target is left alone before each but the first; not on a simulated clock.
    settle: Nanos,
    pub(crate) observer: &'a Rc<dyn Observer>,
    interrupts: &'a Interrupts,
    /// The record of the last one that has one.
    pub(crate) last: Option<RunRecord>,
    /// The first one found rows of the workload.
    pub(crate) tables_kept: bool,
    /// The hold on the tables, from one to the next.
    leases: KeptLeases,
}

/// One that was run.
pub(crate) struct Ran {
    /// Its record is the last one; else the target could not be reached.
    pub(crate) reached: bool,
    pub(crate) started_at: String,
    /// How long the target was left alone before it.
    pub(crate) settled: Nanos,
}

impl<'a> Probes<'a> {
    /// None was made yet.
    pub(crate) fn new(
        directory: RunDirectory,
        settle: Nanos,
        observer: &'a Rc<dyn Observer>,
        interrupts: &'a Interrupts,
    ) -> Self {
        Self {
            directory,
            settle,
            observer,
            interrupts,
            last: None,
            tables_kept: false,
            leases: KeptLeases::default(),
        }
    }

    /// A directory for the next one, and its path below the directory of the whole.
    pub(crate) fn place(
        &self,
        name: &str,
        plan: &Plan,
    ) -> Result<(RunDirectory, String), StoreError> {
        let root = self.directory.path().join(PROBES);
        let directory = RunDirectory::create(&root, name, plan)?;
        let run = format!("{PROBES}/{}", directory.id());
        Ok((directory, run))
    }

    /// Runs one, and tells of its begin; none where the user stopped before that. The first one tells
    /// itself what stopped it, and whether the target can be reached at all.
    pub(crate) fn run(
        &mut self,
        request: RunRequest,
        begin: &Event,
    ) -> Result<Option<Ran>, RunError> {
        let is_first = self.last.is_none();
        let simulated = request.target.capabilities().simulated_clock;
        let settled = if simulated || is_first {
            Nanos::ZERO
        } else {
            self.pause()?
        };
        if self.interrupts.requested().is_some() && !is_first {
            request.directory.discard();
            self.note_stop();
            return Ok(None);
        }
        self.observer.event(begin);
        let started_at = request.started_at.clone();
        let (observer, interrupts) = (Rc::clone(self.observer), self.interrupts.clone());
        let end = run::one_of(request, observer, interrupts, Some(self.leases.clone()));
        let reached = match end {
            Ok(end) => {
                if is_first {
                    self.tables_kept = continues(&end.record);
                }
                self.last = Some(end.record);
                true
            }
            Err(RunError::Target(error))
                if !is_first && error.kind == TargetErrorKind::Unreachable =>
            {
                self.observer.event(&Event::Warning(error.to_string()));
                false
            }
            Err(error) => return Err(error),
        };
        Ok(Some(Ran {
            reached,
            started_at,
            settled,
        }))
    }

    /// The record of one that was run.
    pub(crate) fn record_of(&self, ran: &Ran) -> Option<&RunRecord> {
        self.last.as_ref().filter(|_| ran.reached)
    }

    /// Writes the record of the whole, which is made of the last one; none while there is none.
    pub(crate) fn write(
        &self,
        conclude: impl FnOnce(RunRecord, String) -> RunRecord,
    ) -> Result<Option<RunRecord>, StoreError> {
        let Some(last) = self.last.clone() else {
            return Ok(None);
        };
        let record = conclude(last, self.directory.id());
        self.directory.write_record(&record)?;
        Ok(Some(record))
    }

    /// Leaves nothing behind where nothing was run.
    pub(crate) fn close(&self) {
        if self.last.is_none() {
            self.directory.discard();
        }
    }

    /// Leaves the target alone for a while, unless the user wishes to stop; returns how long it was.
    fn pause(&self) -> Result<Nanos, RunError> {
        if self.settle == Nanos::ZERO {
            return Ok(Nanos::ZERO);
        }
        let (length, mut interrupts) = (self.settle, self.interrupts.clone());
        Ok(RealTimeline::block_on(
            RealClock::start(),
            |timeline| async move {
                let over = timeline.sleep_until(length);
                select(over, std::pin::pin!(interrupts.next())).await;
                timeline.now()
            },
        )?)
    }

    /// A stop between two of them is in the record of neither.
    fn note_stop(&mut self) {
        let last = self.last.iter_mut();
        for record in last.filter(|record| Ended::of(&record.incidents) == Ended::Complete) {
            record.incidents.push(Incident::new(
                IncidentKind::Interrupted,
                "stopped by the user between two probes",
            ));
        }
    }
}

impl Drop for Probes<'_> {
    fn drop(&mut self) {
        self.leases.end();
    }
}

/// How far those are that took so long each, of at most so many.
pub(crate) fn progress(
    took: impl ExactSizeIterator<Item = u64>,
    most: u32,
    planned: Nanos,
    budget: Option<Nanos>,
) -> ExperimentProgress {
    let done = u32::try_from(took.len()).unwrap_or(u32::MAX);
    let spent = took.fold(0, u64::saturating_add);
    let each = spent.checked_div(done.into()).map(Nanos);
    ExperimentProgress {
        done,
        most,
        spent: Nanos(spent),
        each: each.unwrap_or(planned),
        budget,
    }
}

/// A run's length on its own timeline, load and audit included.
pub(crate) fn took(record: &RunRecord) -> u64 {
    let phases = record.phases.iter().map(|phase| phase.duration_ns);
    phases.fold(0, u64::saturating_add)
}

/// Whether a run went on behind rows that were there before.
fn continues(record: &RunRecord) -> bool {
    let mut tables = record.target.tables.iter();
    tables.any(|table| table.start == TableStart::Continued)
}
