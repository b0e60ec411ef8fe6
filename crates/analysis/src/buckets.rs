//! Compares acknowledged rows with found rows per key bucket.
//!
//! A bucket must hold at least the acknowledged rows, and at most these plus the unknown ones; if none is unknown, its
//! checksums must be equal. Missing rows in one bucket and surplus rows in another never cancel out. Must not handle
//! individual rows.

use std::collections::BTreeMap;

use highwater_model::audit_record::Removal;
use highwater_model::record::{AuditExample, Expectation, ExpectedBucket, Fault, FoundBucket};

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
    /// Of the surplus, rows in buckets that were written.
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
/// so the widest holds whole buckets of the others. `None` if the shares name different columns.
pub fn together(parts: &[&Expectation], last: &Expectation) -> Option<Expectation> {
    let width = parts.iter().map(|part| part.width).max()?;
    if parts.iter().any(|part| part.columns != last.columns) {
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
        let buckets = part.expected.iter().map(|bucket| ExpectedBucket {
            bucket: bucket.bucket * part.width / width,
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
    use super::*;

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
    fn what_was_acknowledged_and_found_is_clean() {
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
    fn unknown_rows_may_be_there_or_not() {
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
    fn rows_where_nothing_was_written_are_a_surplus_but_no_duplicates() {
        let result = check(&[], &[found(7, 3, 1)]);
        assert_eq!((result.surplus, result.duplicated), (3, 0));
    }

    #[test]
    fn a_table_whose_first_rows_are_all_gone_was_truncated() {
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
