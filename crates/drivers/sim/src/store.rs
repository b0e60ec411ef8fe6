//! The rows of a table: how often each row index was applied, as a step function.
//!
//! Memory grows with the number of gaps, not of rows: batches that arrive out of order coalesce. Rows that the model
//! drops or stores twice need no entry: they are a pure function of the row index ([`RowFaultModel`]), applied when
//! rows are counted. The same holds for altered values; all other values are regenerated ([`Values`]).

use std::collections::BTreeMap;

use highwater_analysis::sums::Summer;
use highwater_model::op::RowBatch;
use highwater_model::stored::{KeyRange, StoredRow, value_at};
use highwater_model::units::Seed;

use super::values::{Purpose, RandomKey, Values};
use highwater_driver::contract::{KeyCounts, KeySums};

/// A multiset of row indices below `u64::MAX`.
#[derive(Debug, Clone, Default)]
pub(super) struct RowSet {
    /// From this row on, up to the next entry, each row was applied this many times. Neighbors differ; rows before the
    /// first entry were never applied.
    steps: BTreeMap<u64, u32>,
}

impl RowSet {
    /// Applies the rows `first..end` once more.
    pub(super) fn add(&mut self, first: u64, end: u64) {
        self.change(first, end, |count| count.saturating_add(1));
    }

    /// Applies the rows `first..end` once less.
    pub(super) fn remove(&mut self, first: u64, end: u64) {
        self.change(first, end, |count| count.saturating_sub(1));
    }

    fn change(&mut self, first: u64, end: u64, change: impl Fn(u32) -> u32) {
        if first >= end {
            return;
        }
        self.split(first);
        self.split(end);
        for (_, count) in self.steps.range_mut(first..end) {
            *count = change(*count);
        }
        self.merge(first);
        self.merge(end);
    }

    /// Ranges of equal count above zero: (first, end, count), ascending.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64, u32)> + '_ {
        let ends = self.steps.keys().skip(1).copied();
        self.steps
            .iter()
            .zip(ends)
            .filter(|((_, count), _)| **count > 0)
            .map(|((first, count), end)| (*first, end, *count))
    }

    /// Number of entries in memory.
    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.steps.len()
    }

    fn count_before(&self, row: u64) -> u32 {
        self.steps.range(..row).next_back().map_or(0, |(_, count)| *count)
    }

    fn split(&mut self, at: u64) {
        let count = self.count_before(at);
        self.steps.entry(at).or_insert(count);
    }

    fn merge(&mut self, at: u64) {
        if self.steps.get(&at) == Some(&self.count_before(at)) {
            self.steps.remove(&at);
        }
    }
}

/// How many copies of a row one application leaves in the table: 0, 1, or 2.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowFaultModel {
    dropped: RandomKey,
    duplicated: RandomKey,
    drop: f64,
    duplicate: f64,
}

impl RowFaultModel {
    /// The faults of one table's rows.
    pub(super) fn new(seed: Seed, table: &str, drop: f64, duplicate: f64) -> Self {
        Self {
            dropped: RandomKey::new(seed, Purpose::DroppedRow).with_text(table),
            duplicated: RandomKey::new(seed, Purpose::DuplicatedRow).with_text(table),
            drop,
            duplicate,
        }
    }

    /// Whether every row has exactly one copy.
    pub(super) fn is_faithful(&self) -> bool {
        self.drop <= 0.0 && self.duplicate <= 0.0
    }

    /// Copies of this row per application.
    pub(super) fn copies(&self, row: u64) -> u64 {
        if self.dropped.with(row).happens(self.drop) {
            0
        } else if self.duplicated.with(row).happens(self.duplicate) {
            2
        } else {
            1
        }
    }
}

/// A table, and its actual content.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// Its name.
    pub(super) name: String,
    /// Rows stored, duplicates included: the value of a server's counter.
    pub(super) stored: u64,
    rows: RowSet,
    faults: RowFaultModel,
    /// Present if the workload's values can be regenerated.
    values: Option<Values>,
}

/// The faults of one batch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowFaults {
    /// Rows not stored.
    pub(super) dropped: u64,
    /// Rows stored twice.
    pub(super) duplicated: u64,
    /// Copies stored with other values.
    pub(super) altered: u64,
}

impl Table {
    /// An empty table.
    pub(super) fn new(name: &str, faults: RowFaultModel, values: Option<Values>) -> Self {
        Self { name: name.to_owned(), stored: 0, rows: RowSet::default(), faults, values }
    }

