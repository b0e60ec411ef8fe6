//! Resolves rows of unknown outcome by key, and reads a sample of the others value by value.
//!
//! Found rows become expected rows, so that the following comparison is exact. Must not compare.

use std::collections::BTreeSet;

use highwater_model::record::{AuditExample, Fault};
use highwater_model::stored::{KeyRange, StoredRow};
use highwater_model::user_error::UserError;
use highwater_workload::random::Draws;

use super::patient::{Next, Waits};
use super::table::{Marks, push_halves, push_range};
use super::table::{TableAudit, example};
use crate::ledger::exceptions::{Exception, RowOutcome};

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
        let draws = Draws::of(self.input.plan.seed, &["audit", &self.table.name]);
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

    /// Compares the found rows with the number that the target reported as stored of a batch.
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
