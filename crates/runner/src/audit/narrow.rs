//! Narrows wrong buckets to their rows: missing, duplicate, or altered.
//!
//! All rows of some buckets are read back and compared with the sent rows, regenerated from their index. Rows are
//! marked in bitmaps of a bounded size; more buckets take more passes.

use highwater_model::record::{AuditExample, Fault};
use highwater_model::stored::{Difference, KeyRange, StoredRow};
use highwater_model::user_error::UserError;

use super::patient::{Next, Waits};
use super::table::{Figures, TableAudit, example};
use super::table::{Marks, push_halves, push_range};
use crate::ledger::exceptions::{Exception, RowOutcome};

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
