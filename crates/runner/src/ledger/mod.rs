//! The ledger: what was acknowledged, refused and unknown, per key bucket.
//!
//! Keys are row indexes. A bucket has the number of its acknowledged rows and, per column, their
//! checksum ([`highwater_core::analysis::sums`]), in bounded memory; what was not acknowledged is
//! kept by batch and row.

pub(crate) mod exceptions;
pub(crate) mod replaced;

use std::ops::Range;

use highwater_core::analysis::sums::Buckets;
use highwater_core::model::op::{BoundColumn, RowBatch};
use highwater_core::model::outcome::{Certainty, Outcome};
use highwater_core::model::record::ExpectedBucket;
use highwater_core::model::units::Nanos;
use highwater_core::workload::Replaced;

use crate::store::Spill;
use exceptions::{Exceptions, Fate};
use replaced::Replacements;

/// Rows of a table, or of a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The target said that it stored them.
    pub acknowledged: u64,
    /// The target said that it did not.
    pub refused: u64,
    /// Nobody can say.
    pub unknown: u64,
}

/// What became of the rows of one table.
#[derive(Debug)]
pub struct Ledger {
    /// What must be there.
    expected: Buckets,
    /// Rows of which nobody can say, in buckets of the same width.
    unknown: Buckets,
    totals: Totals,
    exceptions: Exceptions,
    /// By key, where rows replace each other; then there is nothing else but the totals.
    replaced: Option<Box<Replacements>>,
    /// Rows from `begin` to `end` are acknowledged or excepted; no others were meant.
    begin: u64,
    end: u64,
}

impl Ledger {
    /// An empty ledger that adds up these columns; none for counts alone.
    pub fn new(columns: &[BoundColumn], spill: Spill) -> Self {
        Self {
            expected: Buckets::new(columns),
            unknown: Buckets::new(&[]),
            totals: Totals::default(),
            exceptions: Exceptions::new(spill),
            replaced: None,
            begin: u64::MAX,
            end: 0,
        }
    }

    /// Notes what became of the rows `first .. first + rows`; `batch` is what was sent of them.
    pub fn note(&mut self, first: u64, rows: u64, batch: Option<&RowBatch>, outcome: &Outcome) {
        self.meant(first, rows);
        let batch = batch.filter(|batch| batch.first_row == first && batch.rows as u64 == rows);
        match (outcome.certainty, batch) {
            (Certainty::Applied, Some(batch)) => self.note_applied(batch, rows, outcome),
            (Certainty::NotApplied, _) => self.refuse(first, rows),
            // Rows that nobody has any more cannot be added up: the audit looks for them.
            (Certainty::Applied, None) | (Certainty::Unknown, _) => self.doubt(first, rows),
        }
    }

    /// Notes what became of rows that replace others: `rows` are those written, none for deletes;
    /// `told` are rows that the target says it wrote or deleted.
    ///
    /// A delete that says it found fewer rows than it has keys promises nothing: a target whose
    /// deletes search may not have seen the latest row of a key yet.
    pub(crate) fn note_replaced(
        &mut self,
        written: &Replaced,
        (started, finished): (Nanos, Nanos),
        (rows, told): (u64, u64),
        outcome: &Outcome,
    ) {
        let promised = written.first_row.is_some() || told >= written.keys.len() as u64;
        let replaced = self.replaced.get_or_insert_default();
        let certain = match outcome.certainty {
            Certainty::NotApplied => {
                self.totals.refused += rows;
                return;
            }
            Certainty::Applied if promised && outcome.rows_applied == rows => Some(finished),
            Certainty::Applied | Certainty::Unknown => None,
        };
        match certain {
            Some(_) => self.totals.acknowledged += rows,
            None => self.totals.unknown += rows,
        }
        replaced.note(&written.keys, written.first_row, (started, certain));
    }

    /// Gives away what became of rows that replace each other.
    pub(crate) fn take_replacements(&mut self) -> Replacements {
        self.replaced.take().map(|kept| *kept).unwrap_or_default()
    }

    /// Whether rows that replace each other were written.
    pub(crate) fn has_replacements(&self) -> bool {
        self.replaced.is_some()
    }

    /// These rows were never sent, although later ones were.
    pub fn not_sent(&mut self, first: u64, rows: u64) {
        self.meant(first, rows);
        self.exceptions.push_rows(first, rows, Fate::NotSent);
    }

