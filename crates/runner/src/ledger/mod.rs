//! The ledger: acknowledged, refused and unknown rows, per key bucket.
//!
//! Keys are row indexes. A bucket holds the number of its acknowledged rows and, per column, their checksum
//! ([`highwater_analysis::sums`]), in bounded memory; rows that were not acknowledged are kept by batch and row. The
//! latter are held in a bounded list, which overflows to a bounded file in the run's directory. Must not query the
//! target or compare with it.

pub(crate) mod replaced;
pub(crate) mod stored;

#[cfg(test)]
mod tests;

use std::ops::Range;

use highwater_analysis::sums::Buckets;
use highwater_model::op::{BoundColumn, RowBatch};
use highwater_model::outcome::{Certainty, Outcome};
use highwater_model::record::ExpectedBucket;
use highwater_model::units::Nanos;
use highwater_workload::ReplacedKeys;

use self::replaced::Replacements;
use self::stored::{Span, SpanOutcome};
use crate::store::{LedgerLine, ReplacedLine, Spill};

/// Rows of a table, or of a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Rows that the target reported as stored.
    pub acknowledged: u64,
    /// Rows that the target reported as not stored.
    pub refused: u64,
    /// Rows with an unknown outcome.
    pub unknown: u64,
}

/// Times and row counts of a write of rows that replace each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplacingWrite {
    pub(crate) started: Nanos,
    pub(crate) finished: Nanos,
    /// Rows written; 0 for deletes.
    pub(crate) rows: u64,
    /// Rows that the target reported as written or deleted.
    pub(crate) reported: u64,
}

/// The outcomes of the rows of one table.
#[derive(Debug)]
pub struct Ledger {
    /// Acknowledged rows.
    expected: Buckets,
    /// Rows with an unknown outcome, in buckets of the same width.
    unknown: Buckets,
    totals: Totals,
    exceptions: Exceptions,
    /// By key, if rows replace each other; of the other fields, only the totals are then used.
    replaced: Option<Box<Replacements>>,
    /// Rows from `begin` to `end` are acknowledged or excepted; no other rows were planned.
    begin: u64,
    end: u64,
    /// Outcomes that are not in the run's ledger file yet.
    fresh: Vec<Span>,
}

impl Ledger {
    /// An empty ledger that sums these columns; no columns means counts only.
    pub fn new(columns: &[BoundColumn], spill: Spill) -> Self {
        Self {
            expected: Buckets::new(columns),
            unknown: Buckets::new(&[]),
            totals: Totals::default(),
            exceptions: Exceptions::new(spill),
            replaced: None,
            begin: u64::MAX,
            end: 0,
            fresh: Vec::new(),
        }
    }

    /// Records the outcome of the rows `first .. first + rows`; `batch` holds the rows as sent.
    pub fn note(&mut self, first: u64, rows: u64, batch: Option<&RowBatch>, outcome: &Outcome) {
        self.plan_rows(first, rows);
        let batch = batch.filter(|batch| batch.first_row == first && batch.rows as u64 == rows);
        match (outcome.certainty, batch) {
            (Certainty::Applied, Some(batch)) => self.note_applied(batch, rows, outcome),
            (Certainty::NotApplied, _) => self.except_fresh(first, rows, RowOutcome::Refused),
            // Rows that are no longer in memory cannot be summed: the audit searches for them.
            (Certainty::Applied, None) | (Certainty::Unknown, _) => {
                self.except_fresh(first, rows, RowOutcome::Unknown);
            }
        }
    }

