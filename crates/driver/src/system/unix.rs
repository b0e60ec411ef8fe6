//! Unix: Linux, and macOS.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use highwater_model::units::Nanos;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, statvfs};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, geteuid, getuid, kill_process};
use rustix::time::{ClockId, clock_gettime};

use super::{FileRights, MachineNames};

/// A connection to a server's socket in the file system.
pub type LocalStream = tokio::net::UnixStream;

/// A standard stream, which may be a terminal.
pub use std::os::fd::AsFd as TerminalStream;

/// Connects to a socket in the file system.
///
/// # Errors
/// Nothing listens there.
pub async fn connect_local(path: &Path) -> io::Result<LocalStream> {
    LocalStream::connect(path).await
}

/// CPU time that this process has used.
pub fn process_cpu() -> Option<Nanos> {
    Some(time(ClockId::ProcessCPUTime))
}

/// CPU time that the calling thread has used.
pub fn thread_cpu() -> Option<Nanos> {
    Some(time(ClockId::ThreadCPUTime))
}

fn time(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    let seconds = Nanos::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds.saturating_add(Nanos(u64::try_from(time.tv_nsec).unwrap_or(0)))
}

/// Owner, group, and permission bits of a file.
pub fn rights(about: &Metadata) -> Option<FileRights> {
    Some(FileRights { owner: about.uid(), group: about.gid(), mode: about.mode() })
}

/// The id of the user whose rights this process has.
pub fn effective_user() -> Option<u32> {
    Some(geteuid().as_raw())
}

/// A name for this process's user if the environment has none.
pub fn user_without_name() -> String {
    format!("uid-{}", getuid().as_raw())
}

/// Names of this machine and of its system.
pub fn machine_names() -> MachineNames {
    let names = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    MachineNames {
        host: Some(text(names.nodename())),
        system: text(names.sysname()),
        kernel: Some(text(names.release())),
        architecture: text(names.machine()),
    }
}

/// Bytes of a path's file system that an ordinary user can still write, and all of its bytes.
pub fn free_and_total_bytes(path: &Path) -> Option<[u64; 2]> {
    let found = statvfs(path).ok()?;
    Some([found.f_bavail, found.f_blocks].map(|blocks| blocks.saturating_mul(found.f_frsize)))
}

/// What distinguishes a file from others of its file system, whatever its name.
pub fn identity(about: &Metadata) -> Option<u64> {
    Some(about.ino())
}

/// Whether it is a pipe.
pub fn is_pipe(kind: FileType) -> bool {
    kind.is_fifo()
}

/// The error of reading a directory like a file.
pub fn is_a_directory() -> io::Error {
    Errno::ISDIR.into()
}

/// Opens a file for reading without waiting: neither for a pipe's writer nor for a device.
///
/// # Errors
/// It cannot be opened.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(number(flags)).open(path)
}

/// Creates or truncates a file, or opens a named pipe that already has a reader: it never waits for a reader.
///
/// # Errors
/// If it cannot be opened, or is a pipe without a reader.
pub fn create_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).custom_flags(number(OFlags::NONBLOCK));
    let file = options.open(path).map_err(|error| {
        let is_pipe = || path.metadata().is_ok_and(|of| is_pipe(of.file_type()));
        if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) && is_pipe() {
            return io::Error::other("no process reads this named pipe; start its reader first");
        }
        error
    })?;
    // Once there is a reader, writes may wait for it.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

fn number(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or_default()
}

/// Writes all bytes at a position. The file's own position is undefined afterwards.
///
/// # Errors
/// They cannot be written.
pub fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

/// Fills the buffer from a position. The file's own position is undefined afterwards.
///
/// # Errors
/// The file cannot be read, or has fewer bytes.
pub fn read_exact_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(buffer, at)
}

/// Reads from a position without moving that of the file, which another process may write; the count of bytes.
///
/// # Errors
/// It cannot be read.
pub fn read_at_unmoved(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    file.read_at(buffer, at)
}

/// Makes a command start in a process group of its own, which the terminal's signals do not reach.
///
/// # Errors
/// The system has no such groups.
pub fn set_own_group(command: &mut Command) -> io::Result<()> {
    command.process_group(0);
    Ok(())
}

/// Asks a child process to end, as Ctrl+C does.
///
/// # Errors
/// It cannot be asked.
pub fn interrupt(child: &Child) -> io::Result<()> {
    Ok(kill_process(Pid::from_child(child), Signal::INT)?)
}

/// Ends a child process that has a group of its own, and all processes of that group, at once.
///
/// # Errors
/// They cannot be ended.
pub fn kill_group(child: &mut Child) -> io::Result<()> {
    Ok(rustix::process::kill_process_group(Pid::from_child(child), Signal::KILL)?)
}

/// Columns and rows of a terminal; 0 for one that it does not know.
pub fn terminal_size(stream: &impl TerminalStream) -> Option<[u16; 2]> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some([size.ws_col, size.ws_row])
}
