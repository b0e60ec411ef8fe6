//! Results of finished probes by value: passed, failed, or beyond the load generator.
//!
//! Collects and queries them. Must not decide anything.

use highwater_model::judgment::ReasonCode;
use highwater_model::search::{
    Confirmations, ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchOutcome,
    SearchPolicy, SearchRecord,
};

use super::crossing::{Crossing, FARTHEST, crossing};
use super::pooled_exceedance;
use super::step::{Step, askable, is_same};

/// Number of probes limited by the load generator that make a value its ceiling: one, and its
/// repetition.
const INVALID_TIMES: usize = 2;

/// A step below refuted values is one tolerance, times at most this power of two.
const WIDEST_STEP: usize = 3;

/// Maximum number of times that closed load is tried with fewer sessions if nothing is
/// acknowledged.
const ESTIMATES_MAX: u32 = 4;

/// The lowest probed value is at most this fraction of the rate of closed load.
const BELOW_CLOSED: f64 = 0.8;

/// The result for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// The objective was met in the last probe.
    Met,
    /// It was missed in the last probe, or its confirmations refute it.
    Failed,
    /// The load generator was saturated, twice.
    Ceiling,
}

/// A value, and all its probes together.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) at: f64,
    pub(super) status: Status,
    /// Probes that failed.
    pub(super) failures: u32,
    /// It failed only in search probes, and by a latency that is not clearly above its bound.
    pub(super) is_open: bool,
    /// A probe was shown to fail there.
    pub(super) is_shown: bool,
    /// Confirmations that passed, and those still missing.
    pub(super) confirmed: u32,
    pub(super) lacks: u32,
    /// The probable result of all its confirmations together, from its longest probes.
    pub(super) pressure: Option<f64>,
    /// Units acknowledged per second, of the last probe.
    pub(super) acknowledged_per_s: f64,
    /// Why it failed, from the last probe that did.
    pub(super) reasons: Vec<ReasonCode>,
}

/// The results of all probes.
#[derive(Debug)]
pub(super) struct ProbeHistory<'a> {
    pub(super) search: &'a SearchRecord,
    pub(super) probes: &'a [ProbeRecord],
    /// Ascending.
    pub(super) values: Vec<Value>,
    /// The rate at which the fraction of late ops exceeds the allowed one, if ops are so few that one probe
    /// decides nothing.
    pub(super) coarse: Option<Crossing>,
    /// Ops are few and nothing is confirmed yet: then fewer confirmations than requested may be
    /// enough.
    pub(super) settles: bool,
}

impl<'a> ProbeHistory<'a> {
    pub(super) fn new(search: &'a SearchRecord, probes: &'a [ProbeRecord]) -> Self {
        let coarse = crossing(judged(probes), search);
        let coarse = coarse.filter(|crossing| crossing.is_coarse(search));
        let is_coarse = coarse.is_some();
        let mut history = Self { search, probes, values: Vec::new(), coarse, settles: false };
        history.values = history.known(is_coarse);
        history.lift();
        if is_coarse && history.confirmed().is_none() {
            history.settles = true;
            history.values = history.known(is_coarse);
            history.lift();
        }
        history
    }

    /// All values that were probed, ascending.
    fn known(&self, is_coarse: bool) -> Vec<Value> {
        let mut at: Vec<f64> = judged(self.probes).map(|probe| probe.at).collect();
        at.sort_by(f64::total_cmp);
        at.dedup_by(|a, b| is_same(*a, *b));
        at.into_iter()
            .filter_map(|at| {
                let of_value: Vec<&ProbeRecord> =
                    judged(self.probes).filter(|p| is_same(p.at, at)).collect();
                // If one probe decides, those of other values add no information.
                let above: Vec<&ProbeRecord> = judged(self.probes)
                    .filter(|_| is_coarse)
                    .filter(|p| p.at > at && counts(p, true))
                    .collect();
                let rules = Rules {
                    policy: &self.search.policy,
                    is_coarse,
                    needed: self.confirmations_needed(at),
                    most: self.confirmations_of_one(Some(at)),
                };
                value(at, &of_value, &above, rules)
            })
            .collect()
    }

