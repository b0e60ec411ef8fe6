//! The limit: the one resource that kept a run from being faster, from the utilization, saturation, and errors of each
//! resource in the telemetry.
//!
//! The method is Gregg's USE method ("Thinking Methodically about Performance", ACM Queue 10(12), 2012). A resource is
//! named only if its evidence clears a documented bound; otherwise the limit is not identified. Must not read findings
//! or judgments of other rules, or produce text.

mod input;
mod rules;
#[cfg(test)]
mod tests;

use highwater_model::limit::{Limit, LimitingResource};
use highwater_model::record::RunRecord;
use highwater_model::search::{ProbeRecord, SearchOutcome, SearchRecord};

use input::{Candidate, Input};

/// If nothing came nearer to its bound than this, the target is idle and the load too small: CPUs and disks were busy
/// for at most half of the time.
const IDLE: f64 = 0.55;
/// A resource that came nearer to its bound than this may be the runner-up.
const NEXT: f64 = 0.5;

type Rule = fn(&Input<'_>) -> Option<Candidate>;

/// In causal order. A saturated load generator shows nothing about the target. A target that throttles reports the
/// reason itself. A busy CPU or disk lengthens lock waits and queues, not the reverse. Sessions and batches are too
/// small only if the target is idle.
const RULES: &[Rule] = &[
    rules::load_generator,
    rules::write_stalls,
    rules::parts,
    rules::compaction,
    rules::replication,
    rules::cpu,
    rules::disk,
    rules::network,
    rules::admission_control,
    rules::locks,
    rules::pool,
    rules::batch,
    rules::sessions,
];

/// The limit of the last measured phase at or beyond saturation; absent if there was none.
pub fn limit(record: &RunRecord) -> Option<Limit> {
    let (phase, saturation) = input::last_saturated(record)?;
    let input = Input::of(record, phase);
    let mut candidates: Vec<Candidate> = RULES.iter().filter_map(|rule| rule(&input)).collect();
    let is_idle = |of: &Candidate| of.is_of_small_load() || of.nearness < IDLE;
    if !candidates.iter().all(is_idle) {
        candidates.retain(|candidate| !candidate.is_of_small_load());
    }
    let by = candidates.iter().position(Candidate::is_at_limit);
    let by = by.map(|position| candidates.remove(position).resource);
    Some(Limit {
        phase: phase.name.clone(),
        saturation,
        by,
        next: next(candidates),
        unseen: input.unseen(),
    })
}

/// Another resource at its limit, or else the nearest one.
fn next(mut candidates: Vec<Candidate>) -> Option<LimitingResource> {
    if let Some(position) = candidates.iter().position(Candidate::is_at_limit) {
        return Some(candidates.remove(position).resource);
    }
    let nearest = candidates
        .into_iter()
        .filter(|of| of.nearness >= NEXT)
        .max_by(|a, b| a.nearness.total_cmp(&b.nearness));
    nearest.map(|candidate| candidate.resource)
}

/// The limit of a search's mark: that of the run that showed that the mark does not hold for long, or else of the probe
/// nearest above it. If none is identified there, that of any other saturated probe.
pub fn of_search(search: &SearchRecord) -> Option<&Limit> {
    let mark = match search.outcome.as_ref()? {
        SearchOutcome::Mark(mark) => mark.confirmed,
        SearchOutcome::NoMark(no_mark) => no_mark.highest_met.unwrap_or(0.0),
    };
    let is_above = |probe: &&ProbeRecord| probe.at > mark && probe.purpose.judges();
    let mut above: Vec<&ProbeRecord> = search.probes.iter().filter(is_above).collect();
    above.sort_by(|a, b| a.at.total_cmp(&b.at));
    let all = || search.soak().into_iter().chain(above.iter().copied()).chain(&search.probes);
    let limits = || all().filter_map(|probe| probe.limit.as_ref());
    limits().find(|limit| limit.by.is_some()).or_else(|| limits().next())
}
