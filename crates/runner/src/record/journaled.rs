//! Sums the lines of a journal into phases, results, and streams, with latencies at two digits.
//!
//! Its size depends on the plan and its changes, not on the number of lines. Must not handle files, or judge.

use std::collections::BTreeMap;

use highwater_model::numbers::to_f64;
use highwater_model::plan::{Pace, PhaseKind, Plan, Unit};
use highwater_model::record::{
    FailureRecord, PhaseRecord, ResultRecord, RunRecord, StreamRecord, ThroughputRecord,
};
use highwater_model::units::Nanos;

use super::results::result_record;
use crate::recorder::{Failures, IntervalDelta, KeyStats};
use crate::schedule::RAMP;

/// Placeholder for the error class: older journals count errors without classes.
const UNCLASSIFIED: &str = "unclassified";

/// The counts of the lines so far.
#[derive(Debug, Default)]
pub(super) struct Journaled {
    /// By phase, stream, and op: statistics, failed ops, and how many of these failed in part.
    sums: BTreeMap<[String; 3], (KeyStats, [u64; 2])>,
    /// By phase: its first second and its last.
    seconds: BTreeMap<String, [u64; 2]>,
    /// All failed ops so far.
    failures: Failures,
}

impl Journaled {
    /// Records that a second belongs to a phase.
    pub(super) fn see(&mut self, phase: &str, second: u64) {
        let seconds = self.seconds.entry(phase.to_owned()).or_insert([second; 2]);
        *seconds = [seconds[0].min(second), seconds[1].max(second)];
    }

    /// Adds the counts of (phase, stream, op).
    pub(super) fn add(&mut self, names: &[String; 3], delta: &IntervalDelta) {
        let (stats, [failed, partial]) = self.sums.entry(names.clone()).or_default();
        add(stats, delta);
        self.failures.merge(&delta.failures);
        *failed += delta.errors;
        *partial += delta.partial;
    }

    /// Failed ops by cause, most frequent first, each with the second in which it was seen last.
    pub(super) fn failures(&self) -> Vec<(FailureRecord, u64)> {
        self.failures.seen()
    }

    /// Fills a draft's phases, results, and streams.
    pub(super) fn fill(&self, record: &mut RunRecord) {
        let plan = record.plan.definition.clone();
        record.phases = phases_of(&plan, &self.seconds);
        for (names, (stats, [failed, partial])) in &self.sums {
            let mut result = result_of(&plan, &record.phases, names.clone(), stats);
            let by_class = stats.failures.by_class();
            let others = failed.saturating_sub(by_class.values().sum());
            let named = by_class.into_iter().map(|(class, ops)| (class.name().to_owned(), ops));
            result.errors = named.collect();
            for (ops, by_class) in [(others, &mut result.errors), (*partial, &mut result.partial)] {
                if ops > 0 {
                    by_class.insert(UNCLASSIFIED.to_owned(), ops);
                }
            }
            if record.phases.iter().any(|p| p.name == result.phase && p.kind == PhaseKind::Measure)
            {
                record.streams.push(stream_of(&plan, &result));
            }
            record.results.push(result);
        }
        let sums = self.sums.values();
        record.audit.acknowledged = sums.map(|(stats, _)| stats.rows.acknowledged).sum();
    }
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
    stats.rows.refused += delta.rows_refused;
    stats.failures.merge(&delta.failures);
    stats.latency.merge(&delta.latency);
}

/// Phases as shown by the journal, in whole seconds.
fn phases_of(plan: &Plan, seconds: &BTreeMap<String, [u64; 2]>) -> Vec<PhaseRecord> {
    let mut phases: Vec<PhaseRecord> = seconds
        .iter()
        .map(|(name, [first, last])| {
            let planned = |name| plan.phases.iter().find(|phase| phase.name == name);
            // A phase of a changed pace is named after the one that it replaced.
            let changed = name.rsplit_once('-').and_then(|(before, _)| planned(before));
            let like = planned(name).or(changed);
            let kind = if name.ends_with(RAMP) {
                PhaseKind::WarmUp
            } else {
                like.map_or(PhaseKind::Load, |phase| phase.kind)
            };
            PhaseRecord {
                name: name.clone(),
                kind,
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
    let duration = phases.iter().find(|p| p.name == names[0]).map_or(0, |p| p.duration_ns);
    let (open, duration) = (is_open(plan, &names[1]), Nanos(duration));
    let seconds = duration.as_secs_f64().max(1.0);
    ResultRecord {
        throughput: ThroughputRecord {
            ops_per_s: to_f64(stats.acknowledged) / seconds,
            rows_per_s: to_f64(stats.rows.acknowledged) / seconds,
            ci95: None,
        },
        // Counts per 100 ms were in a scratch file, which was lost with the process.
        ..result_record(names, open, duration, stats, None)
    }
}

fn is_open(plan: &Plan, stream: &str) -> bool {
    let of_it = plan.streams.iter().filter(|planned| planned.name == stream);
    let mut paces = of_it.flat_map(|planned| &planned.paces);
    paces.any(|pace| matches!(pace, Pace::Open { .. }))
}

fn stream_of(plan: &Plan, result: &ResultRecord) -> StreamRecord {
    let planned = plan.streams.iter().find(|stream| stream.name == result.stream);
    StreamRecord {
        phase: result.phase.clone(),
        stream: result.stream.clone(),
        unit: planned.map_or(Unit::Queries, |stream| stream.unit),
        sessions: planned.map_or(0, |stream| stream.sessions),
        throughput: ThroughputRecord { ci95: None, ..result.throughput.clone() },
        ..StreamRecord::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_seconds_is_kept_in_as_many_sums_as_an_hour() {
        let mut journaled = Journaled::default();
        let names = |op: &str| ["measure", "insert", op].map(str::to_owned);
        for second in 0..86_400 {
            let mut delta = IntervalDelta::new(second, 0);
            (delta.offered, delta.acknowledged, delta.errors) = (10, 9, 1);
            journaled.see("measure", second);
            journaled.add(&names("insert"), &delta);
            journaled.add(&names("upsert"), &delta);
        }
        assert_eq!(journaled.sums.len(), 2);
        assert_eq!(journaled.seconds["measure"], [0, 86_399]);
        assert_eq!(journaled.sums[&names("insert")].0.offered, 864_000);
        assert_eq!(journaled.sums[&names("upsert")].1, [86_400, 0]);
    }
}
