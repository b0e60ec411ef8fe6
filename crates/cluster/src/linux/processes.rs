//! Processes: starts one in such a way that it cannot run before it is recorded, finds them in the kernel's list, and
//! ends those that Highwater started, never one that has reused a process number.
//!
//! Before it is recorded, a shell waits for a line, and then executes the program in its place; if Highwater is killed
//! first, the shell ends. Linux: it reads `/proc`. Must not know the purpose of a process.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use highwater_driver::clock::RealClock;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// The environment variable that identifies the node of a process. Unlike a setting, it does not begin with
/// `HIGHWATER_`.
pub(super) const MARK: &str = "_HIGHWATER_CLUSTER";
/// Pause between two checks of ending processes.
const PAUSE: Duration = Duration::from_millis(20);
/// Time limit for ending after SIGKILL: a process in a kernel call ends only when its disk responds.
const KILL_WITHIN: Nanos = Nanos::from_secs(10);
/// Number of reads, with a pause, of an environment that is empty: a process that waits for a core during exec has none
/// for long.
const LOOKS: u32 = 500;
const MOMENT: Duration = Duration::from_millis(2);
/// More than most environments have.
const ENVIRONMENT_BYTES: usize = 1 << 17;
/// The flag of a thread of the kernel: `PF_KTHREAD` in its `sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A unique identity of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct ProcessId {
    /// Its number, which may be reused after its end.
    pub(super) pid: i32,
    /// Its start time, in the kernel's ticks since boot.
    pub(super) started: u64,
}

/// The kernel's data about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    id: ProcessId,
    /// It has ended, but its parent has not waited for it.
    is_zombie: bool,
    /// It is a kernel thread, without a program.
    is_kernel: bool,
    parent: i32,
    group: i32,
    session: i32,
    /// CPU time, ticks.
    cpu: u64,
}

/// All processes of one node or command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family<'a> {
    /// The process that was started.
    pub(super) leader: ProcessId,
    /// The value of [`MARK`] in its environment.
    pub(super) mark: &'a str,
    /// Its control groups.
    pub(super) groups: &'a [PathBuf],
}

/// How a family of processes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FamilyEnd {
    /// It had already ended.
    Before,
    /// Gracefully.
    InOrder,
    /// By SIGKILL, because it took too long.
    Killed,
    /// Not at all: this many processes remain.
    Not(usize),
}

impl ProcessId {
    /// The process that now has this number.
    pub(super) fn from_pid(pid: u32) -> Option<Self> {
        stat(i32::try_from(pid).ok()?).map(|stat| stat.id)
    }

    /// Whether it still runs.
    pub(super) fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.id == self && !stat.is_zombie)
    }

    /// CPU time of the process so far, in ticks of 1/100 s.
    pub(super) fn cpu_ticks(self) -> Option<u64> {
        stat(self.pid).filter(|stat| stat.id == self).map(|stat| stat.cpu)
    }

    /// Sends a signal, unless the process has ended.
    pub(super) fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return;
        };
        // A descriptor of the process cannot refer to another one that reused its number.
        let held = pidfd_open(pid, PidfdFlags::empty());
        if !self.is_alive() {
            return;
        }
        // An error means that the process has ended.
        let _sent = match held {
            Ok(held) => pidfd_send_signal(held, signal),
            Err(_) => kill_process(pid, signal),
        };
    }
}

impl Stat {
    /// Whether it is in the process group or the session with that number.
    fn is_in(&self, number: i32) -> bool {
        self.group == number || self.session == number
    }

    /// Whether its initial environment has the mark; another user's environment cannot be read. During exec, a process
    /// briefly has none.
    fn has_mark(&self, mark: &str) -> bool {
        let expected = format!("{MARK}={mark}");
        for _ in 0..LOOKS {
            let Ok(environment) = environment(self.id.pid) else {
                return false;
            };
            if !environment.is_empty() {
                let mut variables = environment.split(|byte| *byte == 0);
                return variables.any(|variable| variable == expected.as_bytes());
            }
            if self.is_zombie || self.is_kernel || !self.id.is_alive() {
                return false;
            }
            thread::sleep(MOMENT);
        }
        false
    }
}

