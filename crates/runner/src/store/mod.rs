//! A run on disk: one directory per run, the plan first, intervals appended, the record last.
//!
//! ```text
//! highwater-runs/2026-11-20T18-20-11-cpu-7f3a91/
//!   plan.json        the plan, before any op
//!   draft.json       the record without results, once the target has responded
//!   intervals.jsonl  counts, once a second: additions to (second, phase, stream, op)
//!   ledger.jsonl     outcomes of rows, once a second, so that acknowledgments outlive the process
//!   record.json      the record; written completely or not at all
//!   report.html      the record as a page, written with it by a function that the caller gives
//!   reports.jsonl    reports for other processes, while it runs
//!   probes/          in an experiment: the runs of its trials
//!   shares/          in a merged run: the runs of its shares
//!   latency.hlog     the histograms as an HdrHistogram log, for that library's tools
//! ```
//!
//! Data that a run does not keep in memory (refused and unknown batches if there are many, and details of each second)
//! is in files without a name. A killed process leaves the first four files, and its reports. Errors name the path. Of
//! a run that other users can have written, the record must not decide what Highwater connects to or executes. Readers
//! never see part of a file. Must not make, interpret, or render a record.

mod journal;

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use serde::Serialize;
use serde::de::DeserializeOwned;

use highwater_driver::DiskSpace;
use highwater_driver::regular_file::{self, MADE_BYTES_MAX};
use highwater_driver::system::{self, FileRights};
use highwater_model::histogram::LatencyHistogram;
use highwater_model::json;
use highwater_model::plan::Plan;
use highwater_model::quantity::print_instant;
use highwater_model::record::{Record, RecordRef, RunRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

pub use journal::{
    Journal, JournalLine, JournalReport, JournalTail, LedgerFile, LedgerHead, LedgerLine,
    ReplacedKey, ReplacedLine, ReportFile, ReportTail, Spill, Spool, Written,
};

/// The page of a record.
pub type PageRenderer = fn(RecordRef<'_>) -> String;

/// A run's directory.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
    /// Number of scratch files so far.
    spills: Arc<AtomicU32>,
    /// Shows other processes that the run is in progress; absent if files cannot be locked.
    lock: Option<Arc<fs::File>>,
    /// Makes the page that is written with the record; without it, there is none.
    page: Option<PageRenderer>,
}

impl RunDirectory {
    /// Creates `root/id`, or `root/id-2` … if that exists, and writes the plan.
    pub fn create(root: &Path, id: &str, plan: &Plan) -> Result<Self, UserError> {
        const NAMES_MAX: u32 = 1_000;
        fs::create_dir_all(root).map_err(|error| unwritable(root, &error))?;
        for number in 1..=NAMES_MAX {
            let name = if number == 1 { id.to_owned() } else { format!("{id}-{number}") };
            let path = root.join(name);
            match fs::create_dir(&path) {
                Ok(()) => {
                    let json = serde_json::to_string_pretty(plan).unwrap_or_default();
                    let mut run = Self { path, spills: Arc::default(), lock: None, page: None };
                    return match run.write_whole(PLAN, (json + "\n").as_bytes()) {
                        Ok(()) => {
                            run.lock = lock(&run.path).unwrap_or_default();
                            Ok(run)
                        }
                        Err(error) => {
                            run.discard();
                            Err(error.with_hint("-o DIR names a directory with room"))
                        }
                    };
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(unwritable(&path, &error)),
            }
        }
        Err(file_error(root, format!("{NAMES_MAX} runs named {id} exist already")))
    }

    /// Writes this page with each record.
    #[must_use]
    pub fn with_page(self, page: PageRenderer) -> Self {
        Self { page: Some(page), ..self }
    }

    /// Creates the directory of a trial of this experiment; its record has a page where this one's has.
    pub fn create_trial(&self, name: &str, plan: &Plan) -> Result<Self, UserError> {
        let trial = Self::create(&self.path.join(PROBES), name, plan)?;
        Ok(Self { page: self.page, ..trial })
    }

    /// Moves the directory of a share's run into this one, which holds the merged record.
    pub fn take_in_share(&self, share: &Path, index: u32) -> Result<(), UserError> {
        let shares = self.path.join(SHARES);
        let moved = fs::create_dir_all(&shares)
            .and_then(|()| fs::rename(share, shares.join(index.to_string())));
        moved.map_err(|error| file_error(share, error))
    }

    /// Removes the directory of a run that never began; it stays if it contains files of others.
    pub fn discard(&self) {
        for file in [PLAN, DRAFT, JOURNAL, LEDGER, REPORTS] {
            drop(fs::remove_file(self.path.join(file)));
        }
        drop(fs::remove_dir(self.path.join(PROBES)));
        drop(fs::remove_dir(&self.path));
    }

    /// Whether these files, at least one, are directly in this directory.
    pub fn holds(&self, files: &[PathBuf]) -> bool {
        !files.is_empty() && files.iter().all(|file| file.parent() == Some(&self.path))
    }

    /// Removes files, as far as they exist.
    pub fn remove_files(&self, files: &[PathBuf]) -> Result<(), UserError> {
        for file in files {
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(file_error(file, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its last component: the run's id.
    pub fn id(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Writes the record without results.
    pub fn write_draft(&self, draft: &RunRecord) -> Result<(), UserError> {
        self.write_whole(DRAFT, json::print(draft).as_bytes())
    }

    /// A separate scratch file, created on first use.
    pub fn spill(&self) -> Spill {
        let number = self.spills.fetch_add(1, Ordering::Relaxed);
        Spill::at(self.path.join(format!("{SPILL}{number}.bin")))
    }

    /// Values of this run; older ones are in a scratch file.
    pub fn spool<T: Serialize + DeserializeOwned>(&self) -> Spool<T> {
        Spool::new(self.spill())
    }

    /// Opens the journal.
    pub fn journal(&self) -> Result<Journal, UserError> {
        Journal::create(&self.path.join(JOURNAL))
    }

    /// Creates the report file.
    pub fn reports(&self) -> ReportFile {
        ReportFile::create(self.path.join(REPORTS))
    }

    /// Creates the ledger file.
    pub fn ledger(&self) -> Result<LedgerFile, UserError> {
        LedgerFile::create(&self.path.join(LEDGER))
    }

    /// Writes the record, its page if it has one, and its histograms.
    pub fn write_record<'a>(&self, record: impl Into<RecordRef<'a>>) -> Result<(), UserError> {
        let record = record.into();
        write_whole_by(&self.path.join(RECORD), |file| json::write(record, file))?;
        if let Some(page) = self.page {
            self.write_whole(PAGE, page(record).as_bytes())?;
        }
        self.write_histogram_log(record.measured_run().run)
    }

    /// Writes a file completely or not at all.
    fn write_whole(&self, name: &str, bytes: &[u8]) -> Result<(), UserError> {
        write_whole(&self.path.join(name), bytes)
    }

    fn write_histogram_log(&self, record: &RunRecord) -> Result<(), UserError> {
        write_whole_by(&self.path.join("latency.hlog"), |file| {
            write_log(file, record).map_err(std::io::Error::other)
        })
    }
}

/// Rewrites the page of a record that was read from `run`, and returns its path. The page of merged shares does not
/// replace that of the first share, which is in the same directory.
pub fn write_page(run: &Path, page: &str, merged: bool) -> Result<PathBuf, UserError> {
    let path = directory_of(run).join(if merged { MERGED_PAGE } else { PAGE });
    write_whole(&path, page.as_bytes())?;
    Ok(path)
}

/// One line per (phase, stream, op) and kind of time; values in nanoseconds, as the tags state.
fn write_log(file: &mut impl Write, record: &RunRecord) -> Result<(), String> {
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("Highwater latencies in nanoseconds; tag: phase/stream/op/kind")
        .with_max_value_divisor(1e6)
        .begin_log_with(file, &mut serializer)
        .map_err(|error| error.to_string())?;
    for result in &record.results {
        let phase = record.phases.iter().find(|phase| phase.name == result.phase);
        let start = std::time::Duration::from_nanos(phase.map_or(0, |phase| phase.start_ns));
        let length = std::time::Duration::from_nanos(phase.map_or(0, |phase| phase.duration_ns));
        let kinds = [
            ("latency", &result.histograms.latency),
            ("service", &result.histograms.service),
            ("door-wait", &result.histograms.session_wait),
            ("client-lag", &result.histograms.client_lag),
        ];
        for (kind, text) in kinds {
            let Ok(histogram) = LatencyHistogram::decode(text) else {
                continue;
            };
            if histogram.is_empty() {
                continue;
            }
            let name = format!("{}/{}/{}/{kind}", result.phase, result.stream, result.op);
            let tag: String =
                name.chars().map(|c| if c == ' ' || c == ',' { '-' } else { c }).collect();
            writer
                .write_histogram(histogram.inner(), start, length, Tag::new(&tag))
                .map_err(|error| format!("{error:?}"))?;
        }
    }
    Ok(())
}

/// A run as read from disk.
pub enum StoredRun {
    /// Its record.
    Complete(Record),
    /// A run that was killed before its record was written.
    Killed {
        /// The record without results.
        draft: Box<RunRecord>,
        /// The journal, without a truncated last line.
        lines: Vec<JournalLine>,
    },
}

/// Reads a run from its directory or its record file.
pub fn read(path: &Path) -> Result<StoredRun, UserError> {
    let file = if path.is_dir() { path.join(RECORD) } else { path.to_owned() };
    if path.is_dir() && !file.exists() {
        return read_killed(path);
    }
    Ok(StoredRun::Complete(parsed(&file)?))
}

/// A record, or a draft of one.
fn parsed(file: &Path) -> Result<Record, UserError> {
    let text = regular_file::read_text(file, MADE_BYTES_MAX);
    let text = text.map_err(|error| file_error(file, error))?;
    json::parse(&text).map_err(|error| file_error(file, error))
}

/// Tries for a lock held by another process: a process that checks whether a run is in progress holds it for a moment.
const LOCK_TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// Marks a run as in progress; fails if another process has marked it.
fn lock(directory: &Path) -> Result<Option<Arc<fs::File>>, UserError> {
    let plan = directory.join(PLAN);
    let file = regular_file::open(&plan).map_err(|error| file_error(&plan, error))?;
    match try_lock(&file, || std::thread::sleep(BETWEEN_TRIES)) {
        Ok(()) => Ok(Some(Arc::new(file))),
        Err(fs::TryLockError::WouldBlock) => {
            Err(file_error(directory, "this run is still running")
                .with_hint("wait until it has ended"))
        }
        Err(fs::TryLockError::Error(_)) => Ok(None),
    }
}

/// Locks a file, with retries and a pause between them.
fn try_lock(file: &fs::File, mut pause: impl FnMut()) -> Result<(), fs::TryLockError> {
    for _ in 1..LOCK_TRIES {
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => pause(),
            other => return other,
        }
    }
    file.try_lock()
}

/// The directory of a run, from its path or that of its record.
pub fn directory_of(path: &Path) -> &Path {
    if path.is_dir() { path } else { path.parent().unwrap_or(path) }
}

/// The directory of a run that is not in progress, from its path or that of its record.
pub fn reopen(path: &Path) -> Result<RunDirectory, UserError> {
    let directory = directory_of(path);
    let lock = lock(directory)?;
    Ok(RunDirectory { path: directory.to_owned(), spills: Arc::default(), lock, page: None })
}

/// The lines of the ledger in a run's directory; absent if it has none.
pub fn read_ledger(directory: &Path) -> Result<Option<Vec<LedgerLine>>, UserError> {
    journal::read(&directory.join(LEDGER))
}

/// The run of the ledger in a directory; absent if there is none.
pub fn read_head(directory: &Path) -> Option<LedgerHead> {
    journal::read_head(&directory.join(LEDGER))
}

/// The record without results of a running run; absent if there is none yet, or if it cannot be read.
pub fn read_draft(directory: &Path) -> Option<Record> {
    parsed(&directory.join(DRAFT)).ok()
}

/// Whether a run has progressed far enough to be shown.
pub fn has_draft(directory: &Path) -> bool {
    directory.join(DRAFT).exists()
}

/// Whether the record of a run is written.
pub fn has_record(directory: &Path) -> bool {
    directory.join(RECORD).exists()
}

/// Whether a run or an experiment writes reports, or was killed while it did.
pub fn has_reports(directory: &Path) -> bool {
    directory.join(REPORTS).exists()
}

/// The reports of a run or an experiment.
pub fn report_tail(directory: &Path) -> ReportTail {
    ReportTail::new(directory.join(REPORTS))
}

/// The journal of a running run.
pub fn journal_tail(directory: &Path) -> JournalTail {
    JournalTail::new(directory.join(JOURNAL))
}

/// Reads the files of a run directory without a record.
fn read_killed(directory: &Path) -> Result<StoredRun, UserError> {
    if !directory.join(PLAN).exists() {
        return Err(file_error(directory, "no run is in this directory")
            .with_hint("a run's directory holds plan.json; `-o DIR` names the store of several"));
    }
    let draft = directory.join(DRAFT);
    if !draft.exists() {
        return Err(without_draft(directory));
    }
    let Record::Run(mut record) = parsed(&draft)? else {
        return Err(file_error(&draft, "it is not the draft of a run"));
    };
    record.interventions = journal::lines(&directory.join(JOURNAL));
    Ok(StoredRun::Killed { draft: record, lines: journal::lines(&directory.join(JOURNAL)) })
}

/// The error for a run or an experiment that had written only its plan.
fn without_draft(directory: &Path) -> UserError {
    // An experiment has no draft; it has a record once its first trial has ended.
    let probes = fs::read_dir(directory.join(PROBES))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let newest = probes.max_by_key(|path| path.metadata().and_then(|of| of.modified()).ok());
    match newest {
        Some(run) => {
            let why = "the program ended in the first of this experiment's runs";
            let hint = format!("`highwater show {}` shows how far that came", run.display());
            file_error(directory, why).with_hint(&hint)
        }
        None => file_error(directory, "this run ended before its target had answered")
            .with_hint("plan.json in it shows what was intended"),
    }
}

/// The name of the newest run.
const LAST: &str = "last";

/// Maximum number of ids that an ambiguous part of one lists.
const CANDIDATES_SHOWN: usize = 5;

/// Finds a run below `root` by path, id, or a unique beginning or end of the id; the newest for `last` and `None`.
pub fn find(root: &Path, run: Option<&str>) -> Result<PathBuf, UserError> {
    if let Some(path) = run.map(Path::new).filter(|path| path.exists()) {
        return Ok(path.to_owned());
    }
    let is_path = |run: &str| run.contains(std::path::MAIN_SEPARATOR);
    if let Some(path) = run.filter(|run| is_path(run)) {
        let cause = format!("{path}: there is no such file or directory");
        let hint = "name a run by its directory, its ID, or `last`";
        return Err(UserError::usage(cause).with_hint(hint));
    }
    let ids = ids(root)?;
    if ids.is_empty() {
        let hint = "`highwater run` makes a first one; -o DIR names another store";
        let cause = format!("no runs yet in {}", root.display());
        return Err(UserError::usage(cause).with_hint(hint));
    }
    let Some(part) = run.filter(|run| *run != LAST) else {
        let newest = ids.iter().max_by_key(|id| age(root, id));
        return Ok(newest.map_or_else(|| root.to_owned(), |id| root.join(id)));
    };
    // Pages and lists show the end of an id.
    let end = format!("-{part}");
    let matching = |is: &dyn Fn(&str) -> bool| ids.iter().filter(|id| is(id)).collect::<Vec<_>>();
    let by_beginning = matching(&|id| id.starts_with(part));
    let (by, matching) = match by_beginning.as_slice() {
        [] => ("end", matching(&|id| id.ends_with(&end))),
        _ => ("begin", by_beginning),
    };
    match matching.as_slice() {
        [] => Err(file_error(&root.join(part), "no such run").with_hint(
            "name a run's directory, its record.json, its id, a unique beginning or end of the id, \
             or `last`",
        )),
        [one] => Ok(root.join(one)),
        several if several.iter().any(|id| *id == part) => Ok(root.join(part)),
        several => {
            let mut newest = several.to_vec();
            newest.sort_by_key(|id| std::cmp::Reverse(age(root, id)));
            let newest: Vec<&str> =
                newest.iter().take(CANDIDATES_SHOWN).map(|id| id.as_str()).collect();
            let cause = format!("{} runs {by} with `{part}`", several.len());
            Err(UserError::usage(cause).with_hint(format!(
                "name one of them by its id; the newest: {}",
                newest.join(", ")
            )))
        }
    }
}

/// Directories of the runs below `root`, newest first; empty if `root` does not exist.
///
/// # Errors
/// The directory cannot be read.
pub fn list(root: &Path) -> Result<Vec<PathBuf>, UserError> {
    let mut ids = ids(root)?;
    ids.sort_by_cached_key(|id| std::cmp::Reverse(age(root, id)));
    Ok(ids.iter().map(|id| root.join(id)).collect())
}

/// Removes a run of that store, with everything in its directory.
///
/// # Errors
/// The store has no such run, or it cannot be removed.
pub fn remove(root: &Path, id: &str) -> Result<(), UserError> {
    let known = ids(root)?;
    let directory = root.join(id);
    if !known.iter().any(|known| known == id) {
        return Err(file_error(&directory, "no such run"));
    }
    fs::remove_dir_all(&directory).map_err(|error| file_error(&directory, error))
}

/// Bytes of a file, or of the files below a directory; 0 if it does not exist.
pub fn bytes(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| bytes(&entry.path())).sum()
        }
        about => about.map_or(0, |about| about.len()),
    }
}

/// Wall clock when the plan of a run was written.
pub fn begun(directory: &Path) -> Nanos {
    let written = fs::metadata(directory.join(PLAN)).and_then(|plan| plan.modified());
    let since = written.map(|at| at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default());
    since.map_or(Nanos::ZERO, |since| Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)))
}

