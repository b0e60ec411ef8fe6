//! Reads a file of lines that is still being written, as it grows. Must not interpret lines.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use highwater_driver::regular_file;

/// Bytes read per call.
const READ_MAX: u64 = 4 << 20;

/// The file, and how much of it was read. It stays open, so that even a removed file is read to its end.
#[derive(Debug)]
pub(super) struct LineTail {
    path: PathBuf,
    file: Option<File>,
    /// Bytes read so far.
    taken: u64,
    /// The last read left more.
    is_behind: bool,
}

impl LineTail {
    /// The tail of this file, from its start; it need not exist yet.
    pub(super) const fn of(path: PathBuf) -> Self {
        Self { path, file: None, taken: 0, is_behind: false }
    }

    /// New whole lines, at most some megabytes; empty if they cannot be read.
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

    /// Whether the file was restarted, for example by a resumed experiment.
    fn is_another(&self) -> bool {
        let open = self.file.as_ref().and_then(|file| file.metadata().ok());
        match (open, fs::metadata(&self.path)) {
            (Some(open), Ok(there)) => open.ino() != there.ino(),
            _ => false,
        }
    }

    /// Whether there was more than the last call returned.
    pub(super) const fn is_behind(&self) -> bool {
        self.is_behind
    }
}
