//! Resolves rows of unknown outcome by key, and reads a sample of the others value by value.
//!
//! Found rows become expected rows, so that the following comparison is exact.
//!
//! Wrong buckets are narrowed to their rows: missing, duplicate, or altered. All rows of some buckets are read back and
//! compared with the sent rows, regenerated from their index. Rows are marked in bitmaps of a bounded size; more
//! buckets take more passes.
//!
//! Rows of the ledger also show whether columns of types other than the workload's return the sent text, for tables
//! whose types the canary did not check.

use std::collections::BTreeSet;

use highwater_model::op::{BoundColumn, BoundTable, RowBatch, Value};
use highwater_model::record::{AuditExample, Fault};
use highwater_model::stored::{Difference, KeyRange, StoredForm, StoredRow, difference, value_at};
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_workload::random::Draws;

use super::patient::{Next, Waits};
use super::table::{Figures, Marks, TableAudit, example, push_halves, push_range};
use crate::ledger::{Exception, RowOutcome};

/// Maximum number of rows read by one statement.
const STATEMENT_ROWS_MAX: u64 = 1 << 20;
/// Rows in the sample.
const SAMPLE: u64 = 200;
/// Maximum number of suspect rows kept; their buckets are narrowed even if their sums are right.
const SUSPECTS_MAX: usize = 10_000;

impl TableAudit<'_, '_> {
    /// Searches for every row of unknown outcome and reads the sample; returns the rows whose stored
    /// values differ from those sent.
    pub(super) async fn resolve(&mut self, sample: bool) -> Result<BTreeSet<u64>, UserError> {
        let mut suspects = BTreeSet::new();
        let mut sample = if sample { self.sampled_rows() } else { BTreeSet::new() };
        let fresh = self.input.directory.spill();
        let mut old = self.ledger.take_exceptions(fresh);
        for number in 0..old.parts() {
            let mut part = old.part(number);
            part.sort_unstable_by_key(|exception| exception.first);
            for exception in &part {
                let inside: Vec<u64> =
                    sample.range(exception.first..exception.end()).copied().collect();
                for row in inside {
                    sample.remove(&row);
                }
            }
            let (open, closed): (Vec<_>, Vec<_>) = part.into_iter().partition(Exception::is_open);
            for exception in closed {
                self.ledger.exceptions().push(exception);
            }
            for group in groups(&open) {
                self.find_group(group, &mut suspects).await?;
            }
        }
        let lost = old.lost().or(self.ledger.exceptions().lost());
        if let Some(lost) = lost {
            let message = format!("rows of unknown outcome could not be kept: {lost}");
            return Err(UserError::statement(message));
        }
        self.read_sample(&sample, &mut suspects).await?;
        Ok(suspects)
    }

    /// Rows of this run, sampled from its seed.
    pub(super) fn sampled_rows(&self) -> BTreeSet<u64> {
        let rows = self.ledger.rows();
        let draws = Draws::new(self.input.plan.seed, &["audit", &self.table.name]);
        let count = rows.end - rows.start;
        (0..SAMPLE.min(count)).map(|n| rows.start + draws.below(n, count)).collect()
    }

    async fn read_sample(
        &mut self,
        sample: &BTreeSet<u64>,
        suspects: &mut BTreeSet<u64>,
    ) -> Result<(), UserError> {
        if sample.is_empty() {
            return Ok(());
        }
        let mut ranges: Vec<KeyRange> = Vec::new();
        for row in sample {
            push_range(&mut ranges, *row..row + 1);
        }
        let mut missing = sample.clone();
        let (rows, figures) = (&mut self.rows, &mut self.figures);
        let mut waits = Waits::default();
        let mut left = vec![ranges.as_slice()];
        while let Some(ranges) = left.pop() {
            let before = figures.record.read_back;
            let mut take = |row: StoredRow| {
                figures.record.read_back += 1;
                missing.remove(&row.key);
                if rows.difference(&row).is_some() && suspects.len() < SUSPECTS_MAX {
                    suspects.insert(row.key);
                }
            };
            let read = self.admin.read_rows(self.table, ranges, &mut take).await;
            if let Err(error) = read {
                figures.record.read_back = before;
                let next = Next::smaller_if(ranges.len() > 1);
                self.admin.recover(error, &mut waits, next).await?;
                push_halves(&mut left, ranges);
            }
        }
        if self.input.plan.share.of == 1 {
            suspects.extend(missing);
        }
        Ok(())
    }

