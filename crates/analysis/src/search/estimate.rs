//! Where the objective is just met, by all probes together, and how well that is known.
//!
//! A confirmed value is a floor, so it errs to the low side. An estimate errs to both sides alike. It
//! must not choose what to probe.
//!
//! - *Shares of late or failed ops*: a line through the logarithms of these fractions crosses what is
//!   allowed there. Each point has the margin of its own fraction, and more the farther it is from the
//!   crossing, since a line is only nearly right. The interval is Fieller's (E. C. Fieller, Journal of
//!   the Royal Statistical Society B 16, 1954), which is exact for the ratio of two estimates. What
//!   overloaded probes reached caps it.
//! - *Throughput*: what overloaded probes reached is the capacity.
//! - Where neither is known, or what was seen refutes it: the confirmed value, or the highest that passed, and the lowest
//!   that was shown to fail.

use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::len_to_f64;
use highwater_model::search::{
    Estimate, ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchRecord,
};

use super::history::{ProbeHistory, judged};
use super::pooled_exceedance::steady_share;
use crate::long_run::student_quantile;

/// Fractions of such ops, by what is allowed, that are part of the line.
const NEAR: std::ops::RangeInclusive<f64> = 0.1..=8.0;
/// A one-sided margin of 95% in standard errors.
const MARGIN_ERRORS: f64 = 1.645;
/// The line is off by this part of the logarithm's distance from the crossing.
const BENDS: f64 = 0.1;
/// Each end of the interval leaves out this much.
const TAIL: f64 = 0.05;
/// What a probe reached scatters by about this much, relative; two of them show their scatter badly, so
/// that it counts as much as so many more.
const SCATTER: f64 = 0.003;
const SCATTER_WEIGHT: f64 = 4.0;
/// Overloaded probes up to this far above the lowest failed value show the capacity; an overload far
/// above it may cost capacity.
const CLOSE: f64 = 1.5;

/// Absent where nothing passed or nothing failed, and no line says more.
///
/// It never lies above what was seen: what was reached anywhere, and the rates that were overloaded or whose
/// confirmations missed. A line or a mean that lies there all the same is refuted, and the bracket is what is left.
pub(super) fn estimate(history: &ProbeHistory<'_>) -> Option<Estimate> {
    let found = if history.search.objective.allows_a_share() {
        line(history)
            .map(|line| capped(line, reached(history).map_or(f64::INFINITY, |of| of.high90)))
    } else {
        reached(history)
    };
    let (most, missed) = (most_seen(history), lowest_missed(history));
    let found = found.filter(|found| found.low90 < missed && found.low90 <= most);
    found
        .map(|found| capped(found, most.min(missed)))
        .or_else(|| bracket(history, most.min(missed)))
        .filter(|of| {
            of.high90.is_finite() && 0.0 < of.low90 && of.low90 <= of.value && of.value <= of.high90
        })
}

/// No rate is sustained above this.
fn capped(found: Estimate, most: f64) -> Estimate {
    Estimate {
        value: found.value.min(most),
        low90: found.low90.min(most),
        high90: found.high90.min(most),
    }
}

fn bracket(history: &ProbeHistory<'_>, most: f64) -> Option<Estimate> {
    // What only short probes passed may not hold.
    let low = history.confirmed().or_else(|| history.low())?.at;
    let high = history.shown_to_fail_above(low)?.at.min(most);
    (low <= high).then(|| Estimate { value: (low * high).sqrt(), low90: low, high90: high })
}

/// The most that was acknowledged per second in any probe, with chance; without a bound for sessions.
fn most_seen(history: &ProbeHistory<'_>) -> f64 {
    if history.policy().axis == SearchAxis::Sessions {
        return f64::INFINITY;
    }
    let reached = history.probes.iter().map(|probe| probe.acknowledged_per_s);
    // Beside what was reached: a rate that passed is sustained, whatever was drawn of it.
    let passed = history.low().map_or(0.0, |low| low.at);
    reached.fold(passed, f64::max) * (1.0 + 2.0 * SCATTER)
}

/// The lowest value at which a probe was overloaded, or a confirmation shown to miss.
fn lowest_missed(history: &ProbeHistory<'_>) -> f64 {
    let low = history.confirmed().map_or(0.0, |value| value.at);
    let missed = judged(history.probes).filter(|probe| {
        probe.verdict == ProbeVerdict::Failed
            && (probe.purpose == ProbePurpose::Confirm || is_overloaded(probe))
    });
    missed.map(|probe| probe.at).filter(|at| *at > low).fold(f64::INFINITY, f64::min)
}

