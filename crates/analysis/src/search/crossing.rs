//! The rate at which the fraction of late ops exceeds the allowed one, from all probes together, as a distribution
//! that includes its uncertainty.
//!
//! The logarithm of the late fraction over the allowed one is nearly linear in the logarithm of the rate: y = b (x −
//! θ). θ is the crossing. Late ops come in bursts with a Poisson-distributed number: a fraction of s over a time t is
//! equivalent to K = E s bursts, with E = t / φ. The time per burst, φ, is estimated from all probes together, because
//! with few ops a probe with few bursts overestimates their precision. For each slope b, the level then has exactly a
//! gamma distribution (A. Gelman et al., "Bayesian data analysis", 3rd edition, 2013, section 2.6). Few ops determine
//! b poorly, but it is not unknown: most targets have 3 to 30. So b has a prior, which enough data outweigh, and the
//! distribution is a mixture over slopes.
//!
//! Must not select the next probe.

use highwater_model::numbers::{len_to_f64, to_f64};
use highwater_model::search::{Estimate, ProbeRecord, SearchAxis, SearchRecord};
use highwater_model::units::Nanos;

use super::length::{ops_needed, units_per_op};
use super::pooled_exceedance::{MARGIN_ERRORS, bursts, bursts_within, steady_share};
use crate::throughput::solve;

/// Higher fractions, relative to the allowed one, are too far from the crossing to be on the line, or to show
/// bursts there.
pub(super) const FARTHEST: f64 = 8.0;
const FARTHEST_BURSTS: f64 = 3.0;
/// The same applies to fractions below this, if they are based on more bursts than this.
const NEAREST: f64 = 0.1;
const FEW: f64 = 3.0;
/// Probes are coarse from this ratio of their margin to the mark's tolerance on.
const COARSE: f64 = 2.0;
/// Probes must also have fewer ops than this: with more, steps of the mark's tolerance find it.
const FEW_OPS: f64 = 100_000.0;
/// The line has an error of this fraction of the logarithm's distance from the crossing.
const BENDS: f64 = 0.1;
/// The prior of a slope: lognormal around this value, with this standard deviation of the logarithm,
/// between these bounds.
const SLOPE: f64 = 9.0;
const SLOPE_SPREAD: f64 = 0.8;
const SLOPES: (f64, f64) = (2.0, 400.0);
/// Grid of slopes.
const PARTS: u32 = 64;
/// Prior weight, in probes, of the assumption that the number of bursts is Poisson-distributed.
const SCATTER_DEGREES: f64 = 4.0;
/// Minimum number of late ops in a burst.
const OPS_OF_BURST: f64 = 2.0;
/// Minimum number of bursts that are meaningful.
const FEWEST: f64 = 2.0;
/// Probability beyond each end of an interval.
const TAIL: f64 = 0.05;
/// Student's distribution with some degrees of freedom is nearly a logistic one of this steepness, and is truncated
/// here; components below that weight are omitted.
const LOGISTIC: f64 = 1.6;
const FAR: f64 = 20.0;
const NEGLIGIBLE: f64 = 1e-6;

/// The distribution of the crossing.
#[derive(Debug)]
pub(super) struct Crossing {
    parts: Vec<Part>,
    slope: f64,
    /// Nanoseconds of allowed lateness per burst of late ops.
    burst_ns: f64,
    /// The same for confirmations, which vary like all probes.
    scattered_ns: f64,
}

/// The component for this slope.
#[derive(Debug)]
struct Part {
    weight: f64,
    slope: f64,
    /// The logarithm of the crossing, and its scale.
    at: f64,
    scale: f64,
}

/// A probe: the logarithm of its rate, its number of bursts, and the allowed number.
struct Point {
    x: f64,
    seen: f64,
    allowed: f64,
}

/// Nanoseconds of allowed lateness per burst of late ops; absent without late ops.
pub(super) fn burst_ns<'a>(
    probes: impl Iterator<Item = &'a ProbeRecord>,
    search: &SearchRecord,
) -> Option<f64> {
    let (mut near, mut all) = ((0.0, 0.0), (0.0, 0.0));
    for probe in probes {
        let Some((late, margin)) = steady_share(probe, search).filter(|(late, _)| *late > 0.0)
        else {
            continue;
        };
        let (ns, bursts) = (late * to_f64(probe.measured_ns), bursts(margin / late));
        if late <= FARTHEST_BURSTS {
            near = (near.0 + ns, near.1 + bursts);
        }
        all = (all.0 + ns, all.1 + bursts);
    }
    let (ns, bursts) = if near.1 > 0.0 { near } else { all };
    (bursts > 0.0).then_some(ns / bursts)
}

/// The bursts of late ops in a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LateBursts {
    /// Mean number of late ops in a burst.
    pub ops: f64,
    /// Mean time from one burst to the next, nanoseconds.
    pub every_ns: f64,
}

/// The bursts of late ops in a probe; absent if late ops were independent, or if no fraction of them is bounded.
pub fn late_bursts(search: &SearchRecord, probe: &ProbeRecord) -> Option<LateBursts> {
    let (late, margin) = steady_share(probe, search).filter(|(late, _)| *late > 0.0)?;
    let quantile_ppm = ops_needed(&search.objective.stated)?.quantile_ppm;
    let allowed = f64::from(1_000_000_u32.saturating_sub(quantile_ppm)) / 1e6;
    let measured_ns = to_f64(probe.measured_ns);
    let ops = probe.acknowledged_per_s / units_per_op(search) * measured_ns / 1e9;
    let number = bursts(margin / late);
    let found = LateBursts { ops: late * allowed * ops / number, every_ns: measured_ns / number };
    (found.ops >= OPS_OF_BURST).then_some(found)
}

