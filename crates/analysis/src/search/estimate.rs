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
use highwater_model::search::{Estimate, ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis};
use highwater_model::units::Nanos;

use super::history::{ProbeHistory, judged};
use super::length::{of_few_ops, units_per_op};
use crate::throughput::student_quantile;

/// Each end of the interval leaves out this much.
const TAIL: f64 = 0.05;
/// The standard normal exceeds this with that probability.
const NORMAL_95: f64 = 1.645;
/// What a probe reached scatters by about this much, relative; two of them show their scatter badly, so
/// that it counts as much as this number of further ones.
const SCATTER: f64 = 0.003;
const SCATTER_WEIGHT: f64 = 4.0;
/// Of few ops intervals are longer by this factor; where no line tells, by the second.
const WIDENED: f64 = 2.0;
const WIDENED_WITHOUT_LINE: f64 = 2.5;
/// A search probe has few ops for a rate to be overloaded by more than chance if they are fewer than this.
const FEW_OPS: f64 = 30_000.0;
/// With fewer ops than this, a line reaches so far from the crossing that its bend moves it by this part.
const MANY_OPS: f64 = 300_000.0;
const BEND: f64 = 0.008;
/// Overloaded probes up to this far above the lowest failed value show the capacity; an overload far
/// above it may cost capacity.
const CLOSE: f64 = 1.5;

/// Absent where nothing passed or nothing failed, and no line says more.
///
/// It never lies above what was seen: what was reached anywhere, and the rates that were overloaded or whose
/// confirmations missed. A line or a mean that lies there all the same is refuted, and the bracket is what is left.
pub(super) fn estimate(history: &ProbeHistory<'_>) -> Option<Estimate> {
    let confirmed = history.confirmed().map_or(0.0, |value| value.at);
    let found = if history.search.objective.allows_a_share() {
        // Of overloaded probes that reached less than was confirmed, chance had a part.
        let reached = reached(history).filter(|reached| reached.high90 > confirmed);
        let most = reached.map_or(f64::INFINITY, |reached| reached.high90);
        let line = history.crossing().map(|crossing| crossing.estimate());
        line.filter(|line| line.low90 < most).map(|line| capped(line, most, most))
    } else {
        // What was confirmed is sustained, whatever the overloaded probes drew.
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

/// Of few ops chance lets confirmations miss below what holds, by as much as it lets others hold above it.
fn missed_by_chance(history: &ProbeHistory<'_>, missed: f64) -> f64 {
    let budget = history.policy().budget_ns.filter(|_| has_fewer_ops(history, FEW_OPS));
    let per_s = missed / units_per_op(history.search);
    budget.map_or(0.0, |budget| of_few_ops(per_s * Nanos(budget).as_secs_f64()).above)
}

/// No rate is sustained above this, and for certain none above that.
fn capped(found: Estimate, most: f64, certain: f64) -> Estimate {
    Estimate {
        value: found.value.min(most),
        low90: found.low90.min(most),
        high90: found.high90.min(certain),
    }
}

/// Of few ops the margins themselves are known badly.
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
    // What only short probes passed may not hold.
    let low = history.confirmed().or_else(|| history.low())?.at;
    let high = history.shown_to_fail_above(low)?.at.min(most);
    // A probe shows a rate no better than what it reached scatters.
    let scatter = 1.0 + scatter(history) * NORMAL_95;
    (low <= high).then(|| Estimate {
        value: (low * high).sqrt(),
        low90: low / scatter,
        high90: (high * scatter.powi(2)).min(most),
    })
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
            && (probe.purpose == ProbePurpose::Confirm
                || (history.coarse.is_none()
                    && !has_fewer_ops(history, FEW_OPS)
                    && is_overloaded(probe)))
    });
    missed.map(|probe| probe.at).filter(|at| *at > low).fold(f64::INFINITY, f64::min)
}

/// Whether a search probe of the highest rate that passed had fewer ops than these.
fn has_fewer_ops(history: &ProbeHistory<'_>, most: f64) -> bool {
    let policy = history.policy();
    let at = history.confirmed().or_else(|| history.low()).map_or(f64::MAX, |value| value.at);
    let ops = at / units_per_op(history.search) * Nanos(policy.probe_ns).as_secs_f64();
    policy.axis == SearchAxis::Rate && ops < most
}

/// Not by ops that failed, whose share the line is about.
fn is_overloaded(probe: &ProbeRecord) -> bool {
    let has = |code: ReasonCode| probe.reasons.contains(&code);
    let fails = has(ReasonCode::ObjectiveErrors) || has(ReasonCode::ObjectiveRejected);
    has(ReasonCode::Backlog) || (has(ReasonCode::RateNotSustained) && !fails)
}

/// How what a probe reached scatters, relative: by those that reached their rate, where it is drawn.
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
    let known = SCATTER_WEIGHT * (scatter(history) * value).powi(2);
    let degrees = number - 1.0 + SCATTER_WEIGHT;
    let error = ((squares + known) / degrees / number).sqrt();
    let half = error * student_quantile(TAIL, degrees);
    Some(Estimate { value, low90: value - half, high90: value + half })
}
