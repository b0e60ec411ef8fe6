//! Several experiments that alternate trial by trial, such as the growths of two versions of a database.
//!
//! Each has its own record and directory, as if it ran alone. Must not decide which one is next.

use std::rc::Rc;

use highwater_driver::interrupts::Interrupts;
use highwater_model::record::ExperimentRecord;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::request::Observer;

use crate::trial_loop::{Experiment, ExperimentRun, Running};
use crate::trial_maker::TrialMaker;

/// Runs all of them to completion, and leaves the target idle for `settle` before each trial except the very first.
/// Returns their records, except of those stopped before their first trial. `choose` receives each experiment's next
/// trial, and returns the one to run. See [`crate::run`].
///
/// # Errors
/// As [`crate::run`], of the first one for which no record can be made; the records of the others are stored so far.
pub fn run_side_by_side<'a, E: Experiment, M: TrialMaker<E::Trial>>(
    sides: Vec<ExperimentRun<'a, E, M>>,
    settle: Nanos,
    observer: &'a Rc<dyn Observer>,
    interrupts: &'a Interrupts,
    choose: impl Fn(&[Option<&E::Trial>]) -> Option<usize>,
) -> Result<Vec<Option<ExperimentRecord>>, UserError> {
    let count = sides.len();
    let running = sides.into_iter().map(|side| Running::new(side, settle, observer, interrupts));
    let mut all = Sides {
        running: running.collect(),
        records: vec![None; count],
        is_over: vec![false; count],
        interrupts,
    };
    let end = all.finish(choose);
    all.running.iter().for_each(|side| side.trials.close());
    end.map(|()| all.records)
}

struct Sides<'a, E: Experiment, M> {
    running: Vec<Running<'a, E, M>>,
    /// The record of each completed experiment.
    records: Vec<Option<ExperimentRecord>>,
    /// Whether each is completed, or was stopped before its first trial.
    is_over: Vec<bool>,
    interrupts: &'a Interrupts,
}

impl<E: Experiment, M: TrialMaker<E::Trial>> Sides<'_, E, M> {
    fn finish(
        &mut self,
        choose: impl Fn(&[Option<&E::Trial>]) -> Option<usize>,
    ) -> Result<(), UserError> {
        for side in &mut self.running {
            side.begin()?;
        }
        while let Some(at) = self.chosen(&choose) {
            self.is_over[at] = self.advance(at)?;
        }
        Ok(())
    }

    /// A side that only has to conclude, or else the chosen one.
    fn chosen(&self, choose: impl Fn(&[Option<&E::Trial>]) -> Option<usize>) -> Option<usize> {
        let goes_on = |at: usize| !self.is_over[at];
        let next: Vec<Option<&E::Trial>> = self
            .running
            .iter()
            .enumerate()
            .map(|(at, side)| side.upcoming().filter(|_| goes_on(at)))
            .collect();
        let mut ending = (0..next.len()).filter(|at| goes_on(*at) && next[*at].is_none());
        ending.next().or_else(|| choose(&next))
    }

    /// Runs the next trial of an unfinished side; returns whether it completed the side.
    fn advance(&mut self, at: usize) -> Result<bool, UserError> {
        let is_empty = self.running[at].trials.is_empty();
        let mut others = self.running.iter();
        // The very first trial reports itself what stopped it.
        let is_stopped = |interrupts: &Interrupts| interrupts.requested().is_some();
        let may_be_none = is_empty && others.any(|side| !side.trials.is_empty());
        if may_be_none && is_stopped(self.interrupts) {
            return Ok(true);
        }
        let side = &mut self.running[at];
        if may_be_none {
            side.trials.follow();
        }
        match side.advance() {
            Ok(None) => Ok(false),
            Ok(Some(record)) => {
                // Observers see only one end, that of the last side.
                if self.is_over.iter().filter(|is_over| !**is_over).count() == 1 {
                    side.trials.end(&record);
                }
                self.records[at] = Some(record);
                Ok(true)
            }
            Err(_) if may_be_none && is_stopped(self.interrupts) => Ok(true),
            Err(error) => Err(error),
        }
    }
}
