//! Sends commands into a running run. Each gets a response; the queue never blocks a sender.
//!
//! A command changes a pace in a new phase of the pass, or adds a note. A stop command is carried out by the stop
//! request sent with it.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use highwater_driver::ClusterActions;
use highwater_driver::interrupts::Interrupter;
use highwater_model::control::{Change, Command, CommandSender, Refusal};
use highwater_model::numbers::round_to_u64;
use highwater_model::plan::{Pace, PhaseKind, StreamPlan};
use highwater_model::record::InterventionRecord;
use highwater_model::units::{Nanos, Rate};

use crate::executor::Pass;
use crate::planner::{SESSIONS_MAX, rate_max};
use crate::schedule::{NewPhase, NoChange, Schedule, ScheduledPhase, SessionRamp};
use crate::sessions::Appearance;

/// Maximum number of queued commands.
pub const WAITING_MAX: usize = 16;
/// Extra places for stops only: a stop is never refused.
const STOPS: usize = 2;

/// Sends commands to a run, from any thread.
#[derive(Debug, Clone)]
pub struct Controller {
    sender: mpsc::Sender<ReceivedCommand>,
    interrupter: Interrupter,
    /// Whether it controls an experiment, whose trials take no commands.
    of_trials: bool,
    by: Option<CommandSender>,
}

/// The commands of one run, and their results.
#[derive(Debug, Default)]
pub struct Controls {
    receiver: Option<mpsc::Receiver<ReceivedCommand>>,
    /// Phase times count from here.
    origin: Nanos,
    obeyed: Vec<InterventionRecord>,
    /// Performs the planned actions on the target's cluster.
    pub(crate) actions: Option<Arc<dyn ClusterActions>>,
}

/// A command that waits for its response.
#[derive(Debug)]
pub(crate) struct ReceivedCommand {
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

impl ReceivedCommand {
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
        let sent = self.sender.try_send(ReceivedCommand { command, by: self.by, reply });
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
    /// The same, with what performs the planned actions.
    pub(crate) fn acting(self, actions: Option<Arc<dyn ClusterActions>>) -> Self {
        Self { actions, ..self }
    }

    /// Whether commands can still arrive.
    pub(crate) fn is_open(&self) -> bool {
        self.receiver.is_some()
    }

    /// Starts a pass; times count from its start.
    pub(crate) fn begin(&mut self, origin: Nanos) {
        self.origin = origin;
    }

    /// The time since the start of the last pass.
    fn since_begin(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.origin)
    }

    /// The next command; never returns if none can arrive.
    pub(crate) async fn next(&mut self) -> ReceivedCommand {
        if let Some(receiver) = &mut self.receiver {
            if let Some(received) = receiver.recv().await {
                return received;
            }
            self.receiver = None;
        }
        std::future::pending().await
    }

    /// A command that has already arrived.
    pub(crate) fn waiting(&mut self) -> Option<ReceivedCommand> {
        self.receiver.as_mut()?.try_recv().ok()
    }

    /// Answers a command, and keeps its change.
    pub(crate) fn answer(
        &mut self,
        received: ReceivedCommand,
        answer: Result<InterventionRecord, Refusal>,
    ) {
        self.obeyed.extend(answer.clone());
        // The sender may not be waiting for the response.
        drop(received.reply.send(answer));
    }

