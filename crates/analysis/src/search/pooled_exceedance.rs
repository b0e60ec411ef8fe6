//! Late ops of several probes together: the predicted result of confirmations, and the value at
//! which they would just pass.
//!
//! A probe is short, so its fraction of late ops has a margin, and its verdict requires the whole
//! margin to be within the bound. Confirmations together have a smaller margin. A search for values
//! that a single short probe passes would stay below the values that its confirmations can show.

use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::{len_to_f64, to_f64};
use highwater_model::search::{ProbeRecord, ProbeVerdict, SearchPolicy, SearchRecord};

/// Range of fractions of late ops, relative to the allowed one, within which their logarithm is
/// assumed to be linear.
const STRAIGHT: std::ops::RangeInclusive<f64> = 0.1..=8.0;
/// The margin of all confirmations is assumed to be at most this fraction of the allowed one.
pub(super) const MARGIN_MAX: f64 = 0.7;
/// A one-sided margin of 95% in standard errors.
pub(super) const MARGIN_ERRORS: f64 = 1.645;
/// A candidate is abandoned if its confirmations are this many standard errors from passing together: one in five
/// would pass.
const HOPELESS: f64 = 0.84;
/// See [`bursts`].
const BEYOND_ROOT: f64 = 1.8;
/// Minimum number of bursts to aim for.
const FEWEST_WITHIN: f64 = 0.5;

/// The fraction of late ops relative to the allowed one, and its margin at 95%.
pub(super) fn share(probe: &ProbeRecord) -> Option<(f64, f64)> {
    let late = probe.late?;
    Some((late, (probe.pressure?.exp() - late).max(f64::MIN_POSITIVE)))
}

/// The same; absent for an overloaded probe whose ops are late because of a backlog, which grows with its
/// length. If ops are only rejected, there is no backlog.
pub(super) fn steady_share(probe: &ProbeRecord, search: &SearchRecord) -> Option<(f64, f64)> {
    let beyond = [ReasonCode::RateNotSustained, ReasonCode::Backlog];
    let overloaded = beyond.iter().any(|code| probe.reasons.contains(code));
    share(probe).filter(|_| !overloaded || !search.objective.bounds_latency())
}

/// Whether a fraction above the allowed one may be random.
pub(super) fn is_unclear(probe: &ProbeRecord) -> bool {
    share(probe).is_some_and(|(late, margin)| late - margin <= 1.0)
}

/// The result of a value's confirmations together, as a margin to the objective, if each had the
/// fraction of late ops of the longest of these probes: the margin of a mean shrinks with the
/// square root of the time.
pub(super) fn together(probes: &[&ProbeRecord], policy: &SearchPolicy) -> Option<f64> {
    let telling = probes.iter().filter_map(|p| Some((p.measured_ns, share(p)?)));
    let longest = telling.clone().map(|(measured_ns, _)| measured_ns).max()?;
    let (mut late, mut margins, mut number) = (0.0, 0.0, 0.0);
    for (_, (share, margin)) in telling.filter(|(measured_ns, _)| *measured_ns == longest) {
        late += share;
        margins += margin * margin;
        number += 1.0;
    }
    let times = (all_ns(policy) / (to_f64(longest) * number)).max(1.0);
    Some(((late + (margins / times).sqrt()) / number).ln())
}

/// The value at which the confirmations would just pass, from a straight line through the
/// logarithms of the fractions of all probes, each weighted by the inverse of its variance: with
/// exponential service times this line is exact for one server, P(T > t) = e^(−(μ−λ)t). Absent
/// without such a line.
pub(super) fn crossing<'a>(
    probes: impl Iterator<Item = &'a ProbeRecord>,
    search: &SearchRecord,
) -> Option<f64> {
    let mut sums = Sums::default();
    for probe in probes {
        if let Some((late, margin)) = steady_share(probe, search)
            && STRAIGHT.contains(&late)
        {
            // The margin at the bound, over the time of all confirmations.
            let part = to_f64(probe.measured_ns) / all_ns(&search.policy);
            let all = margin / late.sqrt() * part.sqrt();
            sums.add(probe.at, late.ln(), (late / margin).powi(2), all);
        }
    }
    sums.crossing()
}

/// Weighted sums of points (value, ln of the fraction).
#[derive(Default)]
struct Sums {
    /// The first value; others are divided by it, so that squares stay exact.
    unit: f64,
    weight: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    margin: f64,
}

