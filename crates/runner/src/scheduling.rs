//! The kernel scheduling class of threads that send on time.
//!
//! If a busy database runs on the same host, a thread of the normal class waits some milliseconds for the scheduler's
//! next tick. A real-time thread runs at once. An executor takes that class if permitted, and gives it up if it uses
//! too much CPU for the machine to stay responsive. Must not send anything.

use highwater_model::record::SchedulingClass;
use highwater_model::units::Nanos;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::time::ClockId;
use thread_priority::{
    Error, NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority,
    ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id, thread_schedule_policy,
};

use crate::telemetry::cpu_time;

/// A thread may use one part in this many of a core in the real-time class.
const CORE_PARTS: u64 = 4;

/// The class of this thread.
#[derive(Debug)]
pub(crate) struct Scheduling {
    class: SchedulingClass,
    /// When its CPU time was last checked, and its value.
    looked_at: Nanos,
    cpu: Nanos,
}

impl Scheduling {
    /// Takes the real-time class for this thread, if it must send on time. Threads that it starts inherit the class,
    /// for example those of an embedded database.
    pub(crate) fn enter(must_send_on_time: bool, now: Nanos) -> Self {
        let class = if !must_send_on_time {
            SchedulingClass::Normal
        } else if enter_real_time().is_ok() {
            SchedulingClass::RealTime
        } else {
            SchedulingClass::NotPermitted
        };
        Self { class, looked_at: now, cpu: cpu_time(ClockId::ThreadCPUTime) }
    }

    /// Gives the class up if the thread used more than its part of a core since the last check. Within a second, the
    /// kernel's own limit applies, 95% by default.
    pub(crate) fn review(&mut self, now: Nanos) {
        if self.class != SchedulingClass::RealTime {
            return;
        }
        let cpu = cpu_time(ClockId::ThreadCPUTime);
        let used = cpu.saturating_sub(self.cpu).0;
        let passed = now.saturating_sub(self.looked_at).0;
        (self.looked_at, self.cpu) = (now, cpu);
        if used > passed / CORE_PARTS && leave_real_time() {
            self.class = SchedulingClass::RealTimeGivenUp;
        }
    }

    /// The class in force.
    pub(crate) fn class(&self) -> SchedulingClass {
        self.class
    }
}

/// At its lowest priority.
fn enter_real_time() -> Result<(), Error> {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy)
}

fn leave_real_time() -> bool {
    let normal = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    // The library also sets the niceness. From the best one, no privilege is needed to go back; if it cannot be set,
    // the thread has kept its own.
    let nice = getpriority_process(None).unwrap_or(0);
    drop(set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Max, normal));
    let _ = setpriority_process(None, nice);
    thread_schedule_policy().is_ok_and(|policy| policy == normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A separate thread, because the class belongs to the thread.
    fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    fn use_cpu(amount: Nanos) {
        let end = cpu_time(ClockId::ThreadCPUTime).saturating_add(amount);
        while cpu_time(ClockId::ThreadCPUTime) < end {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_thread_that_need_not_send_on_time_stays_in_the_normal_class() {
        on_a_thread(|| {
            let mut scheduling = Scheduling::enter(false, Nanos::ZERO);
            scheduling.review(Nanos::SECOND);
            assert_eq!(scheduling.class(), SchedulingClass::Normal);
            assert_eq!(kernel_policy(), "0");
        });
    }

    #[test]
    fn a_thread_gives_the_real_time_class_up_when_it_takes_more_than_a_quarter_of_a_core() {
        on_a_thread(|| {
            let nice = getpriority_process(None).unwrap();
            let mut scheduling = Scheduling::enter(true, Nanos::ZERO);
            if scheduling.class() == SchedulingClass::NotPermitted {
                assert_eq!(kernel_policy(), "0");
                return;
            }
            assert_eq!(kernel_policy(), "1", "SCHED_FIFO");
            use_cpu(Nanos::from_millis(10));
            scheduling.review(Nanos::from_millis(100));
            assert_eq!(scheduling.class(), SchedulingClass::RealTime);
            assert_eq!(kernel_policy(), "1");
            // Of the 20 ms since then it used more than 10.
            use_cpu(Nanos::from_millis(10));
            scheduling.review(Nanos::from_millis(120));
            assert_eq!(scheduling.class(), SchedulingClass::RealTimeGivenUp);
            assert_eq!(kernel_policy(), "0");
            assert_eq!(getpriority_process(None), Ok(nice));
        });
    }

    /// The policy of this thread as reported by the kernel.
    fn kernel_policy() -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The name in parentheses may contain blanks; the policy is field 41.
        let behind = stat.rsplit_once(") ").unwrap().1;
        behind.split(' ').nth(41 - 3).unwrap().to_owned()
    }
}
