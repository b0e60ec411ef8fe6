//! CPU time and resident memory of this process, as reported by the operating system.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Sampling interval of [`PeakMemory`].
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// CPU time of the calling thread so far.
pub fn thread_cpu() -> Duration {
    cpu(ClockId::ThreadCPUTime)
}

/// CPU time of this process so far, all threads.
pub fn process_cpu() -> Duration {
    cpu(ClockId::ProcessCPUTime)
}

fn cpu(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or(0), nanos.unwrap_or(0))
}

/// CPU time so far of this process's threads with this name, in kernel ticks (10 ms); zero if the system does not
/// report it.
pub fn named_threads_cpu(name: &str) -> Duration {
    let tasks = procfs::process::Process::myself().and_then(|process| process.tasks());
    let stats = tasks.into_iter().flatten().flatten().filter_map(|task| task.stat().ok());
    let named = stats.filter(|stat| stat.comm == name);
    of_ticks(named.map(|stat| stat.utime + stat.stime).sum())
}

/// CPU time of all terminated children of this process, in kernel ticks (10 ms).
pub fn ended_children_cpu() -> Duration {
    let stat = procfs::process::Process::myself().and_then(|process| process.stat());
    let ticks = stat.map_or(0, |stat| stat.cutime.saturating_add(stat.cstime));
    let ticks = u64::try_from(ticks).unwrap_or(0);
    of_ticks(ticks)
}

fn of_ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1_000 / procfs::ticks_per_second().max(1))
}

/// Resident memory of this process in bytes; 0 if the system does not report it.
pub fn resident_bytes() -> u64 {
    let pages = procfs::process::Process::myself().and_then(|process| process.statm());
    pages.map_or(0, |pages| pages.resident * procfs::page_size())
}

/// The greatest resident memory between start and [`PeakMemory::finish`].
pub struct PeakMemory {
    peak: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    looker: JoinHandle<()>,
}

impl PeakMemory {
    /// Samples every 5 ms from now on, in a separate thread.
    pub fn start() -> Self {
        let peak = Arc::new(AtomicU64::new(resident_bytes()));
        let over = Arc::new(AtomicBool::new(false));
        let (seen, done) = (Arc::clone(&peak), Arc::clone(&over));
        let looker = thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                seen.fetch_max(resident_bytes(), Ordering::Relaxed);
                thread::sleep(LOOK_EVERY);
            }
        });
        Self { peak, over, looker }
    }

    /// Peak in bytes.
    pub fn finish(self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        // The thread cannot panic, and the peak so far would be valid even then.
        drop(self.looker.join());
        self.peak.load(Ordering::Relaxed)
    }
}
