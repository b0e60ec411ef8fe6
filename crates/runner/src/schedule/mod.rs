//! The start, end, and paces of each phase, and the ways to change them.
//!
//! Only two inputs change a running schedule: the plan's rules move the end of a phase; the user's commands end all
//! phases, or replace the rest of one with a phase of another pace. Everything else follows from the plan.
//!
//! A phase's number is permanent, and so are its paces. The plan's phases come first.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_model::plan::{Pace, PhaseKind, Plan};
use highwater_model::units::{Nanos, Rate};
use tokio::sync::watch;

/// Suffix of the name of a phase in which sessions start or end one by one.
pub const RAMP: &str = "-ramp";

/// Start and end of a phase on the run's timeline.
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

/// Why the plan ended a phase before its planned end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyEnd {
    /// All rows of its limit were sent.
    Rows,
    /// The stop rule's predicate held.
    Predicate,
    /// Throughput was steady, as the warm-up required.
    Steady,
    /// An objective could no longer be met.
    Hopeless,
}

/// A scheduled phase with a pace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledPhase {
    /// Its number.
    pub number: usize,
    /// Position in the plan's phases; for an added phase, that of the phase it replaces.
    pub planned: usize,
    /// Its name in results: the plan's name if it is as planned.
    pub name: String,
    /// What it is for.
    pub kind: PhaseKind,
    /// Position in the streams' paces; absent if a pace was changed.
    pub step: Option<u32>,
    /// By stream.
    pub paces: Vec<Pace>,
    /// Its length unless the stop rule ends it earlier.
    pub length: Nanos,
    /// It ends as soon as throughput is steady.
    pub until_steady: bool,
    /// The sessions that start or end in it.
    pub ramp: Option<SessionRamp>,
    /// Its start and end.
    pub times: PhaseTimes,
    /// Why the plan ended it early.
    pub early: Option<EarlyEnd>,
}

impl ScheduledPhase {
    /// Its duration.
    pub fn duration(&self) -> Nanos {
        self.times.end.saturating_sub(self.times.start)
    }

    /// For a warm-up until throughput is steady: true if it became steady, false if it took its whole length. Absent
    /// for other phases, and for one that the user ended.
    pub fn steady(&self) -> Option<bool> {
        match self.early {
            _ if !self.until_steady => None,
            Some(EarlyEnd::Steady) => Some(true),
            _ => (self.duration() == self.length).then_some(false),
        }
    }
}

/// Why a pace cannot change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoChange {
    /// No phase runs at that time.
    Over,
    /// The stream already has that pace.
    Same,
    /// Maximum number of pace changes reached.
    TooMany,
    /// The phase ends before the ramp would.
    TooLong {
        /// Its remaining time then.
        left: Nanos,
    },
}

/// A phase that begins because of a pace change.
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

/// The phases, and which of them run.
#[derive(Debug)]
struct Phases {
    /// By number.
    all: Vec<ScheduledPhase>,
    /// Numbers in time order; a missing phase was replaced by another.
    order: Vec<usize>,
    /// Number of pace changes; changes at the same time count as one.
    changes: u32,
}

impl Schedule {
    /// Maximum pace changes of a run: each adds results to the record.
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

    /// Current times of a phase.
    pub fn times(&self, phase: usize) -> Option<PhaseTimes> {
        self.lock().all.get(phase).map(|phase| phase.times)
    }

    /// A phase in its current state.
    pub fn phase(&self, phase: usize) -> Option<ScheduledPhase> {
        self.lock().all.get(phase).cloned()
    }

    /// The number of the first phase.
    pub fn first(&self) -> Option<usize> {
        self.lock().order.first().copied()
    }

    /// The number of the next phase.
    pub fn after(&self, phase: usize) -> Option<usize> {
        let phases = self.lock();
        let place = phases.place(phase)?;
        phases.order.get(place + 1).copied()
    }

