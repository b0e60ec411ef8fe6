//! Starts a process in such a way that it cannot run before it is recorded: a shell waits for a line, and then executes
//! the program in its place. If Highwater is killed first, the shell ends.
//!
//! Must not know why a process is started, or wait for its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use highwater_model::user_error::UserError;
use rustix::fs::OFlags;

use super::processes::{MARK, ProcessId};
use super::state::disk;

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
pub(super) struct Gated {
    child: Child,
    pub(super) id: ProcessId,
}

impl Launch<'_> {
    /// Starts the process in a separate process group, up to the gate.
    pub(super) fn start(&self) -> Result<Gated, UserError> {
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
        if let Some(id) = ProcessId::of(child.id()) {
            return Ok(Gated { child, id });
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
    opened.map_err(|error| disk(format!("open {}", path.display()), &error))
}

impl Gated {
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

    fn launch(place: &Path, script: &str) -> Gated {
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
    fn what_is_printed_is_this_users_alone_and_a_link_is_not_followed() {
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
