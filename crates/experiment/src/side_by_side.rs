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
use crate::trials::Trials;

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
    let sides = sides.into_iter().map(|side| {
        let trials = Trials::new(side.directory, settle, observer, interrupts, side.pauses);
        Running::new(side.experiment, trials, side.maker)
    });
    let mut all = Sides {
        records: Vec::new(),
        running: sides.collect(),
        interrupts,
    };
    let end = all.finish(choose);
    all.running.iter().for_each(|side| side.trials.close());
    end.map(|()| all.records.into_iter().map(Ended::record).collect())
}

/// How far a side is.
enum Ended {
    /// It goes on.
    Not,
    /// It has its record.
    With(Box<ExperimentRecord>),
    /// The user stopped before its first trial.
    Without,
}

impl Ended {
    fn record(self) -> Option<ExperimentRecord> {
        match self {
            Self::With(record) => Some(*record),
            Self::Not | Self::Without => None,
        }
    }
}

struct Sides<'a, E: Experiment, M> {
    running: Vec<Running<'a, E, M>>,
    /// Of each.
    records: Vec<Ended>,
    interrupts: &'a Interrupts,
}

impl<E: Experiment, M: TrialMaker<E::Trial>> Sides<'_, E, M> {
    fn finish(
        &mut self,
        choose: impl Fn(&[Option<&E::Trial>]) -> Option<usize>,
    ) -> Result<(), M::Error> {
        for side in &mut self.running {
            side.begin()?;
            self.records.push(Ended::Not);
        }
        while let Some(at) = self.chosen(&choose) {
            self.records[at] = self.advance(at)?;
        }
        Ok(())
    }

    /// A side that only has to end, or else the one that is chosen.
    fn chosen(&self, choose: impl Fn(&[Option<&E::Trial>]) -> Option<usize>) -> Option<usize> {
        let goes_on = |at: usize| matches!(self.records[at], Ended::Not);
        let sides = self.running.iter().enumerate();
        let next: Vec<Option<&E::Trial>> = sides
            .map(|(at, side)| side.upcoming().filter(|_| goes_on(at)))
            .collect();
        let mut ending = (0..next.len()).filter(|at| goes_on(*at) && next[*at].is_none());
        ending.next().or_else(|| choose(&next))
    }

    fn advance(&mut self, at: usize) -> Result<Ended, M::Error> {
        let is_empty = self.running[at].trials.is_empty();
        let mut others = self.running.iter();
        // The first trial of all says itself what stopped it.
        let is_stopped = |interrupts: &Interrupts| interrupts.requested().is_some();
        let may_be_none = is_empty && others.any(|side| !side.trials.is_empty());
        if may_be_none && is_stopped(self.interrupts) {
            return Ok(Ended::Without);
        }
        let side = &mut self.running[at];
        if may_be_none {
            side.trials.follow();
        }
        match side.advance() {
            Ok(None) => Ok(Ended::Not),
            Ok(Some(record)) => {
                let others = self.records.iter().enumerate();
                let mut others = others.filter(|(other, _)| *other != at);
                // Who watches hears of one end, that of the last.
                if others.all(|(_, ended)| !matches!(ended, Ended::Not)) {
                    side.trials.end(&record);
                }
                Ok(Ended::With(Box::new(record)))
            }
            Err(_) if may_be_none && is_stopped(self.interrupts) => Ok(Ended::Without),
            Err(error) => Err(error),
        }
    }
}
