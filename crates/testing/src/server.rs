//! What the servers of all databases need to be started and ended. Must not name one.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Attempts to start a server, each on other ports.
const START_ATTEMPTS: u32 = 3;

/// Copies a directory with its owners.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    run(Command::new("cp").arg("-a").arg(from).arg(to))
}

/// Whether this process is root's.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A port on loopback that nobody had a moment ago.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// As many ports on loopback, each another one.
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

/// Starts a server by another attempt where somebody else took one of its ports meanwhile.
pub(crate) fn started<T>(attempt: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut started = attempt();
    for _ in 1..START_ATTEMPTS {
        started = started.or_else(|_| attempt());
    }
    started
}

/// Signals a process that we started.
pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // An error means that it has ended already.
        let _sent = rustix::process::kill_process(pid, signal);
    }
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!(
        "{}: {words}",
        command.get_program().to_string_lossy()
    )))
}
