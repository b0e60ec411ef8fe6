//! Whether this process itself stood still: stopped, starved of CPU, or its machine paused.
//!
//! A thread of its own wakes every few milliseconds and compares two clocks. A wake-up that comes
//! late means that nothing here ran; a wall clock that jumps ahead of the monotonic one means that
//! the machine was paused. It touches no op.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use highwater_model::record::{STALL_NS, StallKind, StallRecord};
use highwater_model::units::Nanos;

use crate::clock::{RealClock, wall_clock};
use crate::scheduling::Scheduling;

/// Time between two wake-ups.
const TICK: Nanos = Nanos::from_millis(10);
/// Stalls that are kept, the longest ones.
const STALLS_KEPT: usize = 256;

/// Finds stalls in readings that should be a tick apart.
#[derive(Debug, Default)]
struct StallDetector {
    last: Option<[Nanos; 2]>,
    stalls: Vec<StallRecord>,
}

impl StallDetector {
    fn read(&mut self, monotonic: Nanos, wall: Nanos) {
        let Some([since, wall_before]) = self.last.replace([monotonic, wall]) else {
            return;
        };
        let passed = monotonic.saturating_sub(since);
        let late = passed.saturating_sub(TICK);
        let jump = wall.saturating_sub(wall_before).saturating_sub(passed);
        // Of a pause that both clocks show, each shows a part.
        let (length, kind) = if jump.0 >= STALL_NS {
            (late.saturating_add(jump), StallKind::MachinePaused)
        } else {
            (late, StallKind::NotRunning)
        };
        if length.0 < STALL_NS {
            return;
        }
        self.stalls.push(StallRecord {
            start_ns: since.0,
            duration_ns: length.0,
            kind,
        });
        if self.stalls.len() > STALLS_KEPT {
            let lengths = self.stalls.iter().enumerate();
            let shortest = lengths.min_by_key(|(_, stall)| stall.duration_ns);
            if let Some((at, _)) = shortest {
                self.stalls.remove(at);
            }
        }
    }
}

/// Watches until it is ended.
pub(crate) struct StallWatch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<StallRecord>>,
}

impl StallWatch {
    /// Starts to watch, in the class of the executors, which may run where another thread would not;
    /// absent where no thread can be had.
    pub(crate) fn start(clock: RealClock, must_send_on_time: bool) -> Option<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let builder = thread::Builder::new().name("stall-watch".to_owned());
        let thread = builder.spawn(move || {
            let _scheduling = Scheduling::enter(must_send_on_time, clock.now());
            let mut detector = StallDetector::default();
            while !ends.load(Ordering::Relaxed) {
                detector.read(clock.now(), wall_clock());
                thread::park_timeout(Duration::from_nanos(TICK.0));
            }
            detector.stalls
        });
        let thread = thread.ok()?;
        Some(Self { over, thread })
    }

    /// The stalls, with times that count from `origin`.
    pub(crate) fn end(self, origin: Nanos) -> Vec<StallRecord> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        let stalls = self.thread.join().unwrap_or_default();
        let since = stalls.into_iter().map(|stall| StallRecord {
            start_ns: stall.start_ns.saturating_sub(origin.0),
            ..stall
        });
        since.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (start in ms, length in ms, kind) of the stalls that such readings show: milliseconds of
    /// the monotonic clock, and of the wall clock.
    #[track_caller]
    fn check(readings: &[[u64; 2]], expected: &[(u64, u64, StallKind)]) {
        let mut detector = StallDetector::default();
        for [monotonic, wall] in readings {
            let wall = Nanos::from_millis(1_000_000 + wall);
            detector.read(Nanos::from_millis(*monotonic), wall);
        }
        let found = detector.stalls.iter();
        let found: Vec<_> = found
            .map(|s| (s.start_ns / 1_000_000, s.duration_ns / 1_000_000, s.kind))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn wake_ups_in_time_are_no_stall() {
        check(&[[0, 0], [10, 10], [21, 21], [90, 90], [100, 100]], &[]);
    }

    #[test]
    fn a_process_that_was_stopped_wakes_late_by_both_clocks() {
        let readings = [[0, 0], [10, 10], [5_020, 5_020], [5_030, 5_030]];
        check(&readings, &[(10, 5_000, StallKind::NotRunning)]);
        check(&[[0, 0], [110, 110]], &[(0, 100, StallKind::NotRunning)]);
        check(&[[0, 0], [109, 109]], &[]);
    }

    #[test]
    fn a_machine_that_was_paused_shows_it_by_its_wall_clock_alone() {
        let readings = [[0, 0], [10, 10], [20, 3_020], [30, 3_030]];
        check(&readings, &[(10, 3_000, StallKind::MachinePaused)]);
        // A clock that is set back, or slewed, says nothing.
        check(&[[0, 9_000], [10, 10], [20, 70]], &[]);
    }

    #[test]
    fn a_pause_that_both_clocks_show_is_as_long_as_both_parts_of_it() {
        // The machine stood for three seconds, and the process was let run five seconds after.
        let readings = [[0, 0], [10, 10], [5_020, 8_020], [5_030, 8_030]];
        check(&readings, &[(10, 8_000, StallKind::MachinePaused)]);
        // A wall clock that is set back meanwhile hides nothing of what the other one shows.
        let readings = [[0, 9_000], [10, 9_010], [5_020, 20]];
        check(&readings, &[(10, 5_000, StallKind::NotRunning)]);
    }

    #[test]
    fn pauses_shorter_than_a_stall_do_not_add_up_to_one() {
        let readings = [[0, 0], [10, 109], [20, 218], [30, 327], [40, 436]];
        check(&readings, &[]);
        check(
            &[[0, 0], [10, 110], [20, 220]],
            &[
                (0, 100, StallKind::MachinePaused),
                (10, 100, StallKind::MachinePaused),
            ],
        );
    }

    #[test]
    fn the_longest_are_kept() {
        let mut detector = StallDetector::default();
        let mut now = Nanos::ZERO;
        for number in 0..300 {
            now = now.saturating_add(Nanos::from_millis(200 + number));
            detector.read(now, now);
        }
        assert_eq!(detector.stalls.len(), STALLS_KEPT);
        let lengths = detector.stalls.iter().map(|stall| stall.duration_ns);
        assert_eq!(lengths.max(), Some(Nanos::from_millis(489).0));
    }
}
