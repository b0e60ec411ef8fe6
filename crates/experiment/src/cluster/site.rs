//! What every step of a cluster needs: its state, its options, the user's stop, and a shell command that is run
//! to its end within a time limit.
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

use highwater_driver::redaction::without_passwords;
use highwater_driver::{Target, TargetError};
use highwater_model::display::{harmless, span};
use highwater_model::units::Nanos;
use highwater_runner::clock::{RealClock, wall_clock};
use highwater_runner::interrupts::{Interrupts, StopRequest};
use rustix::process::Signal;

use super::control_group;
use super::error::ClusterError;
use super::launch::{Launch, User};
use super::processes::{Ended, Family};
use super::state::{Started, StateFile};

/// Pause between two looks at something that is waited for.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a command that was stopped may take to end by itself.
const STOP_WITHIN: Nanos = Nanos::from_secs(10);
/// Bytes at the end of a log that are shown.
const TAIL_BYTES: u64 = 2_000;
/// Lines of it.
const TAIL_LINES: usize = 8;
/// The most that a command may print that is read, bytes.
const PRINTED_MAX: u64 = 1 << 24;

/// Opens a target at a URL.
pub type OpenTarget = dyn Fn(&str) -> Result<Arc<dyn Target>, TargetError>;

/// What the user wants besides the file.
#[derive(Clone)]
pub struct Options {
    /// The cluster file's directory, where the user's commands are run.
    pub directory: PathBuf,
    /// Start nodes without quotas.
    pub no_quota: bool,
    /// Remove the nodes' data when the cluster ends.
    pub remove_data: bool,
    /// Take over nodes that a former call left running on purpose; otherwise they are an error.
    pub takes_over: bool,
    /// Variables of this process that nodes and commands do not get.
    pub hidden: Vec<OsString>,
    /// Opens a target, for readiness by SQL.
    pub open: Rc<OpenTarget>,
    /// Gets a line about each step.
    pub report: Rc<dyn Fn(&str)>,
}

/// See the module.
pub(super) struct Site {
    pub(super) options: Options,
    pub(super) file: StateFile,
    interrupts: Interrupts,
    /// Processes of this one, whose end the kernel wants to be noticed.
    children: Vec<Child>,
    /// Makes the marks of this process its own.
    number: u64,
}

/// A shell command.
pub(super) struct Shell<'a> {
    /// What it is for, such as "`up`".
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) directory: PathBuf,
    pub(super) user: Option<User>,
    pub(super) within: Nanos,
}

/// What a command did.
pub(super) struct Ran {
    /// Exit code; none after a signal.
    pub(super) code: Option<i32>,
    /// What it printed on standard output.
    pub(super) printed: String,
    /// What it printed on standard error.
    errors: String,
}

impl Site {
    pub(super) fn new(options: Options, file: StateFile, interrupts: Interrupts) -> Self {
        Self { options, file, interrupts, children: Vec::new(), number: 0 }
    }

    /// Reports something, and keeps it in the history.
    pub(super) fn note(&mut self, what: impl Into<String>) {
        let what = without_passwords(&what.into());
        (self.options.report)(&what);
        self.file.note(what);
    }

    /// Keeps an error that the caller gets in the history; its first line says what happened.
    pub(super) fn keep(&mut self, error: &ClusterError) {
        let line = error.message.lines().next().unwrap_or_default();
        self.file.note(without_passwords(line));
    }

    /// A mark that no other process has.
    pub(super) fn mark(&mut self) -> String {
        self.number += 1;
        let (pid, number) = (std::process::id(), self.number);
        format!("{pid}-{}-{number}", wall_clock().0)
    }