/// The environment of a process. One read call returns a consistent result. Between two calls the process may execute
/// another program; the second call then returns nothing.
fn environment(pid: i32) -> io::Result<Vec<u8>> {
    let mut file = File::open(format!("/proc/{pid}/environ"))?;
    let mut environment = vec![0; ENVIRONMENT_BYTES];
    let length = file.read(&mut environment)?;
    environment.truncate(length);
    if length == ENVIRONMENT_BYTES {
        file.read_to_end(&mut environment)?;
    }
    Ok(environment)
}

impl Family<'_> {
    /// Its running processes: the first one, its descendants, the members of its process group, session, and control
    /// groups, and those with its mark, wherever they moved.
    pub(super) fn members(&self) -> BTreeSet<ProcessId> {
        let all = all();
        let leader = self.leader;
        let own_groups = self.own_groups(&all);
        let grouped: BTreeSet<i32> = self.groups.iter().flat_map(|group| pids_of(group)).collect();
        let mut found: BTreeSet<ProcessId> = all
            .iter()
            .filter(|stat| {
                let in_group = own_groups && stat.is_in(leader.pid);
                stat.id == leader
                    || grouped.contains(&stat.id.pid)
                    || stat.id.started >= leader.started && (in_group || stat.has_mark(self.mark))
            })
            .map(|stat| stat.id)
            .collect();
        loop {
            let parents: BTreeSet<i32> = found.iter().map(|id| id.pid).collect();
            let before = found.len();
            let children = all.iter().filter(|stat| parents.contains(&stat.parent));
            found.extend(children.map(|stat| stat.id));
            if found.len() == before {
                break;
            }
        }
        for ended in all.iter().filter(|stat| stat.is_zombie) {
            found.remove(&ended.id);
        }
        found.retain(|id| id.pid != i32::try_from(std::process::id()).unwrap_or(0));
        found
    }

    /// Whether the process group and the session with the leader's number still belong to the family. The kernel
    /// reserves the number of a group while it has processes, and may reuse it afterwards. So it is the family's while
    /// its leader exists, or a process with its mark is in it.
    fn own_groups(&self, all: &[Stat]) -> bool {
        let leader = self.leader;
        let of_group = |stat: &Stat| stat.is_in(leader.pid) && stat.id.started >= leader.started;
        all.iter().any(|stat| stat.id == leader || of_group(stat) && stat.has_mark(self.mark))
    }

    /// Ends it gracefully with `gently`, and with SIGKILL if that takes longer than `within`, or in a `hurry`.
    pub(super) fn end(
        &self,
        gently: impl FnOnce(),
        within: Nanos,
        hurry: impl Fn() -> bool,
    ) -> FamilyEnd {
        if self.members().is_empty() {
            return FamilyEnd::Before;
        }
        if !hurry() {
            gently();
            let clock = RealClock::start();
            while clock.now() < within && !hurry() {
                if self.members().is_empty() {
                    return FamilyEnd::InOrder;
                }
                thread::sleep(PAUSE);
            }
        }
        let clock = RealClock::start();
        loop {
            let members = self.members();
            match members.len() {
                0 => return FamilyEnd::Killed,
                left if clock.now() > KILL_WITHIN => return FamilyEnd::Not(left),
                _ => members.iter().for_each(|id| id.signal(Signal::KILL)),
            }
            thread::sleep(PAUSE);
        }
    }

    /// Sends a signal to the first process, or to all remaining ones if it has ended.
    pub(super) fn signal(&self, signal: Signal) {
        if self.leader.is_alive() {
            self.leader.signal(signal);
        } else {
            self.members().iter().for_each(|id| id.signal(signal));
        }
    }
}

/// The numbers of a control group's processes.
fn pids_of(group: &Path) -> Vec<i32> {
    let listed = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    listed.lines().filter_map(|line| line.parse().ok()).collect()
}

fn all() -> Vec<Stat> {
    let pids = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(stat).collect()
}