    /// Records the outcome of rows that replace others.
    ///
    /// A delete that reports fewer rows than it has keys is uncertain: a target whose deletes search may not have seen
    /// the latest row of a key yet.
    pub(crate) fn note_replaced(
        &mut self,
        written: &ReplacedKeys,
        write: ReplacingWrite,
        outcome: &Outcome,
    ) {
        let rows = write.rows;
        let promised = written.first_row.is_some() || write.reported >= written.keys.len() as u64;
        let replaced = self.replaced.get_or_insert_default();
        let certain = match outcome.certainty {
            Certainty::NotApplied => {
                self.totals.refused += rows;
                return;
            }
            Certainty::Applied if promised && outcome.rows_applied == rows => Some(write.finished),
            Certainty::Applied | Certainty::Unknown => None,
        };
        match certain {
            Some(_) => self.totals.acknowledged += rows,
            None => self.totals.unknown += rows,
        }
        replaced.note(&written.keys, written.first_row, write.started, certain);
    }

    /// Takes the history of rows that replace each other.
    pub(crate) fn take_replacements(&mut self) -> Replacements {
        self.replaced.take().map(|kept| *kept).unwrap_or_default()
    }

    /// Whether rows that replace each other were written.
    pub(crate) fn has_replacements(&self) -> bool {
        self.replaced.is_some()
    }

    /// Records rows that were never sent, although later ones were.
    pub fn not_sent(&mut self, first: u64, rows: u64) {
        self.except_fresh(first, rows, RowOutcome::NotSent);
    }

