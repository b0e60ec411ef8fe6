//! The three judgments of a run, from the figures of its record alone.
//!
//! So that they can be made anew when a record is shown or merged. No rule may look at anything
//! but the record; a threshold is a named constant with its reason.

pub mod client_lag;
mod data;
mod failed_work;
mod failure_hints;
pub mod hopeless;
mod imported;
mod measured;
pub mod measurement;
pub mod objective;
mod reasons;
pub mod shares;
mod steadiness;
#[cfg(test)]
mod tests;
pub mod unknown;

use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue, ReasonCode};
use highwater_model::record::{InterventionRecord, RunRecord};

pub use highwater_model::record::Ended;

pub use failed_work::{FailedWork, failed_work};
pub use imported::judge as judge_imported;
pub use measured::{MeasuredStream, littles_law_sessions, measured_streams};

/// Judges a run by the rules of its record's schema.
pub fn judge(record: &RunRecord) -> Judgments {
    let measured = judged_streams(record);
    let measurement = measurement::judge(record, &measured);
    Judgments {
        measurement,
        data: data::judge(record),
        objective: objective::judge(record, &measured),
    }
}

/// The measured streams that judgments are about. Where a user changed a pace, phases may be too short to say
/// anything: they are left out, if any other one is long enough.
fn judged_streams(record: &RunRecord) -> Vec<MeasuredStream<'_>> {
    let mut measured = measured_streams(record);
    let is_changed = record.interventions.iter().any(InterventionRecord::begins_phase);
    if is_changed && measured.iter().any(MeasuredStream::is_long) {
        measured.retain(MeasuredStream::is_long);
    }
    measured
}

/// The exit code of a run.
///
/// 4: data lost, duplicated or altered; 5: target lost; 130: interrupted; 2: the workload's expressions, with
/// which the audit asks, are wrong; 3: measurement not valid (of a plain run: for more than a drift), or data
/// unverified although an audit was asked; 1: objective missed; 0: all well. Where several hold the first in this order wins: what happened
/// to the data matters most, and why a run ended explains why it is not valid.
pub fn exit_code(judgments: &Judgments, ended: Ended) -> u8 {
    if judgments.data.value.is_wrong() {
        return 4;
    }
    match ended {
        Ended::TargetLost => return 5,
        Ended::Interrupted => return 130,
        Ended::Complete => {}
    }
    // What the user gave is wrong; how valid the rest is comes after that.
    let reasons = &judgments.data.reasons;
    if reasons.iter().any(|r| r.code == ReasonCode::AuditSqlWrong) {
        return 2;
    }
    if !is_good_enough(judgments) || judgments.data.value == Data::Unverified {
        return 3;
    }
    match judgments.objective.value {
        ObjectiveValue::Missed => 1,
        ObjectiveValue::NotDecided => 3,
        ObjectiveValue::Met | ObjectiveValue::NoneSet => 0,
    }
}

/// Valid, or of a run whose throughput drifted, or whose backlog grew, and of which nothing is asked that this spoils: a drift is first a
/// statement about the target, and of ops that failed too many failed whether it drifted or not.
fn is_good_enough(judgments: &Judgments) -> bool {
    let measurement = &judgments.measurement;
    let is_of_drift = |code| {
        matches!(
            code,
            ReasonCode::NotSteady | ReasonCode::SteadinessNotShown | ReasonCode::BacklogGrew
        )
    };
    let objective = &judgments.objective;
    let mut missed = objective.reasons.iter();
    let is_spoiled = match objective.value {
        ObjectiveValue::NoneSet => false,
        ObjectiveValue::Missed => missed.any(|r| r.code != ReasonCode::ObjectiveErrors),
        ObjectiveValue::Met | ObjectiveValue::NotDecided => true,
    };
    match measurement.value {
        Measurement::Valid => true,
        Measurement::Inconclusive => {
            !is_spoiled
                && !measurement.reasons.is_empty()
                && measurement.reasons.iter().all(|r| is_of_drift(r.code))
        }
        Measurement::Invalid => false,
    }
}
