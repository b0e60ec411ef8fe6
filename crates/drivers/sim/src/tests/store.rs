//! The store against a naive multiset.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use highwater_analysis::sums::Summer;
use highwater_model::op::{
    BoundColumn, BoundTable, ColumnData, ColumnType, RowBatch, RowGenerator,
};
use highwater_model::stored::{KeyRange, difference};
use highwater_model::units::Seed;
use proptest::prelude::*;

use super::super::store::{RowFaultModel, RowFaults, RowSet, Table};
use super::super::values::{ValueFaultModel, Values};
use super::parse;

fn table(drop: f64, duplicate: f64) -> (Table, RowFaultModel) {
    let faults = RowFaultModel::new(Seed(7), "t", drop, duplicate);
    (Table::new("t", faults, None), faults)
}

proptest! {
    #[test]
    fn counts_equal_those_of_a_naive_multiset(
        batches in prop::collection::vec((0_u64..400, 0_u64..60), 0..60),
        width in 1_u64..50,
        drop in prop::sample::select(vec![0.0, 0.2, 1.0]),
        duplicate in prop::sample::select(vec![0.0, 0.3]),
    ) {
        let (mut table, model) = table(drop, duplicate);
        let mut naive: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut dropped, mut duplicated) = (0, 0);
        for (first, rows) in &batches {
            let faults = table.apply(*first, *rows);
            dropped += faults.dropped;
            duplicated += faults.duplicated;
            for row in *first..first + rows {
                *naive.entry(row / width).or_insert(0) += model.copies(row);
            }
        }
        naive.retain(|_, rows| *rows > 0);
        let sent: u64 = batches.iter().map(|(_, rows)| rows).sum();
        let stored: u64 = naive.values().sum();
        let expected: Vec<(u64, u64)> = naive.into_iter().collect();
        prop_assert_eq!(table.count_by_key(width).buckets, expected);
        prop_assert_eq!(table.stored, stored);
        prop_assert_eq!(sent - dropped + duplicated, stored);
    }

    #[test]
    fn batches_coalesce_in_whatever_order_they_arrive(
        order in Just((0_u64..200).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut rows = RowSet::default();
        for batch in order {
            rows.add(batch * 10, batch * 10 + 10);
        }
        prop_assert_eq!(rows.entries(), 2);
        prop_assert_eq!(rows.ranges().collect::<Vec<_>>(), vec![(0, 2_000, 1)]);
    }
}

#[test]
fn a_hundred_million_rows_of_sixteen_sessions_stay_small() {
    let mut rows = RowSet::default();
    let mut most = 0;
    // Of 16 batches in flight, the last one sent is always the first one done.
    for group in 0..6_250_u64 {
        for batch in (0..16).rev() {
            let first = (group * 16 + batch) * 1_000;
            rows.add(first, first + 1_000);
            most = most.max(rows.entries());
        }
    }
    assert_eq!(rows.ranges().collect::<Vec<_>>(), [(0, 100_000_000, 1)]);
    assert!(most <= 4, "{most} entries");
}

#[test]
fn rows_at_the_end_of_the_number_range_do_no_harm() {
    let (mut table, _) = table(0.0, 0.0);
    table.apply(u64::MAX - 5, 10);
    assert_eq!(table.stored, 5);
    assert_eq!(table.count_by_key(u64::MAX).buckets, [(0, 5)]);
    assert_eq!(table.count_by_key(1).buckets.len(), 5);
}

/// A table of two columns with regenerated rows, with these faults.
fn altered(faults: &str) -> (Table, BoundTable, RowGenerator) {
    let columns =
        vec![BoundColumn::new("n", ColumnType::Bigint), BoundColumn::new("text", ColumnType::Text)];
    let bound = BoundTable {
        name: "t".to_owned(),
        columns,
        create: Vec::new(),
        key: "n".to_owned(),
        locate: None,
        replaces: false,
        slice: None,
    };
    let generator = RowGenerator(Arc::new(|_, first, rows, batch: &mut RowBatch| {
        let keys = || (first..).take(rows);
        *batch = RowBatch {
            first_row: first,
            rows,
            columns: vec![
                ColumnData::Integer(keys().map(|key| i64::try_from(key * 7).unwrap()).collect()),
                ColumnData::Text(keys().map(|key| format!("text {key}").into()).collect()),
            ],
        };
    }));
    let parameters = parse(faults).unwrap();
    let faults = RowFaultModel::new(Seed(7), "t", parameters.drop, parameters.duplicate);
    let values = ValueFaultModel::new(Seed(7), "t", &parameters);
    let values = Values::new(generator.clone(), 0, &bound.columns, values);
    (Table::new("t", faults, Some(values)), bound, generator)
}

#[test]
fn altered_rows_are_read_back_as_planted_and_spoil_the_sums_of_their_buckets_alone() {
    const ROWS: u64 = 20_000;
    for faults in [
        "alter=0.001",
        "swap=0.001",
        "offset=0.001",
        "alter=0.001&swap=0.001&offset=0.001&drop=0.001&duplicate=0.001",
    ] {
        let (mut table, bound, generator) = altered(faults);
        // Batches of odd sizes split pairs.
        let mut planted = RowFaults::default();
        for first in (0..ROWS).step_by(7) {
            let done = table.apply(first, 7.min(ROWS - first));
            planted.dropped += done.dropped;
            planted.duplicated += done.duplicated;
            planted.altered += done.altered;
        }
        let mut sent = RowBatch::default();
        (generator.0)(0, 0, usize::try_from(ROWS).unwrap(), &mut sent);
        let mut wrong = BTreeSet::new();
        let (mut altered, mut copies) = (0, 0);
        let all = [KeyRange { first: 0, end: ROWS + 5 }];
        let mut count = BTreeMap::new();
        assert!(table.read_rows(&all, &mut |row| {
            copies += 1;
            *count.entry(row.key).or_insert(0) += 1;
            let at = usize::try_from(row.key).unwrap();
            if difference(&bound.columns, &sent, at, &row.values).is_some() {
                altered += 1;
                wrong.insert(row.key / 256);
            }
        }));
        assert_eq!(altered, planted.altered, "{faults}");
        assert!(altered > 5, "{faults}");
        assert_eq!(copies, ROWS - planted.dropped + planted.duplicated);
        wrong.extend((0..ROWS).filter(|row| count.get(row) != Some(&1)).map(|row| row / 256));
        let mut summer = Summer::new(&bound.columns);
        for bucket in table.sums_by_key(256).unwrap().buckets {
            let mut sums = vec![0; 2];
            let rows = bucket.bucket * 256..ROWS.min((bucket.bucket + 1) * 256);
            let rows = usize::try_from(rows.start).unwrap()..usize::try_from(rows.end).unwrap();
            summer.add(&sent, rows, &mut sums);
            let spoilt = wrong.contains(&bucket.bucket);
            assert_eq!(bucket.sums != sums, spoilt, "{faults}: bucket {}", bucket.bucket);
        }
    }
}