/// Ids of the runs below `root`, unordered; empty if `root` does not exist.
fn ids(root: &Path) -> Result<Vec<String>, UserError> {
    match fs::read_dir(root) {
        Ok(entries) => Ok(entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| root.join(name).join(PLAN).exists())
            .collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(file_error(root, error).with_hint("-o DIR names another store")),
    }
}

/// Sort key of a run's start: the second in the id, which a copy keeps, then the time at which the plan was written,
/// which distinguishes two runs of one second. A run with a renamed directory has only the latter.
fn age(root: &Path, id: &str) -> (String, Nanos) {
    const SECOND: usize = "2026-11-20T18-20-11".len();
    let written = begun(&root.join(id));
    let is_second = |text: &&str| text.starts_with(|c: char| c.is_ascii_digit());
    let of_file = || {
        let whole = Nanos(written.0 - written.0 % Nanos::SECOND.0);
        let instant = print_instant(whole);
        instant.trim_end_matches('Z').replace(':', "-")
    };
    let second = id.get(..SECOND).filter(is_second).map_or_else(of_file, str::to_owned);
    (second, written)
}

/// Bytes free for this user on the file system of `path`.
pub fn free_bytes(path: &Path) -> Option<u64> {
    Some(DiskSpace::of_path(path)?.free_bytes)
}