    /// A value that a short probe failed, but not clearly, passes if a longer probe passed above
    /// it.
    fn lift(&mut self) {
        let mut held_above = false;
        for value in self.values.iter_mut().rev() {
            match value.status {
                Status::Met => held_above |= value.confirmed > 0,
                Status::Failed if value.is_open => {
                    if held_above {
                        value.status = Status::Met;
                    }
                }
                Status::Failed | Status::Ceiling => held_above = false,
            }
        }
    }

    /// The rate at which the fraction of late ops exceeds the allowed one, from all probes
    /// together.
    pub(super) fn crossing(&self) -> Option<Crossing> {
        crossing(judged(self.probes), self.search)
    }

    /// The value whose confirmations would just pass, from all probes together.
    pub(super) fn expected_mark(&self) -> Option<f64> {
        pooled_exceedance::crossing(judged(self.probes), self.search)
    }

    /// The lowest value that failed clearly, or in a confirmation.
    pub(super) fn failed_clearly(&self) -> Option<f64> {
        let failed = |value: &&Value| value.status != Status::Met && !value.is_open;
        self.values.iter().find(failed).map(|value| value.at)
    }

    /// The failed value that is this number of failures before the last one.
    pub(super) fn failed_before(&self, failures: u32) -> Option<f64> {
        let failed = judged(self.probes).filter(|probe| has_failed(probe, self.policy()));
        let failed: Vec<f64> = failed.map(|probe| probe.at).collect();
        let first = failed.len().checked_sub(1)?.checked_sub(usize::try_from(failures).ok()?)?;
        Some(failed[first])
    }

    /// The results before the last `probes` probes.
    pub(super) fn before(&self, probes: u32) -> Option<Self> {
        let left = self.probes.len().checked_sub(usize::try_from(probes).ok()?)?;
        Some(Self::new(self.search, &self.probes[..left]))
    }

    pub(super) fn policy(&self) -> &SearchPolicy {
        &self.search.policy
    }

    /// The lowest value that did not pass.
    pub(super) fn high(&self) -> Option<&Value> {
        self.values.iter().find(|v| v.status != Status::Met)
    }

    /// The highest value that passed, below all that did not.
    pub(super) fn low(&self) -> Option<&Value> {
        let passed = self.values.iter().take_while(|v| v.status == Status::Met);
        passed.last()
    }

    /// The highest value below all that did not pass of which a probe met the objective as measured: one with too few ops
    /// shows nothing.
    pub(super) fn shown_to_hold(&self) -> Option<f64> {
        let passed = self.values.iter().take_while(|v| v.status == Status::Met);
        let held =
            |at: f64| judged(self.probes).any(|probe| is_same(probe.at, at) && has_held(probe));
        passed.map(|value| value.at).filter(|at| held(*at)).last()
    }

    /// The highest value with all its confirmations, below all that did not pass.
    pub(super) fn confirmed(&self) -> Option<&Value> {
        let passed = self.values.iter().take_while(|v| v.status == Status::Met);
        passed.filter(|value| value.lacks == 0).last()
    }

    /// The lowest value above one that failed.
    pub(super) fn failed_above(&self, at: f64) -> Option<&Value> {
        let mut values = self.values.iter();
        values.find(|value| value.at > at && value.status == Status::Failed)
    }

    /// The lowest value above one that was shown to fail.
    pub(super) fn shown_to_fail_above(&self, at: f64) -> Option<&Value> {
        let mut values = self.values.iter();
        values.find(|value| value.at > at && value.status == Status::Failed && value.is_shown)
    }

    /// Values at which the load generator was saturated.
    pub(super) fn ceilings(&self) -> u32 {
        let ceilings = self.values.iter().filter(|value| value.status == Status::Ceiling);
        u32::try_from(ceilings.count()).unwrap_or(u32::MAX)
    }

    /// Values that passed above one that failed.
    pub(super) fn met_above(&self, failed: f64) -> Vec<f64> {
        self.values
            .iter()
            .filter(|v| v.status == Status::Met)
            .map(|v| v.at)
            .filter(|at| *at > failed)
            .collect()
    }