    /// The phase that contains `at`, and its start; `None` before the first and after the last.
    pub fn phase_at(&self, at: Nanos) -> Option<(usize, Nanos)> {
        let phases = self.lock();
        let number = phases.order[phases.place_at(at)?];
        Some((number, phases.all[number].times.start))
    }

    /// All phases in their current state, by number; replaced ones have no length.
    pub fn all(&self) -> Vec<ScheduledPhase> {
        self.lock().all.clone()
    }

    /// The phases that run, in time order.
    pub fn in_order(&self) -> Vec<ScheduledPhase> {
        let phases = self.lock();
        phases.order.iter().map(|number| phases.all[*number].clone()).collect()
    }

    /// Increases with every change of the times.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Receives the version after every change.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Ends `phase` at `at` if it would end later; later phases move forward.
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

    /// Changes a stream's pace from a future time `at` until the plan itself changes that pace: splits the phase at
    /// `at`, and replaces later phases in which the plan does not change the stream's pace. The caller must announce
    /// it.
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
        // A phase starting at `at` because of another change has not begun, and gets this change as well.
        let is_to_come = current.times.start == at;
        if !is_to_come || current.step.is_some() {
            phases.count_change()?;
        }
        let first = phases.begin_at(place, at);
        phases.go_on(plan, first, stream, pace);
        let name = phases.all[phases.order[first]].name.clone();
        Ok(NewPhase { name, from })
    }

    /// The same for closed sessions that start or end one by one. A phase without results runs during the ramp; the
    /// phase with the new pace follows it, and must begin before the current phase would end. The caller must announce
    /// it.
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

    /// Ends everything at `at`: no later phase begins.
    pub fn stop(&self, at: Nanos) {
        for phase in &mut self.lock().all {
            phase.times.start = phase.times.start.min(at);
            phase.times.end = phase.times.end.min(at);
        }
        self.announce();
    }

    /// Also abandons the ops in flight.
    pub fn abort(&self, at: Nanos) {
        self.abort.store(true, Ordering::Release);
        self.stop(at);
    }

    /// Whether ops in flight are to be abandoned.
    pub fn is_aborted(&self) -> bool {
        self.abort.load(Ordering::Acquire)
    }

    /// The end of the last phase.
    pub fn end(&self) -> Nanos {
        let phases = self.lock();
        let last = phases.order.last();
        last.map_or(Nanos::ZERO, |number| phases.all[*number].times.end)
    }

    /// Notifies all threads of a change.
    pub(crate) fn announce(&self) {
        let version = self.version.fetch_add(1, Ordering::AcqRel) + 1;
        self.changed.send_replace(version);
    }

    fn lock(&self) -> MutexGuard<'_, Phases> {
        self.phases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Phases {
    /// The position of a phase in the order.
    fn place(&self, number: usize) -> Option<usize> {
        self.order.iter().position(|other| *other == number)
    }

    /// The position of the phase that contains `at`.
    fn place_at(&self, at: Nanos) -> Option<usize> {
        let mut numbers = self.order.iter();
        numbers.position(|number| self.all[*number].times.contains(at))
    }

    /// Counts a change, up to [`Schedule::CHANGES_MAX`].
    fn count_change(&mut self) -> Result<(), NoChange> {
        if self.changes == Schedule::CHANGES_MAX {
            return Err(NoChange::TooMany);
        }
        self.changes += 1;
        Ok(())
    }

    /// The position of the phase that begins at `at`; splits the phase at `place` if needed.
    fn begin_at(&mut self, place: usize, at: Nanos) -> usize {
        if self.all[self.order[place]].times.start == at {
            return place;
        }
        self.cut(place, at);
        place + 1
    }

    /// Splits a phase at `at`.
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

    /// Gives a stream a pace from this position of the order on, until the plan changes its pace.
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
            // The rest of a phase is not a phase of the plan, whatever its paces.
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

    /// Adds a phase; it runs once its number is in the order.
    fn add(&mut self, phase: ScheduledPhase) -> usize {
        let number = self.all.len();
        self.all.push(ScheduledPhase { number, ..phase });
        number
    }
}

