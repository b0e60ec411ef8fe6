//! What a command does to a pass: a pace changes in a new phase, or a sentence is noted. The load is ended by
//! the stop request that comes with a command to stop. Must not touch an op.

use highwater_model::control::{Change, Command, Refusal};
use highwater_model::plan::{Pace, PhaseKind, StreamPlan};
use highwater_model::record::InterventionRecord;
use highwater_model::units::Nanos;

use crate::control::{Controls, Received};
use crate::executor::Pass;
use crate::planner::rate_max;
use crate::schedule::{NoChange, Schedule};

/// From a command to the phase that begins with it: until then all executors know of the phase, and sessions that
/// it needs besides are being opened.
pub const LEAD: Nanos = Nanos::from_millis(100);
/// Sessions of a stream that a command can have.
const SESSIONS_MAX: u32 = 65_536;
/// Characters of a note.
const NOTE_MAX: u32 = 1_000;
/// Notes of a run.
const NOTES_MAX: u32 = 1_000;

/// Obeys a command, or says why not.
pub(crate) fn obey(
    pass: &Pass,
    command: &Command,
    now: Nanos,
    controls: &Controls,
) -> Result<InterventionRecord, Refusal> {
    let Some((stream, pace)) = command.pace() else {
        // A stop has ended the phase at this moment.
        let before = now.saturating_sub(Nanos(1));
        let phase = pass.schedule.phase_at(before);
        let phase = phase.and_then(|(phase, _)| pass.schedule.phase(phase));
        let phase = phase.map_or("drain".to_owned(), |phase| phase.name);
        return without_pace(command, controls.since_begin(now), phase, controls);
    };
    change_pace(pass, stream, pace, now)
}

/// Obeys a command that comes when no load runs any more.
pub(crate) fn obey_after_load(
    received: &Received,
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
        Command::Note { text } => Change::Note {
            text: note(text, controls)?,
        },
        Command::Rate { .. } | Command::Sessions { .. } => return Err(Refusal::PacesOver),
    };
    Ok(InterventionRecord {
        time_ns: time.0,
        phase,
        change,
    })
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
    now: Nanos,
) -> Result<InterventionRecord, Refusal> {
    let plan = &pass.plan;
    if plan
        .phases
        .iter()
        .any(|phase| phase.kind == PhaseKind::Load)
    {
        return Err(Refusal::BeforePaces);
    }
    let mut streams = plan.streams.iter();
    let Some(position) = streams.position(|planned| planned.name == stream) else {
        let streams = plan
            .streams
            .iter()
            .map(|stream| stream.name.clone())
            .collect();
        return Err(Refusal::UnknownStream { streams });
    };
    if plan.stop.rows.is_some() {
        return Err(Refusal::EndsByRows);
    }
    let planned = &plan.streams[position];
    check(pass, planned, pace, pass.streams[position].closed)?;
    let at = now.saturating_add(LEAD);
    let begun = pass.schedule.change_pace(plan, position, pace, at);
    let begun = begun.map_err(|why| match why {
        NoChange::Over => Refusal::PacesOver,
        NoChange::Same => Refusal::Unchanged,
        NoChange::TooMany => Refusal::TooManyChanges {
            most: Schedule::CHANGES_MAX,
        },
    })?;
    if let Pace::Closed { sessions } = pace {
        let sessions = plan.share.part_of(sessions);
        pass.sessions.raise(position, sessions, Some(now));
    }
    pass.schedule.announce();
    Ok(InterventionRecord {
        time_ns: at.saturating_sub(pass.start).0,
        phase: begun.name,
        change: Change::Pace {
            stream: stream.to_owned(),
            unit: planned.unit,
            from: begun.from,
            to: pace,
        },
    })
}

/// Refuses a pace that no run would be planned with.
fn check(pass: &Pass, planned: &StreamPlan, pace: Pace, is_closed: bool) -> Result<(), Refusal> {
    let shares = pass.plan.share.of;
    match pace {
        Pace::Open { .. } if is_closed => Err(Refusal::StaysClosed),
        Pace::Open { rate } if rate.micro_per_s == 0 => Err(Refusal::NotARate),
        Pace::Open { rate } => {
            let most = rate_max(planned.units_per_op, shares);
            let most_per_s = most.as_f64();
            (rate <= most)
                .then_some(())
                .ok_or(Refusal::RateTooHigh { most_per_s })
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
