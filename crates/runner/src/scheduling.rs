//! The class in which the kernel schedules the threads that send on time.
//!
//! Beside a busy database on the same host, a thread of the normal class that should send waits for
//! the scheduler's next tick, some milliseconds. One of the real-time class runs at once. An executor
//! takes it where that is permitted, and gives it up when it works too much to leave the machine to
//! others. What must not be here: what is sent, and when.

use highwater_model::record::SchedulingClass;
use highwater_model::units::Nanos;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::time::ClockId;
use thread_priority::{
    Error, NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority,
    ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id, thread_schedule_policy,
};

use crate::telemetry::cpu_time;

/// One part in so many of a core that a thread may use in the real-time class.
const CORE_PARTS: u64 = 4;

/// The class of this thread.
#[derive(Debug)]
pub(crate) struct Scheduling {
    class: SchedulingClass,
    /// When its CPU time was last looked at, and what it was.
    looked_at: Nanos,
    cpu: Nanos,
}

impl Scheduling {
    /// Takes the real-time class for this thread, if it must send on time. Threads that it starts
    /// would be in that class, too: those of an embedded database, for one.
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

    /// Gives the class up if the thread has used more than its part of a core since it was last
    /// looked at. Within a second the kernel's own limit holds, 95% by default.
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

    /// What was in force.
    pub(crate) fn class(&self) -> SchedulingClass {
        self.class
    }
}

/// At its least priority.
fn enter_real_time() -> Result<(), Error> {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy)
}

fn leave_real_time() -> bool {
    let normal = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    // The library sets the niceness, too. From the best one there is a way back without a privilege;
    // where there is none to it, the thread has kept its own.
    let nice = getpriority_process(None).unwrap_or(0);
    drop(set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Max, normal));
    let _ = setpriority_process(None, nice);
    thread_schedule_policy().is_ok_and(|policy| policy == normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread of its own, because the class is the thread's.
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

    /// The policy of this thread in the kernel's own words.
    fn kernel_policy() -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The name in brackets may hold blanks; the policy is the 41st field.
        let behind = stat.rsplit_once(") ").unwrap().1;
        behind.split(' ').nth(41 - 3).unwrap().to_owned()
    }
}
