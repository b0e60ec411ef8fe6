//! The file of a run's ledger: outcomes of rows, one JSON object per line.
//!
//! It grows once a second, so that acknowledgments outlive the process. After much growth, and when the load ends, it
//! is rewritten with joined spans. Must not interpret the outcomes.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use highwater_driver::regular_file::{self, MADE_BYTES_MAX};
use highwater_model::user_error::UserError;
use serde::{Deserialize, Serialize};

use super::whole_file::{file_error, write_whole};

/// If the first line is longer, the file is not a ledger.
const HEAD_BYTES_MAX: u64 = 1 << 16;

/// The run of a ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerHead {
    /// Identity of the rows.
    pub identity: String,
    /// The target, without secrets.
    pub urls: Vec<String>,
    /// Index of the first row that the run could write.
    pub first_row: u64,
    /// Wall clock when the run began, RFC 3339.
    pub started_at: String,
}

/// Outcomes of rows of one table. A span is the index of its first row and a number of rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerLine {
    /// In the first line: the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<LedgerHead>,
    /// Position of the table in the workload.
    #[serde(default)]
    pub table: usize,
    /// Rows that were acknowledged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledged: Vec<[u64; 2]>,
    /// Rows that the target refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<[u64; 2]>,
    /// Batches of unknown outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<[u64; 2]>,
    /// Rows that were never sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_sent: Vec<[u64; 2]>,
    /// Partly stored batches: first row, number of rows, minimum and maximum number stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partly: Vec<[u64; 4]>,
    /// The load has ended: no other rows were planned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// In the last line: where the next run begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_row: Option<u64>,
    /// The file could not keep all outcomes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overflowed: bool,
}

/// The open file.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
}

impl LedgerFile {
    /// Creates it.
    pub(super) fn create(path: &Path) -> Result<Self, UserError> {
        let file = File::create(path).map_err(|error| file_error(path, error))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), bytes: 0 })
    }

    /// Appends lines, and passes them to the operating system.
    pub fn append(&mut self, lines: &[LedgerLine]) -> Result<(), UserError> {
        let text = text_of(lines);
        self.bytes += text.len() as u64;
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.flush());
        written.map_err(|error| file_error(&self.path, error))
    }

    /// Replaces the whole content with these lines.
    pub fn replace(&mut self, lines: &[LedgerLine]) -> Result<(), UserError> {
        let text = text_of(lines);
        write_whole(&self.path, text.as_bytes())?;
        let file = File::options().append(true).open(&self.path);
        let file = file.map_err(|error| file_error(&self.path, error))?;
        self.file = BufWriter::new(file);
        self.bytes = text.len() as u64;
        Ok(())
    }

    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn text_of(lines: &[LedgerLine]) -> String {
    let lines = lines.iter().map(|line| serde_json::to_string(line).unwrap_or_default() + "\n");
    lines.collect()
}

/// The run of a ledger file; `None` if it cannot be read.
pub(super) fn read_head(path: &Path) -> Option<LedgerHead> {
    let mut line = String::new();
    let file = regular_file::open(path).ok()?.take(HEAD_BYTES_MAX);
    BufReader::new(file).read_line(&mut line).ok()?;
    serde_json::from_str::<LedgerLine>(&line).ok()?.run
}

/// The lines of a file; a truncated last line is omitted. `None` without a file.
pub(super) fn read(path: &Path) -> Result<Option<Vec<LedgerLine>>, UserError> {
    let text = match regular_file::read_text(path, MADE_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(file_error(path, error)),
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let lines: Result<Vec<LedgerLine>, _> =
        text[..whole].lines().map(serde_json::from_str).collect();
    let damaged = |error: serde_json::Error| file_error(path, format!("damaged: {error}"));
    lines.map(Some).map_err(damaged)
}