fn unwritable(path: &Path, error: &std::io::Error) -> UserError {
    let cause = match error.kind() {
        std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory => {
            "it is not a directory".to_owned()
        }
        _ => error.to_string(),
    };
    file_error(path, format!("cannot keep runs here: {cause}"))
        .with_hint("-o DIR names a directory that can be written")
}

/// Bytes at the end of a journal that contain its last line: a line has a few thousand at most.
const TAIL: u64 = 64 * 1_024;
/// Maximum nesting of experiments, such as the search at one size of a growth.
const NESTED_MAX: usize = 3;

/// Progress of a running run, from its files.
#[derive(Debug, Clone, PartialEq)]
pub struct Underway {
    /// The plan of the run, or of the current trial.
    pub plan: Plan,
    /// For an experiment: trials started.
    pub trials: u32,
    /// The newest counts; absent before the first second.
    pub last: Option<JournalLine>,
}

/// The progress of the run in a directory; absent if no process is running it.
pub fn underway(directory: &Path) -> Option<Underway> {
    if !is_locked(directory)? {
        return None;
    }
    let trials = list(&directory.join(PROBES)).unwrap_or_default();
    let running = innermost(directory);
    let plan = regular_file::read(&running.join(PLAN), MADE_BYTES_MAX).ok()?;
    Some(Underway {
        plan: serde_json::from_slice(&plan).ok()?,
        trials: u32::try_from(trials.len()).unwrap_or(u32::MAX),
        last: last_line(&running.join(JOURNAL)),
    })
}

