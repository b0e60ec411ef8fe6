//! Stop requests to a run: one ends the load and finishes the run, two end it at once. What must not
//! be here: signals of the operating system, and what a run does about a request.

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
}

/// Receives the stop requests of a run.
#[derive(Debug, Clone)]
pub struct Interrupts {
    count: watch::Receiver<u32>,
}

/// A connected pair of sender and receiver.
pub fn channel() -> (Interrupter, Interrupts) {
    let (sender, receiver) = watch::channel(0);
    (
        Interrupter { count: sender },
        Interrupts { count: receiver },
    )
}

impl Interrupter {
    /// Sends one more stop request.
    pub fn interrupt(&self) {
        self.count
            .send_modify(|count| *count = count.saturating_add(1));
    }
}

impl Interrupts {
    /// The next stop request; never returns if the sender is gone.
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

    /// Whether anything was requested so far, and how urgently.
    pub fn requested(&self) -> Option<StopRequest> {
        match *self.count.borrow() {
            0 => None,
            1 => Some(StopRequest::Stop),
            _ => Some(StopRequest::StopAtOnce),
        }
    }
}
