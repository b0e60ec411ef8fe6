//! The run's time: the only module of the program that reads a clock.
//!
//! Two timelines share one contract and one heap of deadlines, so the same worker runs on either. The real one waits;
//! simulated time stands still while any task can run, then jumps to the next deadline.

mod real;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use highwater_model::units::Nanos;

use crate::{BoxFuture, Timeline};

pub use real::{ClockReadings, RealClock, RealTimeline, wall_clock};

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

    /// Runs `future` to completion. `None` if it waits for something that no deadline brings.
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::{join, select};

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
    fn a_sleep_that_was_given_up_does_not_hold_time() {
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
}
