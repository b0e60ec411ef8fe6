//! Makes the record of a run whose process was killed from its draft and its journal.
//!
//! Only latencies at two digits are left, and no service times; the data were not audited. The
//! record says so. What must not be here: files.

use std::collections::BTreeMap;

use highwater_analysis as analysis;
use highwater_analysis::availability::{acknowledged_per_s, measured_seconds, of_gaps};
use highwater_model::numbers::to_f64;
use highwater_model::plan::{Pace, PhaseKind, Plan};
use highwater_model::record::{
    AuditStatus, AvailabilityRecord, Incident, IncidentKind, PhaseRecord, ResultRecord, RunRecord,
    Steadiness, StreamRecord, ThroughputRecord,
};
use highwater_model::units::Nanos;

use super::interval_lines::{IntervalNames, delta_of, interval_record};
use super::results::{Figures, result_record};
use crate::recorder::{IntervalDelta, KeyStats};
use crate::store::JournalLine;

/// Stands for the class of errors: the journal counts them, and does not distinguish them.
const UNCLASSIFIED: &str = "unclassified";

/// The record of a run that was killed, from its draft and its journal.
pub(super) fn recovered(mut draft: RunRecord, lines: Vec<JournalLine>) -> RunRecord {
    fill(&mut draft, lines.into_iter());
    draft.judgments = analysis::judge(&draft);
    draft.limit = analysis::limit(&draft);
    draft
}

fn fill(record: &mut RunRecord, lines: impl Iterator<Item = JournalLine>) {
    let mut intervals: BTreeMap<(u64, [String; 3]), IntervalDelta> = BTreeMap::new();
    for line in lines {
        let name = [line.phase.clone(), line.stream.clone(), line.op.clone()];
        let delta = delta_of(&line);
        intervals
            .entry((line.second, name))
            .and_modify(|sum| sum.merge(&delta))
            .or_insert(delta);
    }
    let plan = record.plan.definition.clone();
    record.phases = phases_of(&plan, &intervals);
    let mut sums: BTreeMap<[String; 3], KeyStats> = BTreeMap::new();
    let mut errors: BTreeMap<&[String; 3], u64> = BTreeMap::new();
    for ((second, name), delta) in &intervals {
        let [phase, stream, op] = name;
        let names = IntervalNames { phase, stream, op };
        record
            .intervals
            .push(interval_record(*second, names, delta));
        add(sums.entry(name.clone()).or_default(), delta);
        *errors.entry(name).or_default() += delta.errors;
    }
    for (name, stats) in &sums {
        let mut result = result_of(&plan, &record.phases, name.clone(), stats);
        let failed = errors.get(name).copied().filter(|failed| *failed > 0);
        result
            .errors
            .extend(failed.map(|failed| (UNCLASSIFIED.to_owned(), failed)));
        if record
            .phases
            .iter()
            .any(|p| p.name == result.phase && p.kind == PhaseKind::Measure)
        {
            record.streams.push(stream_of(&plan, &result));
        }
        record.results.push(result);
    }
    record.availability = availability_of(record);
    record.audit.acknowledged = sums.values().map(|stats| stats.rows.acknowledged).sum();
    record.audit.status = AuditStatus::Failed;
    record.audit.error = Some("the program ended before the audit".to_owned());
    record.incidents.push(Incident::new(
        IncidentKind::Interrupted,
        "the program ended without writing its record; this one comes from its journal, with \
         latencies at two significant digits and gaps in whole seconds",
    ));
}

fn add(stats: &mut KeyStats, delta: &IntervalDelta) {
    stats.offered += delta.offered;
    stats.sent += delta.sent;
    stats.acknowledged += delta.acknowledged;
    stats.dropped += delta.dropped;
    stats.answered.ops += delta.acknowledged;
    stats.answered.rows += delta.rows_acknowledged;
    stats.rows.sent += delta.rows_sent;
    stats.rows.acknowledged += delta.rows_acknowledged;
    stats.latency.merge(&delta.latency);
}

