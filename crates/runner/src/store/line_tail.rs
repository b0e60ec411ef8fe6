//! A file of lines that is still written, read as it grows. What must not be here: what lines say.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use highwater_driver::regular_file;

/// Bytes that are read at a time.
const READ_MAX: u64 = 4 << 20;

/// The file, and how much of it was read. It is kept open, so that a file that is removed is still read to its end.
#[derive(Debug)]
pub(super) struct LineTail {
    path: PathBuf,
    file: Option<File>,
    /// Bytes that were taken in.
    taken: u64,
    /// There is more than was read at a time.
    is_behind: bool,
}

impl LineTail {
    /// This file, from its begin; it need not be there yet.
    pub(super) const fn of(path: PathBuf) -> Self {
        Self { path, file: None, taken: 0, is_behind: false }
    }

    /// The whole lines that were written since, at most some megabytes of them; nothing where they cannot be read.
    pub(super) fn read(&mut self) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut read = self.read_on(&mut bytes);
        if bytes.is_empty() && self.is_another() {
            (self.file, self.taken) = (None, 0);
            read = self.read_on(&mut bytes);
        }
        self.is_behind = bytes.len() as u64 == READ_MAX;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        let Some(end) = whole.filter(|_| read.is_ok()) else {
            return Vec::new();
        };
        self.taken += end as u64 + 1;
        bytes[..end].split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    fn read_on(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        if self.file.is_none() {
            self.file = Some(regular_file::open(&self.path)?);
        }
        let Some(file) = &mut self.file else {
            return Ok(0);
        };
        file.seek(SeekFrom::Start(self.taken))?;
        file.take(READ_MAX).read_to_end(bytes)
    }

    /// Whether the file was begun anew, as by an experiment that is resumed.
    fn is_another(&self) -> bool {
        let open = self.file.as_ref().and_then(|file| file.metadata().ok());
        match (open, fs::metadata(&self.path)) {
            (Some(open), Ok(there)) => open.ino() != there.ino(),
            _ => false,
        }
    }

    /// Whether there was more than the last call took.
    pub(super) const fn is_behind(&self) -> bool {
        self.is_behind
    }
}
