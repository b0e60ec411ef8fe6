//! Waits with a time limit, and timeouts without a timer per op: the watchdog checks every session's deadline a few
//! times a second.
//!
//! A timeout is detected at most a twentieth of its length (and at most 100 ms) late.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use futures_util::future::{Either, select};

use highwater_driver::Timeline;
use highwater_model::units::Nanos;

use crate::schedule::Schedule;

/// One session's op in flight.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// When the op times out; `None` while the session is idle.
    pub(crate) deadline: Cell<Option<Nanos>>,
    /// Set when the op has timed out.
    pub(crate) expired: Cell<bool>,
    pub(crate) waker: RefCell<Option<Waker>>,
}

/// All sessions of an executor thread.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    watches: RefCell<Vec<Rc<Watch>>>,
}

impl Watchdog {
    pub(crate) fn watch(&self) -> Rc<Watch> {
        let watch = Rc::new(Watch::default());
        self.watches.borrow_mut().push(Rc::clone(&watch));
        watch
    }

    /// Checks deadlines until it is dropped.
    pub(crate) async fn patrol(
        &self,
        timeline: &Rc<dyn Timeline>,
        schedule: &Schedule,
        timeout: Nanos,
        drain_limit: Nanos,
    ) {
        let period = Nanos((timeout.0.min(drain_limit.0) / 20).clamp(1_000_000, 100_000_000));
        let mut changed = schedule.subscribe();
        loop {
            let sleep = timeline.sleep_until(timeline.now().saturating_add(period));
            select(sleep, std::pin::pin!(changed.changed())).await;
            let give_up_all = schedule.end().saturating_add(drain_limit);
            self.expire(timeline.now(), give_up_all, schedule.is_aborted());
        }
    }

    fn expire(&self, now: Nanos, give_up_all: Nanos, aborted: bool) {
        for watch in self.watches.borrow().iter() {
            let deadline = watch.deadline.get();
            if deadline.is_some_and(|at| at <= now || aborted || give_up_all <= now) {
                watch.expired.set(true);
                if let Some(waker) = watch.waker.borrow_mut().take() {
                    waker.wake();
                }
            }
        }
    }
}

/// The future's result, or `None` if the deadline comes first.
pub(crate) async fn until<T>(
    deadline: Nanos,
    timeline: &dyn Timeline,
    future: impl Future<Output = T> + Unpin,
) -> Option<T> {
    match select(future, timeline.sleep_until(deadline)).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(_) => None,
    }
}

/// The same, with a time limit that starts now.
pub(crate) async fn within<T>(
    limit: Nanos,
    timeline: &dyn Timeline,
    future: impl Future<Output = T> + Unpin,
) -> Option<T> {
    until(timeline.now().saturating_add(limit), timeline, future).await
}
