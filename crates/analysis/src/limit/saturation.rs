//! The measured phases at or beyond saturation, and the sign of it. Must not name the limit.

use highwater_model::judgment::ObjectiveValue;
use highwater_model::limit::SaturationSign;
use highwater_model::record::{PhaseRecord, RunRecord};

use crate::judge::measurement::planned_and_not_offered;
use crate::judge::objective::is_sustained;
use crate::judge::shares::{offered, rejected_ops};
use crate::judge::{MeasuredStream, measured_streams};
use highwater_model::display::ratio;

/// Fewer rejected ops, or a smaller fraction, are not a pattern.
pub(super) const REJECTED_OPS: u64 = 10;
pub(super) const REJECTED_PART: f64 = 0.001;

/// The last phase that was saturated.
pub(super) fn last_saturated(record: &RunRecord) -> Option<(&PhaseRecord, SaturationSign)> {
    let measured = measured_streams(record);
    let is_missed = record.judgments.objective.value == ObjectiveValue::Missed
        && !record.plan.definition.objectives.is_empty();
    let mut phases = measured.iter().map(|stream| stream.phase).rev();
    phases.find_map(|phase| {
        let streams: Vec<&MeasuredStream<'_>> =
            measured.iter().filter(|of| of.phase.name == phase.name).collect();
        if streams.iter().all(|stream| stream.answered() == 0) {
            return None;
        }
        Some((phase, sign(&streams, is_missed)?))
    })
}

fn sign(streams: &[&MeasuredStream<'_>], is_missed: bool) -> Option<SaturationSign> {
    let any = |of: fn(&MeasuredStream<'_>) -> bool| streams.iter().any(|stream| of(stream));
    let signs = [
        (any(|of| !of.is_open()), SaturationSign::ClosedLoad),
        (any(|of| planned_and_not_offered(of).is_some()), SaturationSign::NotOffered),
        (any(|of| !is_sustained(of) || drops(of)), SaturationSign::NotAcknowledged),
        (any(rejects), SaturationSign::Rejected),
        (any(waits_for_sessions), SaturationSign::SessionWait),
        (is_missed, SaturationSign::Objective),
    ];
    signs.into_iter().find_map(|(holds, sign)| holds.then_some(sign))
}

fn drops(stream: &MeasuredStream<'_>) -> bool {
    let mut results = stream.results.iter();
    results.any(|result| result.backlog)
}

fn rejects(stream: &MeasuredStream<'_>) -> bool {
    let results = || stream.results.iter().copied();
    let rejected: u64 = results().map(rejected_ops).sum();
    let offered: u64 = results().map(offered).sum();
    rejected >= REJECTED_OPS && ratio(rejected, offered) >= REJECTED_PART
}

/// Whether ops of open load waited longer for a session than for the response.
pub(super) fn waits_for_sessions(stream: &MeasuredStream<'_>) -> bool {
    let mut results = stream.results.iter();
    stream.is_open()
        && results.any(|result| {
            result
                .session_wait_ns
                .p50
                .zip(result.service_ns.p50)
                .is_some_and(|(wait, service)| wait > service)
        })
}
