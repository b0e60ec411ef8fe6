//! Commands for a run in progress, the reasons to reject them, and their entries in the record.
//!
//! Data only. Must not apply a command, or hold text for users except the text they sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::FaultAction;
use super::numbers::round_to_u64;
use super::plan::{Pace, Unit};
use super::units::Rate;

/// A command to a run, as read from `--control`: one JSON object per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Ends the load, like Ctrl-C: once to finish the run with its audit, twice to end it immediately.
    Stop,
    /// Runs a stream at another rate, in a new phase.
    Rate {
        /// Name of the stream in the plan.
        stream: String,
        /// Units per second over all load generators; above 0.
        per_s: f64,
    },
    /// Runs a stream with this number of closed sessions, in a new phase.
    Sessions {
        /// Name of the stream in the plan.
        stream: String,
        /// Number of sessions over all load generators; at least one per load generator.
        sessions: u32,
        /// Sessions added or removed per second, over all load generators; the new phase starts when the change is
        /// complete. If absent, all change at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ramp_per_s: Option<f64>,
    },
    /// Pauses an experiment after the current trial, until it is resumed.
    Pause,
    /// Resumes a paused experiment.
    Resume,
    /// Adds a note to the record, with its time.
    Note {
        /// Text of the note, at most 1,000 characters.
        text: String,
    },
}

impl Command {
    /// The stream whose pace changes, and its new pace; `None` if none does.
    pub fn pace(&self) -> Option<(&str, Pace)> {
        match self {
            Self::Rate { stream, per_s } => {
                let micro_per_s = round_to_u64(per_s * 1e6);
                let rate = Rate { micro_per_s };
                Some((stream, Pace::Open { rate }))
            }
            Self::Sessions { stream, sessions, .. } => {
                let sessions = *sessions;
                Some((stream, Pace::Closed { sessions }))
            }
            Self::Stop | Self::Note { .. } | Self::Pause | Self::Resume => None,
        }
    }

    /// Sessions added or removed per second until a change is complete; absent if all change at once.
    pub const fn ramp_per_s(&self) -> Option<f64> {
        match self {
            Self::Sessions { ramp_per_s, .. } => *ramp_per_s,
            _ => None,
        }
    }
}

/// The change that a command made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// The load ended.
    Stop,
    /// The pace of a stream changed, and a new phase started.
    Pace {
        /// Name of the stream.
        stream: String,
        /// The unit of its rates.
        unit: Unit,
        /// Previous pace, over all load generators.
        from: Pace,
        /// New pace, over all load generators.
        to: Pace,
        /// Sessions added or removed per second, in a preceding phase that is excluded from all results; absent if all
        /// changed at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ramp_per_s: Option<f64>,
    },
    /// An experiment was paused between two trials; the pause did not count against its budget.
    Pause {
        /// Duration of the pause in nanoseconds.
        lasted_ns: u64,
    },
    /// A planned action on the target's cluster was performed.
    Fault {
        /// What was done.
        action: FaultAction,
        /// Its planned time, in nanoseconds from the start of the first measured phase.
        planned_ns: u64,
        /// Its duration, until it was complete.
        took_ns: u64,
        /// Why it failed; absent if it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// No change: a note was added.
    Note {
        /// Text of the note.
        text: String,
    },
}

/// A command that a run executed. The run's plan and its hash remain unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterventionRecord {
    /// Time at which it took effect, in nanoseconds from the start of the run, like the times of phases.
    pub time_ns: u64,
    /// Name of the phase that started with it; if none did, of the phase in which it was received.
    pub phase: String,
    /// The sender of the command; absent in older records, for a pause, and for a planned action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<CommandSender>,
    /// The change that it made.
    #[serde(flatten)]
    pub change: Change,
}

/// The sender of commands to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandSender {
    /// The live page in a browser.
    Page,
    /// The input of `--control`.
    Control,
}

impl InterventionRecord {
    /// Whether a phase began with it.
    pub fn begins_phase(&self) -> bool {
        matches!(self.change, Change::Pace { .. })
    }
}

