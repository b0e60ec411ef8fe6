//! How late ops were, of several probes together: what confirmations would show, and at which value.
//!
//! A probe is short, so its share of late ops has a margin, and its verdict asks for more than the
//! share itself: the whole of the margin must be within the bound. Confirmations have a smaller
//! margin together. A search that looked only for values that a single short probe passes would
//! stay below what its confirmations can show.

use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::{len_to_f64, to_f64};
use highwater_model::search::{ProbeRecord, ProbeVerdict, SearchPolicy, SearchRecord};

/// Shares of late ops, by what is allowed, between which their logarithm is taken to be straight.
const STRAIGHT: std::ops::RangeInclusive<f64> = 0.1..=8.0;
/// The margin of all confirmations is taken to be at most this share of what is allowed.
pub(super) const MARGIN_MAX: f64 = 0.7;
/// A one-sided margin of 95% in standard errors.
pub(super) const MARGIN_ERRORS: f64 = 1.645;
/// A candidate is left where its confirmations will hold together less often than by this many standard errors: one in
/// five.
const HOPELESS: f64 = 0.84;
/// See [`bursts`].
const BEYOND_ROOT: f64 = 1.8;
/// Fewer bursts than this are not aimed at.
const FEWEST_WITHIN: f64 = 0.5;

/// The share of late ops by what is allowed, and its margin at 95%.
pub(super) fn share(probe: &ProbeRecord) -> Option<(f64, f64)> {
    let late = probe.late?;
    Some((late, (probe.pressure?.exp() - late).max(f64::MIN_POSITIVE)))
}

/// The same, absent for an overloaded probe that is late by a backlog, which grows with its length. Where
/// ops are only refused there is none.
pub(super) fn steady_share(probe: &ProbeRecord, search: &SearchRecord) -> Option<(f64, f64)> {
    let beyond = [ReasonCode::RateNotSustained, ReasonCode::Backlog];
    let overloaded = beyond.iter().any(|code| probe.reasons.contains(code));
    share(probe).filter(|_| !overloaded || !search.objective.bounds_latency())
}

/// Whether a share above what is allowed may be one of chance.
pub(super) fn is_unclear(probe: &ProbeRecord) -> bool {
    share(probe).is_some_and(|(late, margin)| late - margin <= 1.0)
}

/// What the confirmations of a value would show together, as a pressure, if each saw the share of
/// late ops that the longest of these probes saw: the margin of a mean shrinks with the root of the
/// time.
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

/// Where the confirmations would just hold, by a straight line through the logarithms of the shares
/// of all probes, each weighted by the inverse of its variance: with exponential service times this
/// line is exact for one server, P(T > t) = e^(−(μ−λ)t). Absent where there is no such line.
pub(super) fn crossing<'a>(
    probes: impl Iterator<Item = &'a ProbeRecord>,
    search: &SearchRecord,
) -> Option<f64> {
    let mut sums = Sums::default();
    for probe in probes {
        if let Some((late, margin)) = steady_share(probe, search)
            && STRAIGHT.contains(&late)
        {
            // As it would be at the bound, over the time of all confirmations.
            let part = to_f64(probe.measured_ns) / all_ns(&search.policy);
            let all = margin / late.sqrt() * part.sqrt();
            sums.add(probe.at, late.ln(), (late / margin).powi(2), all);
        }
    }
    sums.crossing()
}

/// Weighted sums of points (value, ln of the share).
#[derive(Default)]
struct Sums {
    /// The first value: others are taken in its unit, so that squares stay exact.
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
        // A single value shows no slope.
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

/// Shares of late ops over a time. Late ops come in bursts, whose number K is Poisson's: of `ns`, the upper end of 95%
/// is `share` and a part that shrinks with the root of the time, and one that shrinks with the time.
#[derive(Clone, Copy)]
struct Pooled {
    share: f64,
    root: f64,
    beyond_root: f64,
    ns: f64,
}

/// How many bursts have such a margin, as a part of their number: the upper end of 95% of a Poisson number K is nearly K +
/// 1.645 √K + 1.8.
pub(super) fn bursts(margin: f64) -> f64 {
    let root = MARGIN_ERRORS * MARGIN_ERRORS + 4.0 * BEYOND_ROOT * margin;
    ((MARGIN_ERRORS + root.sqrt()) / (2.0 * margin)).powi(2)
}

/// The largest number of bursts whose upper bound is at most `allowed`, by the same margin; at least what a few
/// confirmations can see.
pub(super) fn bursts_within(allowed: f64) -> f64 {
    let square = MARGIN_ERRORS * MARGIN_ERRORS + 4.0 * (allowed - BEYOND_ROOT).max(0.0);
    ((square.sqrt() - MARGIN_ERRORS) / 2.0).powi(2).max(FEWEST_WITHIN)
}

/// The bursts of all probes are counted together, as a sum of Poisson numbers is one: margins that are added one by one
/// would leave out their skew. Absent where there are none, or one is not known.
fn pooled<'a>(probes: impl Iterator<Item = &'a ProbeRecord>) -> Option<Pooled> {
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
    (ns > 0.0).then(|| Pooled { share: late_ns / ns, root, beyond_root, ns })
}

/// Whether confirmations of a value show together what each may not, or may after `more` of them. Probes of higher values
/// count with them where that helps: no fewer of their ops were late.
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

/// Whether the margin is within what is allowed, or may be after so much more time.
fn holds(seen: Pooled, more_ns: f64) -> bool {
    let all = seen.ns + more_ns;
    let part = seen.ns / all;
    let margin = seen.root * part.sqrt() + seen.beyond_root * part;
    // What is still to come scatters around what was seen, which is itself known only so well.
    let error = seen.root / MARGIN_ERRORS * (more_ns / all).sqrt();
    seen.share + margin <= 1.0 + HOPELESS * error
}

pub(super) fn all_ns(policy: &SearchPolicy) -> f64 {
    to_f64(policy.confirmation_ns) * f64::from(policy.confirmations)
}