    /// Units per second that closed load reached, if it was run.
    pub(super) fn closed_throughput(&self) -> Option<f64> {
        let mut estimates = self.probes.iter().rev();
        let estimate = estimates.find(|probe| probe.verdict == ProbeVerdict::Estimated)?;
        Some(estimate.acknowledged_per_s)
    }

    /// Whether closed load got no response, although fewer sessions may wait less for each other.
    pub(super) fn may_estimate_again(&self) -> bool {
        let estimates = self.probes.iter().filter(|probe| probe.purpose == ProbePurpose::Estimate);
        let fewest = estimates.map(|probe| probe.at).fold(f64::INFINITY, f64::min);
        fewest > 1.0 && estimates_without_answer(self.probes) < ESTIMATES_MAX
    }

    /// Number of consecutive passed probes, up to the last one.
    pub(super) fn met_streak(&self) -> u32 {
        self.streak(|probe| passes(probe, self.policy()))
    }

    /// Number of consecutive failed probes, up to the last one.
    pub(super) fn failed_streak(&self) -> u32 {
        self.streak(|probe| has_failed(probe, self.policy()))
    }

    fn streak(&self, of: impl Fn(&ProbeRecord) -> bool) -> u32 {
        let telling =
            |probe: &&ProbeRecord| passes(probe, self.policy()) || has_failed(probe, self.policy());
        let telling: Vec<&ProbeRecord> = judged(self.probes).filter(telling).collect();
        let streak = telling.iter().rev().take_while(|probe| of(probe));
        u32::try_from(streak.count()).unwrap_or(u32::MAX)
    }

    /// Units per second that a probe at this value is expected to have acknowledged: the rate
    /// itself, or for sessions the rate reached by the nearest value below it, which more sessions
    /// reach as well. Absent if unknown.
    pub(super) fn units_per_s(&self, at: f64) -> Option<f64> {
        if self.policy().axis == SearchAxis::Rate {
            return Some(at);
        }
        let reached = |value: &&Value| value.acknowledged_per_s > 0.0;
        let below = self.values.iter().rev().find(|v| v.at <= at && reached(v));
        let above = || self.values.iter().find(reached);
        below
            .map(|value| value.acknowledged_per_s)
            .or_else(|| above().map(|value| value.acknowledged_per_s / value.at * at))
    }

    /// Whether a confirmation had too few ops: lower rates have fewer still.
    pub(super) fn confirms_too_little(&self) -> bool {
        let last = self.probes.last();
        last.is_some_and(|probe| {
            probe.purpose == ProbePurpose::Confirm && probe.verdict == ProbeVerdict::TooFewOps
        })
    }

    /// Whether there was any confirmation.
    pub(super) fn confirms(&self) -> bool {
        let mut probes = self.probes.iter();
        probes.any(|probe| probe.purpose == ProbePurpose::Confirm)
    }

    /// Number of candidates that failed their confirmation.
    pub(super) fn failed_candidates(&self) -> usize {
        self.refuted().count()
    }

    pub(super) fn refuted(&self) -> impl Iterator<Item = &Value> {
        let confirms = |at: f64| {
            let mut confirmations = judged(self.probes).filter(move |p| is_same(p.at, at));
            confirmations.any(|probe| probe.purpose == ProbePurpose::Confirm)
        };
        self.values
            .iter()
            .filter(|v| v.status == Status::Failed)
            .filter(move |value| confirms(value.at))
    }

    /// Whether confirmations of the lowest refuted value had more late ops than the line covers.
    pub(super) fn refutes_by_far(&self) -> bool {
        self.refuted().next().is_some_and(|lowest| {
            let mut probes = judged(self.probes).filter(|probe| is_same(probe.at, lowest.at));
            probes.any(|probe| probe.late.is_some_and(|late| late > FARTHEST))
        })
    }

    /// A value below the refuted ones, by a bounded step, because a value that passed before cannot be far off; absent
    /// without a refuted value.
    pub(super) fn below_refuted(&self, steps: usize) -> Option<f64> {
        let lowest = self.refuted().next()?.at;
        let widths = 2_f64.powi(i32::try_from(steps.min(WIDEST_STEP)).unwrap_or(0));
        Some(self.value(lowest / (1.0 + self.policy().width).powf(1.0 + widths)))
    }

