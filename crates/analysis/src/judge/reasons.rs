//! How judgments and their reasons are made.
//!
//! Must not judge.

use std::collections::BTreeMap;

use highwater_model::judgment::{Judgment, Reason, ReasonCode};
use highwater_model::record::{IncidentKind, RunRecord};

use super::measured::MeasuredStream;

/// Places that one reason names before it says how many more there are.
const PLACES_NAMED: usize = 3;

/// The message of the record's incident of this kind.
pub(super) fn incident(record: &RunRecord, kind: IncidentKind) -> Option<&str> {
    let found = record.incidents.iter().find(|found| found.kind == kind)?;
    Some(&found.message)
}

/// One reason for all the places where a rule was broken; `None` where it was not.
pub(super) fn reason(
    code: ReasonCode,
    message: &str,
    places: &[String],
    hint: &str,
) -> Option<Reason> {
    if places.is_empty() {
        return None;
    }
    let mut evidence = places.iter().take(PLACES_NAMED).cloned().collect::<Vec<_>>().join("; ");
    if places.len() > PLACES_NAMED {
        use std::fmt::Write;
        // Writing to a string cannot fail.
        let _ = write!(evidence, "; and {} more", places.len() - PLACES_NAMED);
    }
    Some(Reason {
        code,
        message: message.to_owned(),
        evidence,
        hint: (!hint.is_empty()).then(|| hint.to_owned()),
    })
}

pub(super) fn judgment<T>(value: T, reasons: Vec<Reason>) -> Judgment<T> {
    Judgment { value, reasons }
}

/// What to do about the most frequent failures of these streams; none where none failed.
pub(super) fn failure_hint<'a>(measured: &'a [MeasuredStream<'_>]) -> Option<&'a str> {
    let mut hints: BTreeMap<&str, u64> = BTreeMap::new();
    for result in measured.iter().flat_map(|stream| &stream.results) {
        let failures = result.failures.iter();
        for failure in failures {
            let hint = failure.hint.as_deref();
            let hint = hint.unwrap_or_else(|| of_class(&failure.class));
            *hints.entry(hint).or_default() += failure.count;
        }
        if result.failures.is_empty() {
            for (class, count) in &result.errors {
                *hints.entry(of_class(class)).or_default() += count;
            }
        }
    }
    let most = hints.into_iter().max_by_key(|(_, count)| *count);
    most.filter(|(_, count)| *count > 0).map(|(hint, _)| hint)
}

/// By the name of a class, as it stands in records.
fn of_class(class: &str) -> &'static str {
    match class {
        "conflict" => {
            "retry ops that conflict with others (--retries 10), or make conflicts rarer: fewer sessions (-c), more \
             keys (--set)"
        }
        "constraint" | "data" => {
            "the rows do not fit the table: correct its constraints and types, or the values of the workload"
        }
        "statement" => "correct the statement, or grant the right that it needs",
        "authentication" => "correct user and password",
        "timeout" => "lower --rate, use fewer sessions (-c), or allow an op more time (--timeout)",
        "rejected" => "lower --rate or use fewer sessions (-c)",
        "resource" => "give the target more disk space or memory, or lower --rate",
        "connection" | "unavailable" => {
            "see the target's log for why it was away or closed connections"
        }
        _ => "see `errors` in the record for causes; a lower --rate may help",
    }
}