/// Not by ops that failed, whose share the line is about.
fn is_overloaded(probe: &ProbeRecord) -> bool {
    let has = |code: ReasonCode| probe.reasons.contains(&code);
    let fails = has(ReasonCode::ObjectiveErrors) || has(ReasonCode::ObjectiveRejected);
    has(ReasonCode::Backlog) || (has(ReasonCode::RateNotSustained) && !fails)
}

/// The capacity, by the throughput of overloaded probes; absent where rejections may have cost some of
/// it, or where there are none. Where one node of several is overloaded the others reach more, which the rates at which
/// it was bound.
fn reached(history: &ProbeHistory<'_>) -> Option<Estimate> {
    if history.policy().axis == SearchAxis::Sessions {
        return None;
    }
    let overloaded = |probe: &&ProbeRecord| {
        let has = |code: ReasonCode| probe.reasons.contains(&code);
        probe.verdict == ProbeVerdict::Failed
            && has(ReasonCode::RateNotSustained)
            && !has(ReasonCode::ObjectiveRejected)
            && !has(ReasonCode::ObjectiveErrors)
    };
    let all: Vec<&ProbeRecord> = judged(history.probes).filter(overloaded).collect();
    let lowest = all.iter().map(|probe| probe.at).fold(f64::MAX, f64::min);
    let reached: Vec<f64> = all
        .iter()
        .filter(|probe| probe.at <= lowest * CLOSE)
        .map(|probe| probe.acknowledged_per_s)
        .collect();
    let number = len_to_f64(reached.len());
    if number < 1.0 {
        return None;
    }
    let value = reached.iter().sum::<f64>() / number;
    let squares: f64 = reached.iter().map(|each| (each - value).powi(2)).sum();
    let known = SCATTER_WEIGHT * (SCATTER * value).powi(2);
    let degrees = number - 1.0 + SCATTER_WEIGHT;
    let error = ((squares + known) / degrees / number).sqrt();
    let half = error * student_quantile(TAIL, degrees);
    Some(Estimate { value, low90: value - half, high90: value + half })
}

/// A point of the line: value, logarithm of the fraction by what is allowed, weight.
struct Point {
    x: f64,
    y: f64,
    weight: f64,
}

fn point(probe: &ProbeRecord, search: &SearchRecord) -> Option<Point> {
    let (late, margin) = steady_share(probe, search).filter(|(late, _)| NEAR.contains(late))?;
    let y = late.ln();
    let error = (1.0 + margin / late).ln() / MARGIN_ERRORS;
    Some(Point { x: probe.at, y, weight: 1.0 / (error * error + (BENDS * y).powi(2)) })
}

fn line(history: &ProbeHistory<'_>) -> Option<Estimate> {
    let probes = judged(history.probes);
    let points: Vec<Point> = probes.filter_map(|p| point(p, history.search)).collect();
    let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(|p| p.weight * of(p)).sum::<f64>();
    let weight = sum(&|_| 1.0);
    let (x, y) = (sum(&|p| p.x) / weight, sum(&|p| p.y) / weight);
    let xx = sum(&|p| (p.x - x).powi(2));
    // One value shows no slope.
    if !weight.is_finite() || xx <= 1e-9 * weight * x * x {
        return None;
    }
    let slope = sum(&|p| (p.x - x) * (p.y - y)) / xx;
    let free = len_to_f64(points.len()) - 2.0;
    let residuals = sum(&|p| (p.y - y - slope * (p.x - x)).powi(2));
    // The margins are known beforehand, so that scatter can only widen them.
    let scatter = if free > 0.0 { (residuals / free).max(1.0) } else { 1.0 };
    let t2 = MARGIN_ERRORS * MARGIN_ERRORS * scatter;
    // Fieller: where (y + slope d)² = t² (1/W + d²/XX), d being the distance from the mean.
    let square = slope * slope - t2 / xx;
    let linear = 2.0 * y * slope;
    let rest = y * y - t2 / weight;
    let root = (linear * linear - 4.0 * square * rest).max(0.0).sqrt();
    (slope > 0.0 && square > 0.0).then(|| Estimate {
        value: x - y / slope,
        low90: x + (-linear - root) / (2.0 * square),
        high90: x + (-linear + root) / (2.0 * square),
    })
}
