//! The ledger keeps counts and checksums exact, for any order of batches and any doubling of widths.

use proptest::prelude::*;

use highwater_analysis::sums::BUCKETS_MAX;
use highwater_model::op::{ColumnData, ColumnType};
use highwater_model::outcome::{ErrorClass, OpError};
use highwater_model::stored;
use highwater_model::units::Nanos;

use super::replaced::Verdict;
use super::*;

fn error() -> OpError {
    OpError { class: ErrorClass::Connection, code: None, message: String::new() }
}

fn unknown() -> Outcome {
    Outcome::unknown(error())
}

fn ledger() -> Ledger {
    let columns = [BoundColumn::new("c", ColumnType::Bigint)];
    Ledger::new(&columns, Spill::at("/nowhere/at/all".into()))
}

/// The value of a row is three times its index.
fn batch(first_row: u64, rows: u64) -> RowBatch {
    let values = (first_row..first_row + rows).map(|row| i64::try_from(row * 3).unwrap());
    RowBatch {
        first_row,
        rows: usize::try_from(rows).unwrap(),
        columns: vec![ColumnData::Integer(values.collect())],
    }
}

fn note(ledger: &mut Ledger, first: u64, rows: u64, outcome: &Outcome) {
    ledger.note(first, rows, Some(&batch(first, rows)), outcome);
}

fn sum(rows: impl Iterator<Item = u64>) -> u64 {
    rows.map(|row| stored::weight(row) * stored::residue(i64::try_from(row * 3).unwrap()))
        .fold(0, u64::wrapping_add)
}

fn figures(ledger: &Ledger) -> Vec<(u64, u64, u64, u64)> {
    let buckets = ledger.buckets();
    buckets.map(|b| (b.bucket, b.acknowledged, b.unknown, b.sums[0])).collect()
}

fn exceptions(ledger: &mut Ledger) -> Vec<Exception> {
    ledger.exceptions().part(0)
}

#[test]
fn rows_are_counted_and_added_up_in_their_buckets() {
    let mut ledger = ledger();
    note(&mut ledger, 250, 10, &Outcome::applied(10));
    note(&mut ledger, 0, 5, &unknown());
    let expected = [(0, 6, 5, sum(250..256)), (1, 4, 0, sum(256..260))];
    assert_eq!(figures(&ledger), expected);
    assert_eq!(ledger.rows(), 0..260);
}

#[test]
fn an_answer_for_each_row_is_exact() {
    let mut ledger = ledger();
    let outcome = Outcome::by_row(10, |row| match row {
        2 | 3 => Certainty::NotApplied,
        7 => Certainty::Unknown,
        _ => Certainty::Applied,
    });
    note(&mut ledger, 100, 10, &outcome);
    let acknowledged = (100..110).filter(|row| ![102, 103, 107].contains(row));
    assert_eq!(figures(&ledger), [(0, 7, 1, sum(acknowledged))]);
    let totals = ledger.totals();
    assert_eq!((totals.acknowledged, totals.refused, totals.unknown), (7, 2, 1));
    let found: Vec<_> =
        exceptions(&mut ledger).iter().map(|e| (e.first, e.rows, e.outcome)).collect();
    assert_eq!(found, [(102, 2, RowOutcome::Refused), (107, 1, RowOutcome::Unknown)]);
}

#[test]
fn a_count_without_rows_leaves_the_batch_for_the_audit_to_resolve() {
    let mut ledger = ledger();
    let outcome = Outcome { rows_refused: 4, error: Some(error()), ..Outcome::applied(6) };
    note(&mut ledger, 0, 10, &outcome);
    assert_eq!(figures(&ledger), [(0, 0, 10, 0)]);
    let outcome = RowOutcome::Partly { least: 6, most: 6 };
    assert_eq!(exceptions(&mut ledger)[0].outcome, outcome);
    assert_eq!(ledger.totals().acknowledged, 6);
    // The audit finds out which ones, by key.
    ledger.found(&batch(0, 10), 0..6);
    ledger.absent(6, 4);
    assert_eq!(figures(&ledger), [(0, 6, 0, sum(0..6))]);
}

#[test]
fn a_request_that_timed_out_has_no_rows_and_is_unknown() {
    let mut ledger = ledger();
    ledger.note(0, 10, None, &unknown());
    ledger.note(10, 10, None, &Outcome::applied(10));
    assert_eq!(figures(&ledger), [(0, 0, 20, 0)]);
}

/// Whether a row may exist after deletes of its key that report this number of rows.
fn may_be_there_after_a_delete_of(reported: u64) -> bool {
    let mut ledger = ledger();
    let keys = |first_row| ReplacedKeys { table: 0, keys: vec![1], first_row };
    let ms = Nanos::from_millis;
    let write = |start, rows, reported| ReplacingWrite {
        started: ms(start),
        finished: ms(start + 1),
        rows,
        reported,
    };
    ledger.note_replaced(&keys(Some(4)), write(0, 1, 1), &Outcome::applied(1));
    // Two deletes prove no more than one.
    for start in [2, 4] {
        let delete = write(start, 0, reported);
        ledger.note_replaced(&keys(None), delete, &Outcome::applied(0));
    }
    let mut replacements = ledger.take_replacements();
    assert_eq!(replacements.missing().count(), 0, "the row may be gone");
    matches!(replacements.judge(1, Some(4)), Verdict::Fits)
}