    /// Number of consecutive failed search probes after the last confirmation.
    pub(super) fn failed_since_confirmation(&self) -> u32 {
        let failed = self.probes.iter().rev().take_while(|probe| {
            probe.purpose == ProbePurpose::Search && has_failed(probe, self.policy())
        });
        u32::try_from(failed.count()).unwrap_or(u32::MAX)
    }

    /// The highest value with some confirmations, but not all, below all that did not pass.
    pub(super) fn begun(&self) -> Option<&Value> {
        let passed = self.values.iter().take_while(|v| v.status == Status::Met);
        passed.filter(|value| value.confirmed > 0 && value.lacks > 0).last()
    }

    /// Values with all their confirmations.
    pub(super) fn confirmed_values(&self) -> usize {
        self.values.iter().filter(|value| value.lacks == 0).count()
    }

    /// Number of confirmations that a value has passed.
    pub(super) fn confirmed_at(&self, at: f64) -> u32 {
        u32::try_from(self.confirmations_at(at).len()).unwrap_or(u32::MAX)
    }

    /// Number of confirmations that a value still lacks; 1 if it has all.
    pub(super) fn missing_at(&self, at: f64) -> u32 {
        let known = self.values.iter().find(|value| is_same(value.at, at));
        known.map_or_else(|| self.confirmations_needed(at), |value| value.lacks).max(1)
    }

    /// Whether a confirmation counts with the others of its value.
    pub(super) fn counts(&self, probe: &ProbeRecord) -> bool {
        counts(probe, self.coarse.is_some())
    }

    /// The probes that confirmed a value.
    pub(super) fn confirmations_at(&self, at: f64) -> Vec<&'a ProbeRecord> {
        self.probes
            .iter()
            .filter(|probe| probe.purpose == ProbePurpose::Confirm && self.counts(probe))
            .filter(|p| is_same(p.at, at))
            .collect()
    }

    /// Whether the ends of a bracket are as close as requested, or no value lies between them.
    pub(super) fn is_narrow(&self, low: f64, high: f64) -> bool {
        let policy = self.policy();
        let adjacent = policy.axis == SearchAxis::Sessions && high - low <= 1.0 + 1e-9;
        // Rounded values may differ by one digit more than the tolerance.
        adjacent || high / low <= (1.0 + policy.width) * (1.0 + 1e-3)
    }

    /// A value within the search's bounds, rounded to one that can be probed.
    pub(super) fn value(&self, at: f64) -> f64 {
        let policy = self.policy();
        let most = policy.highest.unwrap_or(f64::MAX);
        askable(policy.axis, at.max(self.lowest()).min(most))
    }

    /// Lower values are not probed; it never exceeds the rate of closed load.
    pub(super) fn lowest(&self) -> f64 {
        let lowest = self.policy().lowest;
        let closed = self.closed_throughput().filter(|reached| *reached > 0.0);
        match (self.policy().axis, closed) {
            (SearchAxis::Rate, Some(reached)) => lowest.min(reached * BELOW_CLOSED),
            _ => lowest,
        }
    }

    /// The next higher value if values are whole numbers; otherwise the same value.
    pub(super) fn after(&self, at: f64) -> f64 {
        match self.policy().axis {
            SearchAxis::Sessions => at + 1.0,
            SearchAxis::Rate => at,
        }
    }

    pub(super) fn probe(&self, at: f64) -> Step {
        Step::Probe { at: self.value(at) }
    }
}

/// Number of estimates without any acknowledgment.
pub(super) fn estimates_without_answer(probes: &[ProbeRecord]) -> u32 {
    let without = probes.iter().filter(|probe| {
        probe.verdict == ProbeVerdict::Estimated && probe.acknowledged_per_s <= 0.0
    });
    u32::try_from(without.count()).unwrap_or(u32::MAX)
}

/// Probes that judge a value.
pub(super) fn judged(probes: &[ProbeRecord]) -> impl Iterator<Item = &ProbeRecord> + Clone {
    probes.iter().filter(|probe| probe.purpose != ProbePurpose::Estimate)
}

