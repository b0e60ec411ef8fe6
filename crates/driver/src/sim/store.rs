//! What a table holds: how often each row index was applied, as steps of constant count.
//!
//! Memory follows the number of gaps, not of rows: batches that arrive out of order coalesce. Rows
//! that the model drops or stores twice need no entry: which ones they are is a pure function of
//! the row index ([`RowFate`]), applied when rows are counted.

use std::collections::BTreeMap;

use highwater_core::model::units::Seed;

use super::draw::{Draw, Purpose};
use crate::contract::KeyCounts;

/// A multiset of row indices below `u64::MAX`.
#[derive(Debug, Clone, Default)]
pub(super) struct RowSet {
    /// From this row on, up to the next entry, each row was applied so many times. Neighbours
    /// differ; rows before the first entry were never applied.
    steps: BTreeMap<u64, u32>,
}

impl RowSet {
    /// Applies the rows `first..end` once more.
    pub(super) fn add(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        self.split(first);
        self.split(end);
        for (_, count) in self.steps.range_mut(first..end) {
            *count = count.saturating_add(1);
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

    /// Entries in memory.
    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.steps.len()
    }

    fn count_before(&self, row: u64) -> u32 {
        self.steps
            .range(..row)
            .next_back()
            .map_or(0, |(_, count)| *count)
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

/// How many copies of a row one application of it leaves in the table: 0, 1 or 2.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowFate {
    dropped: Draw,
    duplicated: Draw,
    drop: f64,
    duplicate: f64,
}

impl RowFate {
    /// The fates of one table's rows.
    pub(super) fn new(seed: Seed, table: &str, drop: f64, duplicate: f64) -> Self {
        Self {
            dropped: Draw::new(seed, Purpose::DroppedRow).with_text(table),
            duplicated: Draw::new(seed, Purpose::DuplicatedRow).with_text(table),
            drop,
            duplicate,
        }
    }

    /// Whether every row leaves exactly one copy.
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

/// A table, and what was really stored in it.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// Its name.
    pub(super) name: String,
    /// Rows stored, copies included: what a server's own counter would say.
    pub(super) stored: u64,
    rows: RowSet,
    fate: RowFate,
}

/// What one batch left behind beyond its rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowFaults {
    /// Rows not stored.
    pub(super) dropped: u64,
    /// Rows stored twice.
    pub(super) duplicated: u64,
}

impl Table {
    /// An empty table.
    pub(super) fn new(name: &str, fate: RowFate) -> Self {
        Self {
            name: name.to_owned(),
            stored: 0,
            rows: RowSet::default(),
            fate,
        }
    }

    /// Forgets all rows, as a new table of the same name.
    pub(super) fn recreate(&mut self) {
        *self = Self::new(&self.name, self.fate);
    }

    /// Applies the rows `first..first + rows` and says which faults befell them.
    pub(super) fn apply(&mut self, first: u64, rows: u64) -> RowFaults {
        let end = first.saturating_add(rows);
        self.rows.add(first, end);
        let mut faults = RowFaults::default();
        if !self.fate.is_faithful() {
            for row in first..end {
                match self.fate.copies(row) {
                    0 => faults.dropped += 1,
                    1 => {}
                    _ => faults.duplicated += 1,
                }
            }
        }
        self.stored += end - first - faults.dropped + faults.duplicated;
        faults
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
        KeyCounts {
            buckets,
            without_key: 0,
        }
    }

    fn copies_between(&self, first: u64, end: u64) -> u64 {
        if self.fate.is_faithful() {
            end - first
        } else {
            (first..end).map(|row| self.fate.copies(row)).sum()
        }
    }
}
