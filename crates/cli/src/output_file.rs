//! Files that a command writes where its user says. Must not know what is written.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// Makes a file anew, or opens a named pipe that somebody reads already: a reader is never waited for.
///
/// # Errors
/// It cannot be opened, or is a pipe without a reader.
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
    // Its writer may wait for its reader, once there is one.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}
