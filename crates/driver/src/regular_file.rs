//! Files named by a user, a record, or an environment: regular ones up to a maximum size, so that neither a pipe
//! without a writer nor an endless device blocks the program; those with passwords only if no other user may read them;
//! and free space.
//!
//! Must not know a format, or decide how much space is enough.

use std::fs;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use highwater_model::user_error::UserError;

use crate::system;

/// Maximum bytes of a file written by a person: a workload, statements, certificates, settings, a cluster.
pub const WRITTEN_BYTES_MAX: u64 = 1 << 20;
/// Maximum bytes of a file written by a program: more than the record of a month of seconds.
pub const MADE_BYTES_MAX: u64 = 2 << 30;
/// Directories of files passed to a process, such as the shell's `<(…)`, which are pipes.
const GIVEN: [&str; 2] = ["/dev/fd", "/proc/self/fd"];
const STANDARD_INPUT: &str = "/dev/stdin";

/// Opens a regular file without ever blocking.
///
/// # Errors
/// It cannot be opened, or is not a regular file. A pipe passed to this process counts as one.
pub fn open(path: &Path) -> io::Result<File> {
    let parent = path.parent();
    let is_given = path == Path::new(STANDARD_INPUT)
        || GIVEN.iter().any(|given| parent == Some(Path::new(given)));
    let file = if is_given { File::open(path) } else { system::open_without_waiting(path) }?;
    let kind = file.metadata()?.file_type();
    let what = if kind.is_file() || is_given && system::is_pipe(kind) {
        return Ok(file);
    } else if kind.is_dir() {
        return Err(system::is_a_directory());
    } else if system::is_pipe(kind) {
        "a named pipe"
    } else {
        "a device"
    };
    let message = format!("it is {what}, not a regular file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// The bytes of a regular file.
///
/// # Errors
/// Like [`open`], and if it has more than `most` bytes, in which case reading stops there.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= most {
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    if length.max(bytes.len() as u64) > most {
        let bound = bound(most);
        let message = format!("it is larger than {bound}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The text of a regular file.
///
/// # Errors
/// Like [`read`], and if it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| {
        let message = "stream did not contain valid UTF-8";
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

fn bound(bytes: u64) -> String {
    match (bytes >> 30, bytes >> 20, bytes) {
        (0, 0, bytes) => format!("{bytes} bytes"),
        (0, mebibytes, _) => format!("{mebibytes} MiB"),
        (gibibytes, ..) => format!("{gibibytes} GiB"),
    }
}

/// A kind of such a file, for errors.
#[derive(Debug, Clone, Copy)]
pub struct PrivateFile {
    /// Its name in messages, such as `password file`.
    pub name: &'static str,
    /// The alternative to the file.
    pub hint: &'static str,
}

impl PrivateFile {
    /// The file's text; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Others may read it, as far as the system says who may, or it is not a regular file of at most 1 MiB.
    pub fn read(self, path: &Path) -> Result<Option<String>, UserError> {
        let bytes = match read(path, WRITTEN_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unreadable(path, &error.to_string())),
        };
        let about = fs::metadata(path);
        let about = about.map_err(|error| self.unreadable(path, &error.to_string()))?;
        if system::rights(&about).is_some_and(|rights| rights.mode & 0o077 != 0) {
            let error = self.unreadable(path, "others may read it");
            return Err(error.with_hint(format!("chmod 0600 {}", path.display())));
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn unreadable(self, path: &Path, cause: &str) -> UserError {
        UserError::refused(format!("{} `{}`: {cause}", self.name, path.display()))
            .with_hint(self.hint)
    }
}

/// Free space on the disk of a target's tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskSpace {
    /// A path or the name of a node, for display.
    pub place: String,
    /// Bytes that an ordinary user can still write.
    pub free_bytes: u64,
    /// Total bytes.
    pub total_bytes: u64,
}

impl DiskSpace {
    /// Space of the file system of a path on this machine; `None` if the path does not exist, or
    /// the system does not say.
    pub fn of_path(path: &Path) -> Option<Self> {
        let [free_bytes, total_bytes] = system::free_and_total_bytes(path)?;
        Some(Self { place: path.display().to_string(), free_bytes, total_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[track_caller]
    fn refused(path: &Path, most: u64, why: &str) {
        let error = read(path, most).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn a_file_is_read_up_to_its_bound_and_not_beyond() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        refused(&path, 4, "larger than 4 bytes");
        File::options().write(true).open(&path).unwrap().set_len(MADE_BYTES_MAX + 1).unwrap();
        refused(&path, MADE_BYTES_MAX, "larger than 2 GiB");
        refused(&path, WRITTEN_BYTES_MAX, "larger than 1 MiB");
    }

    #[test]
    fn pipes_devices_directories_and_links_to_them_are_refused_at_once() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        refused(&pipe, 9, "a named pipe");
        let link = place.path().join("link");
        symlink(&pipe, &link).unwrap();
        refused(&link, 9, "a named pipe");
        let zero = place.path().join("zero");
        symlink("/dev/zero", &zero).unwrap();
        refused(&zero, 9, "a device");
        refused(place.path(), 9, "directory");
        refused(&place.path().join("absent"), 9, "No such file");
    }

    #[test]
    fn a_pipe_that_this_process_was_given_is_read_within_the_bound() {
        let (reader, writer) = io::pipe().unwrap();
        io::Write::write_all(&mut &writer, b"12345").unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(read_text(Path::new(&path), 5).unwrap(), "12345");
    }

    #[test]
    fn a_file_readable_by_others_is_rejected() {
        let file = PrivateFile { name: "password file", hint: "none is needed" };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("passwords");
        fs::write(&path, "geheim").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = file.read(&path).unwrap_err();
        assert!(error.hint.as_ref().unwrap().contains("chmod 0600"));
        assert!(!format!("{error:?}").contains("geheim"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(file.read(&path).unwrap().as_deref(), Some("geheim"));
        let absent = directory.path().join("absent");
        assert!(file.read(&absent).unwrap().is_none());
        let error = file.read(directory.path()).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("none is needed"));
    }
}
