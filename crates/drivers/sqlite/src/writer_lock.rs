//! A fair lock for the single writer: threads acquire it in order of arrival.
//!
//! With a plain mutex, a thread that has just written can overtake waiting ones, and SQLite's own busy handler sleeps
//! in growing steps. Both would appear as latency that the database did not cause. Must not wait with a timeout: a
//! writer always ends with its transaction.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// Blocks its thread, so it is only for the database's own threads.
#[derive(Debug, Default)]
pub(super) struct FairWriterLock {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    locked: bool,
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
pub(super) struct WriterGuard<'a>(&'a FairWriterLock);

impl FairWriterLock {
    /// Number of threads that wait now.
    pub(super) fn waiting(&self) -> usize {
        self.queue().waiting.len()
    }

    /// Waits until this thread may write.
    pub(super) fn acquire(&self) -> WriterGuard<'_> {
        let waiter = {
            let mut queue = self.queue();
            if !queue.locked {
                queue.locked = true;
                return WriterGuard(self);
            }
            let waiter =
                Arc::new(Waiter { called: AtomicBool::new(false), thread: thread::current() });
            queue.waiting.push_back(Arc::clone(&waiter));
            waiter
        };
        while !waiter.called.load(Ordering::Acquire) {
            thread::park();
        }
        WriterGuard(self)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // The queue is consistent at every point where a thread can panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WriterGuard<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        match queue.waiting.pop_front() {
            // Passed on without unlocking in between, so that no other thread can overtake.
            Some(next) => {
                next.called.store(true, Ordering::Release);
                next.thread.unpark();
            }
            None => queue.locked = false,
        }
    }
}
