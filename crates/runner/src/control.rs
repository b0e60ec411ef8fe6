//! Sends commands into a running run. Each gets a response; the queue never blocks a sender. Must not execute commands.

use highwater_model::control::{Command, CommandSender, Refusal};
use highwater_model::record::InterventionRecord;
use highwater_model::units::Nanos;
use tokio::sync::{mpsc, oneshot};

use highwater_driver::interrupts::Interrupter;

/// Maximum number of queued commands.
pub const WAITING_MAX: usize = 16;
/// Extra places for stops only: a stop is never refused.
const STOPS: usize = 2;

/// Sends commands to a run, from any thread.
#[derive(Debug, Clone)]
pub struct Controller {
    sender: mpsc::Sender<Received>,
    interrupter: Interrupter,
    /// Whether it controls an experiment, whose trials take no commands.
    of_trials: bool,
    by: Option<CommandSender>,
}

/// The commands of one run, and their results.
#[derive(Debug, Default)]
pub struct Controls {
    receiver: Option<mpsc::Receiver<Received>>,
    /// Phase times count from here.
    origin: Nanos,
    obeyed: Vec<InterventionRecord>,
}

/// A command that waits for its response.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) command: Command,
    by: Option<CommandSender>,
    reply: oneshot::Sender<Result<InterventionRecord, Refusal>>,
}

/// The response to a command, available once the run has processed it.
#[derive(Debug)]
pub struct Reply(oneshot::Receiver<Result<InterventionRecord, Refusal>>);

impl Reply {
    /// Waits for it and blocks the thread; not for a thread that runs other futures.
    ///
    /// # Errors
    /// The run's reason for refusing the command.
    pub fn wait(self) -> Result<InterventionRecord, Refusal> {
        self.0.blocking_recv().unwrap_or(Err(Refusal::RunOver))
    }

    /// Waits for it.
    ///
    /// # Errors
    /// The run's reason for refusing the command.
    pub async fn answer(self) -> Result<InterventionRecord, Refusal> {
        self.0.await.unwrap_or(Err(Refusal::RunOver))
    }
}

/// A connected pair. A stop goes to `interrupter`, whose other end the run also has.
pub fn channel(interrupter: Interrupter) -> (Controller, Controls) {
    let (sender, receiver) = mpsc::channel(WAITING_MAX + STOPS);
    let controls = Controls { receiver: Some(receiver), ..Controls::default() };
    (Controller { sender, interrupter, of_trials: false, by: None }, controls)
}

/// A controller for an experiment: accepts only a stop, and holding between two trials.
pub fn of_trials(interrupter: Interrupter) -> Controller {
    let (controller, _) = channel(interrupter);
    Controller { of_trials: true, ..controller }
}

impl Received {
    /// The change, with the sender of its command.
    pub(crate) fn signed(&self, done: InterventionRecord) -> InterventionRecord {
        InterventionRecord { by: self.by, ..done }
    }
}

impl Controller {
    /// The same controller for another sender, whom the record names.
    pub fn used_by(self, sender: CommandSender) -> Self {
        Self { by: Some(sender), ..self }
    }

    /// Sends a command without waiting. A stop takes effect whatever is queued.
    ///
    /// # Errors
    /// [`Refusal::QueueFull`] and [`Refusal::RunOver`]; other refusals come in the [`Reply`].
    pub fn send(&self, command: Command) -> Result<Reply, Refusal> {
        let is_stop = command == Command::Stop;
        let is_full = self.sender.capacity() <= STOPS && !self.sender.is_closed();
        if is_full && !is_stop {
            return Err(Refusal::QueueFull);
        }
        let (reply, answer) = oneshot::channel();
        let sent = self.sender.try_send(Received { command, by: self.by, reply });
        if is_stop {
            // After the command: the run may end first, and then answers the queued commands.
            self.interrupter.interrupt();
        }
        sent.map(|()| Reply(answer)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Refusal::QueueFull,
            mpsc::error::TrySendError::Closed(_) => Refusal::RunOver,
        })
    }

    /// Holds an experiment after the current trial, or resumes it. It takes effect whatever is queued.
    ///
    /// # Errors
    /// [`Refusal::NoTrials`] for a single run.
    pub fn hold(&self, held: bool) -> Result<(), Refusal> {
        if !self.of_trials {
            return Err(Refusal::NoTrials);
        }
        self.interrupter.hold(held);
        Ok(())
    }

    /// Whether an experiment is held, or will be after the current trial.
    pub fn is_held(&self) -> bool {
        self.interrupter.is_held()
    }
}

impl Controls {
    /// Whether commands can still arrive.
    pub(crate) fn is_open(&self) -> bool {
        self.receiver.is_some()
    }

    /// Starts a pass; times count from its start.
    pub(crate) fn begin(&mut self, origin: Nanos) {
        self.origin = origin;
    }

    /// The time since the start of the last pass.
    pub(crate) fn since_begin(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.origin)
    }

    /// The next command; never returns if none can arrive.
    pub(crate) async fn next(&mut self) -> Received {
        if let Some(receiver) = &mut self.receiver {
            if let Some(received) = receiver.recv().await {
                return received;
            }
            self.receiver = None;
        }
        std::future::pending().await
    }

    /// A command that has already arrived.
    pub(crate) fn waiting(&mut self) -> Option<Received> {
        self.receiver.as_mut()?.try_recv().ok()
    }

    /// Answers a command, and keeps its change.
    pub(crate) fn answer(
        &mut self,
        received: Received,
        answer: Result<InterventionRecord, Refusal>,
    ) {
        self.obeyed.extend(answer.clone());
        // The sender may not be waiting for the response.
        drop(received.reply.send(answer));
    }

    /// Number of notes so far.
    pub(crate) fn notes(&self) -> usize {
        self.obeyed.iter().filter(|done| !done.begins_phase()).count()
    }

    /// Changes made by commands, in order of arrival.
    pub(crate) fn obeyed(&mut self) -> Vec<InterventionRecord> {
        std::mem::take(&mut self.obeyed)
    }
}
