//! Compares what was acknowledged with what was found, per key range.
//!
//! A range must hold at least the rows acknowledged and at most those and the unknown ones.
//! Rows lost in one range and rows too many in another never cancel out.

use std::collections::BTreeMap;

use crate::model::record::{AuditExample, Expectation};

/// Ranges named as examples, at most.
pub const EXAMPLES_MAX: usize = 20;

/// What the comparison of counts shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Rows acknowledged.
    pub acknowledged: u64,
    /// Rows of unknown fate.
    pub unknown: u64,
    /// Rows found.
    pub found: u64,
    /// Acknowledged and not found.
    pub missing: u64,
    /// Found beyond the acknowledged and the unknown ones.
    pub surplus: u64,
    /// Of the surplus, rows in ranges that were written: rows that are there twice.
    pub duplicated: u64,
    /// Ranges compared.
    pub ranges: u64,
    /// The first wrong ranges.
    pub examples: Vec<AuditExample>,
}

/// Compares a table's expectation with what it holds.
pub fn compare(table: &str, expectation: &Expectation) -> Comparison {
    let mut ranges: BTreeMap<u64, [u64; 3]> = BTreeMap::new();
    for [range, acknowledged, unknown] in &expectation.ranges {
        let counts = ranges.entry(*range).or_default();
        counts[0] += acknowledged;
        counts[1] += unknown;
    }
    for [range, found] in &expectation.found {
        ranges.entry(*range).or_default()[2] += found;
    }
    let mut result = Comparison::default();
    for (range, [acknowledged, unknown, found]) in ranges {
        result.ranges += 1;
        result.acknowledged += acknowledged;
        result.unknown += unknown;
        result.found += found;
        let missing = acknowledged.saturating_sub(found);
        let surplus = found.saturating_sub(acknowledged + unknown);
        result.missing += missing;
        result.surplus += surplus;
        if acknowledged + unknown > 0 {
            result.duplicated += surplus;
        }
        if missing + surplus > 0 && result.examples.len() < EXAMPLES_MAX {
            result.examples.push(AuditExample {
                table: table.to_owned(),
                first_key: range * expectation.width,
                last_key: (range + 1) * expectation.width - 1,
                acknowledged,
                unknown,
                found,
            });
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ranges: &[[u64; 3]], found: &[[u64; 2]]) -> Comparison {
        compare(
            "t",
            &Expectation {
                width: 100,
                ranges: ranges.to_vec(),
                found: found.to_vec(),
            },
        )
    }

    #[test]
    fn what_was_acknowledged_and_found_is_clean() {
        let result = check(&[[0, 100, 0], [1, 40, 0]], &[[0, 100], [1, 40]]);
        assert_eq!((result.missing, result.surplus, result.found), (0, 0, 140));
        assert!(result.examples.is_empty());
    }

    #[test]
    fn unknown_rows_may_be_there_or_not() {
        for found in 40..=60 {
            let result = check(&[[1, 40, 20]], &[[1, found]]);
            assert_eq!((result.missing, result.surplus), (0, 0), "{found}");
        }
        assert_eq!(check(&[[1, 40, 20]], &[[1, 39]]).missing, 1);
        assert_eq!(check(&[[1, 40, 20]], &[[1, 61]]).duplicated, 1);
    }

    #[test]
    fn a_loss_and_a_duplicate_do_not_cancel_out() {
        let result = check(&[[0, 100, 0], [1, 100, 0]], &[[0, 99], [1, 101]]);
        assert_eq!(
            (result.missing, result.surplus, result.duplicated),
            (1, 1, 1)
        );
        assert_eq!(
            (result.examples[0].first_key, result.examples[0].last_key),
            (0, 99)
        );
    }

    #[test]
    fn rows_where_nothing_was_written_are_a_surplus_but_no_duplicates() {
        let result = check(&[], &[[7, 3]]);
        assert_eq!((result.surplus, result.duplicated), (3, 0));
    }
}
