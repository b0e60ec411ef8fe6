//! The way into a run that goes on: commands, each with an answer, in a queue that never makes anyone wait. What
//! a command does must not be here.

use highwater_model::control::{Command, Refusal};
use highwater_model::record::InterventionRecord;
use highwater_model::units::Nanos;
use tokio::sync::{mpsc, oneshot};

use crate::interrupts::Interrupter;

/// Commands that may wait.
pub const WAITING_MAX: usize = 16;
/// Places behind those, for stops alone: a stop is never refused.
const STOPS: usize = 2;

/// Sends commands to a run, from any thread.
#[derive(Debug, Clone)]
pub struct Controller {
    sender: mpsc::Sender<Received>,
    interrupter: Interrupter,
    /// Whether it is of an experiment, whose trials take no commands.
    of_trials: bool,
}

/// The commands of one run, and what came of them.
#[derive(Debug, Default)]
pub struct Controls {
    receiver: Option<mpsc::Receiver<Received>>,
    /// Where the times of the phases count from.
    origin: Nanos,
    obeyed: Vec<InterventionRecord>,
}

/// A command that waits for its answer.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) command: Command,
    reply: oneshot::Sender<Result<InterventionRecord, Refusal>>,
}

/// The answer to a command, which comes when the run has looked at it.
#[derive(Debug)]
pub struct Reply(oneshot::Receiver<Result<InterventionRecord, Refusal>>);

impl Reply {
    /// Waits for it, blocking the thread: not meant for a thread that runs others' futures.
    ///
    /// # Errors
    /// Why the run refused.
    pub fn wait(self) -> Result<InterventionRecord, Refusal> {
        self.0.blocking_recv().unwrap_or(Err(Refusal::RunOver))
    }

    /// Waits for it.
    ///
    /// # Errors
    /// Why the run refused.
    pub async fn answer(self) -> Result<InterventionRecord, Refusal> {
        self.0.await.unwrap_or(Err(Refusal::RunOver))
    }
}

/// A connected pair; a stop goes to `interrupter`, whose other end the run has as well.
pub fn channel(interrupter: Interrupter) -> (Controller, Controls) {
    let (sender, receiver) = mpsc::channel(WAITING_MAX + STOPS);
    let controls = Controls { receiver: Some(receiver), ..Controls::default() };
    (Controller { sender, interrupter, of_trials: false }, controls)
}

/// What may be sent to an experiment: a stop, and whether it waits between two trials.
pub fn of_trials(interrupter: Interrupter) -> Controller {
    let (controller, _) = channel(interrupter);
    Controller { of_trials: true, ..controller }
}

impl Controller {
    /// Sends a command, and never waits. A stop takes effect whatever waits.
    ///
    /// # Errors
    /// [`Refusal::QueueFull`] and [`Refusal::RunOver`]; others are the [`Reply`].
    pub fn send(&self, command: Command) -> Result<Reply, Refusal> {
        let is_stop = command == Command::Stop;
        let is_full = self.sender.capacity() <= STOPS && !self.sender.is_closed();
        if is_full && !is_stop {
            return Err(Refusal::QueueFull);
        }
        let (reply, answer) = oneshot::channel();
        let sent = self.sender.try_send(Received { command, reply });
        if is_stop {
            // Behind the command: the run may be over before anything else is done here, and answers what waits.
            self.interrupter.interrupt();
        }
        sent.map(|()| Reply(answer)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Refusal::QueueFull,
            mpsc::error::TrySendError::Closed(_) => Refusal::RunOver,
        })
    }

    /// Lets an experiment wait behind the trial that runs, or continue. It takes effect whatever waits.
    ///
    /// # Errors
    /// [`Refusal::NoTrials`] of a single run.
    pub fn hold(&self, held: bool) -> Result<(), Refusal> {
        if !self.of_trials {
            return Err(Refusal::NoTrials);
        }
        self.interrupter.hold(held);
        Ok(())
    }

    /// Whether an experiment waits behind the trial that runs, or will.
    pub fn is_held(&self) -> bool {
        self.interrupter.is_held()
    }
}

impl Controls {
    /// Whether any command can come.
    pub(crate) fn is_open(&self) -> bool {
        self.receiver.is_some()
    }

    /// A pass begins, from whose begin times count.
    pub(crate) fn begin(&mut self, origin: Nanos) {
        self.origin = origin;
    }

    /// The time since the begin of the last pass.
    pub(crate) fn since_begin(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.origin)
    }

    /// The next command; never returns where none can come.
    pub(crate) async fn next(&mut self) -> Received {
        if let Some(receiver) = &mut self.receiver {
            if let Some(received) = receiver.recv().await {
                return received;
            }
            self.receiver = None;
        }
        std::future::pending().await
    }

    /// A command that came already.
    pub(crate) fn waiting(&mut self) -> Option<Received> {
        self.receiver.as_mut()?.try_recv().ok()
    }

    /// Answers a command, and keeps what it changed.
    pub(crate) fn answer(
        &mut self,
        received: Received,
        answer: Result<InterventionRecord, Refusal>,
    ) {
        self.obeyed.extend(answer.clone());
        // Who sent it need not wait for the answer.
        drop(received.reply.send(answer));
    }

    /// Notes so far.
    pub(crate) fn notes(&self) -> usize {
        self.obeyed.iter().filter(|done| !done.begins_phase()).count()
    }

    /// What commands have changed, in the order in which they came.
    pub(crate) fn obeyed(&mut self) -> Vec<InterventionRecord> {
        std::mem::take(&mut self.obeyed)
    }
}