/// The running run in a directory: its own, or the newest trial's. Absent if no process is running it, or if a stored
/// run is only being audited again.
pub fn at_work(directory: &Path) -> Option<PathBuf> {
    if !is_locked(directory)? {
        return None;
    }
    let running = innermost(directory);
    let is_stored = running == directory && has_record(directory);
    (!is_stored).then_some(running)
}

/// The newest trial of an experiment, or of a nested one; between two trials, none is running.
fn innermost(directory: &Path) -> PathBuf {
    let mut running = directory.to_owned();
    for _ in 0..NESTED_MAX {
        let trials = list(&running.join(PROBES)).unwrap_or_default();
        let Some(newest) = trials.into_iter().next() else {
            break;
        };
        running = newest;
    }
    running
}

/// Whether a process holds the lock of a run; absent if this cannot be determined. Tries a shared lock, so that two
/// readers do not see each other.
fn is_locked(directory: &Path) -> Option<bool> {
    let file = regular_file::open(&directory.join(PLAN)).ok()?;
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(fs::TryLockError::WouldBlock) => Some(true),
        Err(fs::TryLockError::Error(_)) => None,
    }
}

/// The last whole line of a file.
fn last_line<T: DeserializeOwned>(file: &Path) -> Option<T> {
    let mut file = regular_file::open(file).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let mut lines = tail.rsplit(|byte| *byte == b'\n');
    lines.find_map(|line| serde_json::from_slice(line).ok())
}

