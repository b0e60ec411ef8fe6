//! Processes started by a page: one at a time, because two loads on one machine distort each other's measurement. They
//! are in separate process groups, so that signals to the server do not end them. Must not decide what may be started.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_driver::redaction::without_passwords;
use highwater_live::{StartedCommand, StartedState};
use highwater_runner::store;

use crate::invocation::HANDOVER;

/// Maximum number of commands shown; older ones are in the list of runs.
const SHOWN_MAX: usize = 20;
/// Maximum bytes at the end of an output that are shown.
const OUTPUT_MAX: u64 = 4_096;
/// Maximum number of newest runs that are checked for being in progress.
const GOING_ON_MAX: usize = 1_000;

/// The processes.
#[derive(Default)]
pub(super) struct Processes(Mutex<Vec<Started>>);

struct Started {
    number: u32,
    command_line: String,
    child: Child,
    /// Without a name, so that it disappears with the last of both processes.
    output: File,
    /// Exit status, once it is over.
    ended: Option<ExitStatus>,
}

impl Processes {
    /// Starts a process that stores its runs below `root`, without the environment variables `hidden`. Fails if a run
    /// is in progress there, whichever process started it.
    pub(super) fn start(
        &self,
        arguments: &[String],
        hidden: &[OsString],
        command_line: String,
        root: &Path,
    ) -> Result<(), String> {
        let mut all = self.seen();
        if let Some(running) = all.iter().find(|one| one.ended.is_none()) {
            let line = &running.command_line;
            return Err(format!("`{line}` goes on: stop it, or wait until it is over"));
        }
        if let Some(run) = going_on(root) {
            return Err(format!(
                "`{run}`, which was started elsewhere, goes on: stop it there, or wait until it is over"
            ));
        }
        let number = all.last().map_or(1, |last| last.number + 1);
        let (child, output) =
            spawned(arguments, hidden).map_err(|error| format!("it cannot be started: {error}"))?;
        all.push(Started { number, command_line, child, output, ended: None });
        if all.len() > SHOWN_MAX {
            all.remove(0);
        }
        Ok(())
    }

    /// Started commands, newest first.
    pub(super) fn started(&self) -> Vec<StartedCommand> {
        let all = self.seen();
        all.iter()
            .rev()
            .map(|one| StartedCommand {
                number: one.number,
                command_line: one.command_line.clone(),
                state: match one.ended {
                    None => StartedState::Running,
                    Some(status) => StartedState::Ended {
                        code: status.code(),
                        output: tail(&one.output).unwrap_or_default(),
                    },
                },
            })
            .collect()
    }

    pub(super) fn stop(&self, number: u32) -> Result<(), String> {
        let all = self.seen();
        let running = all.iter().find(|one| one.number == number);
        // Its process ID cannot be reused until its end was observed.
        match running.filter(|one| one.ended.is_none()) {
            Some(one) => interrupt(&one.child).map_err(|error| error.to_string()),
            None => Err("it is over".to_owned()),
        }
    }

    /// All processes, with their current state.
    fn seen(&self) -> MutexGuard<'_, Vec<Started>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for one in all.iter_mut().filter(|one| one.ended.is_none()) {
            if let Ok(Some(status)) = one.child.try_wait() {
                one.ended = Some(status);
            }
        }
        all
    }
}

/// The ID of a run below `root` that a process is running.
fn going_on(root: &Path) -> Option<String> {
    let runs = store::list(root).unwrap_or_default();
    let mut newest = runs.iter().take(GOING_ON_MAX);
    let run = newest.find(|run| store::underway(run).is_some())?;
    Some(run.file_name()?.to_string_lossy().into_owned())
}

fn spawned(arguments: &[String], hidden: &[OsString]) -> io::Result<(Child, File)> {
    let output = tempfile::tempfile()?;
    let mut command = Command::new(std::env::current_exe()?);
    for name in hidden {
        command.env_remove(name);
    }
    let child = command
        .args(arguments)
        .env_remove(HANDOVER)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .process_group(0)
        .spawn()?;
    Ok((child, output))
}

/// The end of an output; reading does not move the position of its writer.
fn tail(output: &File) -> io::Result<String> {
    let length = output.metadata()?.len();
    let begin = length.saturating_sub(OUTPUT_MAX);
    let mut bytes = vec![0; usize::try_from(length - begin).unwrap_or(0)];
    let count = output.read_at(&mut bytes, begin)?;
    bytes.truncate(count);
    Ok(without_passwords(&String::from_utf8_lossy(&bytes)))
}

#[cfg(target_os = "linux")]
fn interrupt(child: &Child) -> io::Result<()> {
    let pid = rustix::process::Pid::from_child(child);
    Ok(rustix::process::kill_process(pid, rustix::process::Signal::INT)?)
}

#[cfg(not(target_os = "linux"))]
fn interrupt(_: &Child) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
