//! The load generator's own telemetry: CPU of this process and of the machine, memory, steal; and whether the process
//! was stalled (stopped, starved of CPU, or on a suspended machine), or its wall clock was set.
//!
//! Read from the kernel once a second. What it does not say is absent, never invented.
//!
//! A separate thread wakes every few milliseconds and compares clocks. A late wake-up means that this process did not
//! run. If the boot clock gained on the monotonic clock, the machine was suspended. If only the wall clock jumped, it
//! was set; no time of a run uses it. The thread touches no op.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use highwater_driver::clock::{ClockReadings, RealClock};
use highwater_driver::system;
use highwater_model::display::duration;
use highwater_model::record::{STALL_NS, StallKind, StallRecord, TelemetrySample};
use highwater_model::units::Nanos;

use crate::executor::Scheduling;
use crate::kernel::{self, MachineTicks};
use crate::telemetry;

/// Counters at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// When they were read.
    pub at: Nanos,
    /// CPU time of this process without embedded drivers' threads.
    pub client_cpu: Nanos,
    /// CPU time of embedded drivers' threads.
    pub embedded_cpu: Nanos,
    /// Ticks of all processors.
    pub machine: Option<MachineTicks>,
    /// Resident set.
    pub rss_bytes: u64,
    /// Highest resident set so far.
    pub max_rss_bytes: u64,
}

/// Reads the counters; `embedded_cpu` comes from the target.
pub fn read(at: Nanos, embedded_cpu: Nanos) -> Counters {
    let process = system::process_cpu().unwrap_or_default();
    let [rss_bytes, max_rss_bytes] = kernel::resident_bytes();
    Counters {
        at,
        client_cpu: process.saturating_sub(embedded_cpu),
        embedded_cpu,
        machine: kernel::machine_ticks(),
        rss_bytes,
        max_rss_bytes,
    }
}

/// The differences between two readings.
#[expect(clippy::cast_precision_loss, reason = "shares for display and judgment")]
pub fn between(earlier: &Counters, later: &Counters) -> TelemetrySample {
    let elapsed = later.at.saturating_sub(earlier.at).0.max(1) as f64;
    let cores = |now: Nanos, then: Nanos| now.saturating_sub(then).0 as f64 / elapsed;
    let machine = earlier.machine.zip(later.machine);
    let share = |of: &dyn Fn(MachineTicks) -> Option<u64>| {
        let (then, now) = machine?;
        // Some kernels decrease this counter.
        let total = now.total.saturating_sub(then.total);
        let part = of(now)?.saturating_sub(of(then)?);
        (total > 0).then(|| (part as f64 / total as f64).min(1.0))
    };
    TelemetrySample {
        time_ns: later.at.0,
        client_cores: cores(later.client_cpu, earlier.client_cpu),
        embedded_cores: cores(later.embedded_cpu, earlier.embedded_cpu),
        machine_cpu_fraction: share(&|ticks| Some(ticks.busy)),
        steal_fraction: share(&|ticks| ticks.stolen),
        rss_bytes: later.rss_bytes,
    }
}

/// The fraction of this machine's CPU time that programs other than this process used between two readings.
pub fn used_by_others(earlier: &Counters, later: &Counters) -> Option<f64> {
    let sample = between(earlier, later);
    let own = (sample.client_cores + sample.embedded_cores) / f64::from(cores());
    sample.machine_cpu_fraction.map(|all| (all - own).max(0.0))
}

/// Cores that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// System, processor, cores, memory. Nothing that identifies the user or the machine.
pub(crate) fn describe() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut note = |name: &str, value: String| {
        facts.insert(name.to_owned(), value);
    };
    let names = system::machine_names();
    note("system", names.system);
    note("architecture", names.architecture);
    note("cores", telemetry::cores().to_string());
    if let Some(kernel) = names.kernel {
        note("kernel", kernel);
    }
    if let Some(memory) = kernel::memory_bytes() {
        note("memory_bytes", memory.to_string());
    }
    if let Some(model) = kernel::processor() {
        note("processor", model);
    }
    facts
}

