//! Sums checksums of rows in memory, by column and by key bucket.
//!
//! The integers equal those that a target computes in SQL; see [`highwater_model::stored`].
//!
//! Acknowledged rows are compared with found rows per key bucket.
//!
//! A bucket must hold at least the acknowledged rows, and at most these plus the unknown ones; if none is unknown, its
//! checksums must be equal. Missing rows in one bucket and surplus rows in another never cancel out.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use highwater_model::audit_record::Removal;
use highwater_model::op::{BoundColumn, ColumnData, Dictionary, RowBatch};
use highwater_model::record::{AuditExample, Expectation, ExpectedBucket, Fault, FoundBucket};
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
            (ColumnData::Nullable(values, _), _) => {
                let mut sum = 0_u64;
                for (row, weight) in rows.zip(weight..) {
                    let of_row = if data.is_null(row) {
                        weight.wrapping_mul(NULL_RESIDUE)
                    } else {
                        self.sum(values, row..row + 1, weight)
                    };
                    sum = sum.wrapping_add(of_row);
                }
                sum
            }
            (ColumnData::TimestampMs(values), StoredForm::Times { .. }) => {
                weighted(values.get(rows), weight, count, |ms| stored::residue(form.time(*ms)))
            }
            (ColumnData::Float(values), StoredForm::Decimals { .. } | StoredForm::Singles) => {
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
            // Summed by row.
            ColumnData::Nullable(..) => 0,
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

/// Maximum number of rows or buckets named as examples.
pub const EXAMPLES_MAX: usize = 40;

/// Result of the comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Rows found.
    pub found: u64,
    /// Acknowledged and not found.
    pub missing: u64,
    /// Found beyond the acknowledged and unknown rows.
    pub surplus: u64,
    /// The part of the surplus that is in written buckets.
    pub duplicated: u64,
    /// Buckets with the right number of rows but different checksums.
    pub altered: u64,
    /// Buckets compared.
    pub buckets: u64,
    /// The wrong ones, ascending.
    pub wrong: Vec<u64>,
    /// The first wrong ones.
    pub examples: Vec<AuditExample>,
}

/// Compares a table's expectation with what it holds.
pub fn compare(expectation: &Expectation) -> Comparison {
    let mut buckets: BTreeMap<u64, (ExpectedBucket, FoundBucket)> = BTreeMap::new();
    for expected in &expectation.expected {
        let (sum, _) = buckets.entry(expected.bucket).or_default();
        sum.acknowledged += expected.acknowledged;
        sum.unknown += expected.unknown;
        add(&mut sum.sums, &expected.sums);
    }
    for found in &expectation.found {
        let (_, sum) = buckets.entry(found.bucket).or_default();
        sum.rows += found.rows;
        add(&mut sum.sums, &found.sums);
    }
    let mut result = Comparison::default();
    for (bucket, (expected, found)) in buckets {
        result.buckets += 1;
        result.found += found.rows;
        let missing = expected.acknowledged.saturating_sub(found.rows);
        let surplus = found.rows.saturating_sub(expected.acknowledged + expected.unknown);
        let altered = missing + surplus + expected.unknown == 0 && expected.sums != found.sums;
        result.missing += missing;
        result.surplus += surplus;
        result.altered += u64::from(altered);
        if expected.acknowledged + expected.unknown > 0 {
            result.duplicated += surplus;
        }
        let fault = match (missing > 0, surplus > 0, altered) {
            (true, ..) => Fault::Missing,
            (_, true, _) => Fault::Surplus,
            (.., true) => Fault::Altered,
            _ => continue,
        };
        result.wrong.push(bucket);
        if result.examples.len() < EXAMPLES_MAX {
            let column = altered.then(|| column(expectation, &expected.sums, &found.sums));
            let first_key = bucket.saturating_mul(expectation.width);
            result.examples.push(AuditExample {
                fault,
                table: expectation.table.clone(),
                first_key,
                last_key: first_key.saturating_add(expectation.width - 1),
                acknowledged: expected.acknowledged,
                unknown: expected.unknown,
                found: found.rows,
                column: column.flatten(),
                expected: None,
                stored: None,
            });
        }
    }
    result
}

