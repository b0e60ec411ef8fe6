//! When each phase begins and ends, at which paces, and the ways to change that.
//!
//! Two things flow back into a run: its plan's rules move the end of a phase; and its user's commands end all
//! of them, or put a phase with another pace in the place of the rest of one. Everything else follows from the
//! plan.
//!
//! A phase has a number, which never means another one, nor another pace. Those of the plan come first.

mod ramp;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_model::plan::{Pace, PhaseKind, Plan};
use highwater_model::units::Nanos;
use tokio::sync::watch;

pub use ramp::SessionRamp;

/// How the name of a phase ends in which sessions come or go one by one.
pub const RAMP: &str = "-ramp";

/// Begin and end of a phase on the run's timeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhaseTimes {
    /// First instant.
    pub start: Nanos,
    /// First instant after it.
    pub end: Nanos,
}

impl PhaseTimes {
    /// Whether an instant lies in the phase.
    pub fn contains(self, at: Nanos) -> bool {
        self.start <= at && at < self.end
    }
}

/// Why the plan ended a phase before its length was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyEnd {
    /// All the rows that it may ask were asked.
    Rows,
    /// The stop rule's predicate held.
    Predicate,
    /// Throughput was steady, which the warm-up waited for.
    Steady,
    /// An objective could no longer be met.
    Hopeless,
}

/// A phase with a pace as it is scheduled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledPhase {
    /// Its number.
    pub number: usize,
    /// Position in the plan's phases, of the one in whose place it is.
    pub planned: usize,
    /// Its name in results: that of the plan where it is as planned.
    pub name: String,
    /// What it is for.
    pub kind: PhaseKind,
    /// Position in the streams' paces; absent where a pace was changed.
    pub step: Option<u32>,
    /// By stream.
    pub paces: Vec<Pace>,
    /// Its length, unless the stop rule ends it.
    pub length: Nanos,
    /// It ends as soon as throughput is steady.
    pub until_steady: bool,
    /// The sessions that come or go in it.
    pub ramp: Option<SessionRamp>,
    /// When it is.
    pub times: PhaseTimes,
    /// Why the plan itself ended it early.
    pub early: Option<EarlyEnd>,
}

impl ScheduledPhase {
    /// How long it is.
    pub fn duration(&self) -> Nanos {
        self.times.end.saturating_sub(self.times.start)
    }

    /// Of a warm-up until throughput is steady: whether it became so, or took its whole length. Absent of every
    /// other phase, and of one that the user ended.
    pub fn steady(&self) -> Option<bool> {
        match self.early {
            _ if !self.until_steady => None,
            Some(EarlyEnd::Steady) => Some(true),
            _ => (self.duration() == self.length).then_some(false),
        }
    }
}

/// Why no pace changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoChange {
    /// No phase is at that time.
    Over,
    /// The stream has that pace then.
    Same,
    /// Paces changed as often as they may.
    TooMany,
    /// The phase ends before sessions have all come or gone.
    TooLong {
        /// How long it still lasts then.
        left: Nanos,
    },
}

/// A phase that begins because a pace changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPhase {
    /// Its name.
    pub name: String,
    /// The pace of the stream before it.
    pub from: Pace,
}

/// The phases of a pass, shared by all threads.
#[derive(Debug)]
pub struct Schedule {
    phases: Mutex<Phases>,
    version: AtomicU64,
    changed: watch::Sender<u64>,
    abort: AtomicBool,
}

/// The phases, and which of them are run.
#[derive(Debug)]
struct Phases {
    /// By number.
    all: Vec<ScheduledPhase>,
    /// Numbers in the order of their times; another phase is in the place of one that is missing.
    order: Vec<usize>,
    /// How often paces changed; two changes at the same time count as one.
    changes: u32,
}

impl Schedule {
    /// Changes of paces that a run takes: each has results of its own in the record.
    pub const CHANGES_MAX: u32 = 100;

    /// The phases of a plan, one after the other from `start`.
    pub fn new(start: Nanos, plan: &Plan) -> Self {
        let mut at = start;
        let phases = plan.phases.iter().enumerate();
        let all: Vec<ScheduledPhase> = phases
            .map(|(number, phase)| {
                let times = PhaseTimes { start: at, end: at.saturating_add(phase.duration) };
                at = times.end;
                ScheduledPhase {
                    number,
                    planned: number,
                    name: phase.name.clone(),
                    kind: phase.kind,
                    step: Some(phase.step),
                    paces: plan.paces(phase.step),
                    length: phase.duration,
                    until_steady: phase.until_steady,
                    ramp: None,
                    times,
                    early: None,
                }
            })
            .collect();
        let (changed, _) = watch::channel(0);
        let phases = Phases { order: (0..all.len()).collect(), all, changes: 0 };
        Self {
            phases: Mutex::new(phases),
            version: AtomicU64::new(0),
            changed,
            abort: AtomicBool::new(false),
        }
    }

