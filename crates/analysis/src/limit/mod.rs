//! The limit: the one resource that kept a run from being faster, by utilization, saturation, and errors of
//! each resource that telemetry shows.
//!
//! The method is Gregg's ("Thinking Methodically about Performance", ACM Queue 10(12), 2012: the USE
//! method). A resource is named only where its evidence clears a documented bound, else the limit is not
//! identified. Must not read findings or judgments of other rules, and must not make text.

mod contention;
mod input;
mod load;
mod saturation;
#[cfg(test)]
mod tests;
mod throttles;
mod utilization;

use highwater_model::limit::{Limit, LimitingResource};
use highwater_model::record::RunRecord;
use highwater_model::search::{ProbeRecord, SearchOutcome, SearchRecord};

use input::{Candidate, Input};

/// A target idles, and its load is too small for it, where nothing came nearer to its bound than this: its
/// CPUs and disks were busy for half of the time at most.
const IDLE: f64 = 0.55;
/// A resource that came nearer to its bound than this may be the runner-up.
const NEXT: f64 = 0.5;

type Rule = fn(&Input<'_>) -> Option<Candidate>;

/// In the order in which one explains another. A saturated load generator says nothing of the target. A target
/// that holds work back says itself why. A busy CPU or disk makes locks and queues longer, not the
/// other way round. Sessions and batches are too small only where the target idles.
const RULES: &[Rule] = &[
    load::load_generator,
    throttles::write_stalls,
    throttles::parts,
    throttles::compaction,
    throttles::replication,
    utilization::cpu,
    utilization::disk,
    utilization::network,
    throttles::admission_control,
    contention::locks,
    contention::pool,
    load::batch,
    load::sessions,
];

/// What limited the last measured phase that was at or beyond saturation; absent where none was.
pub fn limit(record: &RunRecord) -> Option<Limit> {
    let (phase, saturation) = saturation::last_saturated(record)?;
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

/// Another one at its limit, or else the one nearest to it.
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

/// What kept the mark of a search from being higher: the limit of the run that showed that it does not hold for
/// long, or else of the probe nearest above it. Where none is identified there, that of any other
/// saturated probe.
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