/// The reason why a run refused a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum Refusal {
    /// Too many commands are waiting.
    QueueFull,
    /// The run has ended.
    RunOver,
    /// Tables are being filled before the first phase with a pace.
    BeforePaces,
    /// The last phase with a pace has ended, or would end before a new one could start.
    PacesOver,
    /// The run ends after a number of rows, which are counted per phase.
    EndsByRows,
    /// The run has already started the maximum number of phases.
    TooManyChanges {
        /// The maximum.
        most: u32,
    },
    /// The plan has no such stream.
    UnknownStream {
        /// The streams of the plan.
        streams: Vec<String>,
    },
    /// The stream already has this pace.
    Unchanged,
    /// The ramp's rate is not above 0, or the stream's pace before or after it is a rate.
    NotARamp,
    /// The phase would end before the ramp.
    RampTooLong {
        /// Duration of the ramp in seconds.
        takes_s: f64,
        /// Remaining duration of the phase in seconds.
        left_s: f64,
    },
    /// A ramp is still in progress.
    RampGoesOn {
        /// Remaining duration of the ramp in seconds.
        left_s: f64,
    },
    /// A single run has no trials between which it could pause.
    NoTrials,
    /// The stream is closed in every phase of the plan. Its sessions generate their next op in advance, which would
    /// take arrivals of an open load away from idle sessions.
    StaysClosed,
    /// The rate is 0 or not a number.
    NotARate,
    /// The rate is too high for the load generators to pace.
    RateTooHigh {
        /// Maximum rate in units per second, over all load generators.
        most_per_s: f64,
    },
    /// There would be fewer sessions than load generators.
    TooFewSessions {
        /// The minimum.
        least: u32,
    },
    /// The number of sessions exceeds the maximum of a run.
    TooManySessions {
        /// The maximum.
        most: u32,
    },
    /// The note is empty.
    EmptyNote,
    /// The note is too long.
    NoteTooLong {
        /// Maximum number of characters.
        most: u32,
    },
    /// The record already holds the maximum number of notes.
    TooManyNotes {
        /// The maximum.
        most: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &Command, pace: Option<(&str, Pace)>) {
        let command: Command = serde_json::from_str(line).unwrap();
        assert_eq!(&command, expected);
        assert_eq!(command.pace(), pace);
        let again = serde_json::to_string(&command).unwrap();
        assert_eq!(again, line, "written as it is read");
    }

    #[test]
    fn a_line_is_a_command() {
        check(r#"{"command":"stop"}"#, &Command::Stop, None);
        let stream = || "insert".to_owned();
        let per_s = 1.5;
        let rate = Rate { micro_per_s: 1_500_000 };
        let stream_of = |pace| Some(("insert", pace));
        check(
            r#"{"command":"rate","stream":"insert","per_s":1.5}"#,
            &Command::Rate { stream: stream(), per_s },
            stream_of(Pace::Open { rate }),
        );
        let sessions = |ramp_per_s| Command::Sessions { stream: stream(), sessions: 8, ramp_per_s };
        let line = r#"{"command":"sessions","stream":"insert","sessions":8}"#;
        let pace = stream_of(Pace::Closed { sessions: 8 });
        check(line, &sessions(None), pace);
        let line = r#"{"command":"sessions","stream":"insert","sessions":8,"ramp_per_s":2.5}"#;
        check(line, &sessions(Some(2.5)), pace);
        assert_eq!(sessions(Some(2.5)).ramp_per_s(), Some(2.5));
        check(r#"{"command":"pause"}"#, &Command::Pause, None);
        check(r#"{"command":"resume"}"#, &Command::Resume, None);
        let note = Command::Note { text: "compaction begins".to_owned() };
        check(r#"{"command":"note","text":"compaction begins"}"#, &note, None);
    }

    #[test]
    fn unknown_commands_are_not_read() {
        for line in [
            r#"{"command":"halt"}"#,
            r#"{"command":"rate","stream":"insert"}"#,
            r#"{"command":"rate","stream":"insert","per_s":1,"unit":"rows"}"#,
            r#"{"command":"sessions","stream":"insert","sessions":-1}"#,
            "stop",
        ] {
            assert!(serde_json::from_str::<Command>(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_rate_must_be_a_number() {
        for per_s in [0.0, -1.0, f64::NAN, 1e-9] {
            let stream = "insert".to_owned();
            let command = Command::Rate { stream, per_s };
            let rate = Rate { micro_per_s: 0 };
            assert_eq!(command.pace(), Some(("insert", Pace::Open { rate })));
        }
    }

    #[test]
    fn an_intervention_is_restored_from_its_json() {
        let record = InterventionRecord {
            by: None,
            time_ns: 5,
            phase: "measure-2".to_owned(),
            change: Change::Pace {
                stream: "insert".to_owned(),
                unit: Unit::Rows,
                from: Pace::Closed { sessions: 1 },
                to: Pace::Closed { sessions: 2 },
                ramp_per_s: None,
            },
        };
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(
            json,
            r#"{"time_ns":5,"phase":"measure-2","change":"pace","stream":"insert","unit":"rows","from":{"closed":{"sessions":1}},"to":{"closed":{"sessions":2}}}"#
        );
        assert_eq!(serde_json::from_str::<InterventionRecord>(&json).unwrap(), record);
    }
}
