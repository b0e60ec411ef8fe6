//! Throttling by the target, which reports the reason.

use highwater_model::limit::LimitFigure::{
    DelayedInserts, Overload, Parts, Paused, StallsPerS, Waiting,
};
use highwater_model::limit::Resource;
use highwater_model::target_telemetry::names;

use super::input::{Candidate, Input};

/// A store with this many write stalls per second is at its limit.
const STALLS_PER_S: f64 = 1.0;
/// The setting for the number of parts per partition from which on the target delays inserts.
const PARTS_LIMIT: &str = "parts_to_delay_insert";
/// Inserts of this fraction of the sessions are delayed at any time.
const DELAYED: f64 = 0.1;
/// Replication that is paused for this fraction of the time limits writes.
const PAUSED: f64 = 0.2;
/// Work of this fraction of the sessions is throttled at any time.
const HELD_BACK: f64 = 0.25;

/// The storage engine stops writes.
pub(super) fn write_stalls(input: &Input<'_>) -> Option<Candidate> {
    let (series, per_s) = input.greatest(names::WRITE_STALLS)?;
    let evidence = [(StallsPerS, per_s)];
    Some(Candidate::new(Resource::WriteStalls, per_s / STALLS_PER_S, evidence).at(series))
}

/// Inserts are delayed because there are too many parts.
pub(super) fn parts(input: &Input<'_>) -> Option<Candidate> {
    let parts = input.greatest(names::PARTS_OF_PARTITION);
    let delayed = input.sum(names::DELAYED_INSERTS);
    let of_limit = parts
        .zip(input.setting(PARTS_LIMIT).filter(|limit| *limit > 0.0))
        .map_or(0.0, |((_, parts), limit)| parts / limit);
    let held_up = delayed.map_or(0.0, |inserts| inserts / (DELAYED * input.sessions()));
    let parts = parts.map(|(_, parts)| (Parts, parts));
    let delayed = delayed.map(|inserts| (DelayedInserts, inserts));
    let evidence: Vec<_> = parts.into_iter().chain(delayed).collect();
    let nearness = of_limit.max(held_up);
    (!evidence.is_empty()).then(|| Candidate::new(Resource::Parts, nearness, evidence))
}

/// Compaction lags by as much as the target considers an overload.
pub(super) fn compaction(input: &Input<'_>) -> Option<Candidate> {
    let (series, overload) = input.greatest(names::COMPACTION_OVERLOAD)?;
    let evidence = [(Overload, overload)];
    Some(Candidate::new(Resource::Compaction, overload, evidence).at(series))
}

/// Replication waits for a node.
pub(super) fn replication(input: &Input<'_>) -> Option<Candidate> {
    let (series, paused) = input.greatest(names::REPLICATION_PAUSED)?;
    let evidence = [(Paused, paused)];
    Some(Candidate::new(Resource::Replication, paused / PAUSED, evidence).at(series))
}

/// Work waits to be admitted.
pub(super) fn admission_control(input: &Input<'_>) -> Option<Candidate> {
    let waits = [names::ADMISSION_WAITS, names::ADMISSION_STORE_WAITS];
    let waiting = waits.into_iter().filter_map(|name| input.sum(name)).reduce(|a, b| a + b)?;
    let least = (HELD_BACK * input.sessions()).max(1.0);
    let nearness = input.if_cpu_is_known(waiting / least);
    let (resource, evidence) = (Resource::AdmissionControl, [(Waiting, waiting)]);
    Some(Candidate::new(resource, nearness, evidence))
}
