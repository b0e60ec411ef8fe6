//! Commands for a run in progress, the reasons to reject them, and their entries in the record.
//!
//! Data only. Must not apply a command, or hold text for users except the text they sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::numbers::round_to_u64;
use super::plan::{Pace, Unit};
use super::units::Rate;

/// A command to a run, as `--control` reads it, one JSON object a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Ends the load as Ctrl-C does: once to finish the run with its audit, twice to end it at once.
    Stop,
    /// Runs a stream at another rate, in a new phase.
    Rate {
        /// Its name in the plan.
        stream: String,
        /// Units per second, of all load generators together; above 0.
        per_s: f64,
    },
    /// Runs a stream with this number of closed sessions, in a new phase.
    Sessions {
        /// Its name in the plan.
        stream: String,
        /// Sessions of all load generators together; at least one for each of them.
        sessions: u32,
        /// So many of them come or go per second, of all load generators together; the new phase begins when all of
        /// them are there. Absent: all at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ramp_per_s: Option<f64>,
    },
    /// Lets an experiment wait behind the trial that runs, until it is resumed.
    Pause,
    /// Lets a paused experiment continue.
    Resume,
    /// Keeps a sentence in the record, with its time.
    Note {
        /// The sentence, at most 1,000 characters.
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

/// What a command changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// The load ended.
    Stop,
    /// A stream got another pace, and a new phase began.
    Pace {
        /// Its name.
        stream: String,
        /// What its rate counts.
        unit: Unit,
        /// Its pace until then, of all load generators together.
        from: Pace,
        /// Its pace from then on, of all load generators together.
        to: Pace,
        /// Its sessions came or went one by one before that, so many per second, in a phase that is in no result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ramp_per_s: Option<f64>,
    },
    /// An experiment waited between two trials; its budget did not run meanwhile.
    Pause {
        /// How long.
        lasted_ns: u64,
    },
    /// Nothing: a sentence was noted.
    Note {
        /// The sentence.
        text: String,
    },
}

/// A command that a run obeyed. Its plan, and that one's hash, stay as they were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterventionRecord {
    /// When it took effect, as the times of the phases count.
    pub time_ns: u64,
    /// The phase that began with it; where none did, the one in which it came.
    pub phase: String,
    /// Who sent the command; absent in older records, and of a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<CommandSender>,
    /// What it changed.
    #[serde(flatten)]
    pub change: Change,
}

/// Who sends commands to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandSender {
    /// A browser with the live page.
    Page,
    /// The source of `--control`.
    Control,
}

impl InterventionRecord {
    /// Whether a phase began with it.
    pub fn begins_phase(&self) -> bool {
        matches!(self.change, Change::Pace { .. })
    }
}

/// Why a run refused a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum Refusal {
    /// Too many commands wait.
    QueueFull,
    /// The run is over.
    RunOver,
    /// Its tables are being filled before the first phase with a pace.
    BeforePaces,
    /// The last phase with a pace is over, or is before a new one could begin.
    PacesOver,
    /// It ends by a number of rows, which are counted by phase.
    EndsByRows,
    /// As many phases were begun as a run may have.
    TooManyChanges {
        /// How many.
        most: u32,
    },
    /// The plan has no such stream.
    UnknownStream {
        /// Those that it has.
        streams: Vec<String>,
    },
    /// That is the stream's pace already.
    Unchanged,
    /// A ramp has no rate above 0, or leads from or to a rate.
    NotARamp,
    /// The phase is over before the ramp would be.
    RampTooLong {
        /// How long the ramp takes.
        takes_s: f64,
        /// How long the phase still lasts.
        left_s: f64,
    },
    /// Sessions come or go one by one.
    RampGoesOn {
        /// How long they still do.
        left_s: f64,
    },
    /// A single run has no trials between which it could wait.
    NoTrials,
    /// The stream is closed in every phase of the plan: its sessions make their next op ahead, which would
    /// take arrivals of an open load from sessions that are free.
    StaysClosed,
    /// The rate is 0, or no number.
    NotARate,
    /// No load generator can pace the rate.
    RateTooHigh {
        /// Units per second, of all load generators together.
        most_per_s: f64,
    },
    /// Not every load generator would have a session.
    TooFewSessions {
        /// The least.
        least: u32,
    },
    /// More sessions than a run opens.
    TooManySessions {
        /// The most.
        most: u32,
    },
    /// The note is empty.
    EmptyNote,
    /// The note is too long.
    NoteTooLong {
        /// Characters.
        most: u32,
    },
    /// As many notes were kept as a record may hold.
    TooManyNotes {
        /// How many.
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