fn stat(pid: i32) -> Option<Stat> {
    parsed(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses a line of `/proc/PID/stat`: see proc_pid_stat(5). The name in parentheses may contain any character.
fn parsed(line: &str) -> Option<Stat> {
    let pid = line.split(' ').next()?.parse().ok()?;
    let (_, rest) = line.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first field here is field 3 of the manual, the state.
    let number = |field: usize| fields.get(field - 3)?.parse::<i64>().ok();
    let natural = |field: usize| number(field).map(i64::unsigned_abs);
    let small = |field: usize| i32::try_from(number(field)?).ok();
    Some(Stat {
        id: ProcessId { pid, started: natural(22)? },
        is_zombie: matches!(*fields.first()?, "Z" | "X"),
        is_kernel: natural(9)? & KERNEL_THREAD != 0,
        parent: small(4)?,
        group: small(5)?,
        session: small(6)?,
        cpu: natural(14)? + natural(15)?,
    })
}

/// File mode: only the owner can read and write.
const PRIVATE: u32 = 0o600;

/// Waits for a line, closes the pipe that it came by, and becomes the program.
const GATE: &str = "read -r go || exit 125; exec 0</dev/null; exec \"$@\"";

/// A process to start.
pub(super) struct Launch<'a> {
    /// Program and arguments.
    pub(super) words: &'a [String],
    /// Variables to add to those of this process.
    pub(super) environment: &'a BTreeMap<String, String>,
    /// Variables of this process to remove.
    pub(super) hidden: &'a [OsString],
    /// Working directory.
    pub(super) directory: &'a Path,
    /// Its output is appended to this file.
    pub(super) log: &'a Path,
    /// If set, its standard output replaces this file, and is not in the log.
    pub(super) output: Option<&'a Path>,
    /// The user that runs it.
    pub(super) user: Option<User>,
    /// The mark of all its processes.
    pub(super) mark: &'a str,
}

/// A user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct User {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// A process that waits at the gate.
pub(super) struct GatedProcess {
    child: Child,
    pub(super) id: ProcessId,
}

impl Launch<'_> {
    /// Starts the process in a separate process group, up to the gate.
    pub(super) fn start(&self) -> Result<GatedProcess, UserError> {
        let name = self.words.first().map_or("", String::as_str);
        let failed = |error: io::Error| {
            UserError::cluster(format!("cannot start `{name}`: {error}"))
                .with_hint("correct `command` or `user` in the cluster file")
        };
        let log = opened(File::options().append(true), self.log)?;
        let output = match self.output {
            Some(path) => opened(File::options().write(true).truncate(true), path)?,
            None => log.try_clone().map_err(failed)?,
        };
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GATE, "sh"]).args(self.words);
        for name in self.hidden {
            command.env_remove(name);
        }
        command
            .envs(self.environment)
            .env(MARK, self.mark)
            .current_dir(self.directory)
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(log)
            .process_group(0);
        if let Some(user) = self.user {
            command.uid(user.uid).gid(user.gid);
        }
        let mut child = command.spawn().map_err(failed)?;
        if let Some(id) = ProcessId::from_pid(child.id()) {
            return Ok(GatedProcess { child, id });
        }
        let ended = child.wait().map_err(failed)?;
        Err(failed(io::Error::other(ended.to_string())))
    }
}

/// Opens a file for a process's output, such as URLs with passwords: only this user can read it, and links are not
/// followed.
fn opened(options: &mut OpenOptions, path: &Path) -> Result<File, UserError> {
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let options = options.create(true).mode(PRIVATE).custom_flags(no_link);
    let opened = options.open(path).and_then(|file| {
        // An earlier version may have left it readable for everyone.
        file.set_permissions(Permissions::from_mode(PRIVATE))?;
        Ok(file)
    });
    opened.map_err(|error| UserError::cannot(format!("open {}", path.display()), &error))
}

impl GatedProcess {
    /// Lets the process continue.
    pub(super) fn release(mut self) -> Result<Child, UserError> {
        if let Some(mut gate) = self.child.stdin.take() {
            gate.write_all(b"go\n").map_err(|error| {
                UserError::cluster(format!("cannot start process {}: {error}", self.id.pid))
            })?;
        }
        Ok(self.child)
    }

