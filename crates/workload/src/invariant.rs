//! Invariants of the data after a run, in one dialect; the audit queries them. Must not send queries.

use std::cmp::Ordering;

use highwater_model::user_error::UserError;

use super::definition::preferred;
use super::instance::Workload;

/// A query and the one value that it must return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invariant {
    /// Its name in the workload file.
    pub name: String,
    /// SQL text without parameters.
    pub sql: String,
    /// The expected single value of the result, as text.
    pub equals: String,
}

impl Invariant {
    /// Whether a value equals the expected one: as a number if both are numbers, as a Boolean if one is expected,
    /// otherwise as exact text.
    pub fn holds(&self, found: &str) -> bool {
        let (expected, found) = (self.equals.as_str(), found.trim());
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
                equals: invariant.equals.clone(),
            })
        });
        bound.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let invariant =
                Invariant { name: String::new(), sql: String::new(), equals: equals.to_owned() };
            assert_eq!(invariant.holds(found), holds, "{equals} {found}");
        }
    }
}
