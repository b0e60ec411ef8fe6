//! Files that a command writes to a path given by the user. Must not depend on their content.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// Creates or truncates a file, or opens a named pipe that already has a reader: it never waits for a reader.
///
/// # Errors
/// If it cannot be opened, or is a pipe without a reader.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options.custom_flags(i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default());
    let file = options.open(path).map_err(|error| {
        let is_pipe = || path.metadata().is_ok_and(|of| of.file_type().is_fifo());
        if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) && is_pipe() {
            return io::Error::other("no process reads this named pipe; start its reader first");
        }
        error
    })?;
    // Once there is a reader, writes may wait for it.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}
