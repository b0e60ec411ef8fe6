//! A tuning: the loop over measured cells that the policy of `analysis::tuning` asks for.
//!
//! Each cell is a run like any other, with its own record, in the tuning's own directory; the tuning's
//! record is written anew after each of them. What to measure next is decided in the core.

use std::rc::Rc;

use highwater_core::analysis::tuning::{Measured, TuneStep, conclude, give_up, measured, next};
use highwater_core::model::plan::Plan;
use highwater_core::model::record::RunRecord;
use highwater_core::model::tune::{
    CellPurpose, CellRecord, CellVerdict, NoBestReason, TuneOutcome, TuneRecord,
};
use highwater_core::model::units::Nanos;
use highwater_core::report::CourseProgress;
use highwater_driver::TargetErrorKind;

use crate::interrupts::Interrupts;
use crate::observer::{Event, Observer};
use crate::request::{RunError, RunRequest};
use crate::run;
use crate::search::{continues, mean, pause};
use crate::store::{PROBES, RunDirectory, StoreError};

/// What is tuned, and where it is kept.
pub struct TuneRequest {
    /// Without an outcome; with the cells of a tuning that is gone on with.
    pub tune: TuneRecord,
    /// The tuning's own directory, made by the caller.
    pub directory: RunDirectory,
    /// How long the target is left alone before each cell; not on a simulated clock.
    pub settle: Nanos,
}

/// A cell that is to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellWish {
    /// From 1.
    pub number: u32,
    /// Position of the value on each axis.
    pub at: Vec<usize>,
    /// Whether this process measures its first cell.
    pub is_first: bool,
    /// That one found rows of the workload, so its tables may not be made anew.
    pub tables_kept: bool,
}

/// Makes the runs of cells.
pub trait CellMaker {
    /// What can go wrong with it.
    type Error: From<RunError> + From<StoreError>;
    /// The plan of a cell.
    fn plan(&self, wish: &CellWish) -> Result<Plan, Self::Error>;
    /// The run of a cell, kept in `directory`.
    fn request(
        &self,
        wish: &CellWish,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Self::Error>;
}

/// Tunes to the end, and returns the tuning's record.
///
/// # Errors
/// Where no record can be made: the first cell could not be run, or a cell could not be made or kept.
pub fn tune<M: CellMaker>(
    request: TuneRequest,
    maker: &M,
    observer: &Rc<dyn Observer>,
    interrupts: &Interrupts,
) -> Result<RunRecord, M::Error> {
    let mut course = Course {
        request,
        observer,
        interrupts,
        last: None,
        tables_kept: false,
    };
    let end = course.finish(maker);
    if course.last.is_none() {
        course.request.directory.discard();
    }
    end
}

/// A tuning under way.
struct Course<'a> {
    request: TuneRequest,
    observer: &'a Rc<dyn Observer>,
    interrupts: &'a Interrupts,
    /// The record of the last cell that has one.
    last: Option<RunRecord>,
    /// The first cell of this process found rows of the workload.
    tables_kept: bool,
}