/// Too few ops are not a failure yet: a higher rate, or a longer probe, has more. And a search
/// probe alone need not show what the confirmations, which are longer, would show together.
fn passes(probe: &ProbeRecord, policy: &SearchPolicy) -> bool {
    let searches = probe.purpose == ProbePurpose::Search;
    match probe.verdict {
        ProbeVerdict::Passed => true,
        ProbeVerdict::TooFewOps => searches,
        ProbeVerdict::NotDecided => {
            let together = pooled_exceedance::together(&[probe], policy);
            searches && has_held(probe) && together.is_some_and(|pressure| pressure <= 0.0)
        }
        _ => false,
    }
}

fn has_failed(probe: &ProbeRecord, policy: &SearchPolicy) -> bool {
    match probe.verdict {
        ProbeVerdict::Failed => true,
        ProbeVerdict::NotDecided => !passes(probe, policy),
        ProbeVerdict::TooFewOps => probe.purpose == ProbePurpose::Confirm,
        _ => false,
    }
}

/// Whether a probe failed only by a latency that is not clearly above its bound.
fn is_unclear(probe: &ProbeRecord) -> bool {
    probe.verdict == ProbeVerdict::NotDecided
        || (may_be_a_moment(probe) && pooled_exceedance::is_unclear(probe))
}

/// Whether a probe met the objective, although perhaps not with enough confidence alone.
pub(super) fn has_held(probe: &ProbeRecord) -> bool {
    probe.verdict == ProbeVerdict::Passed
        || (is_open_share(probe) && probe.late.is_some_and(|late| late <= 1.0))
}

/// Whether a fraction was shown neither to be met nor to be missed, and the probe had no other failure.
fn is_open_share(probe: &ProbeRecord) -> bool {
    probe.verdict == ProbeVerdict::NotDecided
        && probe.late.is_some()
        && probe.pressure.is_some_and(|bound| bound > 0.0)
}

/// Whether a confirmation is judged together with the others of its value: together they may show what it alone does
/// not. With few ops, many confirmations exceed the allowed fraction by chance alone.
fn counts(probe: &ProbeRecord, is_coarse: bool) -> bool {
    has_held(probe) || (is_coarse && is_open_share(probe))
}

/// The result of a value's confirmations.
pub(super) fn how_confirmed(
    probes: &[ProbeRecord],
    at: f64,
    counts: &dyn Fn(&ProbeRecord) -> bool,
) -> Confirmations {
    let confirms =
        |probe: &&ProbeRecord| probe.purpose == ProbePurpose::Confirm && is_same(probe.at, at);
    let count = |of: &dyn Fn(&ProbeRecord) -> bool| {
        let probes = probes.iter().filter(confirms);
        u32::try_from(probes.filter(|probe| of(probe)).count()).unwrap_or(u32::MAX)
    };
    Confirmations {
        made: count(&|_| true),
        passed: count(&|probe| probe.verdict == ProbeVerdict::Passed),
        held: count(counts),
    }
}

/// The last probe that showed that a search's mark is sustained; `None` without a mark.
pub(crate) fn confirmation(search: &SearchRecord) -> Option<&ProbeRecord> {
    let Some(SearchOutcome::Mark(mark)) = &search.outcome else {
        return None;
    };
    let mut probes = search.probes.iter().rev();
    probes.find(|probe| {
        let is_of_search = matches!(probe.purpose, ProbePurpose::Confirm | ProbePurpose::Search);
        is_of_search && is_same(probe.at, mark.confirmed) && counts(probe, true)
    })
}

/// Whether a failure can be explained by a temporary condition of the target, such as a stall: it
/// missed a latency and nothing else. Rejections, failures, and backlogs are caused by the rate.
fn may_be_a_moment(probe: &ProbeRecord) -> bool {
    let beyond_latency = [
        ReasonCode::ObjectiveErrors,
        ReasonCode::ObjectiveRejected,
        ReasonCode::ObjectiveCpu,
        ReasonCode::RateNotSustained,
        ReasonCode::Backlog,
    ];
    let is = |code: &ReasonCode| probe.reasons.contains(code);
    is(&ReasonCode::ObjectiveLatency) && !beyond_latency.iter().any(is)
}