/// Processor and cores: distinguishes one user's load generators.
pub(crate) fn machine() -> String {
    let processor = kernel::processor().unwrap_or_else(|| "unknown processor".to_owned());
    format!("{processor}, {} cores", telemetry::cores())
}

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
    use crate::kernel::{busy, of_kernel, read_kernel, ticks};

    #[test]
    fn this_process_has_used_some_cpu_and_memory() {
        let counters = read(Nanos::SECOND, Nanos::ZERO);
        assert!(counters.client_cpu > Nanos::ZERO && counters.rss_bytes > 0);
        assert!(counters.max_rss_bytes >= counters.rss_bytes / 2);
        // CPU time of embedded threads does not count for the client.
        let counters = read(Nanos::SECOND, Nanos::MAX);
        assert_eq!((counters.client_cpu, counters.embedded_cpu), (Nanos::ZERO, Nanos::MAX));
    }

    #[test]
    fn a_machine_that_waits_for_its_disk_is_idle() {
        let total = of_kernel("cpu  1000 200 30 5000 400 7 8 90 60 5").total;
        assert_eq!(busy(&total), 1_000 + 200 + 30 + 7 + 8);
        let expected = MachineTicks { busy: 1_245, stolen: Some(90), total: 1_245 + 90 + 5_400 };
        assert_eq!(ticks(&total), expected);
    }

    /// A virtual machine of two processors, ten seconds apart; shortened after the lines that count.
    const THEN: &str = "\
cpu  84321 112 20110 990000 3100 0 812 4400 0 0
cpu0 42000 60 10050 495000 1500 0 400 2200 0 0
cpu1 42321 52 10060 495000 1600 0 412 2200 0 0
intr 51234567 9 0 0 0 0 0 0
ctxt 98765432
btime 1767225600
processes 43210
procs_running 3
procs_blocked 0
softirq 1234567 0 1 2 3 4 5 6 7 8 9
";
    const NOW: &str = "\
cpu  85121 112 20310 990500 3200 0 812 4800 0 0
cpu0 42400 60 10150 495250 1550 0 400 2400 0 0
cpu1 42721 52 10160 495250 1650 0 412 2400 0 0
intr 51234999 9 0 0 0 0 0 0
ctxt 98799999
btime 1767225600
processes 43217
procs_running 2
procs_blocked 1
softirq 1234999 0 1 2 3 4 5 6 7 8 9
";

    /// Busy and stolen fractions between two such files.
    fn fractions(then: &str, now: &str) -> [Option<f64>; 2] {
        let counters = |text: &str| Counters {
            machine: read_kernel(text).ok().map(|stats| ticks(&stats.total)),
            ..Counters::default()
        };
        let sample = between(&counters(then), &counters(now));
        [sample.machine_cpu_fraction, sample.steal_fraction]
    }

    #[test]
    fn a_virtual_machine_reports_stolen_time() {
        // Of 2,000 ticks: 800 user, 200 system, 400 stolen, the rest idle or waiting.
        assert_eq!(fractions(THEN, NOW), [Some(0.5), Some(0.2)]);
        assert_eq!(fractions(THEN, THEN), [None, None], "no time has passed");
    }

    #[test]
    fn decreasing_ticks_of_a_kernel_report_nothing_and_break_nothing() {
        let less = NOW.replace(" 4800 0 0", " 4300 0 0");
        let [busy, stolen] = fractions(THEN, &less);
        assert_eq!(stolen, Some(0.0));
        assert!(busy.is_some_and(|busy| (0.5..=1.0).contains(&busy)));
        assert_eq!(fractions(NOW, THEN), [None, None]);
    }

    #[test]
    fn an_old_kernel_without_a_column_of_stolen_ticks_does_not_say_zero() {
        let old = |user: u64| {
            let rest = "ctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n";
            format!("cpu  {user} 0 100 1000\ncpu0 {user} 0 100 1000\n{rest}")
        };
        let now = old(400).replace(" 100 1000", " 100 1300");
        assert_eq!(fractions(&old(100), &now), [Some(0.5), None]);
    }

    #[test]
    fn a_garbled_file_gives_no_figure() {
        let garbled = [
            String::new(),
            "cpu\n".to_owned(),
            NOW.replace("85121", "8512x"),
            NOW.replace("85121", "-85121"),
            NOW.replace("85121", "99999999999999999999999"),
            NOW[..20].to_owned(),
            NOW.replace("ctxt", "context"),
        ];
        for text in &garbled {
            assert_eq!(fractions(THEN, text), [None, None], "{text}");
        }
    }

    #[test]
    fn shares_are_those_of_the_time_between() {
        let then = Counters {
            machine: Some(MachineTicks { busy: 100, stolen: Some(0), total: 1_000 }),
            ..Counters::default()
        };
        let now = Counters {
            at: Nanos::from_secs(2),
            client_cpu: Nanos::SECOND,
            embedded_cpu: Nanos::from_secs(3),
            machine: Some(MachineTicks { busy: 400, stolen: Some(100), total: 2_000 }),
            ..Counters::default()
        };
        let sample = between(&then, &now);
        assert!((sample.client_cores - 0.5).abs() < 1e-9);
        assert!((sample.embedded_cores - 1.5).abs() < 1e-9);
        assert_eq!((sample.machine_cpu_fraction, sample.steal_fraction), (Some(0.3), Some(0.1)));
    }

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
    fn a_clock_step_has_its_size_and_direction() {
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
    fn other_programs_used_what_this_process_did_not() {
        let at = |seconds: u64, own: u64, busy: u64| Counters {
            at: Nanos::from_secs(seconds),
            client_cpu: Nanos::from_secs(own),
            machine: Some(MachineTicks { busy, stolen: None, total: seconds * 100 }),
            ..Counters::default()
        };
        let others = |own: u64, busy: u64| used_by_others(&at(0, 0, 0), &at(10, own, busy));
        assert_eq!(others(0, 400), Some(0.4));
        assert_eq!(others(0, 0), Some(0.0));
        // All that was busy was this process.
        assert_eq!(others(u64::from(cores()) * 10, 1_000), Some(0.0));
        assert_eq!(used_by_others(&Counters::default(), &Counters::default()), None);
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