    /// Takes the outcomes since the last call.
    pub(crate) fn take_fresh(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.fresh)
    }

    /// The lines of a ledger file with the writes of rows that replace each other; none if no row does. Times are relative
    /// to `origin`.
    pub(crate) fn replaced_lines(&self, table: usize, origin: Nanos) -> Vec<LedgerLine> {
        let mut lines = self.replaced.as_ref().map_or(Vec::new(), |kept| kept.lines(origin));
        if let Some(first) = lines.first_mut() {
            let Totals { acknowledged, refused, unknown } = self.totals;
            first.totals = [acknowledged, refused, unknown];
        }
        let line = |line| LedgerLine { table, replaced: Some(line), ..LedgerLine::default() };
        lines.into_iter().map(line).collect()
    }

    /// Adds the writes of a line, of a load that began at `origin`, give or take an error.
    pub(crate) fn add_replaced(&mut self, line: &ReplacedLine, origin: Nanos, error: Nanos) {
        let [acknowledged, refused, unknown] = line.totals;
        self.totals.acknowledged += acknowledged;
        self.totals.refused += refused;
        self.totals.unknown += unknown;
        let kept = self.replaced.get_or_insert_default();
        kept.merge_share(Replacements::of_line(line, origin, error));
    }

    /// Records rows that were not acknowledged, also for the run's ledger file.
    fn except_fresh(&mut self, first: u64, rows: u64, outcome: RowOutcome) {
        self.note_fresh(first, rows, SpanOutcome::Excepted(outcome));
        self.except(first, rows, outcome);
    }

    fn note_fresh(&mut self, first: u64, rows: u64, outcome: SpanOutcome) {
        let span = Span { first, rows, outcome };
        stored::push(&mut self.fresh, span);
    }

    /// Records rows that were not acknowledged.
    fn except(&mut self, first: u64, rows: u64, outcome: RowOutcome) {
        self.plan_rows(first, rows);
        match outcome {
            RowOutcome::Refused => self.totals.refused += rows,
            RowOutcome::Unknown => {
                self.totals.unknown += rows;
                self.count_unknown(first, rows);
            }
            RowOutcome::Partly { least, most } => {
                self.totals.acknowledged += u64::from(least);
                self.totals.unknown += u64::from(most - least);
                self.totals.refused += rows.saturating_sub(most.into());
                self.count_unknown(first, rows);
            }
            RowOutcome::NotSent | RowOutcome::Absent => {}
        }
        self.exceptions.push_rows(first, rows, outcome);
    }

    fn count_unknown(&mut self, first: u64, rows: u64) {
        self.unknown.count(first, rows, |all, n| *all += n);
        self.equalize_widths();
    }

    fn note_applied(&mut self, batch: &RowBatch, rows: u64, outcome: &Outcome) {
        if outcome.rows_applied == rows {
            self.acknowledge_fresh(batch, 0..batch.rows);
            return;
        }
        let excepted = outcome.exceptions.iter().map(|span| u64::from(span.rows));
        if outcome.rows_applied + excepted.sum::<u64>() == rows {
            self.note_by_row(batch, outcome);
            return;
        }
        let first = batch.first_row;
        let partly = RowOutcome::Partly {
            least: u32::try_from(outcome.rows_applied).unwrap_or(u32::MAX),
            most: u32::try_from(outcome.rows_applied + outcome.rows_unknown).unwrap_or(u32::MAX),
        };
        let one_bucket = first / self.width() == (first + rows - 1) / self.width();
        if one_bucket && self.expected.columns() == 0 {
            // Counts alone are exact for a bucket that holds the whole batch.
            self.note_fresh(first, rows, SpanOutcome::Excepted(partly));
            self.totals.acknowledged += outcome.rows_applied;
            self.totals.refused += outcome.rows_refused;
            self.totals.unknown += outcome.rows_unknown;
            let applied = outcome.rows_applied;
            self.expected.count(first, 1, |rows, _| *rows += applied);
            return;
        }
        self.except_fresh(first, rows, partly);
    }

    /// Records, row by row, which rows the target reported as not applied.
    fn note_by_row(&mut self, batch: &RowBatch, outcome: &Outcome) {
        let mut next = 0;
        for span in &outcome.exceptions {
            let (at, rows) = (span.first as usize, u64::from(span.rows));
            self.acknowledge_fresh(batch, next..at);
            let first = batch.first_row + u64::from(span.first);
            let outcome = match span.certainty {
                Certainty::Unknown => RowOutcome::Unknown,
                Certainty::Applied | Certainty::NotApplied => RowOutcome::Refused,
            };
            self.except_fresh(first, rows, outcome);
            next = at + span.rows as usize;
        }
        self.acknowledge_fresh(batch, next..batch.rows);
    }

    /// Adds acknowledged rows, also for the run's ledger file.
    fn acknowledge_fresh(&mut self, batch: &RowBatch, rows: Range<usize>) {
        let first = batch.first_row + rows.start as u64;
        self.note_fresh(first, rows.len() as u64, SpanOutcome::Acknowledged);
        self.acknowledge(batch, rows);
    }

    fn acknowledge(&mut self, batch: &RowBatch, rows: Range<usize>) {
        self.totals.acknowledged += rows.len() as u64;
        self.expected.add(batch, rows);
        self.equalize_widths();
    }

    /// Adds found rows of unknown outcome, or of a partly applied batch.
    pub(crate) fn found(&mut self, batch: &RowBatch, rows: Range<usize>) {
        self.settle_unknown(batch.first_row + rows.start as u64, rows.len() as u64);
        self.expected.add(batch, rows);
        self.equalize_widths();
    }

    /// Adds rows of unknown outcome that were not found.
    pub(crate) fn absent(&mut self, first: u64, rows: u64) {
        self.settle_unknown(first, rows);
        self.exceptions.push_rows(first, rows, RowOutcome::Absent);
    }

    fn settle_unknown(&mut self, first: u64, rows: u64) {
        self.unknown.count(first, rows, |all, n| *all = all.saturating_sub(n));
        self.equalize_widths();
    }

    /// Gives both kinds of buckets the same width.
    fn equalize_widths(&mut self) {
        self.expected.widen(self.unknown.width());
        self.unknown.widen(self.expected.width());
    }

    /// Whether it has checksums in addition to row counts.
    fn adds_up(&self) -> bool {
        self.expected.columns() > 0
    }

    /// Keys per bucket.
    pub fn width(&self) -> u64 {
        self.expected.width()
    }

    /// The buckets with expected rows.
    pub fn buckets(&self) -> impl Iterator<Item = ExpectedBucket> {
        let unknown = self.unknown.all().map(|(rows, _)| rows);
        let beyond = self.expected.all().count();
        let expected = self.expected.all().map(|(rows, sums)| (rows, sums.to_vec()));
        let columns = self.expected.columns();
        let none = std::iter::repeat_with(move || (0, vec![0; columns]));
        let both = beyond.max(self.unknown.all().count());
        expected
            .chain(none)
            .zip(unknown.chain(std::iter::repeat(0)))
            .take(both)
            .zip(0..)
            .filter(|(((acknowledged, _), unknown), _)| acknowledged + unknown > 0)
            .map(|(((acknowledged, sums), unknown), bucket)| ExpectedBucket {
                bucket,
                acknowledged,
                unknown,
                sums,
            })
    }

    /// The totals of all rows.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Whether no writes were planned.
    pub fn is_empty(&self) -> bool {
        self.totals == Totals::default() && self.replaced.is_none()
    }

    /// The range of all planned rows.
    pub(crate) fn rows(&self) -> Range<u64> {
        self.begin.min(self.end)..self.end
    }

    /// Rows that were not acknowledged.
    pub(crate) fn exceptions(&mut self) -> &mut Exceptions {
        &mut self.exceptions
    }

    /// Takes the rows that were not acknowledged, so that they can be resolved into a new list.
    pub(crate) fn take_exceptions(&mut self, fresh: Spill) -> Exceptions {
        std::mem::replace(&mut self.exceptions, Exceptions::new(fresh))
    }

    /// Merges another ledger of the same table.
    pub fn merge(&mut self, other: Self) {
        self.expected.merge(other.expected);
        self.unknown.merge(other.unknown);
        self.equalize_widths();
        self.totals.acknowledged += other.totals.acknowledged;
        self.totals.refused += other.totals.refused;
        self.totals.unknown += other.totals.unknown;
        self.begin = self.begin.min(other.begin);
        self.end = self.end.max(other.end);
        self.exceptions.append(other.exceptions);
        if let Some(theirs) = other.replaced {
            self.replaced.get_or_insert_default().merge(*theirs);
        }
    }

    fn plan_rows(&mut self, first: u64, rows: u64) {
        self.begin = self.begin.min(first);
        self.end = self.end.max(first.saturating_add(rows));
    }
}

