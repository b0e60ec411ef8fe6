//! "Stop", as it reaches a run: once means stop asking and finish, twice means at once.

use tokio::sync::watch;

/// What the user wishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// End the phases, wait for the answers, audit, report.
    Stop,
    /// Give up what is in flight, too, and do not audit.
    StopAtOnce,
}

/// Where wishes are sent from: a signal handler, or a test.
#[derive(Debug, Clone)]
pub struct Interrupter {
    count: watch::Sender<u32>,
}

/// Where a run receives them.
#[derive(Debug, Clone)]
pub struct Interrupts {
    count: watch::Receiver<u32>,
}

/// A pair.
pub fn channel() -> (Interrupter, Interrupts) {
    let (sender, receiver) = watch::channel(0);
    (
        Interrupter { count: sender },
        Interrupts { count: receiver },
    )
}

impl Interrupter {
    /// Wishes once more.
    pub fn interrupt(&self) {
        self.count
            .send_modify(|count| *count = count.saturating_add(1));
    }
}

impl Interrupts {
    /// The next wish; waits for ever if none can come.
    pub async fn next(&mut self) -> Wish {
        if self.count.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        if *self.count.borrow_and_update() > 1 {
            Wish::StopAtOnce
        } else {
            Wish::Stop
        }
    }

    /// Whether anything was wished so far, and how urgently.
    pub fn wished(&self) -> Option<Wish> {
        match *self.count.borrow() {
            0 => None,
            1 => Some(Wish::Stop),
            _ => Some(Wish::StopAtOnce),
        }
    }
}
