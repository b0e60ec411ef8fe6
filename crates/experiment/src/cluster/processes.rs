//! Processes as the kernel lists them, and how those that Highwater started are ended: never one whose number
//! was given to another process meanwhile.
//!
//! Linux: it reads `/proc`. Must not know what a process is for.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use highwater_model::units::Nanos;
use highwater_runner::clock::RealClock;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// The variable by which a process shows of which node it is a part. It is no setting, which would begin with
/// `HIGHWATER_`.
pub(super) const MARK: &str = "_HIGHWATER_CLUSTER";
/// Pause between two looks at processes that are to end.
const PAUSE: Duration = Duration::from_millis(20);
/// How long processes may take to end after SIGKILL: one in the kernel's hands ends when its disk responds.
const KILL_WITHIN: Nanos = Nanos::from_secs(10);
/// How often, and with which pause, the environment of a process is read that has none: one that waits for a core
/// in the middle has none for long.
const LOOKS: u32 = 500;
const MOMENT: Duration = Duration::from_millis(2);
/// More than most environments have.
const ENVIRONMENT_BYTES: usize = 1 << 17;
/// The flag of a thread of the kernel: `PF_KTHREAD` in its `sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process that cannot be taken for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct ProcessId {
    /// Its number, which another one gets when it has ended.
    pub(super) pid: i32,
    /// When it was started, in the kernel's ticks after its own start.
    pub(super) started: u64,
}

/// What the kernel lists of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    id: ProcessId,
    /// It has ended; only its parent has not taken notice.
    is_zombie: bool,
    /// It is a thread of the kernel, which has no program.
    is_kernel: bool,
    parent: i32,
    group: i32,
    session: i32,
    /// CPU time, ticks.
    cpu: u64,
}

/// Everything that belongs to one node or command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family<'a> {
    /// The process that was started.
    pub(super) leader: ProcessId,
    /// The value of [`MARK`] in its environment.
    pub(super) mark: &'a str,
    /// Its control groups.
    pub(super) groups: &'a [PathBuf],
}

/// How a family ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// It was over already.
    Before,
    /// In order.
    InOrder,
    /// By SIGKILL, because it took too long.
    Killed,
    /// Not at all: so many processes are left.
    Not(usize),
}

impl ProcessId {
    /// The process that has this number now.
    pub(super) fn of(pid: u32) -> Option<Self> {
        stat(i32::try_from(pid).ok()?).map(|stat| stat.id)
    }

    /// Whether it still runs.
    pub(super) fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.id == self && !stat.is_zombie)
    }

    /// CPU time of the process so far, ticks of which a second has a hundred.
    pub(super) fn cpu_ticks(self) -> Option<u64> {
        stat(self.pid).filter(|stat| stat.id == self).map(|stat| stat.cpu)
    }

    /// Sends a signal, unless the process has ended.
    pub(super) fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return;
        };
        // What holds the process by a descriptor cannot hit another one that got its number since.
        let held = pidfd_open(pid, PidfdFlags::empty());
        if !self.is_alive() {
            return;
        }
        // An error means that it has ended.
        let _sent = match held {
            Ok(held) => pidfd_send_signal(held, signal),
            Err(_) => kill_process(pid, signal),
        };
    }
}

impl Stat {
    /// Whether it is in the process group or in the session with that number.
    fn is_in(&self, number: i32) -> bool {
        self.group == number || self.session == number
    }

    /// Whether the environment that it was started with has the mark; that of another user's process cannot be
    /// read. While a process becomes another program, it has none for a moment.
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

/// The environment of a process. What one call of the kernel returns is whole; between two calls the process may have
/// become another program, after which the second one returns nothing.
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
    /// Its processes that still run: the first one, its descendants, those of its process group, session and
    /// control groups, and those that have its mark, wherever they went.
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

    /// Whether the process group and the session with the leader's number are still its own. The kernel keeps the
    /// number of a group as long as there are processes in it, and gives it to another one afterwards: it is the
    /// family's while its leader is there, or one that has its mark is in it.
    fn own_groups(&self, all: &[Stat]) -> bool {
        let leader = self.leader;
        let of_group = |stat: &Stat| stat.is_in(leader.pid) && stat.id.started >= leader.started;
        all.iter().any(|stat| stat.id == leader || of_group(stat) && stat.has_mark(self.mark))
    }

    /// Ends it: in order by what `gently` does, and by SIGKILL when that took longer than `within`, or when
    /// there is a `hurry`.
    pub(super) fn end(
        &self,
        gently: impl FnOnce(),
        within: Nanos,
        hurry: impl Fn() -> bool,
    ) -> Ended {
        if self.members().is_empty() {
            return Ended::Before;
        }
        if !hurry() {
            gently();
            let clock = RealClock::start();
            while clock.now() < within && !hurry() {
                if self.members().is_empty() {
                    return Ended::InOrder;
                }
                thread::sleep(PAUSE);
            }
        }
        let clock = RealClock::start();
        loop {
            let members = self.members();
            match members.len() {
                0 => return Ended::Killed,
                left if clock.now() > KILL_WITHIN => return Ended::Not(left),
                _ => members.iter().for_each(|id| id.signal(Signal::KILL)),
            }
            thread::sleep(PAUSE);
        }
    }

