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
pub struct Failures(BTreeMap<Kind, Seen>);

/// How often something was seen, and when last.
#[derive(Debug, Clone, Default)]
struct Seen {
    count: u64,
    /// The words of the first one.
    message: String,
    /// In seconds from the start of the run; 0 where it is not counted by second.
    last_s: u64,
}

impl Failures {
    /// Adds an op that ended in this second.
    pub(super) fn note(&mut self, error: &OpError, second: u64) {
        let message: String = error.message.chars().take(MESSAGE_MAX).collect();
        let kind = (error.class, error.code.clone(), without_numbers(&message));
        self.add(kind, Seen { count: 1, message, last_s: second });
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (kind, seen) in &other.0 {
            self.add(kind.clone(), seen.clone());
        }
    }

    /// Those of a second of a journal, without the ones of an unknown class.
    pub(crate) fn of_second(second: u64, records: &[FailureRecord]) -> Self {
        let mut failures = Self::default();
        for record in records {
            let mut classes = ErrorClass::ALL.into_iter();
            if let Some(class) = classes.find(|class| class.name() == record.class) {
                let kind = (class, record.code.clone(), without_numbers(&record.message));
                let (count, message) = (record.count, record.message.clone());
                failures.add(kind, Seen { count, message, last_s: second });
            }
        }
        failures
    }

    /// Number of ops by class.
    pub(crate) fn by_class(&self) -> BTreeMap<ErrorClass, u64> {
        let mut by_class = BTreeMap::new();
        for ((class, ..), seen) in &self.0 {
            *by_class.entry(*class).or_default() += seen.count;
        }
        by_class
    }

    fn add(&mut self, mut kind: Kind, seen: Seen) {
        let Seen { count, mut message, last_s } = seen;
        if !self.0.contains_key(&kind) && self.0.len() >= MESSAGES_MAX {
            OTHERS.clone_into(&mut message);
            kind = (kind.0, None, OTHERS.to_owned());
        }
        let entry = self.0.entry(kind);
        let known = entry.or_insert_with(|| Seen { message, ..Seen::default() });
        known.count += count;
        known.last_s = known.last_s.max(last_s);
    }

    /// As they stand in a record, most frequent first.
    pub(crate) fn records(&self) -> Vec<FailureRecord> {
        self.seen().into_iter().map(|(failure, _)| failure).collect()
    }

    /// The same, each with the second in which it was seen last.
    pub(crate) fn seen(&self) -> Vec<(FailureRecord, u64)> {
        let records = self.0.iter().map(|((class, code, _), seen)| {
            let record = FailureRecord {
                class: class.name().to_owned(),
                code: code.clone(),
                message: seen.message.clone(),
                count: seen.count,
                hint: None,
            };
            (record, seen.last_s)
        });
        let mut records: Vec<(FailureRecord, u64)> = records.collect();
        records.sort_by_key(|(failure, _)| std::cmp::Reverse(failure.count));
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
            failures.note(&error(ErrorClass::Constraint, "1062", &message), 7);
        }
        failures.note(&error(ErrorClass::Conflict, "1213", "Deadlock found"), 9);
        let records = failures.records();
        let found: Vec<_> = records.iter().map(|one| (one.count, one.code.as_deref())).collect();
        assert_eq!(found, [(30, Some("1062")), (1, Some("1213"))]);
        assert_eq!(records[0].message, "Duplicate entry '0' for key 'PRIMARY'");
        let last_seen: Vec<u64> = failures.seen().iter().map(|(_, second)| *second).collect();
        assert_eq!(last_seen, [7, 9]);
        // A journal keeps them second by second.
        let mut again = Failures::of_second(3, &records);
        again.merge(&Failures::of_second(8, &records));
        let by_class = again.by_class();
        assert_eq!((by_class[&ErrorClass::Constraint], by_class[&ErrorClass::Conflict]), (60, 2));
        assert!(again.seen().iter().all(|(_, second)| *second == 8), "{again:?}");
        for letter in "abcdefghijklmnopqrstuvwxyz".chars() {
            let message = format!("word {letter}");
            failures.note(&error(ErrorClass::Data, "22000", &message), 1);
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