/// Maximum exceptions in memory; overflow goes to the file in chunks of this size.
const HELD_MAX: usize = 32_768;
/// Bytes of an exception in the file.
const BYTES: usize = 21;
/// Maximum exceptions in the file: 256 MiB.
const SPILLED_MAX: u64 = (256 << 20) / BYTES as u64;

/// Why rows are not among the acknowledged ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowOutcome {
    /// The target reported that it did not store them.
    Refused,
    /// Unknown.
    Unknown,
    /// The target stored some of them without reporting which: at least `least`, at most `most`.
    Partly { least: u32, most: u32 },
    /// They were never sent.
    NotSent,
    /// Of unknown outcome, searched for and not found.
    Absent,
}

/// A range of consecutive rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exception {
    /// Index of the first row.
    pub(crate) first: u64,
    /// At least 1.
    pub(crate) rows: u32,
    pub(crate) outcome: RowOutcome,
}

impl Exception {
    /// Index after the last row.
    pub(crate) fn end(&self) -> u64 {
        self.first.saturating_add(self.rows.into())
    }

    /// Whether the audit must search for them.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.outcome, RowOutcome::Unknown | RowOutcome::Partly { .. })
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        let (kind, least, most) = match self.outcome {
            RowOutcome::Refused => (0_u8, 0, 0),
            RowOutcome::Unknown => (1, 0, 0),
            RowOutcome::Partly { least, most } => (2, least, most),
            RowOutcome::NotSent => (3, 0, 0),
            RowOutcome::Absent => (4, 0, 0),
        };
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(&self.rows.to_le_bytes());
        bytes.push(kind);
        bytes.extend_from_slice(&least.to_le_bytes());
        bytes.extend_from_slice(&most.to_le_bytes());
    }

    fn read(bytes: &[u8; BYTES]) -> Self {
        let (first, rest) = bytes.split_at(8);
        let number = |at: usize| {
            let four = rest.get(at..at + 4).and_then(|four| four.try_into().ok());
            u32::from_le_bytes(four.unwrap_or_default())
        };
        let outcome = match rest[4] {
            0 => RowOutcome::Refused,
            1 => RowOutcome::Unknown,
            2 => RowOutcome::Partly { least: number(5), most: number(9) },
            3 => RowOutcome::NotSent,
            _ => RowOutcome::Absent,
        };
        Self {
            first: u64::from_le_bytes(first.try_into().unwrap_or_default()),
            rows: number(0),
            outcome,
        }
    }
}

