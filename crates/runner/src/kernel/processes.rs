//! The CPU time of the target's server processes on this machine: those that listen where it takes connections, and
//! their children.
//!
//! A user may not look into the processes of others; all processes of the user who listens there count then, unless
//! that is root or Highwater's own user. Must not guess beyond that: what is not found is not reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use highwater_driver::Listener;
use procfs::net::TcpState;
use procfs::process::{FDTarget, Process};
use rustix::process::getuid;

/// A server, by the processes that belong to it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Server {
    /// The name of its program, as the kernel has it.
    pub(super) program: String,
    processes: Processes,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Processes {
    /// This one and its children.
    Tree(i32),
    /// All of this user.
    User(u32),
}

/// What the kernel says of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Status {
    program: String,
    parent: i32,
    /// CPU ticks of the process and of its children that have ended.
    ticks: u64,
    started: u64,
}

impl Server {
    /// CPU ticks of its processes so far; `None` once they are gone.
    pub(super) fn ticks(&self) -> Option<u64> {
        match self.processes {
            Processes::Tree(pid) => ticks_of_tree(pid),
            Processes::User(uid) => {
                let ticks = of_user(uid).map(|status| status.ticks);
                ticks.reduce(u64::saturating_add)
            }
        }
    }
}

/// The servers that listen at these places; only those that can be found.
pub(super) fn servers(listeners: &[Listener]) -> Vec<Server> {
    let (sockets, users) = sockets(listeners);
    if sockets.is_empty() {
        return Vec::new();
    }
    let holders: BTreeMap<i32, Status> = all_processes()
        .filter(|process| holds_one(process, &sockets))
        .filter_map(|process| Some((process.pid, status(process.pid)?)))
        .collect();
    // A server's children may hold its socket as well.
    let is_first = |status: &Status| !holders.contains_key(&status.parent);
    let trees = holders.iter().filter(|(_, status)| is_first(status)).map(|(pid, status)| Server {
        program: status.program.clone(),
        processes: Processes::Tree(*pid),
    });
    let mut found: Vec<Server> = trees.collect();
    if found.is_empty() {
        let others = users.into_iter().filter(|uid| *uid != 0 && *uid != getuid().as_raw());
        found.extend(others.filter_map(|uid| {
            let first = of_user(uid).min_by_key(|status| status.started)?;
            Some(Server { program: first.program, processes: Processes::User(uid) })
        }));
    }
    found
}

/// The inodes of the sockets at these places, and the users who own them.
fn sockets(listeners: &[Listener]) -> (BTreeSet<u64>, BTreeSet<u32>) {
    let (mut inodes, mut users) = (BTreeSet::new(), BTreeSet::new());
    let tcp = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().flatten().flatten();
    for entry in tcp.filter(|entry| entry.state == TcpState::Listen) {
        if listeners.contains(&Listener::Port(entry.local_address.port())) {
            inodes.insert(entry.inode);
            users.insert(entry.uid);
        }
    }
    let paths = listeners.iter().filter_map(|listener| match listener {
        Listener::Socket(path) => fs::canonicalize(path).ok(),
        Listener::Port(_) => None,
    });
    let paths: BTreeSet<_> = paths.collect();
    if !paths.is_empty() {
        users.extend(paths.iter().filter_map(|path| Some(fs::metadata(path).ok()?.uid())));
        for entry in procfs::net::unix().into_iter().flatten() {
            let path = entry.path.and_then(|path| fs::canonicalize(path).ok());
            if path.is_some_and(|path| paths.contains(&path)) {
                inodes.insert(entry.inode);
            }
        }
    }
    (inodes, users)
}

fn all_processes() -> impl Iterator<Item = Process> {
    procfs::process::all_processes().into_iter().flatten().flatten()
}

fn of_user(uid: u32) -> impl Iterator<Item = Status> {
    let of_user = all_processes().filter(move |process| process.uid().ok() == Some(uid));
    of_user.filter_map(|process| status(process.pid))
}

/// Whether a process holds one of these sockets, as far as it may be looked into.
fn holds_one(process: &Process, sockets: &BTreeSet<u64>) -> bool {
    let descriptors = process.fd().into_iter().flatten().flatten();
    descriptors.into_iter().any(|descriptor| match descriptor.target {
        FDTarget::Socket(inode) => sockets.contains(&inode),
        _ => false,
    })
}

fn ticks_of_tree(pid: i32) -> Option<u64> {
    let own = status(pid)?.ticks;
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let children = children.split_whitespace().filter_map(|pid| ticks_of_tree(pid.parse().ok()?));
    Some(children.fold(own, u64::saturating_add))
}

fn status(pid: i32) -> Option<Status> {
    let path = format!("/proc/{pid}/stat");
    parsed(&fs::read_to_string(Path::new(&path)).ok()?)
}

/// A line of the kernel: `PID (PROGRAM) STATE PARENT …`. A program's name may have spaces and parentheses.
fn parsed(line: &str) -> Option<Status> {
    let (head, rest) = line.rsplit_once(") ")?;
    let (_, program) = head.split_once(" (")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    let ticks = (11..=14).map(|field| number(field).unwrap_or(0)).sum();
    Some(Status {
        program: program.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        ticks,
        started: number(19)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    fn of_this_process(servers: &[Server]) -> bool {
        let [server] = servers else { return false };
        server.processes == Processes::Tree(std::process::id().cast_signed())
    }

    #[test]
    fn the_process_that_listens_at_a_port_or_a_socket_is_found() {
        if !Path::new("/proc/self/task").exists() {
            return;
        }
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = Listener::Port(tcp.local_addr().unwrap().port());
        assert!(of_this_process(&servers(std::slice::from_ref(&port))));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.sock");
        let socket = UnixListener::bind(&path).unwrap();
        let socket_at = Listener::Socket(path);
        assert!(of_this_process(&servers(std::slice::from_ref(&socket_at))));
        assert!(of_this_process(&servers(&[port.clone(), socket_at])), "one server, not two");
        drop((tcp, socket));
        assert_eq!(servers(&[port]), []);
    }

    #[test]
    fn the_time_of_children_counts_while_they_run_and_after_they_ended() {
        let line = "42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 500 60 70 8 20 0 1 0 9000 1 2";
        let status = parsed(line).unwrap();
        let expected =
            Status { program: "a (b) c".to_owned(), parent: 7, ticks: 638, started: 9_000 };
        assert_eq!(status, expected);
        let own = std::process::id().cast_signed();
        if !Path::new(&format!("/proc/{own}/task/{own}/children")).exists() {
            return;
        }
        let server = Server { program: "highwater".to_owned(), processes: Processes::Tree(own) };
        let before = server.ticks().unwrap();
        // Until it has used two ticks.
        let work = "while [ \"$(cut -d' ' -f14 /proc/$$/stat)\" -lt 2 ]; do :; done";
        let ended = std::process::Command::new("sh").args(["-c", work]).status().unwrap();
        assert!(ended.success());
        assert!(server.ticks().unwrap() >= before + 2);
    }

    #[test]
    fn all_processes_of_a_user_count_where_no_process_may_be_looked_into() {
        let uid = getuid().as_raw();
        let server = Server { program: "any".to_owned(), processes: Processes::User(uid) };
        let own = status(std::process::id().cast_signed()).map(|status| status.ticks);
        assert!(server.ticks() >= own);
        let nobody = Server { program: "any".to_owned(), processes: Processes::User(u32::MAX) };
        assert_eq!(nobody.ticks(), None);
    }
}
