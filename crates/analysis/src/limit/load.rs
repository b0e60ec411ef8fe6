//! Limits of the load itself: a saturated load generator, too few sessions, or batches that are too small. The last two
//! count only if nothing else came near its limit.

use highwater_model::display::ratio;
use highwater_model::limit::LimitFigure::{Busy, OfCeiling, Offered, RowsPerOp, Sessions};
use highwater_model::limit::Resource;

use super::input::{Candidate, Input};
use super::saturation::waits_for_sessions;
use crate::judge::measurement::{CLIENT_CPU_LIMIT, ceiling, greatest, planned_and_not_offered};

/// The load generator is at its ceiling from this fraction of it on.
const AT_CEILING: f64 = 0.9;
/// Batches of fewer rows are small: the cost of an op outweighs that of its rows.
const SMALL_BATCH: f64 = 100.0;
/// This many sessions load any target whose number of cores is unknown.
const MANY_SESSIONS: f64 = 32.0;

/// The CPU, the ceiling and the schedule of the load generator.
pub(super) fn load_generator(input: &Input<'_>) -> Option<Candidate> {
    // A model uses the CPU time of this process, perhaps on another clock.
    let is_simulated = input.record.target.simulated;
    let busy = input
        .record
        .clients
        .iter()
        .filter(|_| !is_simulated)
        .map(|client| client.cpu_fraction)
        .reduce(f64::max);
    let busy = busy.map(|busy| (Busy, busy, busy / CLIENT_CPU_LIMIT));
    let reached = greatest(&input.streams).map(|(reached, _)| reached);
    let of_ceiling = reached.zip(ceiling(input.record)).map(|(reached, ceiling)| {
        let part = reached / ceiling;
        (OfCeiling, part, part / AT_CEILING)
    });
    let late = input.streams.iter().filter_map(|stream| {
        let part = stream.units_offered() / planned_and_not_offered(stream)?;
        Some((Offered, part, 1.0 / part.max(f64::EPSILON)))
    });
    let mut evidence: Vec<_> = busy.into_iter().chain(of_ceiling).chain(late).collect();
    evidence.sort_by(|a, b| b.2.total_cmp(&a.2));
    let nearness = evidence.first()?.2;
    let evidence = evidence.into_iter().map(|(figure, value, _)| (figure, value));
    Some(Candidate::new(Resource::LoadGenerator, nearness, evidence))
}

/// There is a session for each of the target's cores, and an op is hardly any work for it.
pub(super) fn batch(input: &Input<'_>) -> Option<Candidate> {
    let cpu = cpu_if_bounded_by_sessions(input)?;
    let (ops, rows) = input.results().fold((0, 0), |(ops, rows), result| {
        let writes = result.rows.acknowledged > 0;
        let of_result = if writes { result.acknowledged } else { 0 };
        (ops + of_result, rows + result.rows.acknowledged)
    });
    let rows = ratio(rows, ops.max(1));
    let is_small = ops > 0 && rows < SMALL_BATCH;
    (is_small && input.sessions() >= cores(input).unwrap_or(MANY_SESSIONS))
        .then(|| Candidate::new(Resource::Batch, 1.0, [(RowsPerOp, rows), (Busy, cpu)]))
}

/// Every session is busy.
pub(super) fn sessions(input: &Input<'_>) -> Option<Candidate> {
    let cpu = cpu_if_bounded_by_sessions(input)?;
    let evidence = [(Sessions, input.sessions()), (Busy, cpu)];
    Some(Candidate::new(Resource::Sessions, 1.0, evidence))
}

/// CPU use of the target if all resources are reported, and more sessions would have sent more.
fn cpu_if_bounded_by_sessions(input: &Input<'_>) -> Option<f64> {
    let mut streams = input.streams.iter();
    let is_bounded = streams.any(|stream| !stream.is_open() || waits_for_sessions(stream));
    input.cpu_if_all_is_shown().filter(|_| is_bounded)
}

/// Cores of the whole target, if it reports them.
fn cores(input: &Input<'_>) -> Option<f64> {
    let of_node = input.setting("cores").or_else(|| input.setting("processors"))?;
    Some(of_node * input.setting("nodes").unwrap_or(1.0))
}