/// Whether a table lost its rows all at once, given the number of missing rows.
///
/// True if it is empty; or if all written buckets before the first bucket that holds any row are empty, and nine tenths
/// of the missing rows are missing there or in that first bucket. The rest were in flight at that time.
pub fn removal(expectation: &Expectation, missing: u64) -> Option<Removal> {
    let written = |buckets: &mut dyn Iterator<Item = &ExpectedBucket>| -> u64 {
        buckets.map(|bucket| bucket.acknowledged).sum()
    };
    let Some(first) = expectation.found.iter().map(|bucket| bucket.bucket).min() else {
        let all = written(&mut expectation.expected.iter());
        return (all > 0 && missing >= all).then_some(Removal::Empty);
    };
    let mut before = expectation.expected.iter().filter(|b| b.bucket < first);
    let empty = written(&mut before);
    let mut in_first = expectation.expected.iter().filter(|b| b.bucket == first);
    let held: u64 =
        expectation.found.iter().filter(|b| b.bucket == first).map(|bucket| bucket.rows).sum();
    let gone = empty.saturating_add(written(&mut in_first).saturating_sub(held));
    let nearly_all = gone.saturating_mul(10) >= missing.saturating_mul(9);
    (empty > 0 && nearly_all).then_some(Removal::Truncated)
}

/// Adds checksums modulo 2⁶⁴.
fn add(sums: &mut Vec<u64>, more: &[u64]) {
    if sums.len() < more.len() {
        sums.resize(more.len(), 0);
    }
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.wrapping_add(*more);
    }
}

/// The first column whose checksums differ.
fn column(expectation: &Expectation, expected: &[u64], found: &[u64]) -> Option<String> {
    let at = (0..expectation.columns.len()).find(|at| expected.get(*at) != found.get(*at))?;
    expectation.columns.get(at).cloned()
}