    /// Keeps a planned action that was performed.
    pub(crate) fn keep(&mut self, done: InterventionRecord) {
        self.obeyed.push(done);
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

/// From a command to its phase: by then, all executors know the phase, and its additional sessions are being opened.
pub const LEAD: Nanos = Nanos::from_millis(100);
/// Maximum characters of a note.
const NOTE_MAX: u32 = 1_000;
/// Maximum notes of a run.
const NOTES_MAX: u32 = 1_000;

/// Applies a command, or returns why it is refused.
pub(crate) fn obey(
    pass: &Pass,
    command: &Command,
    now: Nanos,
    controls: &Controls,
) -> Result<InterventionRecord, Refusal> {
    let Some((stream, pace)) = command.pace() else {
        // A stop has just ended the phase.
        let phase = phase_at(pass, now.saturating_sub(Nanos(1)));
        let phase = phase.map_or("drain".to_owned(), |phase| phase.name);
        return without_pace(command, controls.since_begin(now), phase, controls);
    };
    change_pace(pass, stream, pace, command.ramp_per_s(), now)
}

/// Applies a command that arrives when no load is running.
pub(crate) fn obey_after_load(
    received: &ReceivedCommand,
    now: Nanos,
    controls: &Controls,
) -> Result<InterventionRecord, Refusal> {
    let (time, phase) = (controls.since_begin(now), "audit".to_owned());
    without_pace(&received.command, time, phase, controls)
}

fn without_pace(
    command: &Command,
    time: Nanos,
    phase: String,
    controls: &Controls,
) -> Result<InterventionRecord, Refusal> {
    let change = match command {
        Command::Stop => Change::Stop,
        Command::Note { text } => Change::Note { text: note(text, controls)? },
        Command::Pause | Command::Resume => return Err(Refusal::NoTrials),
        Command::Rate { .. } | Command::Sessions { .. } => return Err(Refusal::PacesOver),
    };
    Ok(InterventionRecord { by: None, time_ns: time.0, phase, change })
}

fn note(text: &str, controls: &Controls) -> Result<String, Refusal> {
    let text = text.trim();
    let is_long = text.chars().nth(NOTE_MAX as usize).is_some();
    match text {
        "" => Err(Refusal::EmptyNote),
        _ if is_long => Err(Refusal::NoteTooLong { most: NOTE_MAX }),
        _ if controls.notes() >= NOTES_MAX as usize => {
            Err(Refusal::TooManyNotes { most: NOTES_MAX })
        }
        _ => Ok(text.to_owned()),
    }
}

fn change_pace(
    pass: &Pass,
    stream: &str,
    pace: Pace,
    ramp_per_s: Option<f64>,
    now: Nanos,
) -> Result<InterventionRecord, Refusal> {
    let plan = &pass.plan;
    if plan.phases.iter().any(|phase| phase.kind == PhaseKind::Load) {
        return Err(Refusal::BeforePaces);
    }
    let mut streams = plan.streams.iter();
    let Some(position) = streams.position(|planned| planned.name == stream) else {
        let streams = plan.streams.iter().map(|stream| stream.name.clone()).collect();
        return Err(Refusal::UnknownStream { streams });
    };
    if plan.stop.rows.is_some() {
        return Err(Refusal::EndsByRows);
    }
    let planned = &plan.streams[position];
    check(pass, planned, pace, pass.streams[position].closed)?;
    let start = now.saturating_add(LEAD);
    refuse_in_ramp(pass, start)?;
    let ramp = match ramp_per_s {
        Some(per_s) => Some(ramp(pass, position, pace, start, per_s)?),
        None => None,
    };
    let begun = begin(pass, position, pace, start, ramp)?;
    if let Pace::Closed { sessions } = pace {
        let there = pass.sessions.in_stream(position);
        let appear =
            appearance(pass, ramp, there).unwrap_or(Appearance { first: now, apart: Nanos::ZERO });
        let sessions = plan.share.part_of(sessions);
        pass.sessions.raise(position, sessions, Some(appear));
    }
    pass.schedule.announce();
    let takes = ramp.map_or(Nanos::ZERO, |ramp| ramp.length());
    let at = start.saturating_add(takes);
    Ok(InterventionRecord {
        by: None,
        time_ns: at.saturating_sub(pass.start).0,
        phase: begun.name,
        change: Change::Pace {
            stream: stream.to_owned(),
            unit: planned.unit,
            from: begun.from,
            to: pace,
            ramp_per_s,
        },
    })
}

fn phase_at(pass: &Pass, at: Nanos) -> Option<ScheduledPhase> {
    let (phase, _) = pass.schedule.phase_at(at)?;
    pass.schedule.phase(phase)
}

/// Refuses a change during a session ramp, which leads to the announced phase.
fn refuse_in_ramp(pass: &Pass, at: Nanos) -> Result<(), Refusal> {
    match phase_at(pass, at).filter(|phase| phase.ramp.is_some()) {
        Some(ramp) => {
            Err(Refusal::RampGoesOn { left_s: ramp.times.end.saturating_sub(at).as_secs_f64() })
        }
        None => Ok(()),
    }
}

/// Replaces the rest of a phase with one of the changed pace.
fn begin(
    pass: &Pass,
    position: usize,
    pace: Pace,
    start: Nanos,
    ramp: Option<SessionRamp>,
) -> Result<NewPhase, Refusal> {
    let begun = if let Some(ramp) = ramp {
        pass.schedule.ramp(&pass.plan, ramp)
    } else {
        pass.schedule.change_pace(&pass.plan, position, pace, start)
    };
    begun.map_err(|why| match why {
        NoChange::Over => Refusal::PacesOver,
        NoChange::Same => Refusal::Unchanged,
        NoChange::TooMany => Refusal::TooManyChanges { most: Schedule::CHANGES_MAX },
        NoChange::TooLong { left } => Refusal::RampTooLong {
            takes_s: ramp.map_or(0.0, |ramp| ramp.length().as_secs_f64()),
            left_s: left.as_secs_f64(),
        },
    })
}

/// The ramp that a change requests, from the sessions of the phase in which it begins.
fn ramp(
    pass: &Pass,
    stream: usize,
    pace: Pace,
    start: Nanos,
    per_s: f64,
) -> Result<SessionRamp, Refusal> {
    let phase = phase_at(pass, start).ok_or(Refusal::PacesOver)?;
    let current = phase.paces[stream];
    let micro_per_s = round_to_u64(per_s * 1e6);
    match (current, pace) {
        (Pace::Closed { sessions: from }, Pace::Closed { sessions: to }) if micro_per_s > 0 => {
            if from == to {
                return Err(Refusal::Unchanged);
            }
            Ok(SessionRamp { stream, from, to, start, per_s: Rate { micro_per_s } })
        }
        _ => Err(Refusal::NotARamp),
    }
}

/// When a ramp's additional sessions start, each shortly before it has work; absent without a ramp.
fn appearance(pass: &Pass, ramp: Option<SessionRamp>, there: u32) -> Option<Appearance> {
    let ramp = ramp.filter(SessionRamp::grows)?;
    let share = &pass.plan.share;
    let first = ramp.reaches(share.whole_of(there, ramp.to)?);
    Some(Appearance { first: first.saturating_sub(LEAD), apart: ramp.takes(share.of) })
}

/// Refuses a pace with which no run would be planned.
fn check(pass: &Pass, planned: &StreamPlan, pace: Pace, is_closed: bool) -> Result<(), Refusal> {
    let shares = pass.plan.share.of;
    match pace {
        Pace::Open { .. } if is_closed => Err(Refusal::StaysClosed),
        Pace::Open { rate } if rate.micro_per_s == 0 => Err(Refusal::NotARate),
        Pace::Open { rate } => {
            let most = rate_max(planned.units_per_op, shares);
            let most_per_s = most.as_f64();
            (rate <= most).then_some(()).ok_or(Refusal::RateTooHigh { most_per_s })
        }
        Pace::Closed { sessions } if sessions < shares => {
            Err(Refusal::TooFewSessions { least: shares })
        }
        Pace::Closed { sessions } if sessions > SESSIONS_MAX => {
            Err(Refusal::TooManySessions { most: SESSIONS_MAX })
        }
        Pace::Closed { .. } => Ok(()),
    }
}