    /// Searches for the rows of a group, or of its parts if the target temporarily refuses.
    async fn find_group(
        &mut self,
        group: &[Exception],
        suspects: &mut BTreeSet<u64>,
    ) -> Result<(), UserError> {
        let mut left = vec![group];
        let mut waits = Waits::default();
        while let Some(group) = left.pop() {
            let before = self.figures.record.read_back;
            if let Err(error) = self.find_rows(group, suspects).await {
                self.figures.record.read_back = before;
                let next = Next::smaller_if(group.len() > 1);
                self.admin.recover(error, &mut waits, next).await?;
                push_halves(&mut left, group);
            }
        }
        Ok(())
    }

    async fn find_rows(
        &mut self,
        group: &[Exception],
        suspects: &mut BTreeSet<u64>,
    ) -> Result<(), UserError> {
        let mut ranges: Vec<KeyRange> = Vec::new();
        let mut offsets = Vec::with_capacity(group.len());
        let mut rows_in_all = 0;
        for exception in group {
            push_range(&mut ranges, exception.first..exception.end());
            offsets.push(rows_in_all);
            rows_in_all += usize::try_from(exception.rows).unwrap_or(0);
        }
        let mut there = Marks::new(rows_in_all);
        let (rows, figures) = (&mut self.rows, &mut self.figures);
        let mut take = |row: StoredRow| {
            figures.record.read_back += 1;
            let at = group.partition_point(|exception| exception.end() <= row.key);
            if let Some(exception) = group.get(at).filter(|e| e.first <= row.key) {
                let within = usize::try_from(row.key - exception.first).unwrap_or(0);
                there.set(offsets[at] + within, true);
            }
            if rows.difference(&row).is_some() && suspects.len() < SUSPECTS_MAX {
                suspects.insert(row.key);
            }
        };
        self.admin.read_rows(self.table, &ranges, &mut take).await?;
        for (exception, offset) in group.iter().zip(offsets) {
            self.fold(exception, &there, offset);
        }
        Ok(())
    }

    /// Adds the found rows of an exception to the expected rows.
    fn fold(&mut self, exception: &Exception, there: &Marks, offset: usize) {
        let rows = usize::try_from(exception.rows).unwrap_or(0);
        let mut found = 0;
        let mut start = 0;
        while start < rows {
            let is_there = there.get(offset + start);
            let same = (start..rows).take_while(|at| there.get(offset + at) == is_there);
            let count = same.count();
            let first = exception.first + start as u64;
            if is_there {
                let batch = self.rows.batch(first..first + count as u64);
                self.ledger.found(&batch, 0..count);
                found += count as u64;
            } else {
                self.ledger.absent(first, count as u64);
            }
            start += count;
        }
        let resolved = &mut self.figures.record.resolved;
        match exception.outcome {
            RowOutcome::Partly { least, most } => {
                self.compare_partly(exception, found, least, most);
            }
            _ if found == 0 => resolved.not_applied += 1,
            _ if found == u64::from(exception.rows) => resolved.applied += 1,
            _ => resolved.partly += 1,
        }
        if exception.outcome == RowOutcome::Unknown {
            self.figures.record.resolved.rows_found += found;
        }
    }

    /// Compares the found rows with the number of rows of a batch that the target reported as
    /// stored.
    fn compare_partly(&mut self, exception: &Exception, found: u64, least: u32, most: u32) {
        let missing = u64::from(least).saturating_sub(found);
        let surplus = found.saturating_sub(most.into());
        self.figures.record.missing += missing;
        self.figures.record.surplus += surplus;
        // A key counts once here, so any surplus over the applied rows was refused.
        self.figures.record.refused_found += surplus;
        let fault = match (missing, surplus) {
            (0, 0) => return,
            (0, _) => Fault::Surplus,
            _ => Fault::Missing,
        };
        self.figures.example(AuditExample {
            last_key: exception.end() - 1,
            acknowledged: least.into(),
            unknown: u64::from(most - least),
            found,
            ..example(fault, &self.table.name, exception.first)
        });
    }
}

/// Groups consecutive exceptions up to a bounded number of rows.
fn groups(open: &[Exception]) -> impl Iterator<Item = &[Exception]> {
    let mut rest = open;
    std::iter::from_fn(move || {
        let mut rows = 0;
        let fits = rest.iter().take_while(|exception| {
            rows += u64::from(exception.rows);
            rows <= STATEMENT_ROWS_MAX
        });
        let count = fits.count().max(1).min(rest.len());
        let (group, behind) = rest.split_at(count);
        rest = behind;
        (!group.is_empty()).then_some(group)
    })
}