/// The context for interpreting the probes of a value.
#[derive(Clone, Copy)]
struct Rules<'a> {
    policy: &'a SearchPolicy,
    is_coarse: bool,
    /// Number of confirmations that a value needs, and the number that it may use.
    needed: u32,
    most: u32,
}

/// Whether the confirmations refute a value: one failed, unless it contradicts a passed one only by its latency, as in
/// a stall; or the ones that count do not show it together, or probably will not. `above` are probes of higher values,
/// which had at least as many late ops.
fn is_refuted(confirmations: &[&ProbeRecord], above: &[&ProbeRecord], rules: Rules<'_>) -> bool {
    let Rules { policy, is_coarse, most, .. } = rules;
    let (counting, others): (Vec<&ProbeRecord>, Vec<&ProbeRecord>) =
        confirmations.iter().partition(|probe| counts(probe, is_coarse));
    let failed: Vec<&ProbeRecord> =
        others.into_iter().filter(|probe| has_failed(probe, policy)).collect();
    let least = usize::try_from(policy.confirmations).unwrap_or(usize::MAX);
    let not_shown = (is_coarse || counting.len() >= least)
        && !pooled_exceedance::may_hold(&counting, above, most.saturating_sub(number(&counting)));
    match failed[..] {
        [] => not_shown,
        [one] => counting.is_empty() || not_shown || !may_be_a_moment(one),
        _ => true,
    }
}

fn number(probes: &[&ProbeRecord]) -> u32 {
    u32::try_from(probes.len()).unwrap_or(u32::MAX)
}

fn value(
    at: f64,
    probes: &[&ProbeRecord],
    above: &[&ProbeRecord],
    rules: Rules<'_>,
) -> Option<Value> {
    let Rules { policy, is_coarse, needed, .. } = rules;
    let (confirmations, searches): (Vec<&ProbeRecord>, Vec<&ProbeRecord>) =
        probes.iter().partition(|probe| probe.purpose == ProbePurpose::Confirm);
    let failed: Vec<&&ProbeRecord> = probes.iter().filter(|p| has_failed(p, policy)).collect();
    let held: Vec<&ProbeRecord> =
        confirmations.iter().copied().filter(|p| counts(p, is_coarse)).collect();
    let invalid =
        probes.iter().rev().take_while(|probe| probe.verdict == ProbeVerdict::Invalid).count();
    let mut searches = searches.iter().rev();
    let search = searches.find(|probe| passes(probe, policy) || has_failed(probe, policy));
    let status = if is_refuted(&confirmations, above, rules) {
        Status::Failed
    } else if invalid >= INVALID_TIMES {
        Status::Ceiling
    } else if !held.is_empty() || passes(search?, policy) {
        Status::Met
    } else {
        Status::Failed
    };
    let last = probes.last()?;
    // With few ops, the requested number may show too little together; then more are needed.
    let is_shown = !is_coarse || pooled_exceedance::may_hold(&held, above, 0);
    let missing = needed.saturating_sub(number(&held));
    Some(Value {
        at,
        status,
        failures: u32::try_from(failed.len()).unwrap_or(u32::MAX),
        is_open: status == Status::Failed
            && confirmations.is_empty()
            && failed.iter().all(|probe| is_unclear(probe)),
        is_shown: failed.iter().any(|probe| probe.verdict == ProbeVerdict::Failed),
        confirmed: number(&held),
        lacks: missing.max(u32::from(status == Status::Met && !is_shown)),
        pressure: pooled_exceedance::together(probes, policy),
        acknowledged_per_s: last.acknowledged_per_s,
        reasons: because(failed.last().unwrap_or(&last)),
    })
}

/// Why a probe has its verdict: a note decides nothing.
fn because(probe: &ProbeRecord) -> Vec<ReasonCode> {
    let reasons = probe.reasons.iter().copied();
    reasons.filter(|code| *code != ReasonCode::SharedHost).collect()
}