impl Course<'_> {
    fn finish<M: CellMaker>(&mut self, maker: &M) -> Result<RunRecord, M::Error> {
        loop {
            let outcome = match next(&self.request.tune) {
                // What was measured before has no record here that could stand for the whole.
                TuneStep::End(_) if self.last.is_none() => self.again(maker)?,
                TuneStep::End(outcome) => Some(outcome),
                TuneStep::Measure { at, purpose } => self.cell(maker, at, purpose)?,
            };
            self.request.tune.outcome = outcome;
            if let Some(record) = self.record()? {
                return Ok(record);
            }
        }
    }

    /// A tuning that had come to its end is gone on with: its last cell once more.
    fn again<M: CellMaker>(&mut self, maker: &M) -> Result<Option<TuneOutcome>, M::Error> {
        match self.request.tune.cells.pop() {
            Some(last) => self.cell(maker, last.at, last.purpose),
            None => Ok(Some(give_up(&self.request.tune, NoBestReason::NoneCounts))),
        }
    }

    /// Measures a cell; an outcome if that was the end of it all.
    fn cell<M: CellMaker>(
        &mut self,
        maker: &M,
        at: Vec<usize>,
        purpose: CellPurpose,
    ) -> Result<Option<TuneOutcome>, M::Error> {
        let number = u32::try_from(self.request.tune.cells.len() + 1).unwrap_or(u32::MAX);
        let is_first = self.last.is_none();
        let wish = CellWish {
            number,
            at,
            is_first,
            tables_kept: self.tables_kept,
        };
        let plan = maker.plan(&wish)?;
        let root = self.request.directory.path().join(PROBES);
        let directory = RunDirectory::create(&root, &format!("{number:03}"), &plan)?;
        let run = format!("{PROBES}/{}", directory.id());
        let request = maker.request(&wish, plan, directory)?;
        let simulated = request.target.capabilities().simulated_clock;
        let settled = if simulated || is_first {
            Nanos::ZERO
        } else {
            pause(self.request.settle, self.interrupts)?
        };
        if self.interrupts.wished().is_some() && !is_first {
            request.directory.discard();
            return Ok(Some(give_up(&self.request.tune, NoBestReason::Interrupted)));
        }
        self.observer.event(&Event::Probe {
            number,
            about: self.about(&wish.at, purpose),
            course: self.course(),
        });
        let started_at = request.started_at.clone();
        let end = run::run(request, Rc::clone(self.observer), self.interrupts.clone());
        let (measured, record) = match end {
            Ok(end) => (
                measured(self.request.tune.by, &end.record),
                Some(end.record),
            ),
            Err(RunError::Target(error))
                if !is_first && error.kind == TargetErrorKind::Unreachable =>
            {
                self.observer.event(&Event::Warning(error.to_string()));
                (unreachable_target(), None)
            }
            Err(error) => return Err(error.into()),
        };
        let phases = record.iter().flat_map(|record| &record.phases);
        let took = phases.map(|phase| phase.duration_ns);
        self.request.tune.cells.push(CellRecord {
            number,
            purpose,
            at: wish.at,
            verdict: measured.verdict,
            reasons: measured.reasons,
            throughput_per_s: measured.throughput_per_s,
            figure: measured.figure,
            started_at,
            took_ns: took.fold(settled.0, u64::saturating_add),
            run,
        });
        if is_first {
            self.tables_kept = record.as_ref().is_some_and(continues);
        }
        self.last = record.or_else(|| self.last.take());
        Ok(None)
    }

    fn course(&self) -> CourseProgress {
        let tune = &self.request.tune;
        let took = tune.cells.iter().map(|cell| cell.took_ns);
        let spent = Nanos(took.fold(0, u64::saturating_add));
        let done = u32::try_from(tune.cells.len()).unwrap_or(u32::MAX);
        CourseProgress {
            done,
            most: tune.policy.probes_max,
            spent,
            each: mean(spent, done).unwrap_or(Nanos(tune.policy.cell_cost_ns)),
            budget: Some(Nanos(tune.policy.budget_ns)),
        }
    }

    fn about(&self, at: &[usize], purpose: CellPurpose) -> String {
        let values = self.request.tune.values(at);
        let words: Vec<String> = values
            .iter()
            .map(|(axis, v)| format!("{axis} {v}"))
            .collect();
        let purpose = match purpose {
            CellPurpose::Search => "search",
            CellPurpose::Confirm => "confirm",
        };
        format!("{purpose}, {}", words.join(" · "))
    }

    /// Writes the record so far; returns it where the tuning has ended.
    fn record(&self) -> Result<Option<RunRecord>, StoreError> {
        let Some(last) = self.last.clone() else {
            return Ok(None);
        };
        let tune = self.request.tune.clone();
        let ended = tune.outcome.is_some();
        if let Some(cell) = tune.cells.last().filter(|_| !ended) {
            self.observer.event(&Event::Measured {
                cell: cell.clone(),
                unit: tune.unit.name(),
            });
        }
        let record = conclude(last, tune, self.request.directory.id());
        self.request.directory.write_record(&record)?;
        Ok(ended.then_some(record))
    }
}

/// What a cell shows that could not be run.
fn unreachable_target() -> Measured {
    Measured {
        verdict: CellVerdict::TargetLost,
        reasons: Vec::new(),
        throughput_per_s: 0.0,
        figure: None,
    }
}
