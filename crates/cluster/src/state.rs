//! The file that lists what was started for a cluster, so that the next process finds it even if this one is killed.
//!
//! It is written before anything starts, and after it has ended. Must not start or end anything.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use highwater_driver::clock::{RealClock, wall_clock};
use highwater_driver::regular_file::{self, WRITTEN_BYTES_MAX};
use highwater_model::quantity::print_instant;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use serde::{Deserialize, Serialize};

use super::processes::ProcessId;

/// Version of the file format.
const VERSION: u32 = 1;
/// Directory mode: only the owner can enter, because logs may contain passwords.
const PRIVATE: u32 = 0o700;
/// Maximum sentences in the history.
const HISTORY_MAX: usize = 100;
/// Time limit for a lock that this process has released but that may still be held.
const GIVEN_BACK_WITHIN: Nanos = Nanos::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    version: u32,
    /// The boot id of the machine: processes and groups of an earlier boot are gone.
    boot: String,
    /// By number.
    pub(super) nodes: BTreeMap<u32, NodeState>,
    /// A command that is running, or was running when Highwater ended.
    pub(super) command: Option<Started>,
    /// The cluster of the user's own commands, if it may be up.
    pub(super) up: Option<UpState>,
    /// Events, newest last.
    pub(super) history: Vec<Happened>,
}

/// A node of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NodeState {
    /// Its process, if started and not ended.
    pub(super) process: Option<Started>,
    /// It may keep running after Highwater ends.
    pub(super) kept: bool,
    /// Ports by name.
    pub(super) ports: BTreeMap<String, u16>,
    /// Its data directory, created by Highwater.
    pub(super) data: PathBuf,
    /// Whether the data directory was prepared.
    pub(super) prepared: bool,
}

impl NodeState {
    /// Its process, if known.
    pub(super) fn id(&self) -> Option<ProcessId> {
        self.process.as_ref()?.id
    }
}

/// A process that Highwater started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Started {
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

/// A sentence of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happened {
    /// RFC 3339, UTC.
    pub at: String,
    /// The event.
    pub what: String,
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
        history.push(Happened { at: print_instant(Nanos(now.0 - now.0 % Nanos::SECOND.0)), what });
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
        thread::sleep(PAUSE);
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
    fn the_next_one_reads_what_was_written_and_two_at_once_are_refused() {
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
        let node = NodeState { process: Some(Started::default()), ..NodeState::default() };
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
