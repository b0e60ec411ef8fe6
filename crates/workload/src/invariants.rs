//! Invariants of a workload's data: what a query must return after a run. Must not run queries.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use highwater_model::user_error::UserError;

use super::definition::preferred;
use super::instance::Workload;

/// A query and what it must return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invariant {
    /// Its name in the workload file.
    pub name: String,
    /// SQL text without parameters.
    pub sql: String,
    /// What the single value of its result must be.
    pub expected: Expected,
}

/// What a value must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// This one, as text.
    Value(String),
    /// More than before the load: by op, as much for each that took effect; unknown for one that writes and of which
    /// the workload does not say it.
    Growth(Vec<Option<i64>>),
    /// A whole number that is this much more than `before`.
    Within {
        /// The value before the load.
        before: i128,
        /// Wider than one number if the outcome of some ops is unknown.
        growth: RangeInclusive<i128>,
    },
}

impl Invariant {
    /// What it means after a load, from the value before it, and by op how many took effect and how many may have.
    /// `None` if the workload does not say what must hold after these ops, or if there is no value before.
    #[must_use]
    pub fn after(mut self, before: Option<i128>, ops: &[(u64, u64)]) -> Option<Self> {
        let Expected::Growth(growth) = &self.expected else {
            return Some(self);
        };
        let (mut least, mut most) = (0_i128, 0_i128);
        for (growth, (done, unknown)) in growth.iter().zip(ops) {
            if *done == 0 && *unknown == 0 {
                continue;
            }
            let each = i128::from((*growth)?);
            least += each * i128::from(*done) + (each * i128::from(*unknown)).min(0);
            most += each * i128::from(*done) + (each * i128::from(*unknown)).max(0);
        }
        self.expected = Expected::Within { before: before?, growth: least..=most };
        Some(self)
    }

    /// Whether it compares with a value before the load.
    pub fn needs_value_before(&self) -> bool {
        matches!(self.expected, Expected::Growth(_))
    }

    /// The required value as text, for readers.
    pub fn expected(&self) -> String {
        match &self.expected {
            Expected::Value(value) => value.clone(),
            Expected::Growth(_) => String::new(),
            Expected::Within { before, growth } => {
                let (least, most) = (before + growth.start(), before + growth.end());
                if least == most { least.to_string() } else { format!("{least} to {most}") }
            }
        }
    }

    /// The value before the load, if it is compared with one.
    pub fn before(&self) -> Option<i128> {
        match &self.expected {
            Expected::Within { before, .. } => Some(*before),
            _ => None,
        }
    }

    /// Whether a value is the required one.
    pub fn holds(&self, found: &str) -> bool {
        match &self.expected {
            Expected::Value(expected) => equals(expected, found.trim()),
            Expected::Growth(_) => false,
            Expected::Within { before, growth } => {
                whole(found).is_some_and(|found| growth.contains(&(found - before)))
            }
        }
    }
}

/// A whole number in the forms that servers write, such as `12.00`.
pub fn whole(text: &str) -> Option<i128> {
    let text = text.trim();
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    rest.bytes().all(|digit| digit == b'0').then(|| whole.parse().ok()).flatten()
}

/// Whether two values are equal: as numbers if both are numbers, as Booleans if one is expected, otherwise as exact
/// text.
fn equals(expected: &str, found: &str) -> bool {
    let same_number = || {
        if let (Ok(a), Ok(b)) = (expected.parse::<i128>(), found.parse::<i128>()) {
            return a == b;
        }
        let number = |text: &str| text.parse::<f64>().ok();
        let order = number(expected).and_then(|a| a.partial_cmp(&number(found)?));
        order == Some(Ordering::Equal)
    };
    let same_truth = || match expected {
        "true" => matches!(found, "t" | "1"),
        "false" => matches!(found, "f" | "0"),
        _ => false,
    };
    expected == found || same_number() || same_truth()
}

impl Workload {
    /// Whether the workload has invariants of its data.
    pub fn has_invariants(&self) -> bool {
        !self.definition.invariants.is_empty()
    }

    /// Its invariants, each in the first of `dialects` that it supports.
    pub fn invariants(&self, dialects: &[String]) -> Result<Vec<Invariant>, UserError> {
        let bound = self.definition.invariants.iter().map(|invariant| {
            let place = format!("invariant `{}`", invariant.name);
            let sql = preferred(&invariant.sql, dialects, &place)?;
            Ok(Invariant {
                name: invariant.name.clone(),
                sql: sql.text().to_owned(),
                expected: invariant.expected.clone(),
            })
        });
        bound.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invariant(expected: Expected) -> Invariant {
        Invariant { name: String::new(), sql: String::new(), expected }
    }

    #[test]
    fn a_value_is_the_expected_one_in_any_of_the_forms_that_servers_write() {
        for (equals, found, holds) in [
            ("0", "0", true),
            ("0", "0.00", true),
            ("0", "-0", true),
            ("0", "1", false),
            ("0", "", false),
            // Beyond the precision of a double.
            ("9007199254740993", "9007199254740992", false),
            ("9007199254740993", "9007199254740993", true),
            ("true", "t", true),
            ("true", "true", true),
            ("true", "1", true),
            ("true", "f", false),
            ("false", "0", true),
            ("false", "t", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("1", "t", false),
        ] {
            let invariant = invariant(Expected::Value(equals.to_owned()));
            assert_eq!(invariant.holds(found), holds, "{equals} {found}");
        }
    }

    #[test]
    fn a_value_grows_by_the_ops_that_took_effect_and_perhaps_by_those_of_unknown_outcome() {
        for (growth, ops, expected, found, holds) in [
            // Lost, exact, doubled.
            (Some(1), (5, 0), "105", "104", false),
            (Some(1), (5, 0), "105", "105", true),
            (Some(1), (5, 0), "105", "105.00", true),
            (Some(1), (5, 0), "105", "105.5", false),
            (Some(1), (5, 0), "105", "106", false),
            (Some(2), (5, 2), "110 to 114", "109", false),
            (Some(2), (5, 2), "110 to 114", "110", true),
            (Some(2), (5, 2), "110 to 114", "114", true),
            (Some(2), (5, 2), "110 to 114", "115", false),
            (Some(-1), (5, 2), "93 to 95", "93", true),
            (Some(0), (5, 2), "100", "100", true),
            (Some(0), (5, 2), "100", "101", false),
            // An op without effect need not be described.
            (None, (0, 0), "100", "100", true),
        ] {
            let after = invariant(Expected::Growth(vec![growth])).after(Some(100), &[ops]).unwrap();
            assert_eq!(after.expected(), expected, "{growth:?} {ops:?}");
            assert_eq!(after.holds(found), holds, "{growth:?} {ops:?} {found}");
        }
        let growth = |each| invariant(Expected::Growth(vec![each]));
        assert_eq!(growth(None).after(Some(100), &[(0, 1)]), None);
        assert_eq!(growth(Some(1)).after(None, &[(1, 0)]), None);
    }
}
