//! The progress of a running run, from its files alone. Must not write, or wait for a run.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use highwater_driver::regular_file::{self, MADE_BYTES_MAX};
use highwater_model::plan::Plan;
use serde::de::DeserializeOwned;

use super::journal::JournalLine;
use super::names::{JOURNAL, PLAN, PROBES};

/// Bytes at the end of a journal that contain its last line: a line has a few thousand at most.
const TAIL: u64 = 64 * 1_024;
/// Maximum nesting of experiments, such as the search at one size of a growth.
const NESTED_MAX: usize = 3;

/// Progress of a running run, from its files.
#[derive(Debug, Clone, PartialEq)]
pub struct Underway {
    /// The plan of the run, or of the current trial.
    pub plan: Plan,
    /// For an experiment: trials started.
    pub trials: u32,
    /// The newest counts; absent before the first second.
    pub last: Option<JournalLine>,
}

/// The progress of the run in a directory; absent if no process is running it.
pub fn underway(directory: &Path) -> Option<Underway> {
    if !is_locked(directory)? {
        return None;
    }
    let trials = super::list(&directory.join(PROBES)).unwrap_or_default();
    let running = innermost(directory);
    let plan = regular_file::read(&running.join(PLAN), MADE_BYTES_MAX).ok()?;
    Some(Underway {
        plan: serde_json::from_slice(&plan).ok()?,
        trials: u32::try_from(trials.len()).unwrap_or(u32::MAX),
        last: last_line(&running.join(JOURNAL)),
    })
}

/// The running run in a directory: its own, or the newest trial's. Absent if no process is running it, or if a stored
/// run is only being audited again.
pub fn at_work(directory: &Path) -> Option<PathBuf> {
    if !is_locked(directory)? {
        return None;
    }
    let running = innermost(directory);
    let is_stored = running == directory && super::has_record(directory);
    (!is_stored).then_some(running)
}

/// The newest trial of an experiment, or of a nested one; between two trials, none is running.
fn innermost(directory: &Path) -> PathBuf {
    let mut running = directory.to_owned();
    for _ in 0..NESTED_MAX {
        let trials = super::list(&running.join(PROBES)).unwrap_or_default();
        let Some(newest) = trials.into_iter().next() else {
            break;
        };
        running = newest;
    }
    running
}

/// Whether a process holds the lock of a run; absent if this cannot be determined. Tries a shared lock, so that two
/// readers do not see each other.
fn is_locked(directory: &Path) -> Option<bool> {
    let file = regular_file::open(&directory.join(PLAN)).ok()?;
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(fs::TryLockError::WouldBlock) => Some(true),
        Err(fs::TryLockError::Error(_)) => None,
    }
}

/// The last whole line of a file.
fn last_line<T: DeserializeOwned>(file: &Path) -> Option<T> {
    let mut file = regular_file::open(file).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let mut lines = tail.rsplit(|byte| *byte == b'\n');
    lines.find_map(|line| serde_json::from_slice(line).ok())
}
