//! Converts the record of a probe to its verdict for a search.
//!
//! Only reads the judgments and figures of a record. Its only own rule is the search's default
//! objective, which is added to the plan's.

use std::collections::BTreeMap;

use crate::judge::shares::{
    ObjectiveMargin, Shown, failure_verdicts, latency_verdicts, nearest_margin,
};
use crate::judge::{MeasuredStream, RunEnding, measured_streams};
use highwater_model::judgment::{Measurement, ObjectiveValue, ReasonCode};
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Objective;
use highwater_model::record::{PhaseRecord, RunRecord};
use highwater_model::search::{ProbePurpose, ProbeVerdict, SearchRecord};

/// Reasons for an invalid measurement that are the load generator's fault.
const OUR_OWN: [ReasonCode; 7] = [
    ReasonCode::ClientSaturated,
    ReasonCode::ClientLag,
    ReasonCode::ClientStalled,
    ReasonCode::SessionsMissing,
    ReasonCode::RateNotOffered,
    ReasonCode::LittlesLaw,
    ReasonCode::RecordIncomplete,
];

/// The figures that a search takes from a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProbeResult {
    /// The verdict.
    pub verdict: ProbeVerdict,
    /// Codes of the reasons, the objective's first.
    pub reasons: Vec<ReasonCode>,
    /// Units of the searched stream acknowledged per second.
    pub acknowledged_per_s: f64,
    /// The same for each of its ops, if it has several.
    pub per_s_by_op: BTreeMap<String, f64>,
    /// Its margin to missing an objective by a fraction of its ops.
    pub pressure: Option<ObjectiveMargin>,
    /// The searched stream's greatest p99 of an op.
    pub p99_ns: Option<u64>,
    /// Whether that is a lower bound.
    pub p99_at_least: bool,
    /// The searched stream's greatest mean latency of an op.
    pub mean_ns: Option<u64>,
    /// Ops of all streams that failed.
    pub failed_ops: u64,
    /// Length of the measured phase.
    pub measured_ns: u64,
    /// Rows of the tables before it.
    pub rows_before: u64,
}

/// Reads the record of a probe.
pub fn probed(search: &SearchRecord, purpose: ProbePurpose, record: &RunRecord) -> ProbeResult {
    let measured = measured_streams(record);
    let searched = measured.iter().find(|m| m.stream.stream == search.stream);
    let failed_ops = failed(&measured, |_| true);
    // Rejections have an objective of their own.
    let rejected = ErrorClass::Rejected.name();
    let errors = failed(&measured, |class| class != rejected);
    let no_errors_missed = search.objective.no_errors && errors > 0;
    let mut reasons = reasons(record, &measured);
    let verdict = match purpose {
        ProbePurpose::Estimate => estimated(record),
        _ => verdict(record, no_errors_missed, &measured),
    };
    if verdict == ProbeVerdict::Failed && no_errors_missed {
        reasons.retain(|code| *code != ReasonCode::ObjectiveErrors);
        reasons.insert(0, ReasonCode::ObjectiveErrors);
    }
    ProbeResult {
        verdict,
        reasons,
        acknowledged_per_s: searched.map_or(0.0, MeasuredStream::units_per_s),
        per_s_by_op: searched.map_or_else(BTreeMap::new, MeasuredStream::per_s_by_op),
        pressure: nearest_margin(&record.plan.definition.objectives, &measured),
        p99_ns: searched.and_then(|stream| stream.greatest(|result| result.latency_ns.p99)),
        p99_at_least: searched.is_some_and(MeasuredStream::p99_at_least),
        mean_ns: searched.and_then(|stream| stream.greatest(|result| result.latency_ns.mean)),
        failed_ops,
        measured_ns: searched.map_or(0, |stream| stream.phase.duration_ns),
        rows_before: rows_before(record),
    }
}