/// Maximum number of keys per pass, unless one bucket is wider: four bitmaps of 2 MiB.
const PASS_KEYS: u64 = 1 << 24;

/// The rows of some buckets.
struct Pass<'a> {
    /// Ascending.
    buckets: &'a [u64],
    width: u64,
    /// Rows that must be there.
    expected: Marks,
    /// Rows that were not found when searched for, and may have arrived since.
    late: Marks,
    /// Rows that were rejected, so they must not be there.
    refused: Marks,
    seen: Marks,
}

impl Pass<'_> {
    /// The mark of a key in one of the buckets.
    fn position(&self, key: u64) -> Option<usize> {
        let slot = self.buckets.binary_search(&(key / self.width)).ok()? as u64;
        usize::try_from(slot * self.width + key % self.width).ok()
    }

    /// The key of a mark.
    fn key(&self, position: usize) -> u64 {
        let position = position as u64;
        let slot = usize::try_from(position / self.width).unwrap_or(0);
        self.buckets[slot] * self.width + position % self.width
    }

    /// Excludes rows that were not acknowledged.
    fn except(&mut self, exception: &Exception) {
        let from =
            self.buckets.partition_point(|bucket| (bucket + 1) * self.width <= exception.first);
        for bucket in &self.buckets[from..] {
            let first = exception.first.max(bucket * self.width);
            let end = exception.end().min((bucket + 1) * self.width);
            if bucket * self.width >= exception.end() {
                return;
            }
            for key in first..end {
                if let Some(position) = self.position(key) {
                    self.expected.set(position, false);
                    self.late.set(position, exception.outcome == RowOutcome::Absent);
                    self.refused.set(position, exception.outcome == RowOutcome::Refused);
                }
            }
        }
    }
}

impl TableAudit<'_, '_> {
    /// Reads back all rows of these buckets (ascending), and returns what is wrong with them.
    pub(super) async fn narrow(&mut self, buckets: &[u64]) -> Result<Figures, UserError> {
        let width = self.ledger.width();
        let at_once = usize::try_from(PASS_KEYS / width).unwrap_or(1).max(1);
        let mut figures = Figures::default();
        let mut left: Vec<&[u64]> = buckets.chunks(at_once).rev().collect();
        let mut waits = Waits::default();
        while let Some(buckets) = left.pop() {
            let before = figures.clone();
            if let Err(error) = self.narrow_some(buckets, &mut figures).await {
                figures = before;
                let next = Next::smaller_if(buckets.len() > 1);
                self.admin.recover(error, &mut waits, next).await?;
                push_halves(&mut left, buckets);
            }
        }
        Ok(figures)
    }

    async fn narrow_some(
        &mut self,
        buckets: &[u64],
        figures: &mut Figures,
    ) -> Result<(), UserError> {
        let width = self.ledger.width();
        let mut pass = self.pass(buckets, width);
        let mut ranges: Vec<KeyRange> = Vec::new();
        for bucket in buckets {
            push_range(&mut ranges, bucket * width..(bucket + 1) * width);
        }
        let (rows, table) = (&mut self.rows, self.table);
        let progress = &self.input.progress;
        let example = |fault: Fault, key, found, difference: Option<Difference>| AuditExample {
            acknowledged: u64::from(fault != Fault::Surplus),
            found,
            column: difference
                .as_ref()
                .and_then(|d| table.columns.get(d.column))
                .map(|column| column.name.clone()),
            expected: difference.as_ref().map(|d| d.expected.clone()),
            stored: difference.map(|d| d.found),
            ..example(fault, &table.name, key)
        };
        let mut take = |row: StoredRow| {
            progress.row();
            figures.record.read_back += 1;
            let Some(position) = pass.position(row.key) else {
                return;
            };
            let (expected, late) = (pass.expected.get(position), pass.late.get(position));
            if pass.seen.get(position) {
                figures.record.duplicated += 1;
                figures.record.surplus += 1;
                figures.example(example(Fault::Duplicated, row.key, 2, None));
            } else if late {
                figures.late += 1;
            } else if !expected {
                figures.record.surplus += 1;
                if pass.refused.get(position) {
                    figures.record.refused_found += 1;
                } else {
                    figures.record.foreign += 1;
                }
                figures.example(example(Fault::Surplus, row.key, 1, None));
            }
            pass.seen.set(position, true);
            if let Some(difference) = rows.difference(&row).filter(|_| expected || late) {
                figures.record.altered += 1;
                figures.example(example(Fault::Altered, row.key, 1, Some(difference)));
            }
        };
        self.admin.read_rows(table, &ranges, &mut take).await?;
        for position in pass.expected.without(&pass.seen) {
            figures.record.missing += 1;
            figures.example(example(Fault::Missing, pass.key(position), 0, None));
        }
        Ok(())
    }

