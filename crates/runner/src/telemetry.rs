//! The load generator's own telemetry: CPU of this process and of the machine, memory, steal.
//!
//! Read from the kernel's process files once a second. If files are missing (another system), values are absent, never
//! invented.

use std::collections::BTreeMap;

use highwater_model::record::TelemetrySample;
use highwater_model::units::Nanos;
use procfs::{CpuTime, Current, CurrentSI, FromBufRead};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

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

/// Ticks of all processors of a machine since it was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineTicks {
    /// Busy ticks.
    pub busy: u64,
    /// Ticks used by other virtual machines; absent if the kernel does not report them.
    pub stolen: Option<u64>,
    /// All of them.
    pub total: u64,
}

/// Reads the counters; `embedded_cpu` comes from the target.
pub fn read(at: Nanos, embedded_cpu: Nanos) -> Counters {
    let process = cpu_time(ClockId::ProcessCPUTime);
    let status = procfs::process::Process::myself().and_then(|process| process.status()).ok();
    let kilobytes = |value: Option<u64>| value.unwrap_or(0) * 1024;
    Counters {
        at,
        client_cpu: process.saturating_sub(embedded_cpu),
        embedded_cpu,
        machine: procfs::KernelStats::current().ok().map(|stats| ticks(&stats.total)),
        rss_bytes: kilobytes(status.as_ref().and_then(|status| status.vmrss)),
        max_rss_bytes: kilobytes(status.as_ref().and_then(|status| status.vmhwm)),
    }
}

/// CPU time that this process, or this thread, has used.
pub(crate) fn cpu_time(clock: ClockId) -> Nanos {
    let cpu = clock_gettime(clock);
    let nanos = cpu.tv_sec * 1_000_000_000 + cpu.tv_nsec;
    Nanos(u64::try_from(nanos).unwrap_or(0))
}

/// A processor that waits for a disk counts as idle.
fn ticks(total: &CpuTime) -> MachineTicks {
    let busy = busy(total);
    let idle = total.idle + total.iowait.unwrap_or(0);
    MachineTicks { busy, stolen: total.steal, total: busy + total.steal.unwrap_or(0) + idle }
}

/// Busy ticks of this machine's processors; user time includes guests.
pub(crate) fn busy(total: &CpuTime) -> u64 {
    let interrupts = total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
    total.user + total.nice + total.system + interrupts
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

/// Cores that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// The kernel's statistics with these processor lines.
#[cfg(test)]
pub(crate) fn of_kernel(processors: &str) -> procfs::KernelStats {
    let rest = "\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n";
    read_kernel(&format!("{processors}{rest}")).unwrap()
}

#[cfg(test)]
fn read_kernel(text: &str) -> procfs::ProcResult<procfs::KernelStats> {
    use procfs::prelude::*;
    let system = procfs::ExplicitSystemInfo {
        boot_time_secs: 0,
        ticks_per_second: procfs::ticks_per_second(),
        page_size: 4_096,
        is_little_endian: true,
    };
    procfs::KernelStats::from_buf_read(text.as_bytes(), &system)
}

/// System, processor, cores, memory. Nothing that identifies the user or the machine.
pub(crate) fn describe() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut note = |name: &str, value: String| {
        facts.insert(name.to_owned(), value);
    };
    let system = rustix::system::uname();
    note("system", system.sysname().to_string_lossy().into_owned());
    note("kernel", system.release().to_string_lossy().into_owned());
    note("architecture", system.machine().to_string_lossy().into_owned());
    note("cores", telemetry::cores().to_string());
    if let Ok(memory) = procfs::Meminfo::current() {
        note("memory_bytes", memory.mem_total.to_string());
    }
    if let Some(model) = processor() {
        note("processor", model);
    }
    facts
}

/// Processor and cores: distinguishes one user's load generators.
pub(crate) fn machine() -> String {
    let processor = processor().unwrap_or_else(|| "unknown processor".to_owned());
    format!("{processor}, {} cores", telemetry::cores())
}

fn processor() -> Option<String> {
    let text = std::fs::read("/proc/cpuinfo").ok()?;
    let info = procfs::CpuInfo::from_buf_read(text.as_slice()).ok()?;
    info.model_name(0).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_virtual_machine_says_what_was_stolen_of_it() {
        // Of 2,000 ticks: 800 user, 200 system, 400 stolen, the rest idle or waiting.
        assert_eq!(fractions(THEN, NOW), [Some(0.5), Some(0.2)]);
        assert_eq!(fractions(THEN, THEN), [None, None], "no time has passed");
    }

    #[test]
    fn a_kernel_that_takes_ticks_back_says_nothing_and_breaks_nothing() {
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
}