#[test]
fn a_delete_that_found_no_row_is_not_certain() {
    assert!(may_be_there_after_a_delete_of(0));
    assert!(!may_be_there_after_a_delete_of(1));
}

#[test]
fn a_billion_rows_stay_within_the_bound() {
    let mut ledger = Ledger::new(&[], Spill::at("/nowhere".into()));
    let batch = |first_row| RowBatch { first_row, rows: 100_000, columns: Vec::new() };
    for number in 0..10_000 {
        let batch = batch(number * 100_000);
        ledger.note(batch.first_row, 100_000, Some(&batch), &Outcome::applied(100_000));
    }
    assert!(ledger.buckets().count() <= BUCKETS_MAX);
    assert_eq!(ledger.totals().acknowledged, 1_000_000_000);
    assert_eq!(ledger.width(), 65_536);
}

proptest! {
    #[test]
    fn merging_equals_noting_everything_in_one(
        batches in proptest::collection::vec((0_u64..200_000_000, 1_u64..3_000, any::<bool>(), any::<bool>()), 1..30),
    ) {
        let (mut whole, mut left, mut right) = (ledger(), ledger(), ledger());
        for (first, rows, applied, to_left) in batches {
            let outcome = if applied { Outcome::applied(rows) } else { unknown() };
            note(&mut whole, first, rows, &outcome);
            note(if to_left { &mut left } else { &mut right }, first, rows, &outcome);
        }
        left.merge(right);
        prop_assert_eq!(left.width(), whole.width());
        prop_assert_eq!(figures(&left), figures(&whole));
        prop_assert_eq!(left.totals(), whole.totals());
        prop_assert_eq!(left.rows(), whole.rows());
    }

    #[test]
    fn doubling_keeps_every_sum(far in 0_u64..1 << 34, rows in 1_u64..2_000) {
        let mut ledger = ledger();
        note(&mut ledger, 0, rows, &Outcome::applied(rows));
        note(&mut ledger, far + 5_000, 10, &Outcome::applied(10));
        let width = ledger.width();
        let total = figures(&ledger).iter().fold(0, |all, f| sum_of(all, f.3));
        prop_assert_eq!(total, sum((0..rows).chain(far + 5_000..far + 5_010)));
        for (bucket, _, _, found) in figures(&ledger) {
            let inside = (0..rows).chain(far + 5_000..far + 5_010).filter(|row| row / width == bucket);
            prop_assert_eq!(found, sum(inside));
        }
    }
}

fn sum_of(left: u64, right: u64) -> u64 {
    left.wrapping_add(right)
}

fn all(exceptions: &mut Exceptions) -> Vec<Exception> {
    let mut found = Vec::new();
    for number in 0..exceptions.parts() {
        found.extend(exceptions.part(number));
    }
    found
}

fn one(first: u64, rows: u32, outcome: RowOutcome) -> Exception {
    Exception { first, rows, outcome }
}

#[test]
fn neighbors_with_one_outcome_are_merged_unless_the_audit_searches_for_them() {
    let root = tempfile::tempdir().unwrap();
    let mut list = Exceptions::new(Spill::at(root.path().join("a")));
    list.push(one(0, 10, RowOutcome::Refused));
    list.push(one(10, 10, RowOutcome::Refused));
    list.push(one(20, 10, RowOutcome::Unknown));
    list.push(one(30, 10, RowOutcome::Unknown));
    list.push(one(40, 10, RowOutcome::NotSent));
    list.push(one(60, 0, RowOutcome::Refused));
    let rows: Vec<_> = all(&mut list).iter().map(|e| (e.first, e.rows)).collect();
    assert_eq!(rows, [(0, 20), (20, 10), (30, 10), (40, 10)]);
}

#[test]
fn exceptions_beyond_memory_are_read_back_from_a_file_that_has_no_name() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("spilled");
    let mut list = Exceptions::new(Spill::at(path.clone()));
    let outcomes = [
        RowOutcome::Refused,
        RowOutcome::Unknown,
        RowOutcome::Partly { least: 7, most: 9 },
        RowOutcome::NotSent,
        RowOutcome::Absent,
    ];
    let count = HELD_MAX as u64 * 2 + 5;
    let made = |at: u64| one(at * 10, 3, outcomes[usize::try_from(at % 5).unwrap()]);
    (0..count).for_each(|at| list.push(made(at)));
    assert_eq!(list.held.len(), 5);
    assert!(!path.exists());
    let mut other = Exceptions::new(Spill::at(root.path().join("other")));
    other.push(one(5, 1, RowOutcome::Unknown));
    other.append(list);
    let found = all(&mut other);
    assert!(found[1..].iter().copied().eq((0..count).map(made)));
    assert_eq!((found.len() as u64, other.lost()), (count + 1, None));
}

#[test]
fn a_file_that_cannot_be_written_is_reported() {
    let mut list = Exceptions::new(Spill::at("/nowhere/at/all".into()));
    (0..=HELD_MAX as u64).for_each(|at| list.push(one(at * 10, 1, RowOutcome::Refused)));
    assert!(list.lost().unwrap().contains("/nowhere/at/all"));
}
