//! Faults: planned actions on the cluster of a target while it is loaded, as they are typed, planned, and recorded.
//!
//! Data only. Must not perform an action, or judge its effect.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::display::span;
use crate::numbers::round_to_u32;
use crate::quantity::parse_duration;
use crate::units::Nanos;
use crate::user_error::UserError;

/// Maximum number of planned actions.
pub const FAULTS_MAX: usize = 64;

/// Maximum characters of a command in a sentence.
const COMMAND_SHOWN: usize = 40;

/// An action on a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum FaultAction {
    /// Ends all processes of a node at once, by SIGKILL.
    Kill {
        /// Number of the node, from 1.
        node: u32,
    },
    /// Ends a node in order, as its cluster file describes.
    Stop {
        /// Number of the node, from 1.
        node: u32,
    },
    /// Starts a node that has ended, and waits until it is ready.
    Start {
        /// Number of the node, from 1.
        node: u32,
    },
    /// Ends a node in order, starts it, and waits until it is ready.
    Restart {
        /// Number of the node, from 1.
        node: u32,
    },
    /// Holds all processes of a node for a time, by SIGSTOP and SIGCONT.
    Pause {
        /// Number of the node, from 1.
        node: u32,
        /// Length in nanoseconds.
        for_ns: u64,
    },
    /// Lets all processes of a node run only a part of the time.
    Throttle {
        /// Number of the node, from 1.
        node: u32,
        /// The part of the time, in millionths.
        cpu_ppm: u32,
        /// Length in nanoseconds.
        for_ns: u64,
    },
    /// Restarts all nodes, one after the other.
    RollingRestart,
    /// Executes a statement on the target, on a session of its own.
    Sql {
        /// The statement.
        statement: String,
    },
    /// Runs a shell command of the user.
    Run {
        /// The command.
        command: String,
    },
}

/// An action with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedFault {
    /// Nanoseconds from the start of the first measured phase.
    pub at: Nanos,
    /// What is done.
    pub action: FaultAction,
}

impl FaultAction {
    /// The node that it is about.
    pub const fn node(&self) -> Option<u32> {
        match self {
            Self::Kill { node }
            | Self::Stop { node }
            | Self::Start { node }
            | Self::Restart { node }
            | Self::Pause { node, .. }
            | Self::Throttle { node, .. } => Some(*node),
            Self::RollingRestart | Self::Sql { .. } | Self::Run { .. } => None,
        }
    }

    /// Whether it acts on nodes.
    pub const fn is_of_nodes(&self) -> bool {
        !matches!(self, Self::Sql { .. } | Self::Run { .. })
    }

    /// `node 2 killed`, for a sentence about what was done.
    pub fn done(&self) -> String {
        match self {
            Self::Kill { node } => format!("node {node} killed"),
            Self::Stop { node } => format!("node {node} stopped"),
            Self::Start { node } => format!("node {node} started"),
            Self::Restart { node } => format!("node {node} restarted"),
            Self::Pause { node, for_ns } => format!("node {node} paused for {}", span(*for_ns)),
            Self::Throttle { node, cpu_ppm, for_ns } => {
                let (cpu, length) = (cpu(*cpu_ppm), span(*for_ns));
                format!("CPU of node {node} throttled to {cpu} for {length}")
            }
            Self::RollingRestart => "all nodes restarted".to_owned(),
            Self::Sql { statement } => format!("`{}` executed", shortened(statement)),
            Self::Run { command } => format!("`{}` run", shortened(command)),
        }
    }
}

/// A command or statement in a sentence.
fn shortened(text: &str) -> String {
    let short: String = text.chars().take(COMMAND_SHOWN).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short}{more}")
}

/// `0.2`.
fn cpu(ppm: u32) -> String {
    (f64::from(ppm) / 1e6).to_string()
}

/// `kill node 2`, as it is typed.
impl fmt::Display for FaultAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { node } => write!(f, "kill node {node}"),
            Self::Stop { node } => write!(f, "stop node {node}"),
            Self::Start { node } => write!(f, "start node {node}"),
            Self::Restart { node } => write!(f, "restart node {node}"),
            Self::Pause { node, for_ns } => write!(f, "pause node {node} for {}", span(*for_ns)),
            Self::Throttle { node, cpu_ppm, for_ns } => {
                write!(f, "throttle cpu of node {node} to {} for {}", cpu(*cpu_ppm), span(*for_ns))
            }
            Self::RollingRestart => f.write_str("rolling restart"),
            Self::Sql { statement } => write!(f, "sql '{statement}'"),
            Self::Run { command } => write!(f, "run '{command}'"),
        }
    }
}

