//! Sums checksums of rows in memory, by column and by key bucket.
//!
//! The integers equal those that a target computes in SQL; see [`highwater_model::checksum`]. Must not track the
//! outcome of rows.

use std::ops::Range;
use std::sync::Arc;

use highwater_model::op::{BoundColumn, ColumnData, Dictionary, RowBatch};
use highwater_model::stored;
use highwater_model::stored::{KEY_PRIME, NULL_RESIDUE, StoredForm, VALUE_PRIME};

/// Rows whose products fit without overflow: weights below 2¹⁷ and values below 2²⁸ are added before the sum is taken
/// modulo 2⁶⁴.
const CHUNK: usize = 1_024;
/// An entry of a dictionary that was not hashed yet.
const NOT_HASHED: u32 = u32::MAX;

/// Sums checksums of one table's rows; caches the hashes of dictionaries.
#[derive(Debug, Clone)]
pub struct Summer {
    columns: Vec<ColumnSummer>,
}

/// Maximum number of buckets; a power of two. With twelve columns they take 1.7 MB.
pub const BUCKETS_MAX: usize = 16_384;
/// Minimum width of a bucket, in keys.
const WIDTH_MIN: u64 = 256;

/// Rows and checksums by key bucket. Buckets have one power-of-two width that doubles when their number would exceed
/// the maximum, so memory is bounded for any number of rows.
#[derive(Debug, Clone)]
pub struct Buckets {
    width: u64,
    rows: Vec<u64>,
    /// Per bucket, one for each column.
    sums: Vec<u64>,
    summer: Summer,
}

impl Buckets {
    /// Without buckets yet; without columns only rows are counted.
    pub fn new(columns: &[BoundColumn]) -> Self {
        Self { width: WIDTH_MIN, rows: Vec::new(), sums: Vec::new(), summer: Summer::new(columns) }
    }

    /// Keys per bucket.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Number of summed columns.
    pub fn columns(&self) -> usize {
        self.summer.columns()
    }

    /// All buckets from the first on: rows, and checksums by column.
    pub fn all(&self) -> impl Iterator<Item = (u64, &[u64])> {
        let columns = self.columns();
        self.rows.iter().enumerate().map(move |(bucket, rows)| {
            let sums = self.sums.get(bucket * columns..(bucket + 1) * columns);
            (*rows, sums.unwrap_or_default())
        })
    }

    /// Adds rows of a batch.
    pub fn add(&mut self, batch: &RowBatch, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        self.reach(batch.first_row + (rows.end - 1) as u64);
        let columns = self.columns();
        let mut at = rows.start;
        while at < rows.end {
            let key = batch.first_row + at as u64;
            let left = usize::try_from(self.width - key % self.width).unwrap_or(usize::MAX);
            let end = rows.end.min(at.saturating_add(left));
            let bucket = self.position(key);
            self.rows[bucket] += (end - at) as u64;
            let sums = &mut self.sums[bucket * columns..(bucket + 1) * columns];
            self.summer.add(batch, at..end, sums);
            at = end;
        }
    }

    /// Changes the number of rows from `first` on, without their checksums.
    pub fn count(&mut self, first: u64, rows: u64, change: impl Fn(&mut u64, u64)) {
        if rows == 0 {
            return;
        }
        self.reach(first + rows - 1);
        let (mut at, end) = (first, first + rows);
        while at < end {
            let part = (self.width - at % self.width).min(end - at);
            let bucket = self.position(at);
            change(&mut self.rows[bucket], part);
            at += part;
        }
    }

    /// Adds to the checksum of a column in the bucket of a key that was reached, modulo 2⁶⁴.
    pub fn change(&mut self, key: u64, column: usize, by: u64) {
        let at = self.position(key) * self.columns() + column;
        if let Some(sum) = self.sums.get_mut(at) {
            *sum = sum.wrapping_add(by);
        }
    }

    /// Adds the rows and checksums of another.
    pub fn merge(&mut self, mut other: Self) {
        self.widen(other.width);
        other.widen(self.width);
        if self.rows.len() < other.rows.len() {
            self.resize(other.rows.len());
        }
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            *mine += theirs;
        }
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            *mine = mine.wrapping_add(*theirs);
        }
    }

    /// Doubles the width until it is at least this.
    pub fn widen(&mut self, width: u64) {
        while self.width < width {
            self.double();
        }
    }

    /// Extends the buckets to include `key`.
    fn reach(&mut self, key: u64) {
        while key / self.width >= BUCKETS_MAX as u64 {
            self.double();
        }
        let needed = self.position(key) + 1;
        if self.rows.len() < needed {
            self.resize(needed);
        }
    }

    fn resize(&mut self, buckets: usize) {
        self.rows.resize(buckets, 0);
        self.sums.resize(buckets * self.columns(), 0);
    }

    fn position(&self, key: u64) -> usize {
        usize::try_from(key / self.width).unwrap_or(usize::MAX)
    }

    fn double(&mut self) {
        self.width *= 2;
        let buckets = self.rows.len();
        let columns = self.columns();
        for from in 0..buckets {
            let to = from / 2;
            let (rows, sums) = (self.rows[from], from * columns);
            if from % 2 == 0 {
                self.rows[to] = rows;
                self.sums.copy_within(sums..sums + columns, to * columns);
            } else {
                self.rows[to] += rows;
                for column in 0..columns {
                    let more = self.sums[sums + column];
                    let sum = &mut self.sums[to * columns + column];
                    *sum = sum.wrapping_add(more);
                }
            }
        }
        self.resize(buckets.div_ceil(2));
    }
}