    /// Number of the process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// The user of that name, or of `UID:GID`; `None` if this process is not root, because it then cannot change the user.
pub(super) fn user(given: Option<&str>) -> Result<Option<User>, UserError> {
    let Some(name) = given.filter(|_| rustix::process::geteuid().is_root()) else {
        return Ok(None);
    };
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = numbers(name).or_else(|| listed(&users, name));
    user.map(Some).ok_or_else(|| {
        let message = format!("`user` of [node] is `{name}`, which this machine does not have");
        UserError::usage(message)
            .with_hint("install the server, or write its user's numbers as \"UID:GID\"")
    })
}

/// `UID:GID`.
fn numbers(text: &str) -> Option<User> {
    let (uid, gid) = text.split_once(':')?;
    Some(User { uid: uid.parse().ok()?, gid: gid.parse().ok()? })
}

/// A user in the user list: see passwd(5).
fn listed(users: &str, name: &str) -> Option<User> {
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        if fields.first() != Some(&name) {
            return None;
        }
        numbers(&format!("{}:{}", fields.get(2)?, fields.get(3)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_line_of_the_kernel_is_read_whatever_the_name_is() {
        let line = "42 (a) b (c)) S 7 40 39 0 -1 4194304 1 2 3 4 15 6 0 0 20 0 1 0 987 1 2\n";
        let stat = parsed(line).unwrap();
        let id = ProcessId { pid: 42, started: 987 };
        assert_eq!((stat.id, stat.is_zombie, stat.cpu), (id, false, 21));
        assert_eq!((stat.parent, stat.group, stat.session), (7, 40, 39));
        assert_eq!(parsed("42 (x"), None);
    }

    /// A shell whose child left its process group and its parent, but keeps the mark.
    fn family(mark: &str) -> (std::process::Child, ProcessId) {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' TERM; setsid sleep 300 & sleep 300; true"]);
        let command = command.env(MARK, mark).stdin(Stdio::null());
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        let id = ProcessId::from_pid(child.id()).unwrap();
        (child, id)
    }

    #[test]
    fn a_process_tree_ends_with_orphans_and_processes_that_ignore_signals() {
        let mark = format!("test-{}", std::process::id());
        let (mut child, leader) = family(&mark);
        let family = Family { leader, mark: &mark, groups: &[] };
        while family.members().len() < 3 {
            thread::yield_now();
        }
        // The leader has ended; its remaining processes are still found.
        leader.signal(Signal::KILL);
        child.wait().unwrap();
        assert_eq!(family.members().len(), 2);
        let ended = family.end(|| {}, Nanos::from_millis(1), || false);
        assert_eq!(ended, FamilyEnd::Killed);
        assert_eq!(family.members(), BTreeSet::new());
        assert_eq!(family.end(|| {}, Nanos::ZERO, || false), FamilyEnd::Before);
    }

    /// A process that executes one program after another, without an environment in between.
    #[test]
    fn a_process_that_executes_another_program_is_found_at_any_moment() {
        let place = tempfile::tempdir().unwrap();
        let script = place.path().join("again");
        fs::write(&script, "exec sh \"$0\"\n").unwrap();
        let mark = format!("test-again-{}", std::process::id());
        let mut command = Command::new("sh");
        command.arg("-c").arg("setsid sh \"$0\" & sleep 300; true").arg(&script);
        let command = command.env(MARK, &mark).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let leader = ProcessId::from_pid(child.id()).unwrap();
        let family = Family { leader, mark: &mark, groups: &[] };
        while family.members().len() < 3 {
            thread::yield_now();
        }
        leader.signal(Signal::KILL);
        child.wait().unwrap();
        let missed = (0..500).filter(|_| family.members().len() < 2).count();
        let ended = family.end(|| {}, Nanos::ZERO, || false);
        assert_eq!((missed, ended), (0, FamilyEnd::Killed));
    }

    #[test]
    fn a_number_that_another_process_has_now_is_not_touched() {
        let mut child = Command::new("sleep").arg("300").spawn().unwrap();
        let now = ProcessId::from_pid(child.id()).unwrap();
        let earlier = ProcessId { started: now.started - 1, ..now };
        assert!(now.is_alive() && !earlier.is_alive());
        let family = Family { leader: earlier, mark: "of another one", groups: &[] };
        earlier.signal(Signal::KILL);
        let ended = family.end(|| {}, Nanos::ZERO, || false);
        assert_eq!((ended, now.is_alive()), (FamilyEnd::Before, true));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!now.is_alive());
    }

    /// Simulates that the leader has ended with its whole group, and that its number now belongs to another group,
    /// whose first process has also ended.
    #[test]
    fn a_group_whose_id_was_reused_is_not_touched() {
        let mut command = Command::new("sh");
        let command = command.args(["-c", "sleep 300 & echo; exec sleep 300"]);
        let command = command.process_group(0).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let id = ProcessId::from_pid(child.id()).unwrap();
        while members_of(id.pid).len() < 2 {
            thread::yield_now();
        }
        let leader = ProcessId { started: id.started - 1, ..id };
        let family = Family { leader, mark: "of another one", groups: &[] };
        child.kill().unwrap();
        child.wait().unwrap();
        let [left] = members_of(id.pid)[..] else {
            panic!("its child is left");
        };
        assert_eq!(family.members(), BTreeSet::new());
        let ended = family.end(|| {}, Nanos::ZERO, || false);
        assert_eq!((ended, left.is_alive()), (FamilyEnd::Before, true));
        left.signal(Signal::KILL);
    }

    fn members_of(group: i32) -> Vec<ProcessId> {
        all().into_iter().filter(|stat| stat.group == group).map(|stat| stat.id).collect()
    }

    fn launch(place: &Path, script: &str) -> GatedProcess {
        let words = ["sh", "-c", script].map(str::to_owned);
        let launch = Launch {
            words: &words,
            environment: &BTreeMap::from([("NODE".to_owned(), "7".to_owned())]),
            hidden: &["HOME".into()],
            directory: place,
            log: &place.join("log"),
            output: None,
            user: None,
            mark: "m",
        };
        launch.start().unwrap()
    }

    #[test]
    fn a_process_runs_only_when_it_is_let_go() {
        let place = tempfile::tempdir().unwrap();
        let gated = launch(place.path(), "echo $NODE ${HOME-none}; pwd; echo x >&2");
        assert_eq!(fs::read_to_string(place.path().join("log")).unwrap(), "");
        let id = gated.id;
        let mut child = gated.release().unwrap();
        assert!(child.wait().unwrap().success());
        assert!(!id.is_alive());
        let log = fs::read_to_string(place.path().join("log")).unwrap();
        let here = place.path().canonicalize().unwrap();
        assert_eq!(log, format!("7 none\n{}\nx\n", here.display()));
    }

    #[test]
    fn output_is_readable_only_by_this_user_and_a_link_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (log, other) = (place.path().join("log"), place.path().join("other"));
        fs::write(&log, "").unwrap();
        fs::set_permissions(&log, Permissions::from_mode(0o644)).unwrap();
        opened(File::options().append(true), &log).unwrap();
        let mode = fs::metadata(&log).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE);
        fs::write(&other, "mine").unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        let refused = opened(File::options().write(true).truncate(true), &link);
        assert!(refused.is_err());
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
    }

    #[test]
    fn a_process_whose_gate_is_never_opened_ends_and_did_nothing() {
        let place = tempfile::tempdir().unwrap();
        let mut gated = launch(place.path(), "echo done > file");
        // The kernel closes the pipe in the same way if this process is killed.
        drop(gated.child.stdin.take());
        assert_eq!(gated.child.wait().unwrap().code(), Some(125));
        assert!(!place.path().join("file").exists());
    }

    #[test]
    fn users_are_names_or_numbers() {
        let users = "root:x:0:0:root:/:/bin/sh\ndb:x:105:110::/:/bin/false\n";
        let user = |uid, gid| Some(User { uid, gid });
        assert_eq!(listed(users, "db"), user(105, 110));
        assert_eq!(listed(users, "d"), None);
        assert_eq!(numbers("5:6"), user(5, 6));
        assert_eq!(numbers("db:x"), None);
    }
}