/// Nanoseconds per second, in millionths of a [`Rate`]'s unit.
const SCALE: u128 = 1_000_000_000_000_000;

/// From one number of sessions to another; both count the sessions of all shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRamp {
    /// Position of the stream.
    pub stream: usize,
    /// Sessions before it.
    pub from: u32,
    /// Sessions after it.
    pub to: u32,
    /// When it begins.
    pub start: Nanos,
    /// Sessions per second; above 0.
    pub per_s: Rate,
}

impl SessionRamp {
    /// Its duration.
    pub fn length(&self) -> Nanos {
        self.takes(self.from.abs_diff(self.to))
    }

    /// Number of sessions at a time; after its end, the final number.
    pub fn at(&self, now: Nanos) -> u32 {
        let elapsed = u128::from(now.saturating_sub(self.start).0);
        let changed = elapsed * u128::from(self.per_s.micro_per_s) / SCALE;
        let changed = u32::try_from(changed).unwrap_or(u32::MAX);
        if self.from <= self.to {
            self.from.saturating_add(changed).min(self.to)
        } else {
            self.from.saturating_sub(changed).max(self.to)
        }
    }

    /// Whether sessions are added.
    pub const fn grows(&self) -> bool {
        self.from < self.to
    }

    /// When a growing ramp reaches this many sessions.
    pub fn reaches(&self, sessions: u32) -> Nanos {
        let coming = self.takes(sessions.saturating_sub(self.from));
        self.start.saturating_add(coming)
    }

    /// Time for this many sessions to start or end.
    pub fn takes(&self, sessions: u32) -> Nanos {
        let per_s = u128::from(self.per_s.micro_per_s.max(1));
        let takes = (u128::from(sessions) * SCALE).div_ceil(per_s);
        Nanos(u64::try_from(takes).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod ramp_tests {
    use super::*;

    fn ramp(from: u32, to: u32, micro_per_s: u64) -> SessionRamp {
        SessionRamp {
            stream: 0,
            from,
            to,
            start: Nanos::from_secs(10),
            per_s: Rate { micro_per_s },
        }
    }

    #[test]
    fn sessions_come_one_by_one_and_all_are_there_at_its_end() {
        // Three in two seconds: at 667 ms, 1,333 ms, and 2 s.
        let ramp = ramp(2, 5, 1_500_000);
        let at = |ms: u64| ramp.at(Nanos::from_millis(10_000 + ms));
        assert_eq!([0, 666, 667, 1_333, 1_334, 2_000, 9_000].map(at), [2, 2, 3, 3, 4, 5, 5]);
        assert_eq!(ramp.length(), Nanos::from_secs(2));
        for sessions in 3..=5 {
            let reached = ramp.reaches(sessions);
            assert_eq!(ramp.at(reached), sessions);
            assert_eq!(ramp.at(Nanos(reached.0 - 1)), sessions - 1);
        }
    }

    #[test]
    fn sessions_go_one_by_one() {
        let ramp = ramp(5, 1, 2_000_000);
        let at = |ms: u64| ramp.at(Nanos::from_millis(10_000 + ms));
        assert_eq!([0, 499, 500, 1_999, 2_000, 5_000].map(at), [5, 5, 4, 2, 1, 1]);
        assert!(!ramp.grows() && ramp.length() == Nanos::from_secs(2));
    }

    #[test]
    fn a_rate_of_almost_nothing_takes_for_ever_and_breaks_nothing() {
        let slow = ramp(0, u32::MAX, 0);
        assert_eq!(slow.length(), Nanos::MAX);
        assert_eq!(slow.at(Nanos::MAX), 0);
    }
}
