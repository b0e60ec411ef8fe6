//! Shared by all steps of a cluster: its state, its options, the user's stop, and running a shell command within a time
//! limit.
//!
//! Must not know nodes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use highwater_driver::Target;
use highwater_driver::clock::{RealClock, wall_clock};
use highwater_driver::interrupts::{Interrupts, StopRequest};
use highwater_driver::redaction::without_passwords;
use highwater_model::display::{harmless, span};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use rustix::process::Signal;

use super::control_group;
use super::processes::{Ended, Family};
use super::processes::{Launch, User};
use super::state::{Started, StateFile};

/// Pause between two checks while waiting.
const PAUSE: Duration = Duration::from_millis(50);
/// Time limit for a stopped command to end by itself.
const STOP_WITHIN: Nanos = Nanos::from_secs(10);
/// Bytes shown from the end of a log.
const TAIL_BYTES: u64 = 2_000;
/// Lines shown from the end of a log.
const TAIL_LINES: usize = 8;
/// Maximum output read from a command, bytes.
const PRINTED_MAX: u64 = 1 << 24;

/// Opens a target at a URL.
pub type OpenTarget = dyn Fn(&str) -> Result<Arc<dyn Target>, UserError>;

/// Options other than those of the file.
#[derive(Clone)]
pub struct Options {
    /// The cluster file's directory, where the user's commands run.
    pub directory: PathBuf,
    /// Start nodes without quotas.
    pub no_quota: bool,
    /// Remove the nodes' data when the cluster ends.
    pub remove_data: bool,
    /// Take over nodes that an earlier call left running on purpose; otherwise they are an error.
    pub takes_over: bool,
    /// Variables of this process to hide from nodes and commands.
    pub hidden: Vec<OsString>,
    /// Opens a target, for readiness by SQL.
    pub open: Rc<OpenTarget>,
    /// Receives a line about each step.
    pub report: Rc<dyn Fn(&str)>,
}

/// See the module documentation.
pub(super) struct Site {
    pub(super) options: Options,
    pub(super) file: StateFile,
    interrupts: Interrupts,
    /// Child processes that must be reaped.
    children: Vec<Child>,
    /// Makes the marks of this process unique.
    number: u64,
}

/// A shell command.
pub(super) struct Shell<'a> {
    /// Its purpose, such as "`up`".
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) directory: PathBuf,
    pub(super) user: Option<User>,
    pub(super) within: Nanos,
}

/// The result of a command.
pub(super) struct Ran {
    /// Exit code; `None` after a signal.
    pub(super) code: Option<i32>,
    /// Its standard output.
    pub(super) printed: String,
    /// Its standard error.
    errors: String,
}

impl Site {
    pub(super) fn new(options: Options, file: StateFile, interrupts: Interrupts) -> Self {
        Self { options, file, interrupts, children: Vec::new(), number: 0 }
    }

    /// Reports an event, and adds it to the history.
    pub(super) fn note(&mut self, what: impl Into<String>) {
        let what = without_passwords(&what.into());
        (self.options.report)(&what);
        self.file.note(what);
    }

    /// Adds an error that is returned to the caller to the history; its first line is the event.
    pub(super) fn keep(&mut self, error: &UserError) {
        let line = error.message.lines().next().unwrap_or_default();
        self.file.note(without_passwords(line));
    }

    /// A mark that no other process has.
    pub(super) fn mark(&mut self) -> String {
        self.number += 1;
        let (pid, number) = (std::process::id(), self.number);
        format!("{pid}-{}-{number}", wall_clock().0)
    }

