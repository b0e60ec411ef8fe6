//! Where the mark probably lies, from what probes measured beyond pass and fail.
//!
//! A guess only chooses the next probe. It never becomes a result.

use highwater_model::judgment::ReasonCode;
use highwater_model::plan::Objective;
use highwater_model::search::SearchAxis;

use super::history::{ProbeHistory, Status, Value};

/// An open probe that reached less than this share of its rate shows where the target gives out.
const GAVE_OUT: f64 = 0.98;
/// A rate that passed refutes a limit below this share of it.
const NOT_REFUTED: f64 = 0.95;
/// A straight line is followed so far beyond its points, as a factor.
const FARTHEST: f64 = 2.0;

/// A value and the pressure there.
type Point = (f64, f64);

/// A guess of the mark; `without` leaves one value's own figures out.
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
    // Where the target gives out every op is late, though few may fail.
    if history.search.objective.bounds_latency() {
        points.extend(knee.map(|knee| (knee, all_late(history))));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    root(&points).or(knee)
}

/// Whether all other probes foretell that this value fails.
pub(super) fn foretells(history: &ProbeHistory<'_>, failed: &Value) -> bool {
    mark(history, Some(failed.at)).is_some_and(|mark| mark <= failed.at)
}

/// Where the target gives out: what the lowest overloaded probe reached, or closed load.
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
    // Closed load may have had too few sessions, and an overload may cost capacity: a rate that
    // passed far above says so.
    let low = history.low().map_or(0.0, |low| low.at);
    reached.or(closed).filter(|knee| *knee > low * NOT_REFUTED)
}

/// The pressure when every op is late: ln(1 ÷ share allowed), of the strictest percentile.
fn all_late(history: &ProbeHistory<'_>) -> f64 {
    let strictest =
        history.search.objective.stated.iter().filter_map(Objective::quantile_ppm).max();
    let allowed = 1_000_000_u32.saturating_sub(strictest.unwrap_or(990_000));
    let allowed = f64::from(allowed.max(1));
    (1e6 / allowed).ln()
}

/// Where the pressure passes through zero: between the nearest points on both sides of it, else
/// beyond the two nearest.
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
