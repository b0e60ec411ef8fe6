//! Writes a file so that readers never see part of it, and says why it cannot. Must not know its content.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use highwater_model::user_error::UserError;

/// An error of a file or directory, named in front of its cause.
pub(super) fn file_error(path: &Path, cause: impl std::fmt::Display) -> UserError {
    UserError::usage(format!("{}: {cause}", path.display()))
}

/// Writes a file completely or not at all.
pub(super) fn write_whole(whole: &Path, bytes: &[u8]) -> Result<(), UserError> {
    write_whole_by(whole, |file| file.write_all(bytes))
}

/// The same for content too large to build in memory first.
pub(super) fn write_whole_by(
    whole: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), UserError> {
    let mut partial = whole.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    // Does not follow an existing entry of this name, such as a link to another file or a pipe.
    drop(fs::remove_file(&partial));
    let written = File::create_new(&partial).and_then(|file| {
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        file.flush()?;
        fs::rename(&partial, whole)
    });
    written.map_err(|error| {
        // The remains would only take space on a full disk.
        drop(fs::remove_file(&partial));
        file_error(whole, error)
    })
}