    /// Whether the user wants it to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.interrupts.requested().is_some()
    }

    /// Whether the user does not even want to wait for an end in order.
    pub(super) fn is_in_a_hurry(&self) -> bool {
        self.interrupts.requested() == Some(StopRequest::StopAtOnce)
    }

    /// Fails if the user wants it to stop.
    pub(super) fn check(&self, during: &str) -> Result<(), ClusterError> {
        if self.is_stopped() {
            return Err(ClusterError::interrupted(during));
        }
        Ok(())
    }

    /// Waits a moment.
    pub(super) fn pause(&mut self) {
        thread::sleep(PAUSE);
        self.reap();
    }

    /// Takes a process whose end is to be noticed.
    pub(super) fn adopt(&mut self, child: Child) {
        self.children.push(child);
    }

    /// Takes notice of the end of processes.
    pub(super) fn reap(&mut self) {
        let runs = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        self.children.retain_mut(runs);
    }

    /// Ends what was started, and removes its control groups; says what could not be done.
    pub(super) fn end(
        &mut self,
        started: &Started,
        within: Nanos,
        gently: impl FnOnce(&Family<'_>),
    ) -> Result<Ended, ClusterError> {
        let mut ended = Ended::Before;
        if let Some(leader) = started.id {
            let family = Family { leader, mark: &started.mark, groups: &started.groups };
            ended = family.end(|| gently(&family), within, || self.is_in_a_hurry());
        }
        self.reap();
        if let Ended::Not(left) = ended {
            let message = format!("{left} processes did not end when they were killed");
            return Err(ClusterError::failed(message).with_hint(
                "they wait for the kernel, such as for a disk: run `highwater cluster down` again \
                 once it responds",
            ));
        }
        if !control_group::remove(&started.groups) {
            let groups: Vec<String> =
                started.groups.iter().map(|group| group.display().to_string()).collect();
            let message = format!("cannot remove the control groups {}", groups.join(", "));
            return Err(
                ClusterError::failed(message).with_hint("run `highwater cluster down` again")
            );
        }
        Ok(ended)
    }

    /// Ends the command that runs, if one does.
    pub(super) fn end_command(&mut self) -> Result<(), ClusterError> {
        if let Some(started) = self.file.state.command.clone() {
            self.end(&started, STOP_WITHIN, |family| {
                family.signal(Signal::TERM);
            })?;
            self.file.state.command = None;
            self.file.write()?;
        }
        Ok(())
    }

    /// Runs a shell command to its end. A stop by the user, or the end of its time, ends all of it.
    ///
    /// `heeds_stop` is false for what has to be done when the user has stopped already; a second stop ends that.
    pub(super) fn run(&mut self, shell: &Shell<'_>, heeds_stop: bool) -> Result<Ran, ClusterError> {
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
        // A hurry of before was about something else, such as a load: what has to be done is done in spite of it.
        let hurried_before = self.is_in_a_hurry();
        let failure = loop {
            match child.try_wait() {
                Ok(Some(status)) => {
                    self.file.state.command = None;
                    // What it started in the background is nothing to be ended by the next Highwater.
                    self.file.write()?;
                    let printed = from(&output, 0);
                    // It may hold URLs with passwords; what cannot be removed is this user's alone.
                    let _removed = fs::remove_file(&output);
                    return Ok(Ran { code: status.code(), printed, errors: from(&log, begin) });
                }
                Ok(None) => {}
                Err(error) => {
                    break ClusterError::failed(format!("cannot wait for {name}: {error}"));
                }
            }
            let hurries = self.is_in_a_hurry() && !hurried_before;
            if (heeds_stop && self.is_stopped()) || hurries {
                break ClusterError::interrupted(format!("{name} was running"));
            }
            if clock.now() > shell.within {
                let limit = span(shell.within.0);
                let message = format!("{name} did not end within {limit}{}", tail_of(&log, begin));
                break ClusterError::failed(message);
            }
            self.pause();
        };
        self.adopt(child);
        self.end_command()?;
        Err(failure)
    }

    /// The same, and an error where it fails; returns what it printed.
    pub(super) fn run_well(
        &mut self,
        shell: &Shell<'_>,
        heeds_stop: bool,
    ) -> Result<String, ClusterError> {
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
        Err(ClusterError::failed(message).with_hint("run the command by hand to see more"))
    }
}

/// What was appended to a log from a place on.
pub(super) fn from(log: &Path, begin: u64) -> String {
    let mut bytes = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(begin))?;
        file.take(PRINTED_MAX).read_to_end(&mut bytes)
    });
    // A log that cannot be read shows nothing.
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
