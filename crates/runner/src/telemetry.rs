//! What the load generator itself does: CPU of this process and of the machine, memory, steal.
//!
//! Read from the kernel's process files once a second. Missing files (another system) give
//! absent figures, never invented ones.

use highwater_core::model::record::TelemetrySample;
use highwater_core::model::units::Nanos;
use procfs::{CpuTime, CurrentSI};

/// Counters as they stand at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counters {
    /// When they were read.
    pub at: Nanos,
    /// CPU of this process without embedded drivers' threads.
    pub client_cpu: Nanos,
    /// CPU of embedded drivers' threads.
    pub embedded_cpu: Nanos,
    /// Ticks of all processors: busy, stolen, total.
    pub machine: Option<[u64; 3]>,
    /// Resident set.
    pub rss_bytes: u64,
    /// Greatest resident set so far.
    pub max_rss_bytes: u64,
}

/// Reads the counters; `embedded_cpu` comes from the target.
pub fn read(at: Nanos, embedded_cpu: Nanos) -> Counters {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let process = Nanos(
        u64::try_from(cpu.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(cpu.tv_nsec).unwrap_or(0),
    );
    let status = procfs::process::Process::myself()
        .and_then(|process| process.status())
        .ok();
    let kilobytes = |value: Option<u64>| value.unwrap_or(0) * 1024;
    Counters {
        at,
        client_cpu: process.saturating_sub(embedded_cpu),
        embedded_cpu,
        machine: machine_ticks(),
        rss_bytes: kilobytes(status.as_ref().and_then(|status| status.vmrss)),
        max_rss_bytes: kilobytes(status.as_ref().and_then(|status| status.vmhwm)),
    }
}

fn machine_ticks() -> Option<[u64; 3]> {
    Some(ticks(&procfs::KernelStats::current().ok()?.total))
}

/// Busy, stolen, total: who waits for a disk leaves the processor idle.
fn ticks(total: &CpuTime) -> [u64; 3] {
    let (busy, steal) = (busy(total), total.steal.unwrap_or(0));
    let idle = total.idle + total.iowait.unwrap_or(0);
    [busy, steal, busy + steal + idle]
}

/// Ticks in which processors of this machine worked for it; guests are part of the user's.
pub(crate) fn busy(total: &CpuTime) -> u64 {
    let interrupts = total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
    total.user + total.nice + total.system + interrupts
}

/// What happened between two readings.
#[expect(
    clippy::cast_precision_loss,
    reason = "shares for display and judgment"
)]
pub fn between(earlier: &Counters, later: &Counters) -> TelemetrySample {
    let elapsed = later.at.saturating_sub(earlier.at).0.max(1) as f64;
    let cores = |now: Nanos, then: Nanos| now.saturating_sub(then).0 as f64 / elapsed;
    let ticks = earlier
        .machine
        .zip(later.machine)
        .map(|(then, now)| [0, 1, 2].map(|i| now[i].saturating_sub(then[i]) as f64));
    let share = |part: usize| ticks.filter(|t| t[2] > 0.0).map(|t| t[part] / t[2]);
    TelemetrySample {
        time_ns: later.at.0,
        client_cores: cores(later.client_cpu, earlier.client_cpu),
        embedded_cores: cores(later.embedded_cpu, earlier.embedded_cpu),
        machine_cpu_fraction: share(0),
        steal_fraction: share(1),
        rss_bytes: later.rss_bytes,
    }
}

/// Cores that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// What the kernel would say with such lines of processors.
#[cfg(test)]
pub(crate) fn of_kernel(processors: &str) -> procfs::KernelStats {
    use procfs::prelude::*;
    let system = procfs::ExplicitSystemInfo {
        boot_time_secs: 0,
        ticks_per_second: procfs::ticks_per_second(),
        page_size: 4_096,
        is_little_endian: true,
    };
    let rest = "\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n";
    let text = format!("{processors}{rest}");
    procfs::KernelStats::from_buf_read(text.as_bytes(), &system).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_some_cpu_and_memory() {
        let counters = read(Nanos::SECOND, Nanos::ZERO);
        assert!(counters.client_cpu > Nanos::ZERO && counters.rss_bytes > 0);
        assert!(counters.max_rss_bytes >= counters.rss_bytes / 2);
        // What embedded threads used is none of the client's.
        let counters = read(Nanos::SECOND, Nanos::MAX);
        assert_eq!(
            (counters.client_cpu, counters.embedded_cpu),
            (Nanos::ZERO, Nanos::MAX)
        );
    }

    #[test]
    fn a_machine_that_waits_for_its_disk_is_idle() {
        let total = of_kernel("cpu  1000 200 30 5000 400 7 8 90 60 5").total;
        assert_eq!(busy(&total), 1_000 + 200 + 30 + 7 + 8);
        assert_eq!(ticks(&total), [1_245, 90, 1_245 + 90 + 5_400]);
    }

    #[test]
    fn shares_are_those_of_the_time_between() {
        let then = Counters {
            machine: Some([100, 0, 1_000]),
            ..Counters::default()
        };
        let now = Counters {
            at: Nanos::from_secs(2),
            client_cpu: Nanos::SECOND,
            embedded_cpu: Nanos::from_secs(3),
            machine: Some([400, 100, 2_000]),
            ..Counters::default()
        };
        let sample = between(&then, &now);
        assert!((sample.client_cores - 0.5).abs() < 1e-9);
        assert!((sample.embedded_cores - 1.5).abs() < 1e-9);
        assert_eq!(
            (sample.machine_cpu_fraction, sample.steal_fraction),
            (Some(0.3), Some(0.1))
        );
    }
}