fn point(probe: &ProbeRecord, search: &SearchRecord, burst_ns: f64) -> Option<Point> {
    let (late, _) = steady_share(probe, search).filter(|(late, _)| *late <= FARTHEST)?;
    let allowed = to_f64(probe.measured_ns) / burst_ns;
    let seen = late * allowed;
    // Far below the crossing, a line is wrong; without late ops, this does not matter.
    if late < NEAREST && seen > FEW {
        return None;
    }
    // A line is only approximately right, so far from the crossing no number of bursts is more precise
    // than that.
    let bend = if late > 0.0 { BENDS * late.ln() } else { 0.0 };
    let part = 1.0 / (1.0 + seen * bend * bend);
    Some(Point { x: probe.at.ln(), seen: seen * part, allowed: allowed * part })
}

/// Absent if no probe was near it.
pub(super) fn crossing<'a>(
    probes: impl Iterator<Item = &'a ProbeRecord> + Clone,
    search: &SearchRecord,
) -> Option<Crossing> {
    let burst_ns = burst_ns(probes.clone(), search)?;
    let points: Vec<Point> = probes.filter_map(|probe| point(probe, search, burst_ns)).collect();
    let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(of).sum::<f64>();
    let seen = sum(&|p| p.seen);
    if seen < FEWEST {
        return None;
    }
    let x = sum(&|p| p.seen * p.x) / seen;
    let expected = |slope: f64| sum(&|p| p.allowed * (slope * (p.x - x)).exp());
    let step = (SLOPES.1 / SLOPES.0).ln() / f64::from(PARTS - 1);
    let slopes = (0..PARTS).map(|n| SLOPES.0 * (step * f64::from(n)).exp());
    let mut parts: Vec<Part> = slopes
        .map(|slope| {
            let level = seen.ln() - expected(slope).ln();
            let from_prior = (slope / SLOPE).ln() / SLOPE_SPREAD;
            Part {
                weight: seen * level - 0.5 * from_prior * from_prior,
                slope,
                at: x - level / slope,
                scale: 1.0 / (seen.sqrt() * slope),
            }
        })
        .collect();
    let most = parts.iter().map(|part| part.weight).fold(f64::NEG_INFINITY, f64::max);
    let best = parts.iter().max_by(|a, b| a.weight.total_cmp(&b.weight))?;
    // Bursts that vary more than a Poisson distribution count less.
    let off = |p: &Point| {
        let mean = p.allowed * (best.slope * (p.x - best.at)).exp();
        (p.seen - mean).powi(2) / mean.max(0.1)
    };
    let scatter = ((SCATTER_DEGREES + sum(&off))
        / (SCATTER_DEGREES + len_to_f64(points.len()) - 1.0))
        .max(1.0);
    for part in &mut parts {
        let prior = ((part.slope / SLOPE).ln() / SLOPE_SPREAD).powi(2) * 0.5;
        part.weight = ((part.weight - most + prior) / scatter - prior).exp();
        part.scale *= scatter.sqrt();
    }
    let all: f64 = parts.iter().map(|part| part.weight).sum();
    for part in &mut parts {
        part.weight /= all;
    }
    let slope = parts.iter().map(|part| part.weight * part.slope).sum();
    Some(Crossing { parts, slope, burst_ns, scattered_ns: burst_ns * scatter })
}

impl Crossing {
    /// Whether a search probe has few ops, and distinguishes values less precisely than the mark
    /// requires.
    pub(super) fn is_coarse(&self, search: &SearchRecord) -> bool {
        let policy = &search.policy;
        let margin = MARGIN_ERRORS * (self.burst_ns / to_f64(policy.probe_ns)).sqrt();
        let per_s = self.estimate().value / units_per_op(search);
        let ops = per_s * Nanos(policy.probe_ns).as_secs_f64();
        policy.axis == SearchAxis::Rate
            && margin / self.slope > COARSE * policy.width
            && ops < FEW_OPS
    }

    /// The rate at which confirmations of this total length pass with this probability.
    pub(super) fn candidate(&self, probability: f64, together_ns: f64) -> f64 {
        let allowed = together_ns / self.scattered_ns;
        let within = bursts_within(allowed);
        let (lower, chance) = ((allowed / within).ln().max(0.0), 1.0 / within.sqrt());
        self.quantile(1.0 - probability, |part| {
            (part.at - lower / part.slope, part.scale.hypot(chance / part.slope))
        })
    }

    /// The median, and a 90% interval.
    pub(super) fn estimate(&self) -> Estimate {
        let at = |probability| self.quantile(probability, |part| (part.at, part.scale));
        Estimate { value: at(0.5), low90: at(TAIL), high90: at(1.0 - TAIL) }
    }

    /// A quantile of a mixture of such distributions, each given by its median and scale.
    fn quantile(&self, probability: f64, of: impl Fn(&Part) -> (f64, f64)) -> f64 {
        let parts: Vec<(f64, f64, f64)> = self
            .parts
            .iter()
            .filter(|part| part.weight > NEGLIGIBLE)
            .map(|part| (part.weight, of(part).0, of(part).1))
            .collect();
        let ends = |far: f64| parts.iter().map(move |(_, at, scale)| at + far * scale);
        let low = ends(-FAR).fold(f64::INFINITY, f64::min);
        let high = ends(FAR).fold(f64::NEG_INFINITY, f64::max);
        let below = |x: f64| {
            let part = |(weight, at, scale): &(f64, f64, f64)| {
                weight / (1.0 + (-LOGISTIC * (x - at) / scale).exp())
            };
            parts.iter().map(part).sum::<f64>()
        };
        solve(low, high, |x| below(x) >= probability).exp()
    }
}
