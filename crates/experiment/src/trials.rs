//! The runs of an experiment, one after the other: each a run like any other, with its own record, in a
//! directory below that of the whole; the record of the whole is written anew after each.
//!
//! What must not be here: what is run next, and what a run shows.

use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::future::select;
use highwater_driver::Timeline;
use highwater_model::control::{Change, InterventionRecord};
use highwater_model::event::{Event, Part, WarningKind};
use highwater_model::plan::Plan;
use highwater_model::record::{ExperimentRecord, Incident, IncidentKind, RunRecord, TableStart};
use highwater_model::units::Nanos;

use crate::progress::loaded;
use crate::trial_maker::{NestedPlace, Requested, TrialError};
use highwater_runner::clock::{RealClock, RealTimeline};
use highwater_runner::interrupts::Interrupts;
use highwater_runner::leases::KeptLeases;
use highwater_runner::observer::Observer;
use highwater_runner::reporting::kept_in;
use highwater_runner::request::{Ended, RunError, RunRequest};
use highwater_runner::run;
use highwater_runner::store::{PROBES, RunDirectory, StoreError};

/// Those that were made, and what the next one needs.
pub(crate) struct Trials<'a> {
    /// Of the whole.
    directory: RunDirectory,
    /// How long the target is left alone before each but the first of all; not on a simulated clock.
    settle: Nanos,
    /// Told what the experiment itself reports.
    pub(crate) observer: Rc<dyn Observer>,
    /// Told what its runs report.
    of_runs: &'a Rc<dyn Observer>,
    interrupts: &'a Interrupts,
    /// The record of the last one that has one.
    last: Option<RunRecord>,
    /// What filling tables took so far, nanoseconds.
    loaded_ns: u64,
    /// The first one found rows of the workload.
    tables_kept: bool,
    /// Another experiment had the target before the first one.
    follows: bool,
    /// The hold on the tables, from one to the next; of each target.
    leases: BTreeMap<Vec<String>, KeptLeases>,
    /// Counts since the begin.
    clock: RealClock,
    /// How the user let it wait, before it was resumed, too.
    pauses: Vec<InterventionRecord>,
}

/// One that was run.
pub(crate) struct Ran {
    /// Its record is the last one; else the target could not be reached.
    reached: bool,
    pub(crate) started_at: String,
    /// How long the target was left alone before it.
    pub(crate) settled: Nanos,
}

impl<'a> Trials<'a> {
    /// None was made yet; `pauses` are those of the experiment that is resumed.
    pub(crate) fn new(
        directory: RunDirectory,
        settle: Nanos,
        observer: &'a Rc<dyn Observer>,
        interrupts: &'a Interrupts,
        pauses: Vec<InterventionRecord>,
    ) -> Self {
        Self {
            observer: kept_in(&directory, Rc::clone(observer)),
            of_runs: observer,
            directory,
            settle,
            interrupts,
            last: None,
            loaded_ns: 0,
            tables_kept: false,
            follows: false,
            leases: BTreeMap::new(),
            clock: RealClock::start(),
            pauses,
        }
    }

    /// Whether none has a record yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// The first one comes behind a run of another experiment, so the target is left alone before it, too.
    pub(crate) fn follow(&mut self) {
        self.follows = true;
    }

    /// Waits before the next one as long as the user lets it; a stop ends that, too. The time is in no budget.
    fn wait_while_held(&mut self, next: &str) -> Result<(), RunError> {
        let is_over = |interrupts: &Interrupts| interrupts.requested().is_some();
        if !self.interrupts.is_held() || is_over(self.interrupts) {
            return Ok(());
        }
        self.observer.event(&Event::Part(Part::Paused));
        let [mut held, mut stop] = [self.interrupts.clone(), self.interrupts.clone()];
        let [begin, end] = RealTimeline::block_on(self.clock, |timeline| async move {
            let begin = timeline.now();
            let released = std::pin::pin!(held.released());
            if !is_over(&stop) {
                select(released, std::pin::pin!(stop.next())).await;
            }
            [begin, timeline.now()]
        })?;
        let done = InterventionRecord {
            time_ns: begin.0,
            phase: next.to_owned(),
            change: Change::Pause { lasted_ns: end.saturating_sub(begin).0 },
        };
        self.observer.event(&Event::Intervention(done.clone()));
        self.pauses.push(done);
        Ok(())
    }

