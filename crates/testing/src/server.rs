//! Starting and ending servers, common to all databases. Must not name one.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// Maximum attempts to start a server, each on other ports.
const START_ATTEMPTS: u32 = 3;
/// Maximum attempts to reach a starting server.
const LOOKS_MAX: u32 = 1_200;
/// Pause between two of them.
const PAUSE: Duration = Duration::from_millis(50);

/// A file system in memory: test servers keep their data there if at least this many bytes are free.
const IN_MEMORY: &str = "/dev/shm";
const IN_MEMORY_FREE_MIN: u64 = 4 << 30;

/// A directory for a server and its data.
///
/// Creating and removing the thousand files of a data directory loads a disk more than most tests load the server.
/// Benchmarks, which have no debug assertions, measure databases on disks.
pub(crate) fn directory(prefix: &str) -> io::Result<TempDir> {
    let mut directory = tempfile::Builder::new();
    directory.prefix(prefix);
    let room = rustix::fs::statvfs(IN_MEMORY);
    let free = room.map_or(0, |room| room.f_bavail.saturating_mul(room.f_frsize));
    if cfg!(debug_assertions) && free >= IN_MEMORY_FREE_MIN {
        return directory.tempdir_in(IN_MEMORY);
    }
    directory.tempdir()
}

/// Copies a directory with its owners.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    run(Command::new("cp").arg("-a").arg(from).arg(to))
}

/// Whether this process runs as root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A port on loopback that was free a moment ago.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// This many different ports on loopback.
pub(crate) fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    let mut held = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// Starts a server, with another attempt if one of its ports was taken meanwhile; panics if no attempt succeeds.
pub(crate) fn started<T>(name: &str, attempt: impl Fn() -> io::Result<T>) -> T {
    let mut started = attempt();
    for _ in 1..START_ATTEMPTS {
        started = started.or_else(|_| attempt());
    }
    match started {
        Ok(server) => server,
        Err(error) => panic!("{name} for this test: {error}"),
    }
}

/// A server program, run as this user if root starts it: a server should not run as root, or refuses to.
pub(crate) fn program_as(user: &str, program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--regid", user]).args(["--clear-groups", "--"]).arg(program);
    command
}

/// Gives a file, or a directory with its content, to a user if root created it.
pub(crate) fn give_away(user: &str, path: &Path) -> io::Result<()> {
    if !is_root() {
        return Ok(());
    }
    run(Command::new("chown").args(["-R", &format!("{user}:{user}")]).arg(path))
}

/// Creates a data directory: a copy of the first one, because creating it takes longer than many tests. The template
/// has this name.
pub(crate) fn make_data(
    data: &Path,
    name: &str,
    make: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let Some(template) = template(name) else {
        return make();
    };
    if template.is_dir() {
        return copy(&template, data);
    }
    make()?;
    let Some(place) = template.parent() else {
        return Ok(());
    };
    let fresh = tempfile::tempdir_in(place)?;
    let copied = fresh.path().join("data");
    copy(data, &copied)?;
    // If another test was faster, its template is equivalent.
    drop(fs::rename(copied, &template));
    Ok(())
}

/// The template of data directories, in Cargo's target directory. `None` if this program was not built by Cargo.
fn template(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let profile = program.parent()?.parent()?;
    let is_cargos = profile.join("deps").is_dir();
    is_cargos.then(|| profile.join(name))
}

/// Waits until a started process is ready; otherwise, an error with the end of its logs.
pub(crate) fn wait_until_ready(
    child: &mut Child,
    is_ready: impl Fn() -> io::Result<bool>,
    logs: &[PathBuf],
) -> io::Result<()> {
    for _ in 0..LOOKS_MAX {
        if is_ready()? {
            return Ok(());
        }
        if child.try_wait()?.is_some() {
            break;
        }
        thread::sleep(PAUSE);
    }
    let logs: String = logs.iter().flat_map(fs::read_to_string).collect();
    Err(io::Error::other(format!("it did not start: {logs}")))
}

/// Kills a process, like a lost machine.
pub(crate) fn kill(child: &mut Option<Child>) {
    if let Some(mut child) = child.take() {
        let _killed = child.kill();
        let _ended = child.wait();
    }
}

/// Signals a process that was started here.
pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    if let Some(pid) = number(child) {
        // An error means that it has already ended.
        let _sent = rustix::process::kill_process(pid, signal);
    }
}

/// Returns once all threads of a started process are stopped: on a busy machine, some continue for a while after the
/// signal.
pub(crate) fn wait_until_stopped(child: &Child) {
    if let Some(pid) = number(child) {
        let stopped = rustix::process::WaitIdOptions::STOPPED;
        // An error means that it has ended.
        let _stopped = rustix::process::waitid(rustix::process::WaitId::Pid(pid), stopped);
    }
}

fn number(child: &Child) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Runs a program to completion.
pub(crate) fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("{}: {words}", command.get_program().to_string_lossy())))
}