    /// Times of a phase as they stand.
    pub fn times(&self, phase: usize) -> Option<PhaseTimes> {
        self.lock().all.get(phase).map(|phase| phase.times)
    }

    /// A phase as it stands.
    pub fn phase(&self, phase: usize) -> Option<ScheduledPhase> {
        self.lock().all.get(phase).cloned()
    }

    /// The number of the first phase.
    pub fn first(&self) -> Option<usize> {
        self.lock().order.first().copied()
    }

    /// The number of the phase behind another one.
    pub fn after(&self, phase: usize) -> Option<usize> {
        let phases = self.lock();
        let place = phases.place(phase)?;
        phases.order.get(place + 1).copied()
    }

    /// The phase that holds `at`, and its begin; `None` before the first and behind the last.
    pub fn phase_at(&self, at: Nanos) -> Option<(usize, Nanos)> {
        let phases = self.lock();
        let number = phases.order[phases.place_at(at)?];
        Some((number, phases.all[number].times.start))
    }

    /// All phases as they stand, by number; those that another one replaced have no length.
    pub fn all(&self) -> Vec<ScheduledPhase> {
        self.lock().all.clone()
    }

    /// The phases that are run, in the order of their times.
    pub fn in_order(&self) -> Vec<ScheduledPhase> {
        let phases = self.lock();
        phases.order.iter().map(|number| phases.all[*number].clone()).collect()
    }

    /// Changes with every change of the times.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Receives the version at every change.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Ends `phase` at `at` if it would end later; the phases behind it move up.
    pub fn end_phase(&self, phase: usize, at: Nanos, why: EarlyEnd) {
        {
            let mut phases = self.lock();
            let Some(place) = phases.place(phase) else {
                return;
            };
            let ended = &mut phases.all[phase];
            if ended.times.end <= at {
                return;
            }
            ended.times.end = at.max(ended.times.start);
            ended.early = Some(why);
            let mut next = ended.times.end;
            for later in phases.order.split_off(place + 1) {
                let times = &mut phases.all[later].times;
                let length = times.end.saturating_sub(times.start);
                *times = PhaseTimes { start: next, end: next.saturating_add(length) };
                next = times.end;
                phases.order.push(later);
            }
        }
        self.announce();
    }

    /// From `at` on, which is to come, a stream has another pace, until the plan itself changes that pace: the
    /// rest of the phase becomes one of its own, and the phases behind it in which the plan does not change the
    /// stream's pace become others. To be announced.
    pub fn change_pace(
        &self,
        plan: &Plan,
        stream: usize,
        pace: Pace,
        at: Nanos,
    ) -> Result<NewPhase, NoChange> {
        let phases = &mut *self.lock();
        let place = phases.place_at(at).ok_or(NoChange::Over)?;
        let current = phases.all[phases.order[place]].clone();
        let from = current.paces[stream];
        if from == pace {
            return Err(NoChange::Same);
        }
        // A phase that begins then with a change of its own is still to come, and gets this one, too.
        let is_to_come = current.times.start == at;
        if !is_to_come || current.step.is_some() {
            phases.count_change()?;
        }
        let first = phases.begin_at(place, at);
        phases.go_on(plan, first, stream, pace);
        let name = phases.all[phases.order[first]].name.clone();
        Ok(NewPhase { name, from })
    }

    /// The same for closed sessions that come or go one by one: meanwhile a phase runs that is in no result, and the
    /// one with the new pace begins behind it, before the phase that runs then would end. To be announced.
    pub fn ramp(&self, plan: &Plan, ramp: SessionRamp) -> Result<NewPhase, NoChange> {
        let phases = &mut *self.lock();
        let place = phases.place_at(ramp.start).ok_or(NoChange::Over)?;
        let current = phases.all[phases.order[place]].clone();
        let (sessions, end) = (ramp.to, ramp.start.saturating_add(ramp.length()));
        let pace = Pace::Closed { sessions };
        if end >= current.times.end {
            let left = current.times.end.saturating_sub(ramp.start);
            return Err(NoChange::TooLong { left });
        }
        phases.count_change()?;
        let first = phases.begin_at(place, ramp.start);
        phases.cut(first, end);
        phases.go_on(plan, first + 1, ramp.stream, pace);
        let name = phases.all[phases.order[first + 1]].name.clone();
        let mut between = phases.all[phases.order[first]].clone();
        between.paces[ramp.stream] = pace;
        let replaced = &mut phases.all[phases.order[first]].times;
        replaced.end = replaced.start;
        phases.order[first] = phases.add(ScheduledPhase {
            name: format!("{name}{RAMP}"),
            kind: PhaseKind::WarmUp,
            step: None,
            ramp: Some(ramp),
            ..between
        });
        let from = current.paces[ramp.stream];
        Ok(NewPhase { name, from })
    }

