//! A scratch file of a run for data beyond the memory bound. It has no name once it is open, so that nothing of it
//! remains when it is dropped, or when the process is killed. Must not interpret its bytes.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use highwater_model::user_error::UserError;

use super::whole_file::file_error;

/// A file that is created with the first write.
#[derive(Debug)]
pub struct Spill {
    path: PathBuf,
    file: Option<File>,
    bytes: u64,
}

impl Spill {
    /// A file at this path, which must be unused.
    pub fn at(path: PathBuf) -> Self {
        Self { path, file: None, bytes: 0 }
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), UserError> {
        let failed = |error: std::io::Error| file_error(&self.path, error);
        let file = if let Some(file) = &self.file {
            file
        } else {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create_new(true);
            let file = options.open(&self.path).map_err(failed)?;
            std::fs::remove_file(&self.path).map_err(failed)?;
            self.file.insert(file)
        };
        file.write_all_at(bytes, self.bytes).map_err(failed)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Fills the buffer from a position.
    pub fn read(&self, from: u64, buffer: &mut [u8]) -> Result<(), UserError> {
        let missing = || self.failed("nothing was written");
        let file = self.file.as_ref().ok_or_else(missing)?;
        file.read_exact_at(buffer, from).map_err(|error| self.failed(error))
    }

    /// Reads this many bytes from the start, in order; `None` if nothing was written. Fails if the file has fewer
    /// bytes: its end would be mistaken for the end of the written data.
    pub(super) fn reader(&self, bytes: u64) -> Result<Option<impl Read + '_>, UserError> {
        let Some(mut file) = self.file.as_ref() else {
            return Ok(None);
        };
        let length = file.metadata().map_err(|error| self.failed(error))?.len();
        if length < bytes {
            return Err(self.failed("it is shorter than what was written"));
        }
        file.rewind().map_err(|error| self.failed(error))?;
        Ok(Some(file.take(bytes)))
    }

    /// Removes what was written.
    pub fn clear(&mut self) {
        self.bytes = 0;
        self.file = None;
    }

    /// An error of its file.
    pub(super) fn failed(&self, error: impl std::fmt::Display) -> UserError {
        file_error(&self.path, error)
    }
}
