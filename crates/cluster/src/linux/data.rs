//! Creates data directories of nodes, gives them to their user, and removes them. Only directories with their cluster's
//! mark are ever removed.
//!
//! Must not know their content.

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, lchown};
use std::path::{Path, PathBuf};

use highwater_model::user_error::UserError;

use super::processes::User;

/// The file that names the owner of the data directories next to it.
const MARK: &str = ".highwater-cluster";
/// Data directories for nodes of other users, who cannot enter this user's directories.
const FOR_OTHERS: &str = "/var/tmp";

/// The data directories of one cluster.
#[derive(Debug, Clone)]
pub(super) struct DataDirectories {
    root: PathBuf,
    /// The cluster's state directory, which identifies the owner.
    owner: String,
    user: Option<User>,
}

impl DataDirectories {
    /// For a cluster with this state directory; below `given`, or at a place that its nodes can use.
    pub(super) fn new(state: &Path, given: Option<PathBuf>, user: Option<User>) -> Self {
        let name = state.file_name().unwrap_or_default().to_string_lossy();
        let root = match (given, user) {
            (Some(given), _) => given.join(format!("highwater-{name}")),
            (None, Some(_)) => Path::new(FOR_OTHERS).join(format!("highwater-{name}")),
            (None, None) => state.join("data"),
        };
        Self { root, owner: state.display().to_string(), user }
    }

    /// The set of data directories that contains this node's directory.
    pub(super) fn containing(state: &Path, node: &Path) -> Self {
        Self {
            root: node.parent().unwrap_or(node).to_owned(),
            owner: state.display().to_string(),
            user: None,
        }
    }

    /// The directory of a node, existing or not.
    pub(super) fn of_node(&self, number: u32) -> PathBuf {
        self.root.join(format!("node{number}"))
    }

    /// Recreates the directory of a node.
    pub(super) fn make(&self, number: u32) -> Result<(), UserError> {
        self.claim()?;
        let path = self.of_node(number);
        let made =
            removed(&path).and_then(|()| fs::create_dir(&path)).and_then(|()| self.give(&path));
        made.map_err(|error| Self::failed(&path, &error))
    }

    /// Writes a file of a node, by its path in the node's directory.
    pub(super) fn write(&self, number: u32, name: &str, text: &str) -> Result<(), UserError> {
        let directory = self.of_node(number);
        let path = directory.join(name);
        let written = || {
            let mut made = PathBuf::new();
            for part in Path::new(name).parent().into_iter().flat_map(Path::components) {
                made.push(part);
                let folder = directory.join(&made);
                // The node's user may have put a link there, which would make Highwater write elsewhere.
                if !fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir()) {
                    fs::create_dir(&folder)?;
                    self.give(&folder)?;
                }
            }
            // A server that reads the file meanwhile sees either the old or the new content.
            let new = path.with_extension("highwater-new");
            if_there(fs::remove_file(&new))?;
            File::create_new(&new)?.write_all(text.as_bytes())?;
            self.give(&new)?;
            fs::rename(&new, &path)
        };
        written().map_err(|error| UserError::cannot(format!("write {}", path.display()), &error))
    }

    /// Removes all directories of the cluster's nodes, if there are any.
    pub(super) fn remove(&self) -> Result<(), UserError> {
        if !self.is_ours() {
            return Ok(());
        }
        let done = removed(&self.root);
        done.map_err(|error| UserError::cannot(format!("remove {}", self.root.display()), &error))
    }

    /// Creates the root, or verifies that it belongs to this cluster.
    fn claim(&self) -> Result<(), UserError> {
        if self.is_ours() {
            return Ok(());
        }
        let place = self.root.display();
        let parents = self.root.parent().map_or(Ok(()), fs::create_dir_all);
        match parents.and_then(|()| fs::create_dir(&self.root)) {
            Ok(()) => fs::write(self.root.join(MARK), &self.owner)
                .map_err(|error| Self::failed(&self.root, &error)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let message = format!("the directory {place} is there, and not this cluster's");
                Err(UserError::usage(message)
                    .with_hint("remove it, or set another `data` or `name` in the cluster file"))
            }
            Err(error) => Err(Self::failed(&self.root, &error)),
        }
    }

    /// Whether the root is a directory that this cluster created: in a directory shared by all users, anyone may create
    /// one of that name.
    fn is_ours(&self) -> bool {
        let mark = self.root.join(MARK);
        let own = rustix::process::geteuid().as_raw();
        let is_own = |path: &Path, is: fn(&Metadata) -> bool| {
            let found = fs::symlink_metadata(path);
            found.is_ok_and(|found| is(&found) && found.uid() == own)
        };
        is_own(&self.root, Metadata::is_dir)
            && is_own(&mark, Metadata::is_file)
            && fs::read_to_string(&mark).is_ok_and(|owner| owner == self.owner)
    }

    /// Gives a path to the node's user; for a link, the link itself and not its target.
    fn give(&self, path: &Path) -> io::Result<()> {
        match self.user {
            Some(user) => lchown(path, Some(user.uid), Some(user.gid)),
            None => Ok(()),
        }
    }

    fn failed(path: &Path, error: &io::Error) -> UserError {
        UserError::cannot(format!("make the data directory {}", path.display()), error)
            .with_hint("set `data` of [node] to a directory on a disk with room")
    }
}

/// Removes a directory, if it exists; links in it are removed without their targets.
fn removed(path: &Path) -> io::Result<()> {
    if_there(fs::remove_dir_all(path))
}

fn if_there(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn directories(place: &Path, state: &str) -> DataDirectories {
        let given = Some(place.join("disk"));
        DataDirectories::new(&place.join(state).join("lab"), given, None)
    }

    #[test]
    fn only_data_of_this_cluster_are_used_or_removed() {
        let place = tempfile::tempdir().unwrap();
        let (one, other) = (directories(place.path(), "a"), directories(place.path(), "b"));
        one.make(1).unwrap();
        one.write(1, "etc/users/all.xml", "<x/>").unwrap();
        let file = one.of_node(1).join("etc/users/all.xml");
        assert_eq!(fs::read_to_string(&file).unwrap(), "<x/>");
        let error = other.make(1).unwrap_err();
        assert!(error.message.ends_with("not this cluster's"), "{error}");
        other.remove().unwrap();
        assert!(file.exists());
        one.make(1).unwrap();
        assert!(!file.exists(), "recreated");
        one.remove().unwrap();
        assert!(!one.of_node(1).exists() && place.path().join("disk").exists());
        one.remove().unwrap();
    }

    #[test]
    fn links_created_by_a_node_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("kept"), "").unwrap();
        let of = directories(place.path(), "a");
        of.make(1).unwrap();
        let node = of.of_node(1);
        symlink(&elsewhere, node.join("etc")).unwrap();
        assert!(of.write(1, "etc/all.xml", "<x/>").is_err());
        symlink(elsewhere.join("kept"), node.join("all.highwater-new")).unwrap();
        of.write(1, "all.xml", "<x/>").unwrap();
        assert_eq!(fs::read_to_string(elsewhere.join("kept")).unwrap(), "");
        of.remove().unwrap();
        assert!(!node.exists() && elsewhere.join("kept").exists());
        // A root that is a link does not count as the cluster's.
        let root = node.parent().unwrap().to_owned();
        fs::write(elsewhere.join(MARK), &of.owner).unwrap();
        symlink(&elsewhere, &root).unwrap();
        of.remove().unwrap();
        assert!(of.make(1).is_err());
        assert!(elsewhere.join("kept").exists());
    }
}