impl Sums {
    fn add(&mut self, at: f64, y: f64, weight: f64, margin: f64) {
        if self.weight <= 0.0 {
            self.unit = at;
        }
        let x = at / self.unit;
        self.weight += weight;
        self.x += weight * x;
        self.y += weight * y;
        self.xx += weight * x * x;
        self.xy += weight * x * y;
        self.margin += weight * margin;
    }

    fn crossing(&self) -> Option<f64> {
        let spread = self.weight * self.xx - self.x * self.x;
        // A single value has no slope.
        if spread <= 1e-9 * self.weight * self.xx {
            return None;
        }
        let slope = (self.weight * self.xy - self.x * self.y) / spread;
        let base = (self.y - slope * self.x) / self.weight;
        let margin = (self.margin / self.weight).min(MARGIN_MAX);
        let at = ((1.0 - margin).ln() - base) / slope * self.unit;
        (slope > 0.0 && at.is_finite() && at > 0.0).then_some(at)
    }
}

/// Fractions of late ops over a time. Late ops come in bursts with a Poisson-distributed number K: over `ns`, the
/// upper 95% bound is `share` plus a term that shrinks with the square root of the time, and one that shrinks with the
/// time.
#[derive(Clone, Copy)]
struct PooledShare {
    share: f64,
    root: f64,
    beyond_root: f64,
    ns: f64,
}

/// The number of bursts with such a relative margin: the upper 95% bound of a Poisson number K is nearly K + 1.645 √K +
/// 1.8.
pub(super) fn bursts(margin: f64) -> f64 {
    let root = MARGIN_ERRORS * MARGIN_ERRORS + 4.0 * BEYOND_ROOT * margin;
    ((MARGIN_ERRORS + root.sqrt()) / (2.0 * margin)).powi(2)
}

/// The largest number of bursts whose upper bound is at most `allowed`, by the same margin; at least the number
/// that a few confirmations can have.
pub(super) fn bursts_within(allowed: f64) -> f64 {
    let square = MARGIN_ERRORS * MARGIN_ERRORS + 4.0 * (allowed - BEYOND_ROOT).max(0.0);
    ((square.sqrt() - MARGIN_ERRORS) / 2.0).powi(2).max(FEWEST_WITHIN)
}

/// The bursts of all probes are counted together, because a sum of Poisson numbers is a Poisson number; adding margins
/// one by one would ignore their skewness. Absent if there are none, or if one is unknown.
fn pooled<'a>(probes: impl Iterator<Item = &'a ProbeRecord>) -> Option<PooledShare> {
    let (mut late_ns, mut number, mut ns, mut none) = (0.0, 0.0, 0.0, 0.0);
    for probe in probes {
        let (late, margin) = share(probe)?;
        let measured_ns = to_f64(probe.measured_ns);
        late_ns += late * measured_ns;
        ns += measured_ns;
        if late > 0.0 {
            number += bursts(margin / late);
        } else {
            none += 1.0 / margin;
        }
    }
    let burst = if number > 0.0 { late_ns / number / ns } else { 0.0 };
    let root = MARGIN_ERRORS * burst * number.sqrt();
    let beyond_root = if number > 0.0 { BEYOND_ROOT * burst } else { 1.0 / none };
    (ns > 0.0).then(|| PooledShare { share: late_ns / ns, root, beyond_root, ns })
}

/// Whether the confirmations of a value pass together although each may not, or may pass after `more` of them. Probes
/// of higher values are included if that helps, because they had at least as many late ops.
pub(super) fn may_hold(own: &[&ProbeRecord], above: &[&ProbeRecord], more: u32) -> bool {
    if own.iter().all(|probe| probe.verdict == ProbeVerdict::Passed) {
        return true;
    }
    let Some(of_own) = pooled(own.iter().copied()) else {
        return false;
    };
    let more_ns = of_own.ns / len_to_f64(own.len()) * f64::from(more);
    let with_above = pooled(own.iter().chain(above).copied());
    holds(of_own, more_ns) || with_above.is_some_and(|all| holds(all, more_ns))
}

/// Whether the margin is within the allowed fraction, or may be after this much more time.
fn holds(seen: PooledShare, more_ns: f64) -> bool {
    let all = seen.ns + more_ns;
    let part = seen.ns / all;
    let margin = seen.root * part.sqrt() + seen.beyond_root * part;
    // Further measurements vary around the observed fraction, which is itself uncertain.
    let error = seen.root / MARGIN_ERRORS * (more_ns / all).sqrt();
    seen.share + margin <= 1.0 + HOPELESS * error
}

pub(super) fn all_ns(policy: &SearchPolicy) -> f64 {
    to_f64(policy.confirmation_ns) * f64::from(policy.confirmations)
}
