//! Turns: one writer at a time, first come, first served.
//!
//! A plain mutex lets a thread that has just written overtake those that wait, and SQLite's own
//! busy handler sleeps in growing steps; both would show as latency that the database did not
//! cause. What must not be here: waiting with a time-out (a turn always ends with its transaction).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// A fair lock; blocks its thread, so it is for the database's own threads only.
#[derive(Debug, Default)]
pub(super) struct Turns {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    taken: bool,
    // At most one entry per thread of the target.
    waiting: VecDeque<Arc<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    called: AtomicBool,
    thread: Thread,
}

/// The right to write, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Threads that wait now.
    pub(super) fn waiting(&self) -> usize {
        self.queue().waiting.len()
    }

    /// Waits for this thread's turn.
    pub(super) fn wait(&self) -> Turn<'_> {
        let waiter = {
            let mut queue = self.queue();
            if !queue.taken {
                queue.taken = true;
                return Turn(self);
            }
            let waiter = Arc::new(Waiter {
                called: AtomicBool::new(false),
                thread: thread::current(),
            });
            queue.waiting.push_back(Arc::clone(&waiter));
            waiter
        };
        while !waiter.called.load(Ordering::Acquire) {
            thread::park();
        }
        Turn(self)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // The queue is whole at every point where a thread can panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        match queue.waiting.pop_front() {
            // Handed over without being free in between, so that nobody overtakes.
            Some(next) => {
                next.called.store(true, Ordering::Release);
                next.thread.unpark();
            }
            None => queue.taken = false,
        }
    }
}
