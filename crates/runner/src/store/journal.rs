//! The files that grow while a run lasts, line by line: the journal, with the counts of each second and the changes
//! made by commands; the ledger; the reports; and a scratch file. Must not count.
//!
//! The file of the ledger has outcomes of rows, one JSON object per line. It grows once a second, so that
//! acknowledgments outlive the process. After much growth, and when the load ends, it is rewritten with joined spans.
//!
//! Reports of a run or an experiment in progress are for other processes: one JSON value per line, in a file that
//! exists while the process runs. A telemetry series is named once, and referenced by number afterwards.
//!
//! Of per-second data that a run keeps until its end, the newest is in memory, the rest in the scratch file, so that
//! memory does not grow with the length of a run. If the file cannot be written, everything stays in memory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use highwater_driver::regular_file::{self, MADE_BYTES_MAX};
use highwater_driver::system;
use highwater_model::event::Event;
use highwater_model::record::{FailureRecord, InterventionRecord};
use highwater_model::target_telemetry::{TelemetryPoint, TelemetryValue};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::{file_error, write_whole};

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
    /// The time that each of them was waited for, as encoded by [`LatencyHistogram::encode_waits`].
    ///
    /// [`LatencyHistogram::encode_waits`]: highwater_model::histogram::LatencyHistogram::encode_waits
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
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
    pub(super) const fn new(path: PathBuf) -> Self {
        Self(LineTail::new(path))
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
struct LineTail {
    path: PathBuf,
    file: Option<File>,
    /// Bytes read so far.
    taken: u64,
    /// The last read left more.
    is_behind: bool,
}

impl LineTail {
    /// The tail of this file, from its start; it need not exist yet.
    pub(super) const fn new(path: PathBuf) -> Self {
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
            (Some(open), Ok(there)) => system::identity(&open) != system::identity(&there),
            _ => false,
        }
    }

    /// Whether there was more than the last call returned.
    pub(super) const fn is_behind(&self) -> bool {
        self.is_behind
    }
}

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
    /// Writes of rows that replace each other, if the load has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<ReplacedLine>,
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

/// Keys of a table whose rows replace each other. Times are in nanoseconds after the begin of the load, on the clock of
/// the process; its record has the error with which shares of a plan agree on the begin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacedLine {
    /// Rows of the table that were acknowledged, refused, and of unknown outcome; in one line of a table.
    pub totals: [u64; 3],
    /// Keys are kept if this many low bits of their hash are 0.
    pub sieve: u32,
    /// Rows were deleted, or may have been.
    pub deletes: bool,
    /// A part of the kept keys.
    pub keys: Vec<ReplacedKey>,
}

/// A key, the start of its latest acknowledged write, whether it cannot be judged, and its writes: the row (absent for a
/// delete), and when it was acknowledged, if it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacedKey(pub i64, pub Option<i64>, pub bool, pub Vec<(Option<u64>, Option<i64>)>);

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

/// A report.
#[derive(Debug, Clone, PartialEq)]
pub enum JournalReport {
    /// Something worth showing.
    Event(Box<Event>),
    /// Telemetry of target and host.
    Telemetry(TelemetryPoint),
}

/// A report as a line, after its time.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Event(Box<Event>),
    Telemetry {
        time_ns: u64,
        /// Number of series named before.
        known: usize,
        /// New series.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        series: Vec<TelemetryValue>,
        /// For each series with a value: its number, and the value.
        values: Vec<(usize, f64)>,
    },
}

/// The file being written. It is removed at the end, because the record has more.
#[derive(Debug)]
pub struct ReportFile {
    path: PathBuf,
    /// Absent if it cannot be written.
    file: Option<File>,
    /// Series named so far.
    series: Vec<TelemetryValue>,
}

impl ReportFile {
    /// Creates it. Without it, other processes see less, and nothing else is lost.
    pub(super) fn create(path: PathBuf) -> Self {
        // Removes the file of a killed process: readers with an open handle then notice the new file.
        let _ = fs::remove_file(&path);
        Self { file: File::create(&path).ok(), path, series: Vec::new() }
    }

