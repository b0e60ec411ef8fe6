//! Per-second data that a run keeps until its end: the newest in memory, the rest in a scratch file, so that memory
//! does not grow with the length of a run.
//!
//! If the file cannot be written, everything stays in memory.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use highwater_model::user_error::UserError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::whole_file::file_error;

/// Values in memory at a time.
const RECENT_MAX: usize = 256;

/// Values in order of arrival.
#[derive(Debug)]
pub struct Spool<T> {
    recent: Vec<T>,
    /// One JSON value per line.
    spill: Spill,
    spilled_bytes: u64,
    spilled: usize,
    /// Cleared permanently if the file could not be written: a value is in one place or the other.
    is_writable: bool,
}

impl<T: Serialize + DeserializeOwned> Spool<T> {
    /// Empty, with a separate scratch file.
    pub fn new(spill: Spill) -> Self {
        Self { recent: Vec::new(), spill, spilled_bytes: 0, spilled: 0, is_writable: true }
    }

    /// Appends a value.
    pub fn push(&mut self, value: T) {
        self.recent.push(value);
        if self.is_writable && self.recent.len() >= RECENT_MAX {
            match self.write() {
                Ok(bytes) => {
                    self.spilled_bytes += bytes;
                    self.spilled += self.recent.len();
                    self.recent.clear();
                }
                Err(_) => self.is_writable = false,
            }
        }
    }

    /// Takes all values; an error if the scratch file cannot be read back.
    pub fn take(&mut self) -> Result<Vec<T>, UserError> {
        let mut values = Vec::with_capacity(self.spilled + self.recent.len());
        self.drain(|value| values.push(value))?;
        Ok(values)
    }

    /// Passes on all values one by one, and keeps none. An error if the scratch file cannot be read back, possibly
    /// after some values.
    pub fn drain(&mut self, mut each: impl FnMut(T)) -> Result<(), UserError> {
        if let Some(written) = self.spill.reader(self.spilled_bytes)? {
            let lines = serde_json::Deserializer::from_reader(BufReader::new(written)).into_iter();
            for value in lines {
                each(value.map_err(|error| self.spill.failed(error))?);
            }
        }
        self.recent.drain(..).for_each(each);
        self.clear();
        Ok(())
    }

    /// Drops all values.
    pub fn clear(&mut self) {
        self.recent.clear();
        self.spill.clear();
        self.spilled_bytes = 0;
        self.spilled = 0;
    }

    /// Bytes written.
    fn write(&mut self) -> Result<u64, UserError> {
        let mut lines = Vec::new();
        for value in &self.recent {
            serde_json::to_writer(&mut lines, value).map_err(|error| self.spill.failed(error))?;
            lines.push(b'\n');
        }
        self.spill.append(&lines)?;
        Ok(lines.len() as u64)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u64 = 3 * RECENT_MAX as u64 + 7;

    fn filled(at: &std::path::Path) -> Spool<(u64, f64)> {
        let mut spool = Spool::new(Spill::at(at.to_owned()));
        for number in 0..MANY {
            spool.push(value(number));
            assert!(!spool.is_writable || spool.recent.len() < RECENT_MAX);
        }
        spool
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn value(number: u64) -> (u64, f64) {
        (number, 1.0 / (number as f64 + 3.0))
    }

    #[test]
    fn what_went_into_the_file_comes_back_in_order_and_exactly() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("scratch");
        let mut spool = filled(&path);
        assert!(spool.spilled_bytes > 0 && !path.exists());
        assert_eq!(spool.take().unwrap(), (0..MANY).map(value).collect::<Vec<_>>());
        assert!(spool.take().unwrap().is_empty());
    }

    #[test]
    fn without_a_file_everything_stays_in_memory() {
        let mut spool = filled(std::path::Path::new("/nowhere/at/all"));
        assert_eq!(spool.take().unwrap(), (0..MANY).map(value).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_that_lost_its_end_is_an_error_and_no_shorter_list() {
        let root = tempfile::tempdir().unwrap();
        let mut spool = filled(&root.path().join("scratch"));
        spool.spilled_bytes += 1;
        assert!(spool.take().is_err());
    }

    #[test]
    fn what_is_forgotten_does_not_come_back() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("scratch");
        let mut spool = filled(&path);
        spool.clear();
        spool.push(value(1));
        assert_eq!(spool.take().unwrap(), [value(1)]);
    }
}
