//! Detects whether this process stood still (stopped, starved of CPU, or on a suspended machine), and whether its wall
//! clock was set.
//!
//! A separate thread wakes every few milliseconds and compares clocks. A late wake-up means that this process did not
//! run. If the boot clock gained on the monotonic clock, the machine was suspended. If only the wall clock jumped, it
//! was set; no time of a run uses it. The thread touches no op.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use highwater_model::display::duration;
use highwater_model::record::{STALL_NS, StallKind, StallRecord};
use highwater_model::units::Nanos;

use crate::executor::Scheduling;
use highwater_driver::clock::{ClockReadings, RealClock};

/// Time between two wake-ups.
const TICK: Nanos = Nanos::from_millis(10);
/// Maximum number of stalls kept: the longest ones.
const STALLS_KEPT: usize = 256;
/// A slewed wall clock changes by less than this between two wake-ups.
const STEP_MIN_NS: i128 = 10_000_000;
/// Maximum number of wall-clock steps kept: the first ones.
const STEPS_KEPT: usize = 16;

/// A time at which the wall clock was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockStep {
    /// When it was detected.
    pub(crate) at: Nanos,
    /// Size of the step in nanoseconds; negative if backward.
    by_ns: i128,
}

impl ClockStep {
    /// The step as text.
    pub(crate) fn message(self) -> String {
        let way = if self.by_ns < 0 { "back" } else { "forward" };
        let by = u64::try_from(self.by_ns.unsigned_abs()).unwrap_or(u64::MAX);
        format!(
            "the wall clock stepped {way} by {} {} into the run: it was corrected, or its host was paused; no time of \
             the run is taken from it",
            duration(by),
            duration(self.at.0)
        )
    }
}

/// Detected stalls and clock steps.
#[derive(Debug, Default)]
pub(crate) struct ClockFaults {
    pub(crate) stalls: Vec<StallRecord>,
    pub(crate) steps: Vec<ClockStep>,
}

/// Finds stalls in readings that should be a tick apart.
#[derive(Debug, Default)]
struct StallDetector {
    last: Option<Nanos>,
    /// The last readings taken at one moment: monotonic, boot, and wall clock.
    last_of_all: Option<[Nanos; 3]>,
    found: ClockFaults,
}

impl StallDetector {
    fn read(&mut self, readings: ClockReadings) {
        let now = readings.monotonic;
        let suspended = readings
            .boot_and_wall
            .map_or(Nanos::ZERO, |[boot, wall]| self.compared([now, boot, wall]));
        let Some(since) = self.last.replace(now) else {
            return;
        };
        let late = now.saturating_sub(since).saturating_sub(TICK);
        // If both clocks show a pause, each shows a part of it.
        let (length, kind) = if suspended.0 >= STALL_NS {
            (late.saturating_add(suspended), StallKind::MachinePaused)
        } else {
            (late, StallKind::NotRunning)
        };
        if length.0 < STALL_NS {
            return;
        }
        let stalls = &mut self.found.stalls;
        stalls.push(StallRecord { start_ns: since.0, duration_ns: length.0, kind });
        if stalls.len() > STALLS_KEPT {
            let shortest = stalls.iter().enumerate().min_by_key(|(_, stall)| stall.duration_ns);
            if let Some((at, _)) = shortest {
                stalls.remove(at);
            }
        }
    }

    /// How long the machine was suspended since the last comparison. Also detects a step of the wall clock.
    fn compared(&mut self, readings: [Nanos; 3]) -> Nanos {
        let Some(before) = self.last_of_all.replace(readings) else {
            return Nanos::ZERO;
        };
        let passed = |clock: usize| i128::from(readings[clock].0) - i128::from(before[clock].0);
        let by_ns = passed(2) - passed(1);
        if by_ns.abs() >= STEP_MIN_NS && self.found.steps.len() < STEPS_KEPT {
            let at = readings[0];
            self.found.steps.push(ClockStep { at, by_ns });
        }
        Nanos(u64::try_from(passed(1) - passed(0)).unwrap_or(0))
    }
}

/// Watches until it is ended.
pub(crate) struct StallWatch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<ClockFaults>,
}