    /// Appends a report with its wall-clock time.
    pub fn append(&mut self, at: Nanos, reported: &JournalReport) {
        let line = match reported {
            JournalReport::Event(event) => Line::Event(event.clone()),
            JournalReport::Telemetry(point) => self.line_of(point),
        };
        let Some(file) = &mut self.file else { return };
        let written = serde_json::to_vec(&(at, line)).map(|mut bytes| {
            bytes.push(b'\n');
            file.write_all(&bytes)
        });
        if !matches!(written, Ok(Ok(()))) {
            self.file = None;
        }
    }

    fn line_of(&mut self, point: &TelemetryPoint) -> Line {
        let known = self.series.len();
        let finite = point.values.iter().filter(|of| of.value.is_finite());
        let values = finite.enumerate().map(|(at, value)| {
            // They nearly always come in the same order.
            let is_next = self.series.get(at).is_some_and(|of| of.is_same_series(value));
            let found = || self.series.iter().position(|of| of.is_same_series(value));
            let number = is_next.then_some(at).or_else(found).unwrap_or_else(|| {
                self.series.push(value.clone());
                self.series.len() - 1
            });
            (number, value.value)
        });
        Line::Telemetry {
            time_ns: point.time_ns,
            known,
            values: values.collect(),
            series: self.series[known..].to_vec(),
        }
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        // It may have been removed with its directory.
        let _ = fs::remove_file(&self.path);
    }
}

/// The file being read.
#[derive(Debug)]
pub struct ReportTail {
    lines: LineTail,
    series: Vec<TelemetryValue>,
}

