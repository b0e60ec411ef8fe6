//! The process files of Linux, and its real-time class.

use procfs::process::{Process, Status};
use procfs::{CpuTime, Current, CurrentSI, FromBufRead, KernelStats, Meminfo, ProcError};
use rustix::process::{getpriority_process, setpriority_process};
use thread_priority::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id, thread_schedule_policy,
};

use super::MachineTicks;

/// Ticks of all processors.
pub(crate) fn machine_ticks() -> Option<MachineTicks> {
    KernelStats::current().ok().map(|stats| ticks(&stats.total))
}

/// A processor that waits for a disk counts as idle.
pub(crate) fn ticks(total: &CpuTime) -> MachineTicks {
    let busy = busy(total);
    let idle = total.idle + total.iowait.unwrap_or(0);
    MachineTicks { busy, stolen: total.steal, total: busy + total.steal.unwrap_or(0) + idle }
}

/// Busy ticks of this machine's processors; user time includes guests.
pub(crate) fn busy(total: &CpuTime) -> u64 {
    let interrupts = total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
    total.user + total.nice + total.system + interrupts
}

/// Resident set of this process, and the highest one so far, in bytes; 0 if unknown.
pub(crate) fn resident_bytes() -> [u64; 2] {
    let status = Process::myself().and_then(|process| process.status()).ok();
    let bytes = |of: fn(&Status) -> Option<u64>| status.as_ref().and_then(of).unwrap_or(0) * 1024;
    [bytes(|status| status.vmrss), bytes(|status| status.vmhwm)]
}

/// Memory of this machine.
pub(crate) fn memory_bytes() -> Option<u64> {
    Meminfo::current().ok().map(|memory| memory.mem_total)
}

/// Name of the first processor.
pub(crate) fn processor() -> Option<String> {
    let text = std::fs::read("/proc/cpuinfo").ok()?;
    let info = procfs::CpuInfo::from_buf_read(text.as_slice()).ok()?;
    info.model_name(0).map(str::to_owned)
}

/// The boot id of this machine, and the PID namespace, in which numbers of processes are valid.
pub(crate) fn process_space() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// When a process was started, in the system's units: 0 if it is not running, absent if that is unknown.
pub(crate) fn process_start(process: u32) -> Option<u64> {
    match Process::new(i32::try_from(process).ok()?).and_then(|process| process.stat()) {
        Ok(stat) => Some(stat.starttime),
        Err(ProcError::NotFound(_)) => Some(0),
        Err(_) => None,
    }
}

/// Gives this thread the real-time class, at its lowest priority; whether that is permitted.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is no such class")]
pub(crate) fn enter_real_time() -> Option<bool> {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    Some(set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy).is_ok())
}

/// Returns this thread to the normal class; whether it is in it.
pub(crate) fn leave_real_time() -> bool {
    let normal = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    // The library also sets the niceness. From the best one, no privilege is needed to go back; if it cannot be set,
    // the thread has kept its own.
    let nice = getpriority_process(None).unwrap_or(0);
    drop(set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Max, normal));
    let _ = setpriority_process(None, nice);
    thread_schedule_policy().is_ok_and(|policy| policy == normal)
}

/// The kernel's statistics with these processor lines.
#[cfg(test)]
pub(crate) fn of_kernel(processors: &str) -> KernelStats {
    let rest = "\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n";
    read_kernel(&format!("{processors}{rest}")).unwrap()
}

#[cfg(test)]
pub(crate) fn read_kernel(text: &str) -> procfs::ProcResult<KernelStats> {
    use procfs::prelude::*;
    let system = procfs::ExplicitSystemInfo {
        boot_time_secs: 0,
        ticks_per_second: procfs::ticks_per_second(),
        page_size: 4_096,
        is_little_endian: true,
    };
    KernelStats::from_buf_read(text.as_bytes(), &system)
}