/// What may be typed, for hints.
const FORMS: &str = "write actions with their times, such as 'kill node 2 at 30s, start it at 1m', 'pause node 1 for 5s at \
     20s', or \"run './failover.sh' at 30s\"; there are kill, stop, start, restart, pause, throttle cpu, rolling restart, \
     sql, and run";

/// Parses `kill node 2 at 2m, start it at 4m`; times count from the start of the first measured phase.
///
/// # Errors
/// It is not such a list; the message names the action that is wrong.
pub fn parse_faults(text: &str) -> Result<Vec<PlannedFault>, UserError> {
    let mut planned = Vec::new();
    let mut it = None;
    for clause in clauses(text)? {
        let fault = parse_clause(clause.trim(), it)?;
        it = fault.action.node().or(it);
        planned.push(fault);
    }
    Ok(planned)
}

/// The parts between commas that are in no quotes.
fn clauses(text: &str) -> Result<Vec<&str>, UserError> {
    let (mut quote, mut begin, mut found) = (None, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ',') => {
                found.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[begin..]);
    match quote {
        None => Ok(found),
        Some(open) => {
            Err(UserError::usage(format!("`{text}`: the quote {open} has no end")).with_hint(FORMS))
        }
    }
}

fn parse_clause(clause: &str, it: Option<u32>) -> Result<PlannedFault, UserError> {
    let wrong =
        |why: String| UserError::usage(format!("`{clause}`: {why}")).with_hint(FORMS.to_owned());
    let (what, at) =
        clause.rsplit_once(" at ").ok_or_else(|| wrong("it says no time (`at 30s`)".to_owned()))?;
    let at = parse_duration(at.trim()).map_err(|error| wrong(error.message))?;
    let (verb, rest) = what.trim().split_once(' ').unwrap_or((what.trim(), ""));
    let rest = rest.trim();
    if what.trim() == "rolling restart" {
        return Ok(PlannedFault { at, action: FaultAction::RollingRestart });
    }
    if matches!(verb, "run" | "sql") {
        let quoted = |quote| rest.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        let command = quoted('\'').or_else(|| quoted('"')).filter(|command| !command.is_empty());
        let text = command.map(str::to_owned);
        let action = match (verb, text) {
            ("sql", Some(statement)) => FaultAction::Sql { statement },
            ("run", Some(command)) => FaultAction::Run { command },
            ("sql", _) => return Err(wrong("`sql` needs a statement in quotes".to_owned())),
            _ => return Err(wrong("`run` needs a command in quotes".to_owned())),
        };
        return Ok(PlannedFault { at, action });
    }
    // `throttle cpu of node 2 to 0.2 for 30s`
    let (rest, cpu_ppm) = match verb {
        "throttle" => throttled(rest).map(|(rest, ppm)| (rest, Some(ppm))).map_err(wrong)?,
        _ => (rest.to_owned(), None),
    };
    let (place, length) = match (verb, rest.split_once(" for ")) {
        ("pause" | "throttle", Some((place, length))) => {
            let length = parse_duration(length.trim()).map_err(|error| wrong(error.message))?;
            (place.trim(), Some(length))
        }
        ("pause" | "throttle", None) => {
            return Err(wrong(format!("`{verb}` needs a length (`for 5s`)")));
        }
        _ => (rest.as_str(), None),
    };
    let number = place.strip_prefix("node ").and_then(|number| number.trim().parse().ok());
    let node = match (place, number, it) {
        ("it", _, Some(it)) => it,
        ("it", _, None) => {
            return Err(wrong("`it` is the node named before, and none is".to_owned()));
        }
        (_, Some(number), _) if number > 0 => number,
        _ => return Err(wrong(format!("`{place}` is no node, such as `node 2`"))),
    };
    let action = match (verb, length) {
        ("kill", _) => FaultAction::Kill { node },
        ("stop", _) => FaultAction::Stop { node },
        ("start", _) => FaultAction::Start { node },
        ("restart", _) => FaultAction::Restart { node },
        ("pause", Some(length)) => FaultAction::Pause { node, for_ns: length.0 },
        ("throttle", Some(length)) => {
            FaultAction::Throttle { node, cpu_ppm: cpu_ppm.unwrap_or_default(), for_ns: length.0 }
        }
        _ => return Err(wrong(format!("`{verb}` is no action"))),
    };
    Ok(PlannedFault { at, action })
}

