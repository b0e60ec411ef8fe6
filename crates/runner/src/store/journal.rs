//! The journal: what came in, once a second, one JSON object a line.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::recorder::IntervalDelta;

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
    /// Ops due.
    pub offered: u64,
    /// Ops sent.
    pub sent: u64,
    /// Rows sent.
    pub rows_sent: u64,
    /// Ops acknowledged, by finished.
    pub acknowledged: u64,
    /// Rows acknowledged, by finished.
    pub rows_acknowledged: u64,
    /// Ops failed.
    pub errors: u64,
    /// Ops dropped.
    pub dropped: u64,
    /// Base64 histogram of the latencies, nanoseconds, two digits; empty without any.
    pub latency: String,
    /// Ops whose latency ranks as infinite.
    pub beyond: u64,
}

impl JournalLine {
    /// The line of some additions.
    pub fn new(delta: &IntervalDelta, phase: &str, stream: &str, op: &str) -> Self {
        let latency = if delta.latency.is_empty() {
            String::new()
        } else {
            delta.latency.encode()
        };
        Self {
            second: delta.second,
            phase: phase.to_owned(),
            stream: stream.to_owned(),
            op: op.to_owned(),
            offered: delta.offered,
            sent: delta.sent,
            rows_sent: delta.rows_sent,
            acknowledged: delta.acknowledged,
            rows_acknowledged: delta.rows_acknowledged,
            errors: delta.errors,
            dropped: delta.dropped,
            latency,
            beyond: delta.latency.beyond(),
        }
    }
}

/// The open file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Journal {
    /// Creates it.
    pub(super) fn create(path: &Path) -> Result<Self, StoreError> {
        let file = File::create(path).map_err(|error| StoreError::new(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
        })
    }

    /// Adds a line; it reaches the disk with the next [`Journal::flush`].
    pub fn append(&mut self, line: &JournalLine) -> Result<(), StoreError> {
        serde_json::to_writer(&mut self.file, line)
            .map_err(std::io::Error::from)
            .and_then(|()| self.file.write_all(b"\n"))
            .map_err(|error| StoreError::new(&self.path, error))
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.file
            .flush()
            .map_err(|error| StoreError::new(&self.path, error))
    }
}
