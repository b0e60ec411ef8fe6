//! Simulated time: stands still while any task can run, then jumps to the next deadline.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use crate::{BoxFuture, Timeline};
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use highwater_model::units::Nanos;

use super::heap::{DeadlineHeap, Sleep};

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