/// All exceptions, in order of arrival.
#[derive(Debug)]
pub(crate) struct Exceptions {
    held: Vec<Exception>,
    spill: Spill,
    spilled: u64,
    /// Why some exceptions could not be kept.
    lost: Option<String>,
}

impl Exceptions {
    /// Empty; overflow goes to the file.
    pub(crate) fn new(spill: Spill) -> Self {
        Self { held: Vec::new(), spill, spilled: 0, lost: None }
    }

    /// Adds an exception. Neighbors with the same outcome are joined, except those that the audit searches for: it
    /// reports their outcome batch by batch.
    pub(crate) fn push(&mut self, exception: Exception) {
        if exception.rows == 0 {
            return;
        }
        if let Some(last) = self.held.last_mut()
            && last.end() == exception.first
            && last.outcome == exception.outcome
            && !last.is_open()
            && let Some(rows) = last.rows.checked_add(exception.rows)
        {
            last.rows = rows;
            return;
        }
        if self.held.len() == HELD_MAX {
            self.write_held();
        }
        self.held.push(exception);
    }

    /// Adds rows that may exceed the size of one exception.
    fn push_rows(&mut self, first: u64, rows: u64, outcome: RowOutcome) {
        let (mut first, mut left) = (first, rows);
        while left > 0 {
            let part = u32::try_from(left).unwrap_or(u32::MAX);
            self.push(Exception { first, rows: part, outcome });
            first = first.saturating_add(part.into());
            left -= u64::from(part);
        }
    }

    fn write_held(&mut self) {
        let full = self.spilled + self.held.len() as u64 > SPILLED_MAX;
        let written = if full {
            Err("there are more refused and unknown batches than are kept".to_owned())
        } else {
            let mut bytes = Vec::with_capacity(self.held.len() * BYTES);
            for exception in &self.held {
                exception.write(&mut bytes);
            }
            self.spill.append(&bytes).map_err(|error| error.message)
        };
        match written {
            Ok(()) => self.spilled += self.held.len() as u64,
            Err(error) => {
                self.lost.get_or_insert(error);
            }
        }
        self.held.clear();
    }

    /// Why some exceptions could not be kept; the audit is then not exact.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Appends the exceptions of another list.
    pub(crate) fn append(&mut self, mut other: Self) {
        for number in 0..other.parts() {
            for exception in other.part(number) {
                self.push(exception);
            }
        }
        if let Some(lost) = other.lost.take() {
            self.lost.get_or_insert(lost);
        }
    }

    /// The number of bounded parts for reading.
    pub(crate) fn parts(&self) -> u64 {
        self.spilled.div_ceil(HELD_MAX as u64) + 1
    }

    /// One of the parts, of at most [`HELD_MAX`]; empty if it cannot be read.
    pub(crate) fn part(&mut self, number: u64) -> Vec<Exception> {
        let at = number.saturating_mul(HELD_MAX as u64);
        if at >= self.spilled {
            return self.held.clone();
        }
        let count = (self.spilled - at).min(HELD_MAX as u64);
        let mut buffer = vec![0; usize::try_from(count).unwrap_or(0) * BYTES];
        if let Err(error) = self.spill.read(at * BYTES as u64, &mut buffer) {
            self.lost.get_or_insert(error.message);
            return Vec::new();
        }
        let (records, _) = buffer.as_chunks::<BYTES>();
        records.iter().map(Exception::read).collect()
    }
}