    /// Whether the user has requested a stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.interrupts.requested().is_some()
    }

    /// Whether the user has requested to end without waiting.
    pub(super) fn is_in_a_hurry(&self) -> bool {
        self.interrupts.requested() == Some(StopRequest::StopAtOnce)
    }

    /// Fails if the user has requested a stop.
    pub(super) fn check(&self, during: &str) -> Result<(), UserError> {
        if self.is_stopped() {
            return Err(UserError::interrupted(format!("interrupted while {during}")));
        }
        Ok(())
    }

    /// Pauses briefly.
    pub(super) fn pause(&mut self) {
        thread::sleep(PAUSE);
        self.reap();
    }

    /// Adds a process to reap.
    pub(super) fn adopt(&mut self, child: Child) {
        self.children.push(child);
    }

    /// Reaps ended processes.
    pub(super) fn reap(&mut self) {
        let runs = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        self.children.retain_mut(runs);
    }

    /// Ends a process, and removes its control groups; returns what could not be done.
    pub(super) fn end(
        &mut self,
        started: &Started,
        within: Nanos,
        gently: impl FnOnce(&Family<'_>),
    ) -> Result<Ended, UserError> {
        let mut ended = Ended::Before;
        if let Some(leader) = started.id {
            let family = Family { leader, mark: &started.mark, groups: &started.groups };
            ended = family.end(|| gently(&family), within, || self.is_in_a_hurry());
        }
        self.reap();
        if let Ended::Not(left) = ended {
            let message = format!("{left} processes did not end when they were killed");
            return Err(UserError::cluster(message).with_hint(
                "they wait for the kernel, such as for a disk: run `highwater cluster down` again \
                 once it responds",
            ));
        }
        if !control_group::remove(&started.groups) {
            let groups: Vec<String> =
                started.groups.iter().map(|group| group.display().to_string()).collect();
            let message = format!("cannot remove the control groups {}", groups.join(", "));
            return Err(UserError::cluster(message).with_hint("run `highwater cluster down` again"));
        }
        Ok(ended)
    }

    /// Ends the current command, if any.
    pub(super) fn end_command(&mut self) -> Result<(), UserError> {
        if let Some(started) = self.file.state.command.clone() {
            self.end(&started, STOP_WITHIN, |family| {
                family.signal(Signal::TERM);
            })?;
            self.file.state.command = None;
            self.file.write()?;
        }
        Ok(())
    }

    /// Runs a shell command to completion. A stop by the user, or the time limit, ends all its processes.
    ///
    /// `heeds_stop` is false for a command that must run although the user has stopped; a second stop ends it.
    pub(super) fn run(&mut self, shell: &Shell<'_>, heeds_stop: bool) -> Result<Ran, UserError> {
        let name = shell.name;
        let log = self.file.directory().join("commands.log");
        let output = self.file.directory().join("commands.out");
        let words = ["/bin/sh", "-c", shell.text].map(str::to_owned);
        let mark = self.mark();
        let launch = Launch {
            words: &words,
            environment: &shell.environment,
            hidden: &self.options.hidden,
            directory: &shell.directory,
            log: &log,
            output: Some(&output),
            user: shell.user,
            mark: &mark,
        };
        let begin = fs::metadata(&log).map_or(0, |log| log.len());
        let gated = launch.start()?;
        self.file.state.command =
            Some(Started { id: Some(gated.id), mark: mark.clone(), groups: Vec::new() });
        self.file.write()?;
        let mut child = gated.release()?;
        let clock = RealClock::start();
        // An earlier hurry was about something else, such as a load: this command must still run.
        let hurried_before = self.is_in_a_hurry();
        let failure = loop {
            match child.try_wait() {
                Ok(Some(status)) => {
                    self.file.state.command = None;
                    // The next Highwater must not end the command's background processes.
                    self.file.write()?;
                    let printed = from(&output, 0);
                    // It may contain URLs with passwords; if it cannot be removed, only this user can read it.
                    let _removed = fs::remove_file(&output);
                    return Ok(Ran { code: status.code(), printed, errors: from(&log, begin) });
                }
                Ok(None) => {}
                Err(error) => {
                    break UserError::cluster(format!("cannot wait for {name}: {error}"));
                }
            }
            let hurries = self.is_in_a_hurry() && !hurried_before;
            if (heeds_stop && self.is_stopped()) || hurries {
                break UserError::interrupted(format!("interrupted while {name} was running"));
            }
            if clock.now() > shell.within {
                let limit = span(shell.within.0);
                let message = format!("{name} did not end within {limit}{}", tail_of(&log, begin));
                break UserError::cluster(message);
            }
            self.pause();
        };
        self.adopt(child);
        self.end_command()?;
        Err(failure)
    }

    /// The same, with an error if the command fails; returns its output.
    pub(super) fn run_well(
        &mut self,
        shell: &Shell<'_>,
        heeds_stop: bool,
    ) -> Result<String, UserError> {
        let ran = self.run(shell, heeds_stop)?;
        if ran.code == Some(0) {
            return Ok(ran.printed);
        }
        let ended = match ran.code {
            Some(code) => format!("ended with exit code {code}"),
            None => "was killed".to_owned(),
        };
        let words = if ran.errors.trim().is_empty() { &ran.printed } else { &ran.errors };
        let message = format!("{} {ended}{}", shell.name, tail(words));
        Err(UserError::cluster(message).with_hint("run the command by hand to see more"))
    }
}

/// The part of a log after a position.
pub(super) fn from(log: &Path, begin: u64) -> String {
    let mut bytes = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(begin))?;
        file.take(PRINTED_MAX).read_to_end(&mut bytes)
    });
    // An unreadable log counts as empty.
    read.map_or(String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
}

/// The end of a log, as lines below a message.
pub(super) fn tail_of(log: &Path, begin: u64) -> String {
    let length = fs::metadata(log).map_or(0, |log| log.len());
    tail(&from(log, begin.max(length.saturating_sub(TAIL_BYTES))))
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(TAIL_LINES));
    let last: Vec<String> = last
        .map(|line| format!("\n  | {}", harmless(&line.chars().take(200).collect::<String>())))
        .collect();
    match last.len() {
        0 => ", without a word".to_owned(),
        _ => format!("; its last words:{}", last.concat()),
    }
}