/// Combines the expectations of several shares; the found rows are those of the last share. Widths are powers of two,
/// so the widest holds whole buckets of the others. `None` if a share did not sum a column of the last one, or the last one
/// none.
pub fn together(parts: &[&Expectation], last: &Expectation) -> Option<Expectation> {
    let width = parts.iter().map(|part| part.width).max()?;
    if parts.iter().any(|part| part.columns.is_empty() != last.columns.is_empty()) {
        return None;
    }
    let mut whole = Expectation {
        table: last.table.clone(),
        width,
        columns: last.columns.clone(),
        expected: Vec::new(),
        found: Vec::new(),
    };
    for part in parts {
        let at = |column: &String| part.columns.iter().position(|of_part| of_part == column);
        let columns: Vec<usize> = last.columns.iter().map(at).collect::<Option<_>>()?;
        let sums = |sums: &[u64]| columns.iter().filter_map(|at| sums.get(*at)).copied().collect();
        let buckets = part.expected.iter().map(|bucket| ExpectedBucket {
            bucket: bucket.bucket * part.width / width,
            sums: sums(&bucket.sums),
            ..bucket.clone()
        });
        whole.expected.extend(buckets);
    }
    let buckets = last
        .found
        .iter()
        .map(|bucket| FoundBucket { bucket: bucket.bucket * last.width / width, ..bucket.clone() });
    whole.found.extend(buckets);
    Some(whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use highwater_model::op::ColumnType;

    use super::*;

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
                ColumnData::Nullable(
                    Box::new(ColumnData::Text(texts.clone())),
                    numbers.iter().map(|n| n % 3 == 0).collect(),
                ),
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
                (0..rows)
                    .map(|row| match numbers[row] % 3 {
                        0 => NULL_RESIDUE,
                        _ => stored::residue(stored::text_value(&texts[row])),
                    })
                    .collect(),
            ];
            for (found, residues) in found.iter().zip(&expected) {
                prop_assert_eq!(*found, naive(residues, first_row));
            }
        }
    }

    #[test]
    fn a_new_dictionary_is_hashed_again() {
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

    fn expected(bucket: u64, acknowledged: u64, unknown: u64, sum: u64) -> ExpectedBucket {
        ExpectedBucket { bucket, acknowledged, unknown, sums: vec![sum] }
    }

    fn found(bucket: u64, rows: u64, sum: u64) -> FoundBucket {
        FoundBucket { bucket, rows, sums: vec![sum] }
    }

    fn check(expected: &[ExpectedBucket], found: &[FoundBucket]) -> Comparison {
        compare(&Expectation {
            table: "t".to_owned(),
            width: 128,
            columns: vec!["c".to_owned()],
            expected: expected.to_vec(),
            found: found.to_vec(),
        })
    }

    #[test]
    fn acknowledged_rows_that_are_found_are_clean() {
        let result = check(
            &[expected(0, 100, 0, 7), expected(1, 40, 0, 8)],
            &[found(0, 100, 7), found(1, 40, 8)],
        );
        assert_eq!((result.missing, result.surplus, result.altered), (0, 0, 0));
        assert_eq!((result.found, result.buckets), (140, 2));
        assert!(result.examples.is_empty() && result.wrong.is_empty());
    }

    #[test]
    fn other_checksums_are_altered_rows() {
        let result = check(&[expected(3, 100, 0, 7)], &[found(3, 100, 8)]);
        assert_eq!((result.altered, result.wrong.as_slice()), (1, &[3][..]));
        let example = &result.examples[0];
        assert_eq!(example.fault, Fault::Altered);
        assert_eq!(example.first_key, 384);
        assert_eq!(example.last_key, 511);
        assert_eq!(example.column.as_deref(), Some("c"));
    }

    #[test]
    fn unknown_rows_may_exist_or_not() {
        for rows in 40..=60 {
            let result = check(&[expected(1, 40, 20, 5)], &[found(1, rows, 9)]);
            assert_eq!(result.missing, 0, "{rows}");
            assert_eq!(result.surplus, 0, "{rows}");
            assert_eq!(result.altered, 0, "{rows}");
        }
        let of = |rows| check(&[expected(1, 40, 20, 0)], &[found(1, rows, 0)]);
        assert_eq!(of(39).missing, 1);
        assert_eq!(of(61).duplicated, 1);
    }

    #[test]
    fn a_loss_and_a_duplicate_do_not_cancel_out() {
        let result = check(
            &[expected(0, 100, 0, 0), expected(1, 100, 0, 0)],
            &[found(0, 99, 0), found(1, 101, 0)],
        );
        assert_eq!(result.missing, 1);
        assert_eq!(result.surplus, 1);
        assert_eq!(result.duplicated, 1);
        assert_eq!(result.wrong, [0, 1]);
        assert_eq!(result.examples[0].fault, Fault::Missing);
        assert_eq!(result.examples[1].fault, Fault::Surplus);
    }

    #[test]
    fn rows_in_unwritten_buckets_are_a_surplus_but_no_duplicates() {
        let result = check(&[], &[found(7, 3, 1)]);
        assert_eq!((result.surplus, result.duplicated), (3, 0));
    }

    #[test]
    fn a_table_without_its_first_rows_was_truncated() {
        let written: Vec<ExpectedBucket> = (0..5).map(|b| expected(b, 100, 0, 0)).collect();
        let check = |held: &[FoundBucket], what| {
            let both = Expectation {
                table: "t".to_owned(),
                width: 128,
                columns: Vec::new(),
                expected: written.clone(),
                found: held.to_vec(),
            };
            let missing = compare(&both).missing;
            assert_eq!(removal(&both, missing), what, "{held:?}");
        };
        check(&[], Some(Removal::Empty));
        check(&[found(4, 100, 0)], Some(Removal::Truncated));
        // At the boundary some batches were in flight.
        let later = [found(2, 80, 0), found(3, 100, 0), found(4, 100, 0)];
        check(&later, Some(Removal::Truncated));
        let all_from = |bucket: u64| (bucket..5).map(|b| found(b, 100, 0));
        let within: Vec<FoundBucket> = [found(1, 40, 0)].into_iter().chain(all_from(2)).collect();
        check(&within, Some(Removal::Truncated));
        let some = [1, 3, 4].map(|bucket| found(bucket, 100, 0));
        check(&some, None);
        // A crash takes the last rows, and a fault takes any.
        check(&[found(0, 100, 0)], None);
        let holes = [found(1, 20, 0), found(2, 30, 0), found(4, 100, 0)];
        check(&holes, None);
    }

    #[test]
    fn shares_of_different_widths_become_one() {
        let part = |width, expected: Vec<ExpectedBucket>, found: Vec<FoundBucket>| Expectation {
            table: "t".to_owned(),
            width,
            columns: vec!["c".to_owned()],
            expected,
            found,
        };
        let left = part(128, vec![expected(0, 10, 0, u64::MAX), expected(1, 5, 0, 3)], Vec::new());
        let right = part(256, vec![expected(0, 1, 0, 4)], vec![found(0, 16, 6)]);
        let whole = together(&[&left, &right], &right).unwrap();
        let result = compare(&whole);
        assert_eq!((whole.width, result.missing, result.surplus), (256, 0, 0));
        assert_eq!(result.altered, 0, "sums are modulo 2⁶⁴");
        let other = Expectation { columns: Vec::new(), ..right.clone() };
        assert!(together(&[&left, &other], &other).is_none());
    }
}