    fn pass<'b>(&mut self, buckets: &'b [u64], width: u64) -> Pass<'b> {
        let marks = usize::try_from(width).unwrap_or(0) * buckets.len();
        let mut pass = Pass {
            buckets,
            width,
            expected: Marks::new(marks),
            late: Marks::new(marks),
            refused: Marks::new(marks),
            seen: Marks::new(marks),
        };
        let planned = self.ledger.rows();
        for bucket in buckets {
            let first = planned.start.max(bucket * width);
            let end = planned.end.min((bucket + 1) * width);
            for key in first..end {
                if let Some(position) = pass.position(key) {
                    pass.expected.set(position, true);
                }
            }
        }
        let exceptions = self.ledger.exceptions();
        for number in 0..exceptions.parts() {
            for exception in exceptions.part(number) {
                pass.except(&exception);
            }
        }
        pass
    }
}

/// Maximum number of rows checked.
const TRIED_MAX: usize = 24;
/// Maximum number of rows kept from one response.
const KEPT_MAX: usize = 1_024;

impl TableAudit<'_, '_> {
    /// Returns the columns that cannot be compared: the target itself reports a different text for the sent value, or
    /// has no checksum for their type. The comparison judges all other differences.
    pub(super) async fn uncomparable(&mut self) -> Result<Vec<usize>, UserError> {
        let others: Vec<usize> =
            (0..self.table.columns.len()).filter(|at| is_other(&self.table.columns[*at])).collect();
        let mut left_out = Vec::new();
        if others.is_empty() {
            return Ok(left_out);
        }
        let rows = self.sampled_rows();
        let step = rows.len().div_ceil(TRIED_MAX).max(1);
        let mut ranges: Vec<KeyRange> = Vec::new();
        for row in rows.into_iter().step_by(step) {
            push_range(&mut ranges, row..row + 1);
        }
        let found = self.read_some(&ranges).await?;
        for row in found {
            let sent = self.rows.batch(row.key..row.key + 1);
            for at in &others {
                if !left_out.contains(at) && self.is_other_text(*at, &sent, &row).await? {
                    left_out.push(*at);
                }
            }
        }
        Ok(left_out)
    }

    async fn read_some(&mut self, ranges: &[KeyRange]) -> Result<Vec<StoredRow>, UserError> {
        let mut waits = Waits::default();
        loop {
            let mut found = Vec::new();
            let mut take = |row| {
                if found.len() < KEPT_MAX {
                    found.push(row);
                }
            };
            match self.admin.read_rows(self.table, ranges, &mut take).await {
                Ok(()) => return Ok(found),
                Err(error) if error.kind == UserErrorKind::Statement => return Ok(Vec::new()),
                Err(error) => self.admin.recover(error, &mut waits, Next::Nothing).await?,
            }
        }
    }

    /// Whether a column holds the text to which the target converts the sent value, and that text
    /// differs.
    async fn is_other_text(
        &mut self,
        at: usize,
        sent: &RowBatch,
        stored: &StoredRow,
    ) -> Result<bool, UserError> {
        let column = &self.table.columns[at];
        let (Some(data), Some(value)) = (sent.columns.get(at), stored.values.get(at)) else {
            return Ok(false);
        };
        let batch = RowBatch { columns: vec![data.clone()], ..sent.clone() };
        let one = std::slice::from_ref(column);
        if difference(one, &batch, 0, std::slice::from_ref(value)).is_none() {
            return Ok(false);
        }
        let (Value::Text(sent), Value::Text(found)) = (value_at(column, data, 0), value) else {
            return Ok(false);
        };
        let made = self.admin.ask(async |admin| admin.text_in(column, &sent).await).await?;
        Ok(made.as_deref() == Some(found))
    }
}

/// Returns the table without these columns in its comparison.
pub(super) fn without(table: &BoundTable, columns: &[usize]) -> BoundTable {
    let mut table = table.clone();
    for at in columns {
        if let Some(column) = table.columns.get_mut(*at) {
            column.declared.form = StoredForm::Uncompared;
        }
    }
    table
}

fn is_other(column: &BoundColumn) -> bool {
    matches!(column.form(), StoredForm::Text | StoredForm::Equivalent)
}
