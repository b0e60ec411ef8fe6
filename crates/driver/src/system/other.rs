//! A system that is not Unix, such as Windows: what Rust's library has for all systems. No test runs here.

use std::fs::{File, FileType, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Child, Command};

use highwater_model::units::Nanos;

use super::{FileRights, MachineNames};

/// Never connected.
pub type LocalStream = tokio::net::TcpStream;

/// A standard stream.
pub trait TerminalStream {}

impl<S> TerminalStream for S {}

/// An error: only Unix has such sockets.
pub async fn connect_local(_: &Path) -> io::Result<LocalStream> {
    let message = "a server's socket in the file system can be used on Unix only";
    std::future::ready(Err(unsupported(message))).await
}

/// Unknown.
pub const fn process_cpu() -> Option<Nanos> {
    None
}

/// Unknown.
pub const fn thread_cpu() -> Option<Nanos> {
    None
}

/// Unknown.
pub const fn rights(_: &Metadata) -> Option<FileRights> {
    None
}

/// Unknown.
pub const fn effective_user() -> Option<u32> {
    None
}

/// A name for this process's user if the environment has none where Unix has it.
pub fn user_without_name() -> String {
    std::env::var("USERNAME").unwrap_or_else(|_| "unknown".to_owned())
}

/// Names of this machine and of its system.
pub fn machine_names() -> MachineNames {
    MachineNames {
        host: std::env::var("COMPUTERNAME").ok(),
        system: std::env::consts::OS.to_owned(),
        kernel: None,
        architecture: std::env::consts::ARCH.to_owned(),
    }
}

/// Unknown.
pub const fn free_and_total_bytes(_: &Path) -> Option<[u64; 2]> {
    None
}

/// Unknown.
pub const fn identity(_: &Metadata) -> Option<u64> {
    None
}

/// No file is one.
pub const fn is_pipe(_: FileType) -> bool {
    false
}

/// The error of reading a directory like a file.
pub fn is_a_directory() -> io::Error {
    io::ErrorKind::IsADirectory.into()
}

/// Opens a file for reading.
///
/// # Errors
/// It cannot be opened.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Creates or truncates a file.
///
/// # Errors
/// If it cannot be opened.
pub fn create_without_waiting(path: &Path) -> io::Result<File> {
    File::create(path)
}

/// Writes all bytes at a position. The file's own position is undefined afterwards.
///
/// # Errors
/// They cannot be written.
pub fn write_all_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

/// Fills the buffer from a position. The file's own position is undefined afterwards.
///
/// # Errors
/// The file cannot be read, or has fewer bytes.
pub fn read_exact_at(mut file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(buffer)
}

/// An error: it would move the position of the file's writer.
pub fn read_at_unmoved(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// An error: only Unix has such groups.
pub fn set_own_group(_: &mut Command) -> io::Result<()> {
    Err(unsupported("commands can be started from a page on Unix only"))
}

/// An error: only Unix has such a signal.
pub fn interrupt(_: &Child) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Ends a child process.
pub fn kill_group(child: &mut Child) -> io::Result<()> {
    child.kill()
}

/// Unknown.
pub const fn terminal_size(_: &impl TerminalStream) -> Option<[u16; 2]> {
    None
}

fn unsupported(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, message)
}
