//! The probable location of the mark, from measurements of probes beyond pass and fail.
//!
//! A guess only selects the next probe. It never becomes a result.

use highwater_model::judgment::ReasonCode;
use highwater_model::plan::Objective;
use highwater_model::search::SearchAxis;

use super::history::{ProbeHistory, Status, Value};

/// An open probe that reached less than this fraction of its rate shows the target's capacity.
const GAVE_OUT: f64 = 0.98;
/// A rate that passed refutes a limit below this fraction of it.
const NOT_REFUTED: f64 = 0.95;
/// Maximum extrapolation of a straight line beyond its points, as a factor.
const FARTHEST: f64 = 2.0;

/// A value and its margin to the objective.
type Point = (f64, f64);

/// A guess of the mark; `without` excludes the figures of one value.
pub(super) fn mark(history: &ProbeHistory<'_>, without: Option<f64>) -> Option<f64> {
    let knee = knee(history, without);
    if !history.search.objective.allows_a_share() {
        return knee;
    }
    let mut points: Vec<Point> = history
        .values
        .iter()
        .filter(|value| value.status != Status::Ceiling && Some(value.at) != without)
        .filter(|value| knee.is_none_or(|knee| value.at < knee))
        .filter_map(|value| Some((value.at, value.pressure?)))
        .collect();
    // If the target is at its capacity, every op is late, even if few fail.
    if history.search.objective.bounds_latency() {
        points.extend(knee.map(|knee| (knee, all_late(history))));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    root(&points).or(knee)
}

/// Whether all other probes predict that this value fails.
pub(super) fn foretells(history: &ProbeHistory<'_>, failed: &Value) -> bool {
    mark(history, Some(failed.at)).is_some_and(|mark| mark <= failed.at)
}

/// The target's capacity: the rate reached by the lowest overloaded probe, or by closed load.
fn knee(history: &ProbeHistory<'_>, without: Option<f64>) -> Option<f64> {
    if history.policy().axis == SearchAxis::Sessions {
        return None;
    }
    let overloaded = history.values.iter().filter(|value| {
        let sustained = value.acknowledged_per_s >= value.at * GAVE_OUT;
        let says_so = value.reasons.contains(&ReasonCode::RateNotSustained);
        value.status == Status::Failed && says_so && !sustained && Some(value.at) != without
    });
    let reached = overloaded.map(|value| value.acknowledged_per_s).find(|reached| *reached > 0.0);
    let closed = history.closed_throughput().filter(|reached| *reached > 0.0);
    // Closed load may have had too few sessions, and an overload may reduce capacity; a rate that
    // passed far above shows this.
    let low = history.low().map_or(0.0, |low| low.at);
    reached.or(closed).filter(|knee| *knee > low * NOT_REFUTED)
}

/// The margin if every op is late: ln(1 ÷ allowed fraction), for the strictest percentile.
fn all_late(history: &ProbeHistory<'_>) -> f64 {
    let strictest =
        history.search.objective.stated.iter().filter_map(Objective::quantile_ppm).max();
    let allowed = 1_000_000_u32.saturating_sub(strictest.unwrap_or(990_000));
    let allowed = f64::from(allowed.max(1));
    (1e6 / allowed).ln()
}

/// The rate at which the margin is zero: between the nearest points on both sides, or else beyond
/// the two nearest.
fn root(points: &[Point]) -> Option<f64> {
    let below = points.iter().rev().find(|point| point.1 <= 0.0);
    let above =
        points.iter().find(|point| point.1 > 0.0 && below.is_none_or(|below| below.0 < point.0));
    let (a, b) = match (below, above) {
        (Some(below), Some(above)) => (*below, *above),
        _ if points.len() < 2 => return None,
        (Some(_), None) => (points[points.len() - 2], points[points.len() - 1]),
        (None, _) => (points[0], points[1]),
    };
    let slope = (b.1 - a.1) / (b.0 - a.0);
    let root = a.0 - a.1 / slope;
    let bounds = (a.0 / FARTHEST, b.0 * FARTHEST);
    (slope > 0.0 && root.is_finite()).then(|| root.clamp(bounds.0, bounds.1))
}
