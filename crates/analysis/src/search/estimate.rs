//! The rate at which the objective is just met, from all probes together, with its interval.
//!
//! A confirmed value is a floor, so it errs to the low side. An estimate errs equally to both sides.
//! Must not select the next probe.
//!
//! - *Fractions of late or failed ops*: the rate at which a line through the logarithms of these
//!   fractions crosses the allowed fraction. Each point has the margin of its fraction, plus a
//!   margin that grows with its distance from the crossing, since a line is only approximately right.
//!   The interval is Fieller's (E. C. Fieller, Journal of the Royal Statistical Society B 16, 1954),
//!   which is exact for the ratio of two estimates. The rates that overloaded probes reached limit
//!   it.
//! - *Throughput*: the rate that overloaded probes reached is the capacity.
//! - If neither is known, or if measurements refute it: the confirmed value, or the highest that passed, and the lowest
//!   that was shown to fail.

use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::len_to_f64;
use highwater_model::search::{Estimate, ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis};
use highwater_model::units::Nanos;

use super::history::{ProbeHistory, judged};
use super::length::{of_few_ops, units_per_op};
use crate::throughput::student_quantile;

/// Probability beyond each end of the interval.
const TAIL: f64 = 0.05;
/// The standard normal quantile for that probability.
const NORMAL_95: f64 = 1.645;
/// Assumed relative variation of the rate that a probe reaches. Two probes determine their variation
/// poorly, so this value has the weight of this number of further ones.
const SCATTER: f64 = 0.003;
const SCATTER_WEIGHT: f64 = 4.0;
/// With few ops, intervals are longer by this factor; without a line, by the second one.
const WIDENED: f64 = 2.0;
const WIDENED_WITHOUT_LINE: f64 = 2.5;
/// With fewer ops than this, a search probe cannot show that an overload is more than random variation.
const FEW_OPS: f64 = 30_000.0;
/// With fewer ops than this, a line extends so far from the crossing that its curvature moves it by this
/// fraction.
const MANY_OPS: f64 = 300_000.0;
const BEND: f64 = 0.008;
/// Overloaded probes up to this far above the lowest failed value show the capacity; an overload far
/// above it may cost capacity.
const CLOSE: f64 = 1.5;

/// Absent if nothing passed or nothing failed, and there is no line either.
///
/// It never lies above the measurements: the rates reached by any probe, and the rates that were overloaded or
/// whose confirmations missed. A line or a mean above them is refuted, and only the bracket remains.
pub(super) fn estimate(history: &ProbeHistory<'_>) -> Option<Estimate> {
    let confirmed = history.confirmed().map_or(0.0, |value| value.at);
    let found = if history.search.objective.allows_a_share() {
        // If overloaded probes reached less than the confirmed rate, random variation contributed.
        let reached = reached(history).filter(|reached| reached.high90 > confirmed);
        let most = reached.map_or(f64::INFINITY, |reached| reached.high90);
        let line = history.crossing().map(|crossing| crossing.estimate());
        line.filter(|line| line.low90 < most).map(|line| capped(line, most, most))
    } else {
        // A confirmed rate is sustained, whatever the overloaded probes reached.
        reached(history).filter(|found| found.value >= confirmed)
    };
    let found = found.map(|found| widened(history, found));
    let (most, missed) = (most_seen(history), lowest_missed(history));
    let by_chance = missed * (1.0 + missed_by_chance(history, missed));
    let capped = |found| capped(found, most.min(missed), most.min(by_chance));
    let found = found.filter(|found| found.low90 < missed && found.low90 <= most);
    found
        .or_else(|| Some(widened(history, bracket(history, most.min(missed))?)))
        .map(capped)
        .filter(|of| {
            of.high90.is_finite() && 0.0 < of.low90 && of.low90 <= of.value && of.value <= of.high90
        })
}

/// With few ops, confirmations may miss by chance below the true mark, by as much as others may pass above
/// it.
fn missed_by_chance(history: &ProbeHistory<'_>, missed: f64) -> f64 {
    let budget = history.policy().budget_ns.filter(|_| has_fewer_ops(history, FEW_OPS));
    let per_s = missed / units_per_op(history.search);
    budget.map_or(0.0, |budget| of_few_ops(per_s * Nanos(budget).as_secs_f64()).above)
}

/// No rate above the first value is sustained, and certainly none above the second.
fn capped(found: Estimate, most: f64, certain: f64) -> Estimate {
    Estimate {
        value: found.value.min(most),
        low90: found.low90.min(most),
        high90: found.high90.min(certain),
    }
}

