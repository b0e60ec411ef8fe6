//! Shared by all steps of a cluster: its state, its options, the user's stop, and running a shell command within a time
//! limit.
//!
//! A file lists what was started, so that the next process finds it even if this one is killed. It is written before
//! anything starts, and after it has ended. Must not know nodes.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use highwater_driver::clock::{RealClock, wall_clock};
use highwater_driver::interrupts::{Interrupts, StopRequest};
use highwater_driver::regular_file::{self, WRITTEN_BYTES_MAX};
use highwater_driver::target_url::without_passwords;
use highwater_model::display::{harmless, span};
use highwater_model::quantity::print_instant;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::control_group;
use super::processes::{Family, FamilyEnd, Launch, ProcessId, User};
use crate::{HistoryEntry, Options};

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
    fn is_stopped(&self) -> bool {
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
    fn reap(&mut self) {
        let runs = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        self.children.retain_mut(runs);
    }

    /// Ends a process, and removes its control groups; returns what could not be done.
    pub(super) fn end(
        &mut self,
        started: &StartedProcess,
        within: Nanos,
        gently: impl FnOnce(&Family<'_>),
    ) -> Result<FamilyEnd, UserError> {
        let mut ended = FamilyEnd::Before;
        if let Some(leader) = started.id {
            let family = Family { leader, mark: &started.mark, groups: &started.groups };
            ended = family.end(|| gently(&family), within, || self.is_in_a_hurry());
        }
        self.reap();
        if let FamilyEnd::Not(left) = ended {
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
            Some(StartedProcess { id: Some(gated.id), mark: mark.clone(), groups: Vec::new() });
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

/// Version of the file format.
const VERSION: u32 = 1;
/// Directory mode: only the owner can enter, because logs may contain passwords.
const PRIVATE: u32 = 0o700;
/// Maximum sentences in the history.
const HISTORY_MAX: usize = 100;
/// Time limit for a lock that this process has released but that may still be held.
const GIVEN_BACK_WITHIN: Nanos = Nanos::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    version: u32,
    /// The boot id of the machine: processes and groups of an earlier boot no longer exist.
    boot: String,
    /// By number.
    pub(super) nodes: BTreeMap<u32, NodeState>,
    /// A command that is running, or was running when Highwater ended.
    pub(super) command: Option<StartedProcess>,
    /// The cluster of the user's own commands, if it may be up.
    pub(super) up: Option<UpState>,
    /// Events, newest last.
    pub(super) history: Vec<HistoryEntry>,
}

/// A node of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NodeState {
    /// Its process, if started and not ended.
    pub(super) process: Option<StartedProcess>,
    /// It may keep running after Highwater ends.
    pub(super) kept: bool,
    /// Ports by name.
    pub(super) ports: BTreeMap<String, u16>,
    /// Its data directory, created by Highwater.
    pub(super) data: PathBuf,
    /// Whether the data directory was prepared.
    pub(super) prepared: bool,
    /// The Highwater that holds its processes, if one does.
    #[serde(default)]
    pub(super) held_by: Option<ProcessId>,
}

impl NodeState {
    /// Its process, if known.
    pub(super) fn id(&self) -> Option<ProcessId> {
        self.process.as_ref()?.id
    }
}

/// A process that Highwater started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StartedProcess {
    /// Absent until known; until then, it is found only by its mark and groups.
    pub(super) id: Option<ProcessId>,
    /// The mark in the environment of everything that belongs to it.
    pub(super) mark: String,
    /// Its control groups.
    pub(super) groups: Vec<PathBuf>,
}

/// A cluster of the user's own commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UpState {
    /// The last requested number.
    pub(super) nodes: u32,
    /// It may keep running after Highwater ends.
    pub(super) kept: bool,
    /// The command that ends it, as of its start, with placeholders filled.
    #[serde(default)]
    pub(super) down: String,
    /// Time limit of that command, nanoseconds.
    #[serde(default)]
    pub(super) within_ns: u64,
}

/// The file, locked by this process.
pub(super) struct StateFile {
    directory: PathBuf,
    pub(super) state: State,
    /// Held until dropped, or until this process is killed.
    _lock: File,
}

impl StateFile {
    /// Opens the state of a cluster in its directory, which is created.
    pub(super) fn open(directory: &Path) -> Result<Self, UserError> {
        let place = directory.display();
        let disk = |what: &str, error| UserError::cannot(format!("{what} {place}"), &error);
        fs::create_dir_all(directory)
            .and_then(|()| fs::set_permissions(directory, Permissions::from_mode(PRIVATE)))
            .map_err(|error| disk("make the directory", error))?;
        let lock = locked(directory)?;
        let path = directory.join("state.json");
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let boot = boot.trim().to_owned();
        let mut state = match regular_file::read_text(&path, WRITTEN_BYTES_MAX) {
            Ok(text) => read(&text, &path)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => State::default(),
            Err(error) => return Err(disk("read the state in", error)),
        };
        if state.boot != boot {
            state.nodes.values_mut().for_each(|node| node.process = None);
            state.command = None;
        }
        (state.version, state.boot) = (VERSION, boot);
        Ok(Self { directory: directory.to_owned(), state, _lock: lock })
    }

