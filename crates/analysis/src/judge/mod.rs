//! The three judgments of a run and their reasons, from the figures of its record alone.
//!
//! So they can be recomputed when a record is shown or merged. A rule must not read anything but the record; each
//! threshold is a named constant with its reason.

mod data;
mod faults;
mod measured;
pub mod measurement;
pub mod objective;
pub mod shares;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use highwater_model::display::{count, percent};
use highwater_model::judgment::{
    Data, Judgment, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode,
};
use highwater_model::numbers::to_f64;
use highwater_model::record::{
    ImportRecord, ImportedPace, IncidentKind, InterventionRecord, LatencyBegin, MissingField,
    RunRecord,
};

pub use highwater_model::record::RunEnding;
pub use measured::{MeasuredStream, SHORTEST_PHASE_NS, littles_law_sessions, measured_streams};
pub use shares::{FailedWork, failed_work};

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

/// Each stated objective of a run alone, in their order.
pub fn judge_objectives(record: &RunRecord) -> Vec<Judgment<ObjectiveValue>> {
    objective::judge_each(record, &judged_streams(record))
}

/// The measured streams to judge. After a user changed a pace, phases may be too short to judge: they are
/// omitted if another one is long enough.
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
/// 4: data lost, duplicated, or altered; 5: target lost; 130: interrupted; 2: the workload's expressions used by the
/// audit are wrong; 3: measurement not valid (for a plain run: not only because of a drift), or data unverified
/// although an audit was requested; 1: objective missed; 0: success. If several apply, the first in this order wins:
/// the state of the data matters most, and the reason why a run ended explains why it is not valid.
pub fn exit_code(judgments: &Judgments, ended: RunEnding) -> u8 {
    if judgments.data.value.is_wrong() {
        return 4;
    }
    match ended {
        RunEnding::TargetLost => return 5,
        RunEnding::Interrupted => return 130,
        RunEnding::Complete => {}
    }
    // The user's input is wrong, which outranks the validity of the rest.
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

/// Whether the measurement is valid, or inconclusive only because throughput drifted or the backlog grew, and no
/// objective depends on that: a drift is primarily an observation about the target, and too many failed ops are too
/// many with or without a drift.
pub fn is_good_enough(judgments: &Judgments) -> bool {
    let measurement = &judgments.measurement;
    let is_of_drift = |code| {
        matches!(
            code,
            ReasonCode::NotSteady
                | ReasonCode::SteadinessNotShown
                | ReasonCode::BacklogGrew
                | ReasonCode::SharedHost
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

/// An imported measurement is not judged, because the load generator's effect on it is unknown.
pub fn judge_imported(origin: &ImportRecord) -> Judgments {
    let reads = [format!("{} reads nothing back", origin.tool)];
    let message = "acknowledged rows were not looked for";
    let audited = reason(ReasonCode::NotAudited, message, &reads, "");
    // Reasons that affect the figures come first: a summary has room for only a few reasons.
    let reasons = [partial(origin), not_judged(origin), waiting(origin)];
    let reasons = reasons.into_iter().flatten();
    Judgments {
        measurement: judgment(Measurement::Inconclusive, reasons.collect()),
        data: judgment(Data::NotChecked, audited.into_iter().collect()),
        objective: judgment(ObjectiveValue::NoneSet, Vec::new()),
    }
}

fn partial(origin: &ImportRecord) -> Option<Reason> {
    let message = "the files cover only part of the measurement, or contradict each other";
    let hint = "import all files of the run, and of one run only";
    reason(ReasonCode::ImportPartial, message, &origin.caveats, hint)
}

fn not_judged(origin: &ImportRecord) -> Option<Reason> {
    let mut missing = vec!["its own lag and CPU"];
    missing.extend(origin.missing_fields.iter().map(|what| what.phrase()));
    let (tool, missing) = (origin.tool_and_version(), missing.join(", "));
    let places = [format!("{tool} does not report: {missing}")];
    let message = "another tool measured, and its part in the figures is not known";
    let hint = "`highwater run` runs the same ops and measures the load generator too";
    reason(ReasonCode::Imported, message, &places, hint)
}

/// The reason if latency may exclude waiting.
fn waiting(origin: &ImportRecord) -> Option<Reason> {
    let evidence = match (origin.begin, origin.pace) {
        _ if origin.leaves_out(MissingField::Latency) => return None,
        (LatencyBegin::Intended, _) => return None,
        (LatencyBegin::Sent, ImportedPace::Closed) => {
            "closed load: ops that waited while a session was busy were never sent"
        }
        (LatencyBegin::Sent, _) => "it begins at the sending: a service time",
        (LatencyBegin::NotReported, _) => "where it begins is not reported",
    };
    let message = "latency is not from the intended start";
    let places = [evidence.to_owned()];
    reason(ReasonCode::WaitingNotCounted, message, &places, "")
}

/// Maximum number of places that a reason names; the rest are counted.
const PLACES_NAMED: usize = 3;

/// The message of the record's incident of this kind.
fn incident(record: &RunRecord, kind: IncidentKind) -> Option<&str> {
    let found = record.incidents.iter().find(|found| found.kind == kind)?;
    Some(&found.message)
}

/// One reason for all places where a rule was violated; `None` if there are none.
fn reason(code: ReasonCode, message: &str, places: &[String], hint: &str) -> Option<Reason> {
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

fn judgment<T>(value: T, reasons: Vec<Reason>) -> Judgment<T> {
    Judgment { value, reasons }
}

/// What to do about the most frequent failures of these streams; empty if no op failed.
fn failure_hint<'a>(measured: &'a [MeasuredStream<'_>]) -> Option<&'a str> {
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

/// By the name of a class as stored in records.
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

/// Allowed fraction of offered rows with an unknown outcome: with more, the acknowledged rows alone
/// do not describe the target's work.
pub const UNKNOWN_LIMIT: f64 = 0.05;

fn place(stream: &MeasuredStream<'_>) -> Option<String> {
    let unknown: u64 = stream.results.iter().map(|r| r.rows.unknown).sum();
    let offered: f64 = stream
        .results
        .iter()
        .filter(|result| result.sent > 0)
        // An op that was never sent has as many rows as one that was.
        .map(|r| to_f64(r.rows.sent) / to_f64(r.sent) * to_f64(r.offered))
        .sum();
    let share = to_f64(unknown) / offered;
    (share > UNKNOWN_LIMIT).then(|| {
        let unknown = count(unknown);
        let [share, limit] = [share, UNKNOWN_LIMIT].map(percent);
        format!(
            "{stream}: the outcome of {unknown} rows is unknown, {share} of those that were offered; \
             the limit is {limit}"
        )
    })
}