/// With few ops, the margins themselves are uncertain.
fn widened(history: &ProbeHistory<'_>, found: Estimate) -> Estimate {
    let factor = match &history.coarse {
        Some(_) => WIDENED,
        None if has_fewer_ops(history, FEW_OPS) => WIDENED_WITHOUT_LINE,
        None => 1.0,
    };
    let bend = 1.0 + if has_fewer_ops(history, MANY_OPS) { BEND } else { 0.0 };
    let wider = |end: f64| found.value * (end / found.value).powf(factor);
    Estimate { low90: wider(found.low90) / bend, high90: wider(found.high90) * bend, ..found }
}

fn bracket(history: &ProbeHistory<'_>, most: f64) -> Option<Estimate> {
    // A rate that only short probes passed may not hold.
    let low = history.confirmed().or_else(|| history.low())?.at;
    let high = history.shown_to_fail_above(low)?.at.min(most);
    // A probe determines a rate no more precisely than the variation of its throughput.
    let scatter = 1.0 + scatter(history) * NORMAL_95;
    (low <= high).then(|| Estimate {
        value: (low * high).sqrt(),
        low90: low / scatter,
        high90: (high * scatter.powi(2)).min(most),
    })
}

/// The highest acknowledged rate of any probe, plus random variation; unbounded for sessions.
fn most_seen(history: &ProbeHistory<'_>) -> f64 {
    if history.policy().axis == SearchAxis::Sessions {
        return f64::INFINITY;
    }
    let reached = history.probes.iter().map(|probe| probe.acknowledged_per_s);
    // In addition to the reached rates: a rate that passed is sustained, whatever its arrivals
    // offered.
    let passed = history.low().map_or(0.0, |low| low.at);
    reached.fold(passed, f64::max) * (1.0 + 2.0 * SCATTER)
}

/// The lowest value at which a probe was overloaded, or a confirmation was shown to miss.
fn lowest_missed(history: &ProbeHistory<'_>) -> f64 {
    let low = history.confirmed().map_or(0.0, |value| value.at);
    let missed = judged(history.probes).filter(|probe| {
        probe.verdict == ProbeVerdict::Failed
            && (probe.purpose == ProbePurpose::Confirm
                || (history.coarse.is_none()
                    && !has_fewer_ops(history, FEW_OPS)
                    && is_overloaded(probe)))
    });
    missed.map(|probe| probe.at).filter(|at| *at > low).fold(f64::INFINITY, f64::min)
}

/// Whether a search probe of the highest rate that passed had fewer ops than this.
fn has_fewer_ops(history: &ProbeHistory<'_>, most: f64) -> bool {
    let policy = history.policy();
    let at = history.confirmed().or_else(|| history.low()).map_or(f64::MAX, |value| value.at);
    let ops = at / units_per_op(history.search) * Nanos(policy.probe_ns).as_secs_f64();
    policy.axis == SearchAxis::Rate && ops < most
}

/// Not because of failed ops, whose fraction the line describes.
fn is_overloaded(probe: &ProbeRecord) -> bool {
    let has = |code: ReasonCode| probe.reasons.contains(&code);
    let fails = has(ReasonCode::ObjectiveErrors) || has(ReasonCode::ObjectiveRejected);
    has(ReasonCode::Backlog) || (has(ReasonCode::RateNotSustained) && !fails)
}

/// Relative variation of the rate that a probe reaches: from probes that reached their rate, if
/// arrivals are random.
fn scatter(history: &ProbeHistory<'_>) -> f64 {
    let passed = judged(history.probes).filter(|probe| probe.verdict == ProbeVerdict::Passed);
    let off = |probe: &ProbeRecord| (probe.acknowledged_per_s / probe.at - 1.0).powi(2);
    let (squares, number) =
        passed.fold((0.0, 0.0), |(squares, number), probe| (squares + off(probe), number + 1.0));
    if history.policy().axis == SearchAxis::Sessions || number < 1.0 {
        return SCATTER;
    }
    f64::max((squares / number).sqrt(), SCATTER)
}

/// The capacity, from the throughput of overloaded probes; absent if rejections may have reduced it, or without such
/// probes. If one node of several is overloaded, the others reach more, which is bounded by the rates at which that was
/// the case.
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
    let known = SCATTER_WEIGHT * (scatter(history) * value).powi(2);
    let degrees = number - 1.0 + SCATTER_WEIGHT;
    let error = ((squares + known) / degrees / number).sqrt();
    let half = error * student_quantile(TAIL, degrees);
    Some(Estimate { value, low90: value - half, high90: value + half })
}