#[derive(Debug, Clone)]
struct ColumnSummer {
    attributes: Vec<String>,
    /// The stored form of the column's values.
    form: StoredForm,
    /// The last dictionary, and the residues of its entries computed so far.
    words: Option<Arc<[Box<str>]>>,
    residues: Vec<u32>,
}

impl Summer {
    /// For rows of these columns.
    pub fn new(columns: &[BoundColumn]) -> Self {
        Self {
            columns: columns
                .iter()
                .map(|column| ColumnSummer {
                    attributes: column.attributes.clone(),
                    form: column.form(),
                    words: None,
                    residues: Vec::new(),
                })
                .collect(),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Adds rows `rows` of a batch to the sums, one per column, modulo 2⁶⁴.
    pub fn add(&mut self, batch: &RowBatch, rows: Range<usize>, sums: &mut [u64]) {
        let mut first = rows.start;
        while first < rows.end {
            let key = batch.first_row + first as u64;
            // Weights increase by one per row, until a key is a multiple of the prime.
            let rising = usize::try_from(KEY_PRIME - key % KEY_PRIME).unwrap_or(CHUNK);
            let end = rows.end.min(first + rising.min(CHUNK));
            let weight = stored::weight(key);
            let columns = self.columns.iter_mut().zip(&batch.columns);
            for ((column, data), sum) in columns.zip(sums.iter_mut()) {
                *sum = sum.wrapping_add(column.sum(data, first..end, weight));
            }
            first = end;
        }
    }
}

impl ColumnSummer {
    fn sum(&mut self, data: &ColumnData, rows: Range<usize>, weight: u64) -> u64 {
        let (count, form) = (rows.len(), self.form);
        match (data, form) {
            (ColumnData::TimestampMs(values), StoredForm::Times { .. }) => {
                weighted(values.get(rows), weight, count, |ms| stored::residue(form.time(*ms)))
            }
            (ColumnData::Float(values), StoredForm::Decimals { .. }) => {
                weighted(values.get(rows), weight, count, |value| {
                    stored::residue(stored::float_value(form.float(*value)))
                })
            }
            (data, _) => self.sum_as_sent(data, rows, weight),
        }
    }

    fn sum_as_sent(&mut self, data: &ColumnData, rows: Range<usize>, weight: u64) -> u64 {
        let count = rows.len();
        match data {
            ColumnData::Integer(values) | ColumnData::TimestampMs(values) => {
                integers(values.get(rows), weight, count)
            }
            ColumnData::Float(values) => weighted(values.get(rows), weight, count, |value| {
                stored::residue(stored::float_value(*value))
            }),
            ColumnData::Boolean(values) => {
                weighted(values.get(rows), weight, count, |value| u64::from(*value))
            }
            ColumnData::Text(values) => weighted(values.get(rows), weight, count, |text| {
                stored::residue(stored::text_value(text))
            }),
            ColumnData::TextDictionary(words) => {
                self.words(words, rows, weight, |_, text| stored::text_value(text))
            }
            ColumnData::ObjectDictionary(words) => {
                self.words(words, rows, weight, |attributes, text| {
                    stored::object_value(text, attributes)
                })
            }
        }
    }

    fn words(
        &mut self,
        dictionary: &Dictionary,
        rows: Range<usize>,
        weight: u64,
        value: impl Fn(&[String], &str) -> i64,
    ) -> u64 {
        let known = self.words.as_ref();
        if !known.is_some_and(|words| Arc::ptr_eq(words, &dictionary.values)) {
            self.words = Some(Arc::clone(&dictionary.values));
            self.residues.clear();
            self.residues.resize(dictionary.values.len(), NOT_HASHED);
        }
        let (residues, attributes) = (&mut self.residues, &self.attributes);
        let count = rows.len();
        weighted(dictionary.codes.get(rows), weight, count, |code| {
            let Some(residue) = usize::try_from(*code)
                .ok()
                .and_then(|code| residues.get_mut(code).map(|residue| (code, residue)))
            else {
                return NULL_RESIDUE;
            };
            let (code, residue) = residue;
            if *residue == NOT_HASHED {
                let hashed = stored::residue(value(attributes, &dictionary.values[code]));
                *residue = u32::try_from(hashed).unwrap_or(NOT_HASHED);
            }
            u64::from(*residue)
        })
    }
}

/// Σ (weight + i) · residue of value i; missing values of a short column are null.
#[inline]
fn weighted<T>(
    values: Option<&[T]>,
    weight: u64,
    count: usize,
    mut residue: impl FnMut(&T) -> u64,
) -> u64 {
    let Some(values) = values else {
        return (weight..)
            .take(count)
            .map(|weight| weight * NULL_RESIDUE)
            .fold(0, u64::wrapping_add);
    };
    (weight..).zip(values).fold(0, |sum, (weight, value)| sum.wrapping_add(weight * residue(value)))
}

/// [`weighted`] for integers: without a division if all are small, which is common, and with one division if all are
/// equal, like the times of one tick.
fn integers(values: Option<&[i64]>, weight: u64, count: usize) -> u64 {
    let Some(all) = values else {
        return weighted::<i64>(None, weight, count, |_| 0);
    };
    let bits = all.iter().fold(0, |bits, value| bits | value.cast_unsigned());
    if bits < VALUE_PRIME / 2 {
        return weighted(values, weight, count, |value| value.cast_unsigned());
    }
    let (mut last, mut last_residue) = (0, 0);
    weighted(values, weight, count, |value| {
        if *value != last {
            (last, last_residue) = (*value, stored::residue(*value));
        }
        last_residue
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use highwater_model::op::ColumnType;

    fn naive(values: &[u64], first_row: u64) -> u64 {
        (first_row..)
            .zip(values)
            .map(|(key, residue)| stored::weight(key) * residue)
            .fold(0, u64::wrapping_add)
    }

    fn dictionary(codes: Vec<u32>) -> Dictionary {
        Dictionary { values: ["a", "b", "c"].into_iter().map(Box::from).collect(), codes }
    }

    fn sums_of(first_row: u64, columns: Vec<ColumnData>, rows: usize, cut: usize) -> Vec<u64> {
        let bound: Vec<BoundColumn> =
            columns.iter().map(|_| BoundColumn::new("c", ColumnType::Bigint)).collect();
        let batch = RowBatch { first_row, rows, columns };
        let mut summer = Summer::new(&bound);
        let mut sums = vec![0; bound.len()];
        summer.add(&batch, 0..cut, &mut sums);
        summer.add(&batch, cut..rows, &mut sums);
        sums
    }

    proptest! {
        #[test]
        fn columns_add_up_to_the_sum_of_their_rows(
            first_row in prop_oneof![0_u64..200_000, Just(KEY_PRIME - 3), Just((1 << 40) + 5)],
            numbers in proptest::collection::vec(prop_oneof![0_i64..100, any::<i64>(), Just(7)], 1..3_000),
            cut in 0_usize..=100,
        ) {
            let rows = numbers.len();
            let cut = rows * cut / 100;
            let small: Vec<i64> = numbers.iter().map(|n| n.rem_euclid(101)).collect();
            let doubles: Vec<f64> = small.iter().map(|n| f64::from(i32::try_from(*n).unwrap()) / 7.0).collect();
            let texts: Vec<Box<str>> = numbers.iter().map(|n| n.to_string().into()).collect();
            let codes: Vec<u32> = numbers.iter().map(|n| u32::try_from(n.rem_euclid(3)).unwrap()).collect();
            let found = sums_of(first_row, vec![
                ColumnData::Integer(numbers.clone()),
                ColumnData::TimestampMs(small.clone()),
                ColumnData::Float(doubles.clone()),
                ColumnData::Boolean(numbers.iter().map(|n| n % 2 == 0).collect()),
                ColumnData::Text(texts.clone()),
                ColumnData::TextDictionary(dictionary(codes.clone())),
            ], rows, cut);
            let residues = |value: &dyn Fn(usize) -> i64| -> Vec<u64> {
                (0..rows).map(|row| stored::residue(value(row))).collect()
            };
            let expected = [
                residues(&|row| numbers[row]),
                residues(&|row| small[row]),
                residues(&|row| stored::float_value(doubles[row])),
                residues(&|row| i64::from(numbers[row] % 2 == 0)),
                residues(&|row| stored::text_value(&texts[row])),
                residues(&|row| stored::text_value(["a", "b", "c"][usize::try_from(codes[row]).unwrap()])),
            ];
            for (found, residues) in found.iter().zip(&expected) {
                prop_assert_eq!(*found, naive(residues, first_row));
            }
        }
    }

    #[test]
    fn a_new_dictionary_is_hashed_anew() {
        let mut summer = Summer::new(&[BoundColumn::new("c", ColumnType::Text)]);
        let batch = |word: &str| RowBatch {
            first_row: 0,
            rows: 1,
            columns: vec![ColumnData::TextDictionary(Dictionary {
                values: vec![Box::from(word)].into(),
                codes: vec![0],
            })],
        };
        for word in ["one", "two"] {
            let mut sums = [0];
            summer.add(&batch(word), 0..1, &mut sums);
            assert_eq!(sums[0], stored::residue(stored::text_value(word)));
        }
    }
}
