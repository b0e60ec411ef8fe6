//! Stop requests to a run (one ends the load and finishes the run, two end it at once), and holding an experiment
//! between two runs. Must not handle operating-system signals, or carry out requests.

use tokio::sync::watch;

/// How the user wants a run to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRequest {
    /// End the phases, wait for outstanding responses, audit, report.
    Stop,
    /// Also abandon the ops in flight, and skip the audit.
    StopAtOnce,
}

/// Sends stop requests, from a signal handler or a test.
#[derive(Debug, Clone)]
pub struct Interrupter {
    count: watch::Sender<u32>,
    held: watch::Sender<bool>,
}

/// Receives the stop requests of a run.
#[derive(Debug, Clone)]
pub struct Interrupts {
    count: watch::Receiver<u32>,
    held: watch::Receiver<bool>,
}

/// A connected pair of sender and receiver.
pub fn channel() -> (Interrupter, Interrupts) {
    let interrupter = Interrupter { count: watch::Sender::new(0), held: watch::Sender::new(false) };
    let interrupts =
        Interrupts { count: interrupter.count.subscribe(), held: interrupter.held.subscribe() };
    (interrupter, interrupts)
}

impl Interrupter {
    /// Sends one more stop request.
    pub fn interrupt(&self) {
        self.count.send_modify(|count| *count = count.saturating_add(1));
    }

    /// Whether it has sent a stop request.
    pub fn has_interrupted(&self) -> bool {
        *self.count.borrow() > 0
    }

    /// Whether nothing receives its requests any more.
    pub fn is_closed(&self) -> bool {
        self.count.is_closed()
    }

    /// Holds an experiment after the current run, or resumes it.
    pub fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// Whether an experiment is to wait after the current run.
    pub fn is_held(&self) -> bool {
        *self.held.borrow()
    }
}

impl Interrupts {
    /// The next stop request; never returns once the sender is dropped.
    pub async fn next(&mut self) -> StopRequest {
        if self.count.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        if *self.count.borrow_and_update() > 1 {
            StopRequest::StopAtOnce
        } else {
            StopRequest::Stop
        }
    }

    /// The same receiver, without earlier requests.
    pub fn later(&self) -> Self {
        let mut later = self.clone();
        later.count.mark_unchanged();
        later
    }

    /// Whether an experiment is to wait.
    pub fn is_held(&self) -> bool {
        *self.held.borrow()
    }

    /// Waits until an experiment is not held; returns at once if it is not held or nothing can hold it.
    pub async fn released(&mut self) {
        // Without a sender, nothing is held.
        let _ = self.held.wait_for(|held| !held).await;
    }

    /// The most urgent request so far, if any.
    pub fn requested(&self) -> Option<StopRequest> {
        match *self.count.borrow() {
            0 => None,
            1 => Some(StopRequest::Stop),
            _ => Some(StopRequest::StopAtOnce),
        }
    }
}