impl ReportTail {
    /// The tail of this file, from its start.
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { lines: LineTail::new(path), series: Vec::new() }
    }

    /// New reports with their wall-clock times, at most some megabytes.
    pub fn read(&mut self) -> Vec<(Nanos, JournalReport)> {
        let lines =
            self.lines.read().into_iter().filter_map(|line| serde_json::from_slice(&line).ok());
        lines
            .map(|(at, line): (Nanos, Line)| match line {
                Line::Event(event) => (at, JournalReport::Event(event)),
                Line::Telemetry { time_ns, known, series, values } => {
                    // A restarted file names its series again.
                    self.series.truncate(known);
                    self.series.extend(series);
                    let values = values.into_iter().filter_map(|(number, value)| {
                        let of = self.series.get(number)?.clone();
                        Some(TelemetryValue { value, ..of })
                    });
                    let values = values.collect();
                    (at, JournalReport::Telemetry(TelemetryPoint { time_ns, values }))
                }
            })
            .collect()
    }

    /// Whether there was more than the last call returned.
    pub const fn is_behind(&self) -> bool {
        self.lines.is_behind()
    }
}

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
        system::write_all_at(file, bytes, self.bytes).map_err(failed)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Fills the buffer from a position.
    pub fn read(&self, from: u64, buffer: &mut [u8]) -> Result<(), UserError> {
        let missing = || self.failed("nothing was written");
        let file = self.file.as_ref().ok_or_else(missing)?;
        system::read_exact_at(file, buffer, from).map_err(|error| self.failed(error))
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
    use highwater_model::target_telemetry::SeriesKind;

    use super::*;

    fn value(name: &str, value: f64) -> TelemetryValue {
        TelemetryValue {
            source: "target".to_owned(),
            name: name.to_owned(),
            unit: "1".to_owned(),
            node: None,
            kind: SeriesKind::Level,
            value,
        }
    }

    fn point(time_ns: u64, values: Vec<TelemetryValue>) -> JournalReport {
        JournalReport::Telemetry(TelemetryPoint { time_ns, values })
    }

    fn warmed_up(took_s: u64) -> JournalReport {
        JournalReport::Event(Box::new(Event::WarmedUp {
            took: Nanos::from_secs(took_s),
            steady: true,
        }))
    }

    #[test]
    fn reports_are_read_unchanged_during_writing_and_once_after_removal() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("reports");
        let mut tail = ReportTail::new(directory.path().join("reports"));
        assert_eq!(tail.read(), [], "nothing is there");
        let mut file = ReportFile::create(path.clone());
        // Series appear, pause for a while, and change their order.
        let all = [
            point(1, vec![value("a", 0.5), value("b", 2.0)]),
            warmed_up(3),
            point(2, vec![value("b", 3.0)]),
            point(3, vec![value("c", 4.0), value("b", 5.0), value("a", 6.0)]),
        ];
        for (at, reported) in (1..).zip(&all[..2]) {
            file.append(Nanos(at), reported);
        }
        let read = |from: u64, reported: &[JournalReport]| -> Vec<(Nanos, JournalReport)> {
            (from..).map(Nanos).zip(reported.iter().cloned()).collect()
        };
        assert_eq!(tail.read(), read(1, &all[..2]));
        for (at, reported) in (3..).zip(&all[2..]) {
            file.append(Nanos(at), reported);
        }
        let length = fs::metadata(&path).unwrap().len();
        drop(file);
        assert!(!path.exists() && length < 900, "{length} bytes");
        assert_eq!(tail.read(), read(3, &all[2..]));
        assert_eq!(tail.read(), [], "nothing twice");
        // A resumed experiment restarts it, whether the previous process removed it or was killed.
        for number in 0..2 {
            let again = point(4, vec![value("b", 7.0)]);
            let mut file = ReportFile::create(path.clone());
            file.append(Nanos(9), &again);
            assert_eq!(tail.read(), [(Nanos(9), again)], "{number}");
            std::mem::forget(file);
        }
    }

    #[test]
    fn a_value_that_is_no_number_is_left_out_and_a_file_that_cannot_be_written_harms_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = ReportFile::create(directory.path().join("reports"));
        let values = vec![value("a", f64::NAN), value("b", 1.0)];
        file.append(Nanos(1), &point(1, values));
        let read = ReportTail::new(directory.path().join("reports")).read();
        assert_eq!(read, [(Nanos(1), point(1, vec![value("b", 1.0)]))]);
        let mut nowhere = ReportFile::create(PathBuf::from("/nowhere/at/all"));
        nowhere.append(Nanos(1), &warmed_up(1));
    }

    const MANY: u64 = 3 * RECENT_MAX as u64 + 7;

    fn filled(at: &std::path::Path) -> Spool<(u64, f64)> {
        let mut spool = Spool::new(Spill::at(at.to_owned()));
        for number in 0..MANY {
            spool.push(spooled(number));
            assert!(!spool.is_writable || spool.recent.len() < RECENT_MAX);
        }
        spool
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn spooled(number: u64) -> (u64, f64) {
        (number, 1.0 / (number as f64 + 3.0))
    }

    #[test]
    fn the_file_returns_its_content_exactly_and_in_order() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("scratch");
        let mut spool = filled(&path);
        assert!(spool.spilled_bytes > 0 && !path.exists());
        assert_eq!(spool.take().unwrap(), (0..MANY).map(spooled).collect::<Vec<_>>());
        assert!(spool.take().unwrap().is_empty());
    }

    #[test]
    fn without_a_file_everything_stays_in_memory() {
        let mut spool = filled(std::path::Path::new("/nowhere/at/all"));
        assert_eq!(spool.take().unwrap(), (0..MANY).map(spooled).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_that_lost_its_end_is_an_error_and_no_shorter_list() {
        let root = tempfile::tempdir().unwrap();
        let mut spool = filled(&root.path().join("scratch"));
        spool.spilled_bytes += 1;
        assert!(spool.take().is_err());
    }

    #[test]
    fn forgotten_entries_do_not_return() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("scratch");
        let mut spool = filled(&path);
        spool.clear();
        spool.push(spooled(1));
        assert_eq!(spool.take().unwrap(), [spooled(1)]);
    }
}
