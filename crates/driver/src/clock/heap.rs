//! Deadlines and their waiters, shared by both timelines.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use highwater_model::units::Nanos;

/// Deadlines in order. Entries with equal deadlines wake in creation order, so that a simulated run is repeatable.
#[derive(Default)]
pub(super) struct DeadlineHeap {
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
    pub(super) fn next(&mut self) -> Option<Nanos> {
        while let Some(Reverse((deadline, tag))) = self.heap.peek().copied() {
            if self.waits(tag) {
                return Some(deadline);
            }
            self.heap.pop();
        }
        None
    }

    /// Wakes every waiter whose deadline is at or before `now`.
    pub(super) fn fire(&mut self, now: Nanos) {
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
pub(super) struct Sleep {
    pub(super) heap: Rc<RefCell<DeadlineHeap>>,
    pub(super) deadline: Nanos,
    /// Called after an entry was added, so that a real timer can be moved forward.
    pub(super) added: Option<Rc<dyn Fn(Nanos)>>,
    tag: Option<u64>,
}

impl Sleep {
    pub(super) fn new(
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
