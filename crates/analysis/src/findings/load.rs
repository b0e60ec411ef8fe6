//! Rules about how the target handled the load: rejections and sessions.

use highwater_model::display::{count, duration, percent, rate, ratio};
use highwater_model::search::{ProbeRecord, SearchAxis, SearchRecord};

use super::rule::{RuleFinding, RuleInput};
use crate::judge::shares::rejected_ops;

/// Fewer rejected ops, or a smaller fraction, are not a pattern.
const REJECTED_OPS: u64 = 10;
const REJECTED_SHARE: f64 = 0.001;
/// With more sessions, throughput has fallen if it is below this fraction of its best.
const FALLEN: f64 = 0.95;

/// The target refuses work for lack of capacity.
pub(super) fn rejected_writes(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let results = read.measured.iter().flat_map(|stream| &stream.results);
    let (mut rejected, mut offered) = (0_u64, 0_u64);
    for result in results {
        rejected += rejected_ops(result);
        offered += result.offered;
    }
    let share = ratio(rejected, offered);
    let is_reported = rejected >= REJECTED_OPS && share >= REJECTED_SHARE;
    let ([rejected, all], share) = ([rejected, offered].map(count), percent(share));
    is_reported.then(|| RuleFinding {
        code: "rejected_ops",
        sentence: "the target rejected ops for lack of capacity".to_owned(),
        evidence: format!("{rejected} of {all} ops, {share}"),
        hint: "use fewer sessions (-c), lower --rate, or lengthen the target's queue; `highwater find` \
               finds the highest rate without rejections",
    })
}

/// Ops of open load wait longer for an idle session than for the response.
pub(super) fn sessions_busy(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let mut waiting = read.measured.iter().filter(|stream| stream.is_open()).flat_map(|stream| {
        let sessions = stream.stream.sessions;
        stream.results.iter().filter_map(move |result| {
            let (door, service) = (result.session_wait_ns.p50?, result.service_ns.p50?);
            (door > service).then_some((sessions, door, service))
        })
    });
    let (sessions, door, service) = waiting.next()?;
    let [door, service] = [door, service].map(duration);
    Some(RuleFinding {
        code: "sessions_busy",
        sentence: "ops waited longer for a session than for the response".to_owned(),
        evidence: format!("medians {door} and {service}, with {sessions} sessions"),
        hint: "add sessions (-c); if responses only get slower, the target is at its limit",
    })
}

/// In a search over sessions, throughput fell with more sessions.
pub fn more_sessions_less(search: &SearchRecord) -> Option<RuleFinding> {
    if search.axis != SearchAxis::Sessions {
        return None;
    }
    let reached = |probe: &&ProbeRecord| probe.acknowledged_per_s > 0.0;
    let probes = search.probes.iter().filter(reached);
    let best =
        probes.clone().max_by(|a, b| a.acknowledged_per_s.total_cmp(&b.acknowledged_per_s))?;
    let most = probes.max_by(|a, b| a.at.total_cmp(&b.at))?;
    let fell = most.acknowledged_per_s < best.acknowledged_per_s * FALLEN;
    let figures = [best, most].map(|probe| [probe.acknowledged_per_s, probe.at].map(rate));
    let ([[best, best_at], [reached, at]], unit) = (figures, search.unit.name());
    fell.then(|| RuleFinding {
        code: "too_many_sessions",
        sentence: "throughput fell as sessions became more".to_owned(),
        evidence: format!("{best} {unit}/s at {best_at} sessions, {reached} at {at}"),
        hint: "no more sessions than where throughput was highest",
    })
}
