//! Real time: the monotonic clock, and one operating-system timer per executor thread.
//!
//! An executor's own timers have millisecond steps; a timerfd wakes it within tens of
//! microseconds. The timer is set to the earliest deadline of the heap.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::{BoxFuture, Timeline};
use highwater_model::units::Nanos;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

use super::{DeadlineHeap, Sleep};

/// The origin of a run's time; shared by all executor threads.
#[derive(Debug, Clone, Copy)]
pub struct RealClock {
    origin: Instant,
}

impl RealClock {
    /// Time zero is now.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Time since the origin.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn now(self) -> Nanos {
        let elapsed = Instant::now().duration_since(self.origin);
        Nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// The clocks of this machine at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReadings {
    /// Time since the origin.
    pub monotonic: Nanos,
    /// Time since boot, and since 1970; absent if this thread was interrupted while reading them, so that they do not
    /// belong to the same moment.
    pub boot_and_wall: Option<[Nanos; 2]>,
}

impl RealClock {
    /// All clocks.
    pub fn readings(self) -> ClockReadings {
        /// An uninterrupted reading of all clocks takes less.
        const MOMENT: Nanos = Nanos::from_micros(500);
        const TRIES: u32 = 5;
        for _ in 0..TRIES {
            let monotonic = self.now();
            let both = [self.boot_clock(), wall_clock()];
            if self.now().saturating_sub(monotonic) < MOMENT {
                return ClockReadings { monotonic, boot_and_wall: Some(both) };
            }
        }
        ClockReadings { monotonic: self.now(), boot_and_wall: None }
    }

    /// Time since boot, including suspension.
    #[cfg(target_os = "linux")]
    #[expect(clippy::unused_self, reason = "elsewhere there is no such clock")]
    fn boot_clock(self) -> Nanos {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = Nanos::from_secs(u64::try_from(now.tv_sec).unwrap_or(0));
        seconds.saturating_add(Nanos(u64::try_from(now.tv_nsec).unwrap_or(0)))
    }

    /// Without a clock that advances during suspension, suspension goes undetected.
    #[cfg(not(target_os = "linux"))]
    fn boot_clock(self) -> Nanos {
        self.now()
    }
}

/// Nanoseconds since 1970-01-01T00:00:00Z.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn wall_clock() -> Nanos {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
}

/// The timeline of one executor thread.
#[derive(Clone)]
pub struct RealTimeline {
    clock: RealClock,
    heap: Rc<RefCell<DeadlineHeap>>,
    timer: Rc<Timer>,
}

struct Timer {
    fd: AsyncFd<OwnedFd>,
    // The timer's current deadline; `Nanos::MAX` if unset.
    set_to: Cell<Nanos>,
}

impl RealTimeline {
    /// Runs `make(timeline)` to completion on a new single-threaded executor on this thread.
    pub fn block_on<T, F, M>(clock: RealClock, make: M) -> std::io::Result<T>
    where
        F: Future<Output = T>,
        M: FnOnce(Rc<Self>) -> F,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            let timeline = Rc::new(Self::new(clock)?);
            let main = make(Rc::clone(&timeline));
            tokio::select! {
                biased;
                value = main => Ok(value),
                error = timeline.fire_for_ever() => Err(error),
            }
        })
    }

    fn new(clock: RealClock) -> std::io::Result<Self> {
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe; an owned descriptor keeps what that requires"
        )]
        let fd = AsyncFd::new(fd)?;
        let timer = Timer { fd, set_to: Cell::new(Nanos::MAX) };
        Ok(Self { clock, heap: Rc::default(), timer: Rc::new(timer) })
    }

    async fn fire_for_ever(&self) -> std::io::Error {
        loop {
            match self.timer.fd.readable().await {
                Ok(mut ready) => {
                    let mut count = [0_u8; 8];
                    // An empty read means that the timer was reset meanwhile.
                    let _ignored = ready.try_io(|fd| {
                        rustix::io::read(fd.get_ref(), &mut count).map_err(std::io::Error::from)
                    });
                }
                Err(error) => return error,
            }
            self.timer.set_to.set(Nanos::MAX);
            self.heap.borrow_mut().fire(self.clock.now());
            let next = self.heap.borrow_mut().next();
            if let Some(next) = next {
                self.timer.set(self.clock, next);
            }
        }
    }
}

impl Timer {
    fn set(&self, clock: RealClock, deadline: Nanos) {
        if deadline >= self.set_to.get() {
            return;
        }
        let left = deadline.saturating_sub(clock.now()).0.max(1);
        let value = Timespec {
            tv_sec: i64::try_from(left / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(left % 1_000_000_000).unwrap_or(0),
        };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        if timerfd_settime(self.fd.get_ref(), TimerfdTimerFlags::empty(), &once).is_ok() {
            self.set_to.set(deadline);
        }
    }
}

impl Timeline for RealTimeline {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn sleep_until(&self, deadline: Nanos) -> BoxFuture<'static, ()> {
        if deadline <= self.clock.now() {
            return Box::pin(std::future::ready(()));
        }
        let (timer, clock) = (Rc::clone(&self.timer), self.clock);
        let added: Rc<dyn Fn(Nanos)> = Rc::new(move |deadline| timer.set(clock, deadline));
        Box::pin(Sleep::new(&self.heap, deadline, Some(added)))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join;

    use super::*;

    #[test]
    fn deadlines_are_kept_in_any_order_of_asking() {
        let late = RealTimeline::block_on(RealClock::start(), |time| async move {
            let start = time.now();
            let sleep = |millis| {
                let time = Rc::clone(&time);
                async move {
                    let deadline = start + Nanos::from_millis(millis);
                    time.sleep_until(deadline).await;
                    time.now().0.checked_sub(deadline.0)
                }
            };
            join(sleep(20), sleep(5)).await
        })
        .unwrap();
        // Never early. How late depends on the machine; the benchmark measures it.
        assert!(late.0.is_some() && late.1.is_some());
    }
}
