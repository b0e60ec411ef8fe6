//! Contention while CPUs are not saturated: locks, and slots of a pool.

use highwater_model::display::ratio;
use highwater_model::limit::LimitFigure::{
    RejectedOps, RejectedPerS, Sessions, Waiting, WaitingPart,
};
use highwater_model::limit::Resource;
use highwater_model::numbers::round_to_u64;
use highwater_model::plan::Objective;
use highwater_model::target_telemetry::names;

use super::input::{Candidate, FULL, Input};
use super::saturation::{REJECTED_OPS, REJECTED_PART};
use crate::judge::shares::{offered, rejected_ops};
use crate::telemetry::{mean, part_at_least};

/// Locks limit the load if this fraction of the sessions waits for them.
const LOCKED: f64 = 0.25;
/// Closed load repeats rejected work at once, so a few rejections cost it nothing.
const REJECTED_CLOSED: f64 = 0.01;
/// In this fraction of the samples work waited for a slot of the pool although the CPU was not saturated. Work that
/// waits for a core only does so while the cores are busy, so its fraction of waiting is at most that of busy cores.
const WAITED: f64 = 0.9;
const ROOM: f64 = 0.6;

/// Sessions wait for each other's locks.
pub(super) fn locks(input: &Input<'_>) -> Option<Candidate> {
    let (waiting, sessions) = (input.sum(names::LOCK_WAITS)?, input.sessions());
    let nearness = input.if_cpu_is_known(waiting / (LOCKED * sessions).max(1.0));
    let evidence = [(Waiting, waiting), (Sessions, sessions)];
    Some(Candidate::new(Resource::Locks, nearness, evidence))
}

/// The pool rejects work, or delays it, while no CPU or disk is saturated.
pub(super) fn pool(input: &Input<'_>) -> Option<Candidate> {
    let cpu = input.cpu().filter(|busy| *busy < FULL)?;
    if input.unseen().contains(&Resource::Disk) {
        return None;
    }
    rejecting(input).or_else(|| waiting(input).filter(|_| cpu < ROOM))
}

fn rejecting(input: &Input<'_>) -> Option<Candidate> {
    let rejected: u64 = input.results().map(rejected_ops).sum();
    let offered: u64 = input.results().map(offered).sum();
    let inside = input.sum(names::REJECTED).unwrap_or(0.0);
    // Tasks that the target itself retries are compared with ops, too.
    let pieces = round_to_u64(inside * input.streams.first()?.seconds());
    let part = ratio(rejected.max(pieces), offered.max(1));
    let bounds =
        input.record.plan.definition.objectives.iter().filter_map(|objective| match objective {
            Objective::Rejected { max_ppm } => Some(f64::from(*max_ppm) / 1e6),
            _ => None,
        });
    let is_missed = bounds.min_by(f64::total_cmp).is_some_and(|most| part > most);
    let is_closed = input.streams.iter().any(|stream| !stream.is_open());
    let least = if is_closed { REJECTED_CLOSED } else { REJECTED_PART };
    let nearness = if is_missed { 1.0 } else { part / least };
    let of_ops = ratio(rejected, offered.max(1));
    let evidence = [(RejectedOps, of_ops), (RejectedPerS, inside)];
    let found = Candidate::new(Resource::WritePool, nearness, evidence);
    (is_missed || rejected.max(pieces) >= REJECTED_OPS).then(|| {
        match input.greatest(names::REJECTED) {
            Some((series, _)) => found.at(series),
            None => found,
        }
    })
}

fn waiting(input: &Input<'_>) -> Option<Candidate> {
    let over = input.over.as_ref()?;
    let waited = over.series(names::QUEUE).filter_map(|series| {
        let part = part_at_least(over.telemetry, series, over.range, 1.0)?;
        Some((series, part))
    });
    let (series, part) = waited.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let waiting = mean(over.telemetry, series, over.range)?;
    let evidence = [(Waiting, waiting), (WaitingPart, part)];
    Some(Candidate::new(Resource::WritePool, part / WAITED, evidence).at(series))
}