/// `cpu of node 2 to 0.2 for 30s` as `node 2 for 30s`, and the part.
fn throttled(rest: &str) -> Result<(String, u32), String> {
    let parts = rest.strip_prefix("cpu of ").and_then(|rest| rest.split_once(" to "));
    let (place, rest) = parts.ok_or("it should be `throttle cpu of node 2 to 0.2 for 30s`")?;
    let (part, length) = rest.split_once(" for ").ok_or("`throttle` needs a length (`for 5s`)")?;
    let part = part.trim();
    let number = part.parse::<f64>().ok().filter(|number| (0.01..1.0).contains(number));
    let number = number.ok_or_else(|| format!("`{part}` is no part from 0.01 to below 1"))?;
    Ok((format!("{} for {length}", place.trim()), round_to_u32(number * 1e6)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, action: FaultAction) -> PlannedFault {
        PlannedFault { at: Nanos::from_secs(seconds), action }
    }

    #[test]
    fn actions_have_times_and_it_is_the_node_named_before() {
        let parsed = |text: &str| parse_faults(text).unwrap();
        assert_eq!(
            parsed("kill node 2 at 2m, start it at 4m"),
            [at(120, FaultAction::Kill { node: 2 }), at(240, FaultAction::Start { node: 2 })]
        );
        let pause = FaultAction::Pause { node: 1, for_ns: Nanos::from_secs(5).0 };
        assert_eq!(parsed("pause node 1 for 5s at 20s"), [at(20, pause)]);
        let run = |command: &str| FaultAction::Run { command: command.to_owned() };
        assert_eq!(
            parsed("run 'echo a, b at c' at 1s,run \"it's\" at 2s"),
            [at(1, run("echo a, b at c")), at(2, run("it's"))]
        );
        assert_eq!(
            parsed("stop node 3 at 1s, restart node 1 at 2s"),
            [at(1, FaultAction::Stop { node: 3 }), at(2, FaultAction::Restart { node: 1 })]
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_action() {
        let check = |text: &str, expected: &str| {
            let error = parse_faults(text).unwrap_err();
            assert!(error.message.contains(expected), "{text}: {}", error.message);
            assert!(error.hint.is_some_and(|hint| hint.contains("kill node 2 at 30s")), "{text}");
        };
        check("kill node 2", "`kill node 2`: it says no time");
        check("kill node 2 at 1s, start it", "`start it`: it says no time");
        check("start it at 1s", "none is");
        check("kill node 0 at 1s", "`node 0` is no node");
        check("kill the leader at 1s", "`the leader` is no node");
        check("pause node 1 at 1s", "needs a length");
        check("run ls at 1s", "needs a command in quotes");
        check("run 'ls at 1s", "has no end");
        check("burn node 1 at 1s", "`burn` is no action");
        check("kill node 1 at soon", "soon");
        check("sql DROP at 1s", "`sql` needs a statement in quotes");
        check("throttle node 1 to 0.2 for 5s at 1s", "throttle cpu of node 2 to 0.2 for 30s");
        check("throttle cpu of node 1 to 0.2 at 1s", "needs a length");
        check("throttle cpu of node 1 to 2 for 5s at 1s", "`2` is no part from 0.01 to below 1");
    }

    #[test]
    fn an_action_is_printed_as_it_is_typed() {
        let throttled = "throttle cpu of node 2 to 0.2 for 30 s";
        let others = ["run 'ls'", "restart node 3", "rolling restart", "sql 'ANALYZE t'"];
        let texts = ["kill node 2", "pause node 1 for 5 s", throttled].into_iter().chain(others);
        for text in texts {
            let typed = format!("{} at 1s", text.replace("5 s", "5s").replace("30 s", "30s"));
            assert_eq!(parse_faults(&typed).unwrap()[0].action.to_string(), text);
        }
    }
}
