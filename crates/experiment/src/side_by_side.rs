//! Several experiments that take turns, a trial at a time, such as the growths of two versions of a database.
//!
//! Each has a record and a directory of its own, as if it were alone. What must not be here: whose turn it is.

use std::rc::Rc;

use highwater_model::record::ExperimentRecord;
use highwater_model::units::Nanos;
use highwater_runner::interrupts::Interrupts;
use highwater_runner::observer::Observer;

use crate::trial_loop::{Experiment, Running, Side};
use crate::trial_maker::TrialMaker;

/// Runs all of them to their ends, and leaves the target alone for `settle` before each trial but the first of all;
/// returns their records, none of one that was stopped before its first trial. `choose` is given what each would try
/// next, and says whose turn it is. See [`crate::run`].
///
/// # Errors
/// As [`crate::run`], of the first for which no record can be made; the records of the others are stored as far as they
/// are.
pub fn run_side_by_side<'a, E: Experiment, M: TrialMaker<E::Trial>>(
    sides: Vec<Side<'a, E, M>>,
    settle: Nanos,
    observer: &'a Rc<dyn Observer>,
    interrupts: &'a Interrupts,
    choose: impl Fn(&[Option<&E::Trial>]) -> Option<usize>,
) -> Result<Vec<Option<ExperimentRecord>>, M::Error> {
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
    /// Of each that came to its end.
    records: Vec<Option<ExperimentRecord>>,
    /// Whether each has come to its end, or was stopped before its first trial.
    is_over: Vec<bool>,
    interrupts: &'a Interrupts,
}

impl<E: Experiment, M: TrialMaker<E::Trial>> Sides<'_, E, M> {
    fn finish(
        &mut self,
        choose: impl Fn(&[Option<&E::Trial>]) -> Option<usize>,
    ) -> Result<(), M::Error> {
        for side in &mut self.running {
            side.begin()?;
        }
        while let Some(at) = self.chosen(&choose) {
            self.is_over[at] = self.advance(at)?;
        }
        Ok(())
    }

    /// A side that only has to end, or else the one that is chosen.
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

    /// Runs the next trial of a side that goes on; says whether that was its end.
    fn advance(&mut self, at: usize) -> Result<bool, M::Error> {
        let is_empty = self.running[at].trials.is_empty();
        let mut others = self.running.iter();
        // The first trial of all says itself what stopped it.
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
                // Who watches hears of one end, that of the last.
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
