//! The store against a naive multiset.

use std::collections::BTreeMap;

use highwater_core::model::units::Seed;
use proptest::prelude::*;

use super::super::store::{RowFate, RowSet, Table};

fn table(drop: f64, duplicate: f64) -> (Table, RowFate) {
    let fate = RowFate::new(Seed(7), "t", drop, duplicate);
    (Table::new("t", fate), fate)
}

proptest! {
    #[test]
    fn counts_equal_those_of_a_naive_multiset(
        batches in prop::collection::vec((0_u64..400, 0_u64..60), 0..60),
        width in 1_u64..50,
        drop in prop::sample::select(vec![0.0, 0.2, 1.0]),
        duplicate in prop::sample::select(vec![0.0, 0.3]),
    ) {
        let (mut table, fate) = table(drop, duplicate);
        let mut naive: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut dropped, mut duplicated) = (0, 0);
        for (first, rows) in &batches {
            let faults = table.apply(*first, *rows);
            dropped += faults.dropped;
            duplicated += faults.duplicated;
            for row in *first..first + rows {
                *naive.entry(row / width).or_insert(0) += fate.copies(row);
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
    // Of 16 batches under way, the last one asked is always the first one done.
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