    /// The next one, as soon as the user lets it be made, with what there is to know before it; none where the user
    /// stopped.
    pub(crate) fn requested<T>(
        &mut self,
        name: &str,
        number: u32,
        trial: T,
    ) -> Result<Option<Requested<T>>, RunError> {
        self.wait_while_held(name)?;
        Ok((!self.is_stopped()).then(|| Requested {
            number,
            trial,
            is_first: self.last.is_none(),
            tables_kept: self.tables_kept,
        }))
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
        holds_tables: bool,
    ) -> Result<Option<Ran>, RunError> {
        let is_first = self.last.is_none();
        let simulated = request.target.capabilities().simulated_clock;
        let settled =
            if simulated || (is_first && !self.follows) { Nanos::ZERO } else { self.pause()? };
        if self.is_stopped() {
            request.directory.discard();
            return Ok(None);
        }
        self.observer.event(begin);
        let started_at = request.started_at.clone();
        let (observer, interrupts) = (Rc::clone(self.of_runs), self.interrupts.clone());
        let leases = holds_tables.then(|| {
            let of_target = self.leases.entry(request.target.urls());
            of_target.or_default().clone()
        });
        let ran = run::one_of(request, observer, interrupts, leases);
        // One that was stopped while it was prepared is none; the first one tells that itself.
        if matches!(ran, Err(RunError::Interrupted)) && self.is_stopped() {
            return Ok(None);
        }
        let end = self.reached(ran)?;
        let reached = end.is_some();
        if let Some(end) = end {
            if is_first {
                self.tables_kept = continues(&end.record);
            }
            self.loaded_ns = self.loaded_ns.saturating_add(loaded(&end.record));
            self.last = Some(end.record);
        }
        Ok(Some(Ran { reached, started_at, settled }))
    }

    /// Whether the user stopped before the next one, which is noted; the first one tells that itself.
    pub(crate) fn is_stopped(&mut self) -> bool {
        let stopped = self.interrupts.requested().is_some() && self.last.is_some();
        // A stop between two of them is in the record of neither.
        let last = self.last.iter_mut().filter(|_| stopped);
        for record in last.filter(|record| Ended::of(&record.incidents) == Ended::Complete) {
            record.incidents.push(Incident::new(
                IncidentKind::Interrupted,
                "stopped by the user between two runs",
            ));
        }
        stopped
    }

    /// Warns of a target that could not be reached.
    ///
    /// # Errors
    /// Of the first one, and where it is something else.
    fn unreached<E: TrialError>(&self, error: E) -> Result<(), E> {
        match error.unreachable() {
            // Whoever stopped knows why it was not made.
            Some(_) if self.last.is_some() && self.interrupts.requested().is_some() => Ok(()),
            Some(message) if self.last.is_some() => {
                self.observer
                    .event(&Event::Warning { kind: WarningKind::TargetUnreachable, message });
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Where the next one is made that is an experiment of its own, and its path below the directory of the
    /// whole.
    pub(crate) fn nested_place(&self, name: &str) -> (NestedPlace, String) {
        let place = NestedPlace {
            root: self.directory.path().join(PROBES),
            name: name.to_owned(),
            observer: Rc::clone(self.of_runs),
            interrupts: self.interrupts.clone(),
        };
        (place, format!("{PROBES}/{name}"))
    }

    /// A plan or a nested experiment, or none where the target could not be reached.
    pub(crate) fn reached<T, E: TrialError>(&self, made: Result<T, E>) -> Result<Option<T>, E> {
        match made {
            Ok(made) => Ok(Some(made)),
            Err(error) => self.unreached(error).map(|()| None),
        }
    }

    /// The time since the begin.
    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// The last run of a nested experiment, which began at that time, is the last one of the whole, and its pauses
    /// are some of it.
    pub(crate) fn keep_last(&mut self, nested: Option<ExperimentRecord>, begun: Nanos) {
        if let Some(record) = nested {
            for done in record.interventions {
                // One that was resumed has those that are known from before.
                let mut known = self.pauses.iter();
                if !known.any(|known| known.phase == done.phase && known.change == done.change) {
                    self.pauses.push(InterventionRecord {
                        time_ns: begun.0.saturating_add(done.time_ns),
                        ..done
                    });
                }
            }
            self.loaded_ns = self.loaded_ns.saturating_add(record.loaded_ns);
            self.last = Some(*record.last_run);
        }
    }

    /// The record of one that was run.
    pub(crate) fn record_of(&self, ran: &Ran) -> Option<&RunRecord> {
        self.last.as_ref().filter(|_| ran.reached)
    }

    /// Writes the record of the whole, which is made of the last one; none while there is none.
    pub(crate) fn write(
        &self,
        conclude: impl FnOnce(RunRecord, String) -> ExperimentRecord,
    ) -> Result<Option<ExperimentRecord>, StoreError> {
        let Some(last) = self.last.clone() else {
            return Ok(None);
        };
        let record = ExperimentRecord {
            loaded_ns: self.loaded_ns,
            interventions: self.pauses.clone(),
            ..conclude(last, self.directory.id())
        };
        self.directory.write_record(&record)?;
        Ok(Some(record))
    }

    /// Reports the end of the whole.
    pub(crate) fn end(&self, record: &ExperimentRecord) {
        self.observer.event(&Event::Ended {
            directory: self.directory.path().display().to_string(),
            judgments: record.judgments.clone(),
            rows_found: None,
        });
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
        Ok(RealTimeline::block_on(RealClock::start(), |timeline| async move {
            let over = timeline.sleep_until(length);
            select(over, std::pin::pin!(interrupts.next())).await;
            timeline.now()
        })?)
    }
}

impl Drop for Trials<'_> {
    fn drop(&mut self) {
        self.leases.values().for_each(KeptLeases::end);
    }
}

/// Whether a run went on behind rows that were there before.
fn continues(record: &RunRecord) -> bool {
    let mut tables = record.target.tables.iter();
    tables.any(|table| table.start == TableStart::Continued)
}