/// The file that marks a directory as a run's.
const PLAN: &str = "plan.json";
/// The record without results.
const DRAFT: &str = "draft.json";
/// The journal: counts of each second.
const JOURNAL: &str = "intervals.jsonl";
/// Outcomes of rows.
const LEDGER: &str = "ledger.jsonl";
/// Reports of a run in progress.
const REPORTS: &str = "reports.jsonl";
/// Prefix of the names of scratch files.
const SPILL: &str = "scratch-";
/// The record.
const RECORD: &str = "record.json";
/// The record as a page.
const PAGE: &str = "report.html";
/// The page of several merged shares, next to the first of them.
const MERGED_PAGE: &str = "merged.html";
/// The directory of an experiment's trials, which are stored like any other run.
pub const PROBES: &str = "probes";
/// In a merged run: its shares.
pub(crate) const SHARES: &str = "shares";

/// Write permission for others than the owner and the group.
const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;
/// In such a directory, users can change only their own files.
const STICKY: u32 = 0o1000;
const ROOT: u32 = 0;

/// Why another user may have written a run's record: its file, its directory, or the store around it is not owned by
/// this user, or others can write to it, or the system does not say. `None` if only this user can.
pub fn others_may_write(run: &Path) -> Option<String> {
    let directory = directory_of(run);
    let mut inside =
        [RECORD, DRAFT].map(|name| directory.join(name)).into_iter().filter(|file| file.exists());
    let file = if run == directory { inside.next() } else { Some(run.to_owned()) };
    let own = [Some(directory.to_owned()), file];
    let mut own = own.into_iter().flatten();
    own.find_map(|path| why(&path, false)).or_else(|| {
        // Resolves a relative path: every directory has a parent.
        let store = directory.canonicalize().ok()?.parent()?.to_owned();
        why(&store, true)
    })
}