    /// The directory of the file and of the logs.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes it completely or not at all.
    pub(super) fn write(&self) -> Result<(), UserError> {
        let path = self.directory.join("state.json");
        let new = self.directory.join("state.json.new");
        let written = serde_json::to_string_pretty(&self.state)
            .map_err(std::io::Error::from)
            .and_then(|text| File::create(&new)?.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&new, &path));
        let what = || format!("write {}", path.display());
        written.map_err(|error| UserError::cannot(what(), &error))
    }

    /// Adds a sentence to the history, which is written with the next change.
    pub(super) fn note(&mut self, what: String) {
        let now = wall_clock();
        let history = &mut self.state.history;
        history
            .push(HistoryEntry { at: print_instant(Nanos(now.0 - now.0 % Nanos::SECOND.0)), what });
        let surplus = history.len().saturating_sub(HISTORY_MAX);
        history.drain(..surplus);
    }
}

fn read(text: &str, path: &Path) -> Result<State, UserError> {
    let state: State = serde_json::from_str(text).map_err(|error| {
        let place = path.display();
        UserError::usage(format!("cannot read {place}: {error}"))
            .with_hint("end what this cluster left by hand, and delete the file")
    })?;
    if state.version == VERSION {
        return Ok(state);
    }
    let place = path.display();
    let message = format!("{place} has version {}, not {VERSION}", state.version);
    Err(UserError::usage(message)
        .with_hint("end the cluster with the version of Highwater that started it"))
}

/// Locks a cluster; the file names the holder. A lock released by this process may be held a moment longer by a process
/// that it is starting, which inherits all open files until it executes its program.
fn locked(directory: &Path) -> Result<File, UserError> {
    let path = directory.join("lock");
    let disk = |error| UserError::cannot(format!("open {}", path.display()), &error);
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(&path).map_err(disk)?;
    let clock = RealClock::start();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(disk(error)),
        }
        let mut holder = String::new();
        file.rewind().map_err(disk)?;
        file.read_to_string(&mut holder).map_err(disk)?;
        if holder != std::process::id().to_string() || clock.now() > GIVEN_BACK_WITHIN {
            let message = format!("the cluster is in use by another Highwater, process {holder}");
            return Err(UserError::usage(message)
                .with_hint("wait until it has ended, or end it with Ctrl-C"));
        }
        thread::sleep(LOCK_PAUSE);
    }
    file.set_len(0).map_err(disk)?;
    file.rewind().map_err(disk)?;
    write!(file, "{}", std::process::id()).map_err(disk)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_process_reads_the_state_and_two_at_once_are_rejected() {
        let place = tempfile::tempdir().unwrap();
        let mut file = StateFile::open(place.path()).unwrap();
        file.state.nodes.insert(2, NodeState::default());
        file.note("node 2 was made".to_owned());
        file.write().unwrap();
        let error = StateFile::open(place.path()).err().unwrap();
        let pid = std::process::id().to_string();
        assert!(error.message.ends_with(&pid), "{error}");
        drop(file);
        let again = StateFile::open(place.path()).unwrap();
        let mode = fs::metadata(place.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE);
        assert!(again.state.nodes.contains_key(&2));
        assert_eq!(again.state.history[0].what, "node 2 was made");
    }

    #[test]
    fn the_history_is_bounded() {
        let place = tempfile::tempdir().unwrap();
        let mut file = StateFile::open(place.path()).unwrap();
        (0..HISTORY_MAX + 5).for_each(|number| file.note(number.to_string()));
        assert_eq!(file.state.history.len(), HISTORY_MAX);
        assert_eq!(file.state.history[0].what, "5");
    }

    #[test]
    fn a_damaged_file_is_an_error_and_processes_of_an_earlier_boot_are_gone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state.json");
        fs::write(&path, "{").unwrap();
        assert!(StateFile::open(place.path()).is_err());
        let node = NodeState { process: Some(StartedProcess::default()), ..NodeState::default() };
        let state = State {
            version: VERSION,
            boot: "an earlier one".to_owned(),
            nodes: BTreeMap::from([(1, node)]),
            ..State::default()
        };
        fs::write(&path, serde_json::to_string(&state).unwrap()).unwrap();
        let file = StateFile::open(place.path()).unwrap();
        assert_eq!(file.state.nodes[&1].process, None);
    }
}
