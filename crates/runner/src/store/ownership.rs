//! Checks whether other users can have written a run: the content of such a record must not decide what Highwater
//! connects to or executes. Must not interpret a record.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::directory_of;
use super::names::{DRAFT, RECORD};

/// Write permission for others than the owner and the group.
const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;
/// In such a directory, users can change only their own files.
const STICKY: u32 = 0o1000;
const ROOT: u32 = 0;

/// Why another user may have written a run's record: its file, its directory, or the store around it is not owned by
/// this user, or others can write to it. `None` if only this user can.
pub fn others_may_write(run: &Path) -> Option<String> {
    let directory = directory_of(run);
    let mut inside =
        [RECORD, DRAFT].map(|name| directory.join(name)).into_iter().filter(|file| file.exists());
    let file = if run == directory { inside.next() } else { Some(run.to_owned()) };
    let own = [Some(directory.to_owned()), file];
    let mut own = own.into_iter().flatten();
    own.find_map(|path| why(&path, false)).or_else(|| {
        // Resolves a relative path: every directory has a parent.
        let store = directory.canonicalize().ok()?.parent()?.to_owned();
        why(&store, true)
    })
}

/// Why others may write here; a directory around a run may also be owned by root.
fn why(path: &Path, is_around: bool) -> Option<String> {
    let shown = path.display();
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) => return Some(format!("{shown}: {error}")),
    };
    let owner = about.uid();
    let is_own = owner == rustix::process::geteuid().as_raw() || is_around && owner == ROOT;
    if !is_own {
        return Some(format!("{shown} belongs to another user ({owner})"));
    }
    let is_sticky = is_around && about.mode() & STICKY != 0;
    (is_writable(&about) && !is_sticky).then(|| format!("{shown} can be written by others"))
}

/// Whether users other than the owner may write. A group with the id of its user does not count: systems create one for
/// each user.
fn is_writable(about: &Metadata) -> bool {
    let is_of_user = about.gid() == about.uid() && about.uid() != ROOT;
    about.mode() & OTHERS_WRITE != 0 || about.mode() & GROUP_WRITES != 0 && !is_of_user
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    /// A store with a run that only its user can write.
    fn store() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("runs/a");
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join(RECORD), "").unwrap();
        for path in [place.path().join("runs"), run.clone()] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        fs::set_permissions(run.join(RECORD), Permissions::from_mode(0o644)).unwrap();
        (place, run)
    }

    #[test]
    fn a_run_is_its_users_unless_its_file_its_directory_or_its_store_can_be_written_by_others() {
        for (part, mode) in [
            ("a/record.json", 0o646),
            ("a/record.json", 0o666),
            ("a", 0o757),
            ("a", 0o1777),
            ("", 0o757),
        ] {
            let (place, run) = store();
            assert_eq!(others_may_write(&run), None);
            assert_eq!(others_may_write(&run.join(RECORD)), None);
            let path = place.path().join("runs").join(part);
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            for run in [run.clone(), run.join(RECORD)] {
                let why = others_may_write(&run).unwrap();
                assert!(why.contains("by others"), "{part}: {why}");
            }
        }
        let (place, run) = store();
        let around = place.path().join("runs");
        fs::set_permissions(around, Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(others_may_write(&run), None, "each changes his own alone there");
    }
}