    /// Ends everything at `at`: no phase begins after it.
    pub fn stop(&self, at: Nanos) {
        for phase in &mut self.lock().all {
            phase.times.start = phase.times.start.min(at);
            phase.times.end = phase.times.end.min(at);
        }
        self.announce();
    }

    /// Gives up even the ops in flight.
    pub fn abort(&self, at: Nanos) {
        self.abort.store(true, Ordering::Release);
        self.stop(at);
    }

    /// Whether ops in flight are to be given up.
    pub fn is_aborted(&self) -> bool {
        self.abort.load(Ordering::Acquire)
    }

    /// The end of the last phase.
    pub fn end(&self) -> Nanos {
        let phases = self.lock();
        let last = phases.order.last();
        last.map_or(Nanos::ZERO, |number| phases.all[*number].times.end)
    }

    /// Shows all threads that something changed.
    pub(crate) fn announce(&self) {
        let version = self.version.fetch_add(1, Ordering::AcqRel) + 1;
        self.changed.send_replace(version);
    }

    fn lock(&self) -> MutexGuard<'_, Phases> {
        self.phases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Phases {
    /// The place of a phase in the order.
    fn place(&self, number: usize) -> Option<usize> {
        self.order.iter().position(|other| *other == number)
    }

    /// The place of the phase that holds `at`.
    fn place_at(&self, at: Nanos) -> Option<usize> {
        let mut numbers = self.order.iter();
        numbers.position(|number| self.all[*number].times.contains(at))
    }

    /// Counts a change, of which there may be so many.
    fn count_change(&mut self) -> Result<(), NoChange> {
        if self.changes == Schedule::CHANGES_MAX {
            return Err(NoChange::TooMany);
        }
        self.changes += 1;
        Ok(())
    }

    /// The place of the phase that begins at `at`, within the one at `place` or with it.
    fn begin_at(&mut self, place: usize, at: Nanos) -> usize {
        if self.all[self.order[place]].times.start == at {
            return place;
        }
        self.cut(place, at);
        place + 1
    }

    /// Makes the rest of a phase from `at` on one of its own.
    fn cut(&mut self, place: usize, at: Nanos) {
        let phase = &mut self.all[self.order[place]];
        let rest = ScheduledPhase {
            step: None,
            length: phase.times.end.saturating_sub(at),
            times: PhaseTimes { start: at, ..phase.times },
            ..phase.clone()
        };
        phase.times.end = at;
        phase.length = at.saturating_sub(phase.times.start);
        phase.until_steady = false;
        let number = self.add(rest);
        self.order.insert(place + 1, number);
    }

    /// Gives a stream a pace from this place of the order on, as long as the plan leaves its pace as it was.
    fn go_on(&mut self, plan: &Plan, first: usize, stream: usize, pace: Pace) {
        let planned = |phase: &ScheduledPhase| plan.pace(stream, plan.phases[phase.planned].step);
        let until_then = planned(&self.all[self.order[first]]);
        for place in first..self.order.len() {
            let mut phase = self.all[self.order[place]].clone();
            if planned(&phase) != until_then {
                break;
            }
            phase.paces[stream] = pace;
            let of_plan = &plan.phases[phase.planned];
            // The rest of a phase is no phase of the plan, whatever its paces.
            let is_whole =
                self.order[..place].iter().all(|number| self.all[*number].planned != phase.planned);
            let is_planned = is_whole && phase.paces == plan.paces(of_plan.step);
            phase.step = is_planned.then_some(of_plan.step);
            phase.name = if is_planned {
                of_plan.name.clone()
            } else {
                format!("{}-{}", of_plan.name, self.changes + 1)
            };
            let replaced = &mut self.all[self.order[place]].times;
            replaced.end = replaced.start;
            self.order[place] = self.add(phase);
        }
    }

    /// Adds a phase, which is run once its number is in the order.
    fn add(&mut self, phase: ScheduledPhase) -> usize {
        let number = self.all.len();
        self.all.push(ScheduledPhase { number, ..phase });
        number
    }
}

#[cfg(test)]
mod tests;
