//! The journal: the counts of each second, and the changes made by commands, one JSON object per line. Must not count.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use highwater_driver::regular_file::{self, MADE_BYTES_MAX};
use highwater_model::record::{FailureRecord, InterventionRecord};
use highwater_model::user_error::UserError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::whole_file::file_error;

/// Additions to one second of one op.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalLine {
    /// From the start of the run.
    pub second: u64,
    /// Name of the phase.
    pub phase: String,
    /// Name of the stream.
    pub stream: String,
    /// Name of the op.
    pub op: String,
    /// Ops intended.
    pub offered: u64,
    /// Ops sent.
    pub sent: u64,
    /// Rows sent.
    pub rows_sent: u64,
    /// Ops acknowledged, completely or partly, by finish time.
    pub acknowledged: u64,
    /// Rows acknowledged, by finish time.
    pub rows_acknowledged: u64,
    /// Ops failed, completely or partly.
    pub errors: u64,
    /// Failed ops that were partly acknowledged.
    #[serde(default)]
    pub partial: u64,
    /// Rows that the target reported as not stored, by finish time.
    #[serde(default)]
    pub rows_refused: u64,
    /// Ops dropped.
    pub dropped: u64,
    /// Failed ops by class, code, and message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureRecord>,
    /// Base64 histogram of the latencies, nanoseconds, two digits; empty without any.
    pub latency: String,
    /// The highest latency, exact.
    #[serde(default)]
    pub max_ns: u64,
    /// Ops whose latency ranks as infinite.
    pub beyond: u64,
}

/// The lines of one kind (no kind has all fields of another); a truncated line is omitted.
pub(super) fn lines<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = regular_file::read_text(path, MADE_BYTES_MAX).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A line of a journal.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// Additions to one second of one op.
    Line(JournalLine),
    /// A change made by a command.
    Intervention(InterventionRecord),
}

/// A journal that is still being written, read as it grows.
#[derive(Debug)]
pub struct JournalTail(LineTail);

impl JournalTail {
    /// The tail of this file, from its start.
    pub(super) const fn of(path: PathBuf) -> Self {
        Self(LineTail::of(path))
    }

    /// New whole lines, at most some megabytes; empty if the file cannot be read.
    pub fn read(&mut self) -> Vec<Written> {
        self.0.read().into_iter().filter_map(|line| written(&line)).collect()
    }

    /// Whether there was more than the last call returned.
    pub const fn is_behind(&self) -> bool {
        self.0.is_behind()
    }
}

fn written(line: &[u8]) -> Option<Written> {
    serde_json::from_slice(line)
        .ok()
        .map(Written::Line)
        .or_else(|| serde_json::from_slice(line).ok().map(Written::Intervention))
}

/// The open file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Journal {
    /// Creates it.
    pub(super) fn create(path: &Path) -> Result<Self, UserError> {
        let file = File::create(path).map_err(|error| file_error(path, error))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Adds counts, or a change made by a command; it reaches the disk with the next [`Journal::flush`].
    pub fn append(&mut self, line: &impl Serialize) -> Result<(), UserError> {
        serde_json::to_writer(&mut self.file, line)
            .map_err(std::io::Error::from)
            .and_then(|()| self.file.write_all(b"\n"))
            .map_err(|error| file_error(&self.path, error))
    }

    /// Passes everything to the operating system.
    pub fn flush(&mut self) -> Result<(), UserError> {
        self.file.flush().map_err(|error| file_error(&self.path, error))
    }
}

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
