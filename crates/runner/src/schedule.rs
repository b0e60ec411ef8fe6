//! When each phase begins and ends, and the one way to end one early.
//!
//! The only value that flows back into a run: its own stop rule and "stop" move the end of a
//! phase; everything else follows from the plan.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_model::units::Nanos;
use tokio::sync::watch;

/// Begin and end of a phase on the run's timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseTimes {
    /// First instant.
    pub start: Nanos,
    /// First instant after it.
    pub end: Nanos,
}

/// Why the plan ended a phase before its length was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyEnd {
    /// All the rows that it may ask were asked.
    Rows,
    /// The stop rule's predicate held.
    Predicate,
}

/// The times of all phases of a pass, shared by all threads.
#[derive(Debug)]
pub struct Schedule {
    times: Mutex<Vec<PhaseTimes>>,
    early: Mutex<Vec<Option<EarlyEnd>>>,
    version: AtomicU64,
    changed: watch::Sender<u64>,
    abort: AtomicBool,
}

impl Schedule {
    /// Phases one after the other from `start`.
    pub fn new(start: Nanos, durations: &[Nanos]) -> Self {
        let mut at = start;
        let times = durations
            .iter()
            .map(|duration| {
                let phase = PhaseTimes {
                    start: at,
                    end: at.saturating_add(*duration),
                };
                at = phase.end;
                phase
            })
            .collect();
        let (changed, _) = watch::channel(0);
        Self {
            early: Mutex::new(vec![None; durations.len()]),
            times: Mutex::new(times),
            version: AtomicU64::new(0),
            changed,
            abort: AtomicBool::new(false),
        }
    }

    /// Times of a phase as they stand; `None` behind the last one.
    pub fn times(&self, phase: usize) -> Option<PhaseTimes> {
        self.lock().get(phase).copied()
    }

    /// The phase that holds `at`, and its begin; `None` before the first and behind the last.
    pub fn phase_at(&self, at: Nanos) -> Option<(usize, Nanos)> {
        let times = self.lock();
        let found = times
            .iter()
            .position(|times| times.start <= at && at < times.end)?;
        Some((found, times[found].start))
    }

    /// All phases as they stand.
    pub fn all(&self) -> Vec<PhaseTimes> {
        self.lock().clone()
    }

    /// Changes with every change of the times.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Receives the version at every change.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Which phases the plan itself ended early, and why.
    pub fn early(&self) -> Vec<Option<EarlyEnd>> {
        self.lock_early().clone()
    }

    /// Ends `phase` at `at` if it would end later; the phases behind it move up.
    pub fn end_phase(&self, phase: usize, at: Nanos, why: EarlyEnd) {
        {
            let mut times = self.lock();
            let Some(ended) = times.get_mut(phase).filter(|times| times.end > at) else {
                return;
            };
            ended.end = at.max(ended.start);
            let mut next = ended.end;
            for later in &mut times[phase + 1..] {
                let duration = later.end.saturating_sub(later.start);
                *later = PhaseTimes {
                    start: next,
                    end: next.saturating_add(duration),
                };
                next = later.end;
            }
        }
        self.lock_early()[phase] = Some(why);
        self.announce();
    }

    /// Ends everything at `at`: no phase begins after it.
    pub fn stop(&self, at: Nanos) {
        for times in self.lock().iter_mut() {
            times.start = times.start.min(at);
            times.end = times.end.min(at);
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
        self.lock().last().map_or(Nanos::ZERO, |times| times.end)
    }

    fn announce(&self) {
        let version = self.version.fetch_add(1, Ordering::AcqRel) + 1;
        self.changed.send_replace(version);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PhaseTimes>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_early(&self) -> MutexGuard<'_, Vec<Option<EarlyEnd>>> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(schedule: &Schedule) -> Vec<(u64, u64)> {
        schedule
            .all()
            .iter()
            .map(|t| (t.start.0, t.end.0))
            .collect()
    }

    #[test]
    fn ending_a_phase_early_moves_the_later_ones_up() {
        let schedule = Schedule::new(Nanos(5), &[Nanos(10), Nanos(20), Nanos(30)]);
        assert_eq!(times(&schedule), [(5, 15), (15, 35), (35, 65)]);
        schedule.end_phase(1, Nanos(20), EarlyEnd::Rows);
        assert_eq!(times(&schedule), [(5, 15), (15, 20), (20, 50)]);
        schedule.end_phase(1, Nanos(99), EarlyEnd::Predicate);
        assert_eq!(times(&schedule)[1], (15, 20), "a phase is never prolonged");
        assert_eq!(schedule.early(), [None, Some(EarlyEnd::Rows), None]);
        schedule.stop(Nanos(30));
        assert_eq!(times(&schedule), [(5, 15), (15, 20), (20, 30)]);
        assert_eq!(schedule.version(), 2);
    }
}