impl StallWatch {
    /// Starts the watch, in the class of the executors, which may run when another thread would not; `None` if no
    /// thread can be started.
    pub(crate) fn start(clock: RealClock, must_send_on_time: bool) -> Option<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let builder = thread::Builder::new().name("stall-watch".to_owned());
        let thread = builder.spawn(move || {
            let _scheduling = Scheduling::enter(must_send_on_time, clock.now());
            let mut detector = StallDetector::default();
            while !ends.load(Ordering::Relaxed) {
                detector.read(clock.readings());
                thread::park_timeout(Duration::from_nanos(TICK.0));
            }
            detector.found
        });
        let thread = thread.ok()?;
        Some(Self { over, thread })
    }

    /// The detected faults, with times that count from `origin`.
    pub(crate) fn end(self, origin: Nanos) -> ClockFaults {
        self.over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        let mut found = self.thread.join().unwrap_or_default();
        for stall in &mut found.stalls {
            stall.start_ns = stall.start_ns.saturating_sub(origin.0);
        }
        for step in &mut found.steps {
            step.at = step.at.saturating_sub(origin);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults in such readings: milliseconds of the monotonic, boot, and wall clock.
    fn found(readings: &[[u64; 3]]) -> ClockFaults {
        let mut detector = StallDetector::default();
        for [monotonic, boot, wall] in readings {
            let boot = Nanos::from_millis(500_000 + boot);
            let wall = Nanos::from_millis(1_000_000 + wall);
            detector.read(ClockReadings {
                monotonic: Nanos::from_millis(*monotonic),
                boot_and_wall: Some([boot, wall]),
            });
        }
        detector.found
    }

    /// Stalls as (start in ms, length in ms, kind), and steps as (time in ms, size in ms).
    #[track_caller]
    fn check(readings: &[[u64; 3]], stalls: &[(u64, u64, StallKind)], steps: &[(u64, i128)]) {
        let found = found(readings);
        let stalled: Vec<_> = found
            .stalls
            .iter()
            .map(|s| (s.start_ns / 1_000_000, s.duration_ns / 1_000_000, s.kind))
            .collect();
        assert_eq!(stalled, stalls);
        let stepped: Vec<_> = found
            .steps
            .iter()
            .map(|step| (step.at.0 / 1_000_000, step.by_ns / 1_000_000))
            .collect();
        assert_eq!(stepped, steps);
    }

    /// Readings of clocks that agree.
    fn together(times: &[u64]) -> Vec<[u64; 3]> {
        times.iter().map(|at| [*at; 3]).collect()
    }

    #[test]
    fn wake_ups_in_time_are_no_stall() {
        check(&together(&[0, 10, 21, 90, 100]), &[], &[]);
    }

    #[test]
    fn a_process_that_was_stopped_wakes_late_by_all_clocks() {
        let stopped = StallKind::NotRunning;
        let readings = together(&[0, 10, 5_020, 5_030]);
        check(&readings, &[(10, 5_000, stopped)], &[]);
        check(&together(&[0, 110]), &[(0, 100, stopped)], &[]);
        check(&together(&[0, 109]), &[], &[]);
    }

    #[test]
    fn a_machine_that_was_suspended_shows_it_by_its_boot_clock() {
        let paused = StallKind::MachinePaused;
        let readings = [[0, 0, 0], [10, 10, 10], [20, 3_020, 3_020], [30, 3_030, 3_030]];
        check(&readings, &[(10, 3_000, paused)], &[]);
        // It was suspended for three seconds, and the process resumed five seconds later.
        let readings = [[0, 0, 0], [10, 10, 10], [5_020, 8_020, 8_020]];
        check(&readings, &[(10, 8_000, paused)], &[]);
    }

    #[test]
    fn a_wall_clock_that_alone_leaps_was_set_and_nothing_was_paused() {
        // Forward by 0.2 s, as by NTP; by an hour; and backward.
        check(&[[0, 0, 0], [10, 10, 210]], &[], &[(10, 200)]);
        check(&[[0, 0, 0], [10, 10, 3_600_010]], &[], &[(10, 3_600_000)]);
        check(&[[0, 0, 9_000], [10, 10, 10]], &[], &[(10, -9_000)]);
        // Slewed.
        check(&[[0, 0, 0], [10, 10, 11], [20, 20, 22], [30, 30, 33]], &[], &[]);
        // Set back while the process was stopped: the stall is still found.
        let readings = [[0, 0, 9_000], [10, 10, 9_010], [5_020, 5_020, 20]];
        check(&readings, &[(10, 5_000, StallKind::NotRunning)], &[(5_020, -14_000)]);
        // Corrected after the machine was suspended.
        let readings = [[0, 0, 0], [10, 3_010, 10], [20, 3_020, 3_020]];
        let paused = (0, 3_000, StallKind::MachinePaused);
        check(&readings, &[paused], &[(10, -3_000), (20, 3_000)]);
    }

    #[test]
    fn a_step_says_its_size_and_its_way() {
        let steps = found(&[[0, 0, 9_000], [10, 10, 9_210], [20, 20, 20]]).steps;
        let expected = "the wall clock stepped forward by 200 ms 10.0 ms into the run: it was corrected, or its host was \
                        paused; no time of the run is taken from it";
        assert_eq!(steps[0].message(), expected);
        assert!(steps[1].message().contains("stepped back by 9.20 s"), "{}", steps[1].message());
    }

    #[test]
    fn clocks_that_were_not_read_at_one_moment_say_nothing_of_each_other() {
        let mut detector = StallDetector::default();
        let all = |at: u64, between: u64| ClockReadings {
            monotonic: Nanos::from_millis(at),
            boot_and_wall: (between == 0).then_some([Nanos::from_millis(at); 2]),
        };
        for (at, between) in [(0, 0), (10, 0), (20, 900), (30, 0)] {
            detector.read(all(at, between));
        }
        assert!(detector.found.stalls.is_empty() && detector.found.steps.is_empty());
        // The late wake-up is still found.
        detector.read(all(530, 900));
        assert_eq!(detector.found.stalls.len(), 1);
    }

    #[test]
    fn pauses_shorter_than_a_stall_do_not_add_up_to_one() {
        let apart =
            |step: u64| -> Vec<[u64; 3]> { (0..5).map(|n| [n * 10, n * step, n * step]).collect() };
        check(&apart(109), &[], &[]);
        let paused = |start| (start, 100, StallKind::MachinePaused);
        check(&apart(110)[..3], &[paused(0), paused(10)], &[]);
    }

    #[test]
    fn the_longest_are_kept() {
        let mut now = 0;
        let readings: Vec<u64> = (0..300)
            .map(|number| {
                now += 200 + number;
                now
            })
            .collect();
        let stalls = found(&together(&readings)).stalls;
        assert_eq!(stalls.len(), STALLS_KEPT);
        let lengths = stalls.iter().map(|stall| stall.duration_ns);
        assert_eq!(lengths.max(), Some(Nanos::from_millis(489).0));
    }

    #[test]
    fn the_clocks_of_this_machine_agree() {
        let clock = RealClock::start();
        let mut detector = StallDetector::default();
        for _ in 0..1_000 {
            detector.read(clock.readings());
        }
        assert!(detector.found.steps.is_empty(), "{:?}", detector.found.steps);
    }
}