    /// Sends a signal to the first process; to all that are left where it has ended.
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

/// Reads a line of `/proc/PID/stat`: see proc_pid_stat(5). The name in parentheses may hold any character.
fn parsed(line: &str) -> Option<Stat> {
    let pid = line.split(' ').next()?.parse().ok()?;
    let (_, rest) = line.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Field 3 of the manual, the state, is the first here.
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read_whatever_the_name_is() {
        let line = "42 (a) b (c)) S 7 40 39 0 -1 4194304 1 2 3 4 15 6 0 0 20 0 1 0 987 1 2\n";
        let stat = parsed(line).unwrap();
        let id = ProcessId { pid: 42, started: 987 };
        assert_eq!((stat.id, stat.is_zombie, stat.cpu), (id, false, 21));
        assert_eq!((stat.parent, stat.group, stat.session), (7, 40, 39));
        assert_eq!(parsed("42 (x"), None);
    }

    /// A shell whose child left its process group and its parent, which has the mark still.
    fn family(mark: &str) -> (std::process::Child, ProcessId) {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' TERM; setsid sleep 300 & sleep 300; true"]);
        let command = command.env(MARK, mark).stdin(Stdio::null());
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        let id = ProcessId::of(child.id()).unwrap();
        (child, id)
    }

    #[test]
    fn all_of_a_family_ends_even_what_does_not_obey_and_what_left_its_parent() {
        let mark = format!("test-{}", std::process::id());
        let (mut child, leader) = family(&mark);
        let family = Family { leader, mark: &mark, groups: &[] };
        while family.members().len() < 3 {
            thread::yield_now();
        }
        // The leader is gone: what is left is found all the same.
        leader.signal(Signal::KILL);
        child.wait().unwrap();
        assert_eq!(family.members().len(), 2);
        let ended = family.end(|| {}, Nanos::from_millis(1), || false);
        assert_eq!(ended, Ended::Killed);
        assert_eq!(family.members(), BTreeSet::new());
        assert_eq!(family.end(|| {}, Nanos::ZERO, || false), Ended::Before);
    }

    /// A process that becomes one program after the other, and has no environment in between.
    #[test]
    fn what_becomes_another_program_is_found_at_any_moment() {
        let place = tempfile::tempdir().unwrap();
        let script = place.path().join("again");
        fs::write(&script, "exec sh \"$0\"\n").unwrap();
        let mark = format!("test-again-{}", std::process::id());
        let mut command = Command::new("sh");
        command.arg("-c").arg("setsid sh \"$0\" & sleep 300; true").arg(&script);
        let command = command.env(MARK, &mark).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let leader = ProcessId::of(child.id()).unwrap();
        let family = Family { leader, mark: &mark, groups: &[] };
        while family.members().len() < 3 {
            thread::yield_now();
        }
        leader.signal(Signal::KILL);
        child.wait().unwrap();
        let missed = (0..500).filter(|_| family.members().len() < 2).count();
        let ended = family.end(|| {}, Nanos::ZERO, || false);
        assert_eq!((missed, ended), (0, Ended::Killed));
    }

    #[test]
    fn a_number_that_another_process_has_now_is_not_touched() {
        let mut child = Command::new("sleep").arg("300").spawn().unwrap();
        let now = ProcessId::of(child.id()).unwrap();
        let earlier = ProcessId { started: now.started - 1, ..now };
        assert!(now.is_alive() && !earlier.is_alive());
        let family = Family { leader: earlier, mark: "of another one", groups: &[] };
        earlier.signal(Signal::KILL);
        let ended = family.end(|| {}, Nanos::ZERO, || false);
        assert_eq!((ended, now.is_alive()), (Ended::Before, true));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!now.is_alive());
    }

    /// As if the leader had ended with all of its group, and its number had become that of another group, whose
    /// first process has ended, too.
    #[test]
    fn a_group_whose_number_was_given_to_another_one_is_not_touched() {
        let mut command = Command::new("sh");
        let command = command.args(["-c", "sleep 300 & echo; exec sleep 300"]);
        let command = command.process_group(0).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let id = ProcessId::of(child.id()).unwrap();
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
        assert_eq!((ended, left.is_alive()), (Ended::Before, true));
        left.signal(Signal::KILL);
    }

    fn members_of(group: i32) -> Vec<ProcessId> {
        all().into_iter().filter(|stat| stat.group == group).map(|stat| stat.id).collect()
    }
}