/// Phases as far as the journal shows them, in whole seconds.
fn phases_of(
    plan: &Plan,
    intervals: &BTreeMap<(u64, [String; 3]), IntervalDelta>,
) -> Vec<PhaseRecord> {
    let mut spans: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (second, [phase, ..]) in intervals.keys() {
        let span = spans.entry(phase).or_insert((*second, *second));
        *span = (span.0.min(*second), span.1.max(*second));
    }
    let mut phases: Vec<PhaseRecord> = spans
        .into_iter()
        .map(|(name, (first, last))| {
            let planned = |name| plan.phases.iter().find(|phase| phase.name == name);
            // One that a changed pace began is named after the one in whose place it is.
            let changed = name
                .rsplit_once('-')
                .and_then(|(before, _)| planned(before));
            let like = planned(name).or(changed);
            PhaseRecord {
                name: name.to_owned(),
                kind: like.map_or(PhaseKind::Load, |phase| phase.kind),
                step: planned(name).map(|phase| phase.step),
                start_ns: first * Nanos::SECOND.0,
                duration_ns: (last + 1 - first) * Nanos::SECOND.0,
                steady: None,
            }
        })
        .collect();
    phases.sort_by_key(|phase| phase.start_ns);
    phases
}

fn result_of(
    plan: &Plan,
    phases: &[PhaseRecord],
    names: [String; 3],
    stats: &KeyStats,
) -> ResultRecord {
    let duration = phases
        .iter()
        .find(|p| p.name == names[0])
        .map_or(0, |p| p.duration_ns);
    let figures = Figures {
        open: is_open(plan, &names[1]),
        names,
        duration: Nanos(duration),
    };
    let seconds = figures.duration.as_secs_f64().max(1.0);
    ResultRecord {
        throughput: ThroughputRecord {
            ops_per_s: to_f64(stats.acknowledged) / seconds,
            rows_per_s: to_f64(stats.rows.acknowledged) / seconds,
            ci95: None,
        },
        // Counts per 100 ms were in a file that went with the process.
        ..result_record(&figures, stats, None)
    }
}

/// As far as whole seconds show it.
fn availability_of(record: &RunRecord) -> AvailabilityRecord {
    let per_s = acknowledged_per_s(&record.intervals, &record.phases);
    let seconds = measured_seconds(&record.phases).zip(per_s.iter().copied());
    of_gaps(silent(seconds), per_s, &record.phases, &[], &[])
}

/// Where seconds without an acknowledgement follow each other: start and length.
fn silent(acknowledged: impl Iterator<Item = (u64, u64)>) -> Vec<[u64; 2]> {
    let mut gaps: Vec<[u64; 2]> = Vec::new();
    for (second, _) in acknowledged.filter(|(_, acknowledged)| *acknowledged == 0) {
        let start = second * Nanos::SECOND.0;
        match gaps.last_mut() {
            Some([begin, length]) if *begin + *length == start => *length += Nanos::SECOND.0,
            _ => gaps.push([start, Nanos::SECOND.0]),
        }
    }
    gaps
}

fn is_open(plan: &Plan, stream: &str) -> bool {
    plan.streams
        .iter()
        .filter(|planned| planned.name == stream)
        .any(|planned| {
            planned
                .paces
                .iter()
                .any(|pace| matches!(pace, Pace::Open { .. }))
        })
}

fn stream_of(plan: &Plan, result: &ResultRecord) -> StreamRecord {
    let planned = plan
        .streams
        .iter()
        .find(|stream| stream.name == result.stream);
    StreamRecord {
        phase: result.phase.clone(),
        stream: result.stream.clone(),
        unit: planned.map_or(highwater_model::plan::Unit::Queries, |stream| stream.unit),
        planned_rate: None,
        sessions: planned.map_or(0, |stream| stream.sessions),
        working: None,
        missing_because: None,
        throughput: ThroughputRecord {
            ci95: None,
            ..result.throughput.clone()
        },
        effective_windows: 0.0,
        steadiness: Steadiness::NotTested,
        drift_percent: None,
        drift_ci95: None,
        thirds_per_s: None,
        littles_law_sessions: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_without_an_answer_that_follow_each_other_are_one_gap() {
        let seconds = [(3, 0), (4, 0), (5, 9), (6, 0), (10, 0), (11, 1)];
        let s = Nanos::SECOND.0;
        assert_eq!(
            silent(seconds.into_iter()),
            [[3 * s, 2 * s], [6 * s, s], [10 * s, s]]
        );
        assert!(silent([(0, 1)].into_iter()).is_empty());
    }
}
