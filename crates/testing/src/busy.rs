//! A real-time thread that occupies a core.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Above the minimum priority of the class, which a load generator uses.
const PRIORITY: u8 = 50;

/// A thread that occupies a core, alternately busy and asleep, until this is dropped.
pub struct BusyCore {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BusyCore {
    /// Starts to occupy a core for `length` of every two; see [`is_permitted`].
    pub fn start(core: usize, length: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            pin(core);
            let is_entered = enter();
            while is_entered && !ends.load(Ordering::Relaxed) {
                work(length);
                thread::sleep(length);
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for BusyCore {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // It ends by itself; if it failed, it occupied nothing.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Cores that this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Keeps this thread, and its child processes, on one core.
pub fn pin(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    // If this is not possible, the thread may run on any core, as before.
    let _ = sched_setaffinity(None, &cores);
}

/// Whether a thread of this process may enter the real-time class.
pub fn is_permitted() -> bool {
    thread::spawn(enter).join().is_ok_and(|entered| entered)
}

fn enter() -> bool {
    let Ok(priority) = ThreadPriorityValue::try_from(PRIORITY) else {
        return false;
    };
    let priority = ThreadPriority::Crossplatform(priority);
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), priority, policy).is_ok()
}

/// Uses this much CPU time.
fn work(length: Duration) {
    let begin = cpu();
    while cpu().saturating_sub(begin) < length {
        std::hint::spin_loop();
    }
}

fn cpu() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(tv_nsec).unwrap_or(0))
}
