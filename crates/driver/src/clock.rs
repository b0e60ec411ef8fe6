//! The run's time: the only module of the program that reads a clock.
//!
//! Two timelines share one contract and one heap of deadlines, so the same worker runs on either. The real one waits;
//! simulated time does not advance while any task can run, then jumps to the next deadline.
//!
//! Real time has the monotonic clock, and one timer per executor thread, which is set to the earliest deadline of the
//! heap.

mod timer;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;

use highwater_model::units::Nanos;

use self::timer::Timer;
use crate::{BoxFuture, Timeline};

/// Deadlines in order. Entries with equal deadlines wake in creation order, so that a simulated run is repeatable.
#[derive(Default)]
struct DeadlineHeap {
    heap: BinaryHeap<Reverse<(Nanos, u64)>>,
    // Slots by entry number; emptied when woken or dropped. Numbers are reused.
    waiters: Vec<Option<Waiter>>,
    free: Vec<usize>,
    sequence: u64,
}

struct Waiter {
    sequence: u64,
    waker: Waker,
    due: bool,
}

// The heap orders by (deadline, sequence); the slot is found by the low bits.
const SLOT_BITS: u32 = 24;

impl DeadlineHeap {
    /// The earliest deadline that still has a waiter.
    fn next(&mut self) -> Option<Nanos> {
        while let Some(Reverse((deadline, tag))) = self.heap.peek().copied() {
            if self.waits(tag) {
                return Some(deadline);
            }
            self.heap.pop();
        }
        None
    }

    /// Wakes every waiter whose deadline is at or before `now`.
    fn fire(&mut self, now: Nanos) {
        while self.next().is_some_and(|deadline| deadline <= now) {
            let Some(Reverse((_, tag))) = self.heap.pop() else {
                return;
            };
            if let Some(waiter) = self.waiters[slot_of(tag)].as_mut() {
                waiter.due = true;
                waiter.waker.wake_by_ref();
            }
        }
    }

    fn waits(&self, tag: u64) -> bool {
        self.waiters[slot_of(tag)].as_ref().is_some_and(|w| w.sequence == tag && !w.due)
    }

    fn insert(&mut self, deadline: Nanos, waker: Waker) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.waiters.push(None);
            self.waiters.len() - 1
        });
        self.sequence += 1;
        let tag = (self.sequence << SLOT_BITS) | slot as u64;
        self.waiters[slot] = Some(Waiter { sequence: tag, waker, due: false });
        self.heap.push(Reverse((deadline, tag)));
        tag
    }

    fn remove(&mut self, tag: u64) {
        let slot = slot_of(tag);
        let removed = self.waiters[slot].take_if(|waiter| waiter.sequence == tag);
        if removed.is_some() {
            self.free.push(slot);
        }
    }
}

fn slot_of(tag: u64) -> usize {
    usize::try_from(tag & ((1 << SLOT_BITS) - 1)).unwrap_or(usize::MAX)
}

/// Completes when its deadline has been fired.
struct Sleep {
    heap: Rc<RefCell<DeadlineHeap>>,
    deadline: Nanos,
    /// Called after an entry was added, so that a real timer can be moved forward.
    added: Option<Rc<dyn Fn(Nanos)>>,
    tag: Option<u64>,
}

