//! How judgments and their reasons are made.
//!
//! Must not judge.

use highwater_model::judgment::{Judgment, Reason, ReasonCode};
use highwater_model::record::{IncidentKind, RunRecord};

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