    fn note_applied(&mut self, batch: &RowBatch, rows: u64, outcome: &Outcome) {
        if outcome.rows_applied == rows {
            self.acknowledge(batch, 0..batch.rows);
            return;
        }
        let excepted = outcome.exceptions.iter().map(|span| u64::from(span.rows));
        if outcome.rows_applied + excepted.sum::<u64>() == rows {
            self.note_by_row(batch, outcome);
            return;
        }
        self.totals.acknowledged += outcome.rows_applied;
        self.totals.refused += outcome.rows_refused;
        self.totals.unknown += outcome.rows_unknown;
        let last = batch.first_row + rows - 1;
        let one_bucket = batch.first_row / self.width() == last / self.width();
        if one_bucket && self.expected.columns() == 0 {
            // Counts alone are exact for a bucket that holds the whole batch.
            let applied = outcome.rows_applied;
            self.expected
                .count(batch.first_row, 1, |rows, _| *rows += applied);
            return;
        }
        self.unknown
            .count(batch.first_row, rows, |all, n| *all += n);
        self.level();
        self.exceptions.push(exceptions::Exception {
            first: batch.first_row,
            rows: u32::try_from(rows).unwrap_or(u32::MAX),
            fate: Fate::Partly {
                least: u32::try_from(outcome.rows_applied).unwrap_or(u32::MAX),
                most: u32::try_from(outcome.rows_applied + outcome.rows_unknown)
                    .unwrap_or(u32::MAX),
            },
        });
    }

    /// The target said which rows it did not apply.
    fn note_by_row(&mut self, batch: &RowBatch, outcome: &Outcome) {
        let mut next = 0;
        for span in &outcome.exceptions {
            let (at, rows) = (span.first as usize, u64::from(span.rows));
            self.acknowledge(batch, next..at);
            let first = batch.first_row + u64::from(span.first);
            match span.certainty {
                Certainty::Unknown => self.doubt(first, rows),
                Certainty::Applied | Certainty::NotApplied => self.refuse(first, rows),
            }
            next = at + span.rows as usize;
        }
        self.acknowledge(batch, next..batch.rows);
    }

    fn refuse(&mut self, first: u64, rows: u64) {
        self.totals.refused += rows;
        self.exceptions.push_rows(first, rows, Fate::Refused);
    }

    fn doubt(&mut self, first: u64, rows: u64) {
        self.totals.unknown += rows;
        self.unknown.count(first, rows, |all, n| *all += n);
        self.level();
        self.exceptions.push_rows(first, rows, Fate::Unknown);
    }

    fn acknowledge(&mut self, batch: &RowBatch, rows: Range<usize>) {
        self.totals.acknowledged += rows.len() as u64;
        self.expected.add(batch, rows);
        self.level();
    }

    /// Rows of unknown fate, or of a batch that was applied in part, were found.
    pub(crate) fn found(&mut self, batch: &RowBatch, rows: Range<usize>) {
        self.known(batch.first_row + rows.start as u64, rows.len() as u64);
        self.expected.add(batch, rows);
        self.level();
    }

    /// Rows of unknown fate were looked for and not found.
    pub(crate) fn absent(&mut self, first: u64, rows: u64) {
        self.known(first, rows);
        self.exceptions.push_rows(first, rows, Fate::Absent);
    }

    fn known(&mut self, first: u64, rows: u64) {
        self.unknown
            .count(first, rows, |all, n| *all = all.saturating_sub(n));
        self.level();
    }

    /// Gives both kinds of buckets one width.
    fn level(&mut self) {
        self.expected.widen(self.unknown.width());
        self.unknown.widen(self.expected.width());
    }

    /// Keys per bucket.
    pub fn width(&self) -> u64 {
        self.expected.width()
    }

    /// The buckets in which something is expected.
    pub fn buckets(&self) -> impl Iterator<Item = ExpectedBucket> {
        let unknown = self.unknown.all().map(|(rows, _)| rows);
        let beyond = self.expected.all().count();
        let expected = self
            .expected
            .all()
            .map(|(rows, sums)| (rows, sums.to_vec()));
        let columns = self.expected.columns();
        let none = std::iter::repeat_with(move || (0, vec![0; columns]));
        let both = beyond.max(self.unknown.all().count());
        let pairs = expected
            .chain(none)
            .zip(unknown.chain(std::iter::repeat(0)));
        pairs
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

    /// All rows together.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Whether anything was meant to be written.
    pub fn is_empty(&self) -> bool {
        self.totals == Totals::default() && self.replaced.is_none()
    }

    /// All rows that were meant lie in here.
    pub(crate) fn rows(&self) -> Range<u64> {
        self.begin.min(self.end)..self.end
    }

    /// What was not acknowledged.
    pub(crate) fn exceptions(&mut self) -> &mut Exceptions {
        &mut self.exceptions
    }

    /// Gives away what was not acknowledged, so that it can be resolved into a new list.
    pub(crate) fn take_exceptions(&mut self, fresh: Spill) -> Exceptions {
        std::mem::replace(&mut self.exceptions, Exceptions::new(fresh))
    }

    /// Adds another ledger of the same table.
    pub fn merge(&mut self, other: Self) {
        self.expected.merge(other.expected);
        self.unknown.merge(other.unknown);
        self.level();
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

    fn meant(&mut self, first: u64, rows: u64) {
        self.begin = self.begin.min(first);
        self.end = self.end.max(first.saturating_add(rows));
    }
}

#[cfg(test)]
mod tests;
