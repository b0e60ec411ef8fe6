//! Failed ops by class, code and message. Must not decide what a message means.
//!
//! Messages that differ in their numbers only are one: a server quotes the key of each row that it refuses. Beyond
//! a bound, further ones count together.

use std::collections::BTreeMap;

use highwater_model::outcome::{ErrorClass, OpError};
use highwater_model::record::FailureRecord;

/// Messages of one op that are told apart.
const MESSAGES_MAX: usize = 20;
/// Characters of a message.
const MESSAGE_MAX: usize = 300;
/// Stands for all messages of a class beyond the bound.
const OTHERS: &str = "other messages";

/// Class, code, and the message without its numbers.
type Kind = (ErrorClass, Option<String>, String);

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Failures(BTreeMap<Kind, (u64, String)>);

impl Failures {
    pub(super) fn note(&mut self, error: &OpError) {
        let message: String = error.message.chars().take(MESSAGE_MAX).collect();
        let kind = (error.class, error.code.clone(), without_numbers(&message));
        self.add(kind, 1, &message);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (kind, (count, message)) in &other.0 {
            self.add(kind.clone(), *count, message);
        }
    }

    fn add(&mut self, kind: Kind, count: u64, message: &str) {
        let is_new = !self.0.contains_key(&kind);
        let (kind, message) = if is_new && self.0.len() >= MESSAGES_MAX {
            ((kind.0, None, OTHERS.to_owned()), OTHERS)
        } else {
            (kind, message)
        };
        let entry = self.0.entry(kind);
        entry.or_insert_with(|| (0, message.to_owned())).0 += count;
    }

    /// As they stand in a record, most frequent first.
    pub(crate) fn records(&self) -> Vec<FailureRecord> {
        let mut records: Vec<FailureRecord> = self
            .0
            .iter()
            .map(|((class, code, _), (count, message))| FailureRecord {
                class: class.name().to_owned(),
                code: code.clone(),
                message: message.clone(),
                count: *count,
                hint: None,
            })
            .collect();
        records.sort_by_key(|failure| std::cmp::Reverse(failure.count));
        records
    }
}

/// The text with each number as one `#`.
fn without_numbers(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    for letter in text.chars() {
        if !letter.is_ascii_digit() {
            short.push(letter);
        } else if !short.ends_with('#') {
            short.push('#');
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(class: ErrorClass, code: &str, message: &str) -> OpError {
        OpError { class, code: Some(code.to_owned()), message: message.to_owned() }
    }

    #[test]
    fn messages_that_differ_in_numbers_are_one_and_their_number_is_bounded() {
        let mut failures = Failures::default();
        for key in 0..30 {
            let message = format!("Duplicate entry '{key}' for key 'PRIMARY'");
            failures.note(&error(ErrorClass::Constraint, "1062", &message));
        }
        failures.note(&error(ErrorClass::Conflict, "1213", "Deadlock found"));
        let records = failures.records();
        let found: Vec<_> = records.iter().map(|one| (one.count, one.code.as_deref())).collect();
        assert_eq!(found, [(30, Some("1062")), (1, Some("1213"))]);
        assert_eq!(records[0].message, "Duplicate entry '0' for key 'PRIMARY'");
        for letter in "abcdefghijklmnopqrstuvwxyz".chars() {
            let message = format!("word {letter}");
            failures.note(&error(ErrorClass::Data, "22000", &message));
        }
        let mut twice = failures.clone();
        twice.merge(&failures);
        for (failures, times) in [(failures, 1), (twice, 2)] {
            let records = failures.records();
            assert_eq!(records.len(), MESSAGES_MAX + 1);
            let all: u64 = records.iter().map(|one| one.count).sum();
            assert_eq!(all, 57 * times, "none is left out");
            assert!(records.iter().any(|one| one.message == OTHERS));
        }
    }
}
