//! The three judgments of a run, from the figures of its record alone.
//!
//! So that they can be made anew when a record is shown or merged. No rule may look at anything
//! but the record; a threshold is a named constant with its reason.

mod data;
mod imported;
mod measured;
pub mod measurement;
pub mod objective;
#[cfg(test)]
mod tests;

use crate::model::judgment::{
    Data, Judgment, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode,
};
use crate::model::record::RunRecord;

pub use measured::{MeasuredStream, littles_law_sessions, measured_streams};

/// Places that one reason names before it says how many more there are.
const PLACES_NAMED: usize = 3;

/// Judges a run by the rules of its record's schema.
pub fn judge(record: &RunRecord) -> Judgments {
    if let Some(origin) = &record.imported {
        return imported::judge(origin);
    }
    let measured = measured_streams(record);
    let measurement = measurement::judge(record, &measured);
    Judgments {
        measurement,
        data: data::judge(record),
        objective: objective::judge(record, &measured),
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// As its plan says.
    Complete,
    /// By its user.
    Interrupted,
    /// Because the target could not be reached any more.
    TargetLost,
}

impl Ended {
    /// How the run of this record ended, by the findings that its runner left.
    pub fn of(record: &RunRecord) -> Self {
        if has_finding(record, ReasonCode::TargetLost) {
            Self::TargetLost
        } else if has_finding(record, ReasonCode::Interrupted) || audit_interrupted(record) {
            Self::Interrupted
        } else {
            Self::Complete
        }
    }
}

/// The exit code of a run.
///
/// 4: data lost, duplicated or altered; 5: target lost; 130: interrupted; 3: measurement not
/// sound, or data unverified although an audit was asked; 1: objective missed; 0: all well. Where
/// several hold the first in this order wins: what happened to the data matters most, and why a
/// run ended explains why it is not sound.
pub fn exit_code(judgments: &Judgments, ended: Ended) -> u8 {
    match judgments.data.value {
        Data::Lost | Data::Duplicated | Data::Altered => return 4,
        Data::Clean | Data::Unverified | Data::NotChecked => {}
    }
    match ended {
        Ended::TargetLost => return 5,
        Ended::Interrupted => return 130,
        Ended::Complete => {}
    }
    let sound = judgments.measurement.value == Measurement::Valid;
    if !sound || judgments.data.value == Data::Unverified {
        return 3;
    }
    match judgments.objective.value {
        ObjectiveValue::Missed => 1,
        ObjectiveValue::Met | ObjectiveValue::NoneSet => 0,
    }
}

/// Whether the user wished to stop after the last measured phase: then nothing that was measured
/// is cut, and the finding is no reason of any judgment.
fn audit_interrupted(record: &RunRecord) -> bool {
    record.notes.iter().any(|f| f.code == "audit_interrupted")
}

/// Whether the runner left a finding with the name of this code.
fn has_finding(record: &RunRecord, code: ReasonCode) -> bool {
    finding(record, code).is_some()
}

fn finding(record: &RunRecord, code: ReasonCode) -> Option<&str> {
    let mut findings = record.notes.iter();
    let found = findings.find(|finding| finding.code == code.name())?;
    Some(&found.message)
}

/// One reason for all the places where a rule was broken; `None` where it was not.
fn reason(code: ReasonCode, message: &str, places: &[String], hint: &str) -> Option<Reason> {
    if places.is_empty() {
        return None;
    }
    let mut evidence = places
        .iter()
        .take(PLACES_NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
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

fn judgment<T>(value: T, reasons: Vec<Reason>) -> Judgment<T> {
    Judgment { value, reasons }
}