/// Why others may write here; a directory around a run may also be owned by root.
fn why(path: &Path, is_around: bool) -> Option<String> {
    let shown = path.display();
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) => return Some(format!("{shown}: {error}")),
    };
    let Some((rights, user)) = system::rights(&about).zip(system::effective_user()) else {
        return Some(format!("who can write {shown} is unknown on this system"));
    };
    let owner = rights.owner;
    let is_own = owner == user || is_around && owner == ROOT;
    if !is_own {
        return Some(format!("{shown} belongs to another user ({owner})"));
    }
    let is_sticky = is_around && rights.mode & STICKY != 0;
    (is_writable(rights) && !is_sticky).then(|| format!("{shown} can be written by others"))
}

/// Whether users other than the owner may write. A group with the id of its user does not count: systems create one for
/// each user.
fn is_writable(rights: FileRights) -> bool {
    let is_of_user = rights.group == rights.owner && rights.owner != ROOT;
    rights.mode & OTHERS_WRITE != 0 || rights.mode & GROUP_WRITES != 0 && !is_of_user
}

/// An error of a file or directory, named in front of its cause.
fn file_error(path: &Path, cause: impl std::fmt::Display) -> UserError {
    UserError::usage(format!("{}: {cause}", path.display()))
}

/// Writes a file completely or not at all.
fn write_whole(whole: &Path, bytes: &[u8]) -> Result<(), UserError> {
    write_whole_by(whole, |file| file.write_all(bytes))
}

/// The same for content too large to build in memory first.
fn write_whole_by(
    whole: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), UserError> {
    let mut partial = whole.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    // Does not follow an existing entry of this name, such as a link to another file or a pipe.
    drop(fs::remove_file(&partial));
    let written = File::create_new(&partial).and_then(|file| {
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        file.flush()?;
        fs::rename(&partial, whole)
    });
    written.map_err(|error| {
        // The remains would only take space on a full disk.
        drop(fs::remove_file(&partial));
        file_error(whole, error)
    })
}