/// Ops that failed, completely or in part, with an error of these classes.
fn failed(measured: &[MeasuredStream<'_>], of: impl Fn(&str) -> bool) -> u64 {
    let errors =
        measured.iter().flat_map(|stream| &stream.results).flat_map(|result| &result.errors);
    errors.filter(|(class, _)| of(class)).map(|(_, count)| count).sum()
}

/// Rows of earlier runs, and of this run's own load.
pub(crate) fn rows_before(record: &RunRecord) -> u64 {
    let earlier = record.target.tables.iter().filter_map(|table| table.rows_before);
    let loads = |phase: &str| PhaseRecord::is_load(&record.phases, phase);
    let loaded =
        record.results.iter().filter(|r| loads(&r.phase)).map(|result| result.rows.acknowledged);
    earlier.chain(loaded).fold(0, u64::saturating_add)
}

fn reasons(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Vec<ReasonCode> {
    let judged = &record.judgments;
    let mut codes = unproven_failures(&record.plan.definition.objectives, measured);
    if is_not_met(judged.objective.value) {
        codes.splice(0..0, judged.objective.codes());
    }
    if judged.measurement.value != Measurement::Valid {
        codes.extend(judged.measurement.codes());
    }
    if judged.data.value.is_wrong() {
        codes.extend(judged.data.codes());
    }
    codes.extend(
        judged.measurement.codes().into_iter().filter(|code| *code == ReasonCode::SharedHost),
    );
    let mut named = Vec::new();
    codes.retain(|code| {
        let new = !named.contains(code);
        named.push(*code);
        new
    });
    codes
}

const fn is_not_met(objective: ObjectiveValue) -> bool {
    matches!(objective, ObjectiveValue::Missed | ObjectiveValue::NotDecided)
}

fn estimated(record: &RunRecord) -> ProbeVerdict {
    match RunEnding::from_incidents(&record.incidents) {
        RunEnding::Interrupted => ProbeVerdict::Interrupted,
        RunEnding::TargetLost => ProbeVerdict::TargetLost,
        RunEnding::Complete if record.judgments.data.value.is_wrong() => ProbeVerdict::WrongData,
        RunEnding::Complete => ProbeVerdict::Estimated,
    }
}

fn verdict(
    record: &RunRecord,
    no_errors_missed: bool,
    measured: &[MeasuredStream<'_>],
) -> ProbeVerdict {
    match estimated(record) {
        ProbeVerdict::Estimated => {}
        other => return other,
    }
    let judged = &record.judgments;
    let invalid = judged.measurement.value == Measurement::Invalid;
    let has = |code: &ReasonCode| judged.measurement.reasons.iter().any(|r| r.code == *code);
    if invalid && OUR_OWN.iter().any(has) {
        return ProbeVerdict::Invalid;
    }
    if no_errors_missed {
        return ProbeVerdict::Failed;
    }
    let objectives = &record.plan.definition.objectives;
    if is_not_met(judged.objective.value) {
        let mut codes = judged.objective.codes().into_iter();
        return if codes.all(|code| is_of_a_share(code, objectives)) {
            by_shares(objectives, measured)
        } else {
            ProbeVerdict::Failed
        };
    }
    match judged.measurement.value {
        Measurement::Valid if !unproven_failures(objectives, measured).is_empty() => {
            ProbeVerdict::NotDecided
        }
        Measurement::Valid => ProbeVerdict::Passed,
        // A drifting throughput is not sustained.
        Measurement::Inconclusive if has(&ReasonCode::NotSteady) => ProbeVerdict::Failed,
        Measurement::Inconclusive => ProbeVerdict::NotDecided,
        Measurement::Invalid => ProbeVerdict::Failed,
    }
}

/// Fractions of failures that are not shown to be met, although fewer ops failed than allowed.
fn unproven_failures(objectives: &[Objective], measured: &[MeasuredStream<'_>]) -> Vec<ReasonCode> {
    let unproven = failure_verdicts(objectives, measured)
        .into_iter()
        .filter(|(_, shown)| *shown == Shown::Unproven);
    unproven.map(|(code, _)| code).collect()
}

/// Whether the missed objective allows a fraction of the ops to fail; if none may fail, a single failure
/// is enough.
fn is_of_a_share(missed: ReasonCode, objectives: &[Objective]) -> bool {
    match missed {
        ReasonCode::ObjectiveLatency => true,
        // Without such an objective, the search itself allows no failures.
        ReasonCode::ObjectiveErrors => {
            let is_share = |of: &Objective| matches!(of, Objective::Errors { max_ppm: 1.. });
            objectives.iter().any(is_share)
        }
        ReasonCode::ObjectiveRejected => !objectives.contains(&Objective::Rejected { max_ppm: 0 }),
        _ => false,
    }
}

/// How a run missed the fractions that its objectives allow: the clearest of all misses.
fn by_shares(objectives: &[Objective], measured: &[MeasuredStream<'_>]) -> ProbeVerdict {
    let latencies = latency_verdicts(objectives, measured).into_iter();
    let failures = failure_verdicts(objectives, measured).into_iter();
    let verdicts: Vec<Shown> =
        latencies.map(|verdict| verdict.shown).chain(failures.map(|(_, shown)| shown)).collect();
    let shown = |of: fn(&Shown) -> bool| verdicts.iter().any(of);
    if shown(|shown| *shown == Shown::Missed) {
        ProbeVerdict::Failed
    } else if shown(|shown| matches!(shown, Shown::TooFew { .. })) {
        ProbeVerdict::TooFewOps
    } else {
        ProbeVerdict::NotDecided
    }
}