impl Sleep {
    fn new(
        heap: &Rc<RefCell<DeadlineHeap>>,
        deadline: Nanos,
        added: Option<Rc<dyn Fn(Nanos)>>,
    ) -> Self {
        Self { heap: Rc::clone(heap), deadline, added, tag: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if let Some(tag) = this.tag {
            let mut heap = this.heap.borrow_mut();
            let Some(waiter) = heap.waiters[slot_of(tag)].as_mut() else {
                return Poll::Ready(());
            };
            if waiter.due {
                return Poll::Ready(());
            }
            waiter.waker.clone_from(context.waker());
            return Poll::Pending;
        }
        this.tag = Some(this.heap.borrow_mut().insert(this.deadline, context.waker().clone()));
        if let Some(added) = &this.added {
            added(this.deadline);
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(tag) = self.tag {
            self.heap.borrow_mut().remove(tag);
        }
    }
}

/// A timeline without a clock, for simulated targets and for tests. One thread only.
#[derive(Clone, Default)]
pub struct SimulatedTimeline {
    now: Rc<Cell<Nanos>>,
    heap: Rc<RefCell<DeadlineHeap>>,
}

impl SimulatedTimeline {
    /// Time zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `future` to completion. `None` if it waits for something other than a deadline.
    pub fn block_on<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Option<T> {
        let mut pool = LocalPool::new();
        let result = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&result);
        pool.spawner()
            .spawn_local(async move {
                let value = future.await;
                *slot.borrow_mut() = Some(value);
            })
            .ok()?;
        loop {
            pool.run_until_stalled();
            if let Some(value) = result.borrow_mut().take() {
                return Some(value);
            }
            let next = self.heap.borrow_mut().next()?;
            self.now.set(self.now.get().max(next));
            self.heap.borrow_mut().fire(next);
        }
    }
}

impl Timeline for SimulatedTimeline {
    fn now(&self) -> Nanos {
        self.now.get()
    }

    fn sleep_until(&self, deadline: Nanos) -> BoxFuture<'static, ()> {
        if deadline <= self.now.get() {
            return Box::pin(std::future::ready(()));
        }
        Box::pin(Sleep::new(&self.heap, deadline, None))
    }
}

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
    timer: Rc<NextDeadline>,
}

struct NextDeadline {
    timer: Timer,
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
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
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
        let timer = NextDeadline { timer: Timer::new()?, set_to: Cell::new(Nanos::MAX) };
        Ok(Self { clock, heap: Rc::default(), timer: Rc::new(timer) })
    }

    async fn fire_for_ever(&self) -> std::io::Error {
        loop {
            if let Err(error) = self.timer.timer.wait().await {
                return error;
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

impl NextDeadline {
    fn set(&self, clock: RealClock, deadline: Nanos) {
        let is_earlier = deadline < self.set_to.get();
        if is_earlier && self.timer.set(deadline.saturating_sub(clock.now())).is_ok() {
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
    use futures_util::future::{join, select};

    use super::*;

    #[test]
    fn time_jumps_to_the_next_deadline_in_order() {
        let time = SimulatedTimeline::new();
        let (a, b) = (time.clone(), time.clone());
        let log = Rc::new(RefCell::new(Vec::new()));
        let (first, second) = (Rc::clone(&log), Rc::clone(&log));
        let one = async move {
            for step in 1..=3 {
                a.sleep_until(Nanos::from_secs(step * 10)).await;
                first.borrow_mut().push(a.now().0 / 1_000_000_000);
            }
        };
        let two = async move {
            b.sleep_until(Nanos::from_secs(15)).await;
            second.borrow_mut().push(b.now().0 / 1_000_000_000);
        };
        assert!(time.block_on(join(one, two)).is_some());
        assert_eq!(*log.borrow(), [10, 15, 20, 30]);
    }

    #[test]
    fn an_abandoned_sleep_does_not_hold_time() {
        let time = SimulatedTimeline::new();
        let inner = time.clone();
        let end = time.block_on(async move {
            let long = inner.sleep_until(Nanos::from_secs(100));
            let short = inner.sleep_until(Nanos::from_secs(1));
            select(long, short).await;
            inner.sleep_until(Nanos::from_secs(2)).await;
            inner.now()
        });
        assert_eq!(end, Some(Nanos::from_secs(2)));
    }

    #[test]
    fn waiting_for_nothing_ends_instead_of_hanging() {
        assert_eq!(SimulatedTimeline::new().block_on(std::future::pending::<()>()), None);
    }

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
        // Never early. The delay depends on the machine; the benchmark measures it.
        assert!(late.0.is_some() && late.1.is_some());
    }
}