    /// Applies the rows `first..first + rows`, and counts their faults.
    pub(super) fn apply(&mut self, first: u64, rows: u64) -> RowFaults {
        let end = first.saturating_add(rows);
        self.rows.add(first, end);
        let mut faults = RowFaults::default();
        if !self.faults.is_faithful() {
            for row in first..end {
                match self.faults.copies(row) {
                    0 => faults.dropped += 1,
                    1 => {}
                    _ => faults.duplicated += 1,
                }
            }
        }
        if let Some(values) = self.values.as_ref().filter(|values| !values.is_faithful()) {
            let altered = (first..end).filter(|row| values.is_altered(*row));
            faults.altered = altered.map(|row| self.faults.copies(row)).sum();
        }
        self.stored += end - first - faults.dropped + faults.duplicated;
        faults
    }

    /// Loses an application of the rows `first..first + rows`; returns how many copies of them there were.
    pub(super) fn lose(&mut self, first: u64, rows: u64) -> u64 {
        let end = first.saturating_add(rows);
        let copies = self.copies_between(first, end);
        self.rows.remove(first, end);
        self.stored = self.stored.saturating_sub(copies);
        copies
    }

    /// Counts stored rows, and sums their checksums by index div `width`, which is at least 1; `None` if rows cannot be
    /// regenerated.
    pub(super) fn sums_by_key(&self, width: u64) -> Option<KeySums> {
        let values = self.values.as_ref()?;
        let columns = values.columns().len();
        let mut summer = values.summer();
        let mut found = KeySums { covered: vec![true; columns], ..KeySums::default() };
        for (first, end, times) in self.rows.ranges() {
            let mut from = first;
            while from < end {
                let bucket = from / width;
                let to = end.min((bucket + 1).saturating_mul(width));
                let mut sums = vec![0; columns];
                for block in values.blocks(from, to) {
                    self.add_up(&mut summer, &block, &mut sums);
                }
                for sum in &mut sums {
                    *sum = sum.wrapping_mul(times.into());
                }
                let rows = self.copies_between(from, to) * u64::from(times);
                if rows > 0 {
                    found.add(bucket, rows, &sums);
                }
                from = to;
            }
        }
        Some(found)
    }

    /// Adds the rows of a block, each as often as one application stores it.
    fn add_up(&self, summer: &mut Summer, block: &RowBatch, sums: &mut [u64]) {
        if self.faults.is_faithful() {
            summer.add(block, 0..block.rows, sums);
            return;
        }
        for (at, row) in (0..block.rows).zip(block.first_row..) {
            for _ in 0..self.faults.copies(row) {
                summer.add(block, at..at + 1, sums);
            }
        }
    }

    /// Passes every stored row of the ranges to `take`, once per copy; false if rows cannot be regenerated.
    pub(super) fn read_rows(&self, ranges: &[KeyRange], take: &mut dyn FnMut(StoredRow)) -> bool {
        let Some(values) = &self.values else {
            return false;
        };
        for range in ranges {
            for (first, end, times) in self.rows.ranges() {
                let (first, end) = (first.max(range.first), end.min(range.end));
                for block in values.blocks(first, end.max(first)) {
                    for (at, key) in (0..block.rows).zip(block.first_row..) {
                        for _ in 0..self.faults.copies(key) * u64::from(times) {
                            let values = values
                                .columns()
                                .iter()
                                .zip(&block.columns)
                                .map(|(column, data)| value_at(column, data, at));
                            take(StoredRow { key, values: values.collect() });
                        }
                    }
                }
            }
        }
        true
    }

    /// Counts stored rows by index div `width`, which is at least 1.
    pub(super) fn count_by_key(&self, width: u64) -> KeyCounts {
        let mut buckets: Vec<(u64, u64)> = Vec::new();
        for (first, end, times) in self.rows.ranges() {
            let mut from = first;
            while from < end {
                let bucket = from / width;
                let to = end.min((bucket + 1).saturating_mul(width));
                let rows = self.copies_between(from, to) * u64::from(times);
                match buckets.last_mut() {
                    Some((last, count)) if *last == bucket => *count += rows,
                    _ if rows > 0 => buckets.push((bucket, rows)),
                    _ => {}
                }
                from = to;
            }
        }
        KeyCounts { buckets, without_key: 0 }
    }

    fn copies_between(&self, first: u64, end: u64) -> u64 {
        if self.faults.is_faithful() {
            end - first
        } else {
            (first..end).map(|row| self.faults.copies(row)).sum()
        }
    }
}
