//! The search for the mark: from the finished probes to the next one, or to the end.
//!
//! A pure function of the search's record and its probes; a caller runs the probe and calls again.
//! Must not run anything, keep state, or use random numbers.
//!
//! 1. *Estimate*: closed load shows the order of magnitude (unless a first value is given).
//! 2. *Steps*: up while probes pass, down while they fail, by factors that grow.
//! 3. *Narrowing* of the bracket [highest that passed, lowest that failed]. The measurements of
//!    probes guide the search: the throughput that a failed probe reached is the target's capacity,
//!    and the logarithm of the fraction of late ops is nearly linear in the rate (exactly for
//!    M/M/1, where P(T > t) = e^(−(μ−λ)t)). If the guess does not help, steps from the nearer end
//!    double, up to the middle, so no shape of the target's response can delay the search.
//! 4. *Confirmation* of the highest value that passed, with longer probes. One failure lowers the
//!    candidate, unless it contradicts a passed confirmation: then it is repeated once.
//!    Confirmations that lack confidence alone may have enough together. An unexpected failure is
//!    probed again first, because it may have been a stall.
//! 5. *Raising*: if latencies are bounded, a straight line through the measurements of all probes
//!    predicts the highest value within the bracket that would pass confirmations. It is confirmed
//!    instead, or afterwards.
//! 6. *Soak*, if requested: one long run at the confirmed value.
//!
//! A probe that was invalid, or lost its target, provides no result, so the same step follows
//! again.
//!
//! Bracketing and safeguarded interpolation: R. P. Brent, "Algorithms for minimization without
//! derivatives", 1973, chapter 4; doubling steps: J. L. Bentley & A. C. Yao, "An almost optimal
//! algorithm for unbounded searching", Information Processing Letters 5, 1976.

#[cfg(any(test, feature = "fixture"))]
pub mod accuracy;
mod budget;
mod conclusion;
mod crossing;
mod ending;
mod estimate;
mod guess;
mod history;
mod length;
mod likely;
mod pooled_exceedance;
mod soak;
mod step;
#[cfg(test)]
mod tests;
mod verdict;

use std::f64::consts::SQRT_2;
use std::ops::RangeInclusive;

use highwater_model::numbers::len_to_f64;
use highwater_model::search::{
    NoMarkReason, ProbePurpose, ProbeRecord, SearchOutcome, SearchRecord,
};

use crossing::Crossing;
use ending::{ended, mark, nothing_confirmed, stopped};
use history::{ProbeHistory, Status, Value};

pub use conclusion::{budgets_needed, conclude, of_axis, times_confirmed};
pub use crossing::{LateBursts, late_bursts};
pub(crate) use history::confirmation;
pub use length::{
    FEWEST_OPS, MarkTolerance, OPS_OF_FIVE_PERCENT, OpsNeeded, mark_tolerance, ops_needed,
    tolerance_at,
};
pub use likely::{bracket, probes_to_come};
pub use step::Step;
pub(crate) use verdict::rows_before;
pub use verdict::{ProbeResult, probed};

/// Number of probes of a whole search, including confirmations, in nine of ten searches; one in twenty takes fewer,
/// and one in twenty more. Over the targets of `docs/concepts/accuracy.md`; verified by a test.
pub const PROBES_OF_NINE_IN_TEN: RangeInclusive<u32> = 7..=17;

/// The first probe after an estimate, as a fraction of closed load's throughput: just below it if
/// nothing bounds the latency, otherwise where queues are usually still short.
const SHARE_WITHOUT_LATENCY: f64 = 0.985;
const SHARE_WITH_LATENCY: f64 = 0.8;
/// The load generator was saturated at the upper end of the bracket, and the target was not at this
/// fraction below it: narrowing further would show nothing about the target.
const CEILING_NEAR: f64 = 1.5;
/// Number of guesses that are followed before checking whether they helped, in a bracket of this
/// width.
const GUESSES: u32 = 2;
const WIDE: f64 = 1.25;
/// Bounds of a single step: down is harmless; up may flood a target with the excess over its limit, so
/// it is limited to this factor above the sustained rate.
const LONGEST_STEP: f64 = 64.0;
const LONGEST_STEP_UP: f64 = 4.0;
/// A candidate above the lower end of a narrow bracket is worth its confirmations if it gains this
/// much, relative to the tolerance; it is chosen this far below the expected mark, and at most this
/// far above that end.
const GAIN: f64 = 0.3;
const MARGIN: f64 = 0.1;
const REACH: f64 = 3.0;
/// From this number of failed candidates on, the next one is lower than the highest rate that passed.
const LOWERED_FROM: usize = 3;
/// The step below refuted candidates doubles with each of them, up to this fraction.
const WIDEST: f64 = 0.12;
/// Number of candidates that may fail before the lower end is accepted, and number of times that a
/// confirmed value is raised.
const FAILED_CANDIDATES: usize = 4;
const RAISES: usize = 2;
/// A candidate is chosen such that its confirmations pass with this probability; the last one for which there is time,
/// with the second. Higher probabilities would place the mark farther below the true one than fewer failures are worth.
const PROBABLE: f64 = 0.6;
const SURE: f64 = 0.8;
/// Each refuted candidate shows that the line was too optimistic: the failure probability of the next one is
/// multiplied by this.
const LESS_EACH_TIME: f64 = 0.7;
/// Closed load without any acknowledged op is tried again with the sessions divided by this.
const FEWER_SESSIONS: u32 = 8;
/// An estimate shows an order of magnitude: more time would only cost the target more load.
const LONGEST_ESTIMATE_NS: u64 = 15_000_000_000;

/// The next step after these probes.
pub fn next(search: &SearchRecord, probes: &[ProbeRecord]) -> Step {
    let (probes, soak) = soak::apart(probes);
    soak::after(search, probes, soak, searched(search, probes))
}

fn searched(search: &SearchRecord, probes: &[ProbeRecord]) -> Step {
    let history = ProbeHistory::new(search, probes);
    if let Some(why) = stopped(probes) {
        return Step::End(ended(&history, why));
    }
    within(&history, next_step(&history))
}

/// Measuring time of a probe at this value, nanoseconds: as its purpose requires, and longer if the
/// percentiles of the objective take longer to judge. An estimate does not judge.
pub fn measured_ns(
    search: &SearchRecord,
    probes: &[ProbeRecord],
    purpose: ProbePurpose,
    at: Option<f64>,
) -> u64 {
    let history = ProbeHistory::new(search, probes);
    let expected = at.and_then(|at| history.units_per_s(at));
    let measured = |probes| history.measured_ns(purpose, expected, probes);
    match purpose {
        ProbePurpose::Estimate => measured(1).min(LONGEST_ESTIMATE_NS),
        ProbePurpose::Search => measured(1 + search.policy.confirmations),
        ProbePurpose::Confirm => history.confirmation_ns(at),
        ProbePurpose::Soak => measured(1),
    }
}

/// Divisor for the sessions of the next estimate: if every op of closed load times out, each op waited for those of the
/// others.
pub fn sessions_divisor(probes: &[ProbeRecord]) -> u32 {
    FEWER_SESSIONS.saturating_pow(history::estimates_without_answer(probes))
}

/// The end of a search that must not continue, with its results so far.
pub fn end_early(
    search: &SearchRecord,
    probes: &[ProbeRecord],
    why: NoMarkReason,
) -> SearchOutcome {
    ended(&ProbeHistory::new(search, probes), why)
}

fn next_step(history: &ProbeHistory<'_>) -> Step {
    if history.confirms_too_little() {
        return no_mark(history, NoMarkReason::TooFewOps);
    }
    if let Some(step) = by_line(history) {
        return step;
    }
    match (history.low(), history.high()) {
        (None, None) => first(history),
        (None, Some(high)) => down(history, high),
        (Some(low), None) => up(history, low),
        (Some(low), Some(high)) => between(history, low, high),
    }
}

fn first(history: &ProbeHistory<'_>) -> Step {
    if let Some(first) = history.policy().first {
        return history.probe(first);
    }
    match history.closed_throughput() {
        None => Step::Estimate,
        Some(reached) if reached > 0.0 => {
            let share = if history.search.objective.bounds_latency() {
                SHARE_WITH_LATENCY
            } else {
                SHARE_WITHOUT_LATENCY
            };
            history.probe(reached * share)
        }
        Some(_) if history.may_estimate_again() => Step::Estimate,
        Some(_) => no_mark(history, NoMarkReason::NothingAcknowledged),
    }
}

/// Nothing has failed yet: steps up to the expected limit, or by growing factors.
fn up(history: &ProbeHistory<'_>, low: &Value) -> Step {
    let width = 1.0 + history.policy().width;
    if history.policy().highest.is_some_and(|most| low.at >= most) {
        return confirm(history, low);
    }
    let streak = history.met_streak();
    let grown = if history.closed_throughput().is_some() {
        grow(width, streak.saturating_sub(1))
    } else {
        // Doubled twice, then wider: the limit is far.
        if streak <= 2 { 2.0 } else { LONGEST_STEP_UP }
    };
    let at = match guess::mark(history, None) {
        Some(mark) if mark > low.at * width * width && streak <= 2 => mark * below(history),
        _ => low.at * grown.min(LONGEST_STEP_UP),
    };
    history.probe(at.max(low.at * width).max(history.after(low.at)))
}

/// Nothing has passed yet: steps down to the expected limit, or by growing factors.
fn down(history: &ProbeHistory<'_>, high: &Value) -> Step {
    let policy = history.policy();
    let lowest = history.lowest();
    if high.at <= lowest * (1.0 + policy.width / 2.0) {
        let ceiling = high.status == Status::Ceiling;
        let why = if ceiling { NoMarkReason::ClientCeiling } else { NoMarkReason::BelowLowest };
        return no_mark(history, why);
    }
    if high.status == Status::Ceiling {
        // The rate of closed load is the load generator's limit, and shows nothing about the target's.
        return history.probe(high.at / grow(SQRT_2, history.ceilings().saturating_sub(1)));
    }
    let width = 1.0 + policy.width;
    // A value that probes passed was refuted by longer ones: the mark cannot be far, however many of these
    // failed.
    if let Some(below) = history.below_refuted(history.failed_candidates().saturating_sub(1)) {
        let near = match history.failed_since_confirmation() {
            0 => below,
            failed => high.at / grow(width, failed),
        };
        let guess = guess::mark(history, None).map_or(0.0, |mark| mark * self::below(history));
        return history.probe(guess.max(near).min(high.at / width).max(lowest));
    }
    let streak = history.failed_streak().max(1);
    let at = match guess::mark(history, None) {
        Some(mark) if streak <= GUESSES => (mark * below(history)).min(high.at / width),
        Some(mark) => (mark * below(history)).min(high.at / grow(SQRT_2, streak - GUESSES)),
        None => high.at / grow(2.0, streak - 1),
    };
    let least = history.least_confirmable().min(high.at / width);
    history.probe(at.max(lowest).max(least))
}

/// Narrows the bracket, then confirms its lower end. If not even its upper end can be confirmed in the remaining time,
/// no value below it can.
fn between(history: &ProbeHistory<'_>, low: &Value, high: &Value) -> Step {
    let width = 1.0 + history.policy().width;
    if !history.confirms() && history.is_too_rare(high.at) {
        return no_mark(history, NoMarkReason::TooFewOps);
    }
    if history.is_narrow(low.at, high.at) {
        return settle(history, low, high);
    }
    if high.status == Status::Ceiling && high.at / low.at <= CEILING_NEAR {
        return no_mark(history, NoMarkReason::ClientCeiling);
    }
    let middle = (low.at * high.at).sqrt();
    let guess = guess::mark(history, None).filter(|mark| *mark < high.at && !creeps(history));
    let at = match guess {
        Some(mark) if mark <= low.at * width => {
            (low.at * grow(width, history.met_streak().saturating_sub(1))).min(middle)
        }
        Some(mark) if mark >= high.at / width => {
            (high.at / grow(width, history.failed_streak().saturating_sub(1))).max(middle)
        }
        Some(mark) => mark * below(history),
        None => middle,
    };
    // One more probe there must result in a narrow bracket, or halve it.
    let (least, most) = (low.at * width, high.at / width);
    let at = if least <= most { at.clamp(least, most) } else { middle };
    let rounded = history.value(at);
    let inside = low.at < rounded && rounded < high.at;
    let chosen = if inside { rounded } else { history.value(middle) };
    Step::Probe { at: chosen.max(history.after(low.at)) }
}

/// Whether the bracket is wide, and guesses did not halve it: then they are wrong, always to the same side. The same
/// applies to consecutive guesses that failed, each just below the previous one, whatever passed in between.
fn creeps(history: &ProbeHistory<'_>) -> bool {
    let Some((low, high)) = history.low().zip(history.high()) else {
        return false;
    };
    let width = |history: &ProbeHistory<'_>| Some((history.high()?.at / history.low()?.at).ln());
    let now = (high.at / low.at).ln();
    let before = history.before(GUESSES).as_ref().and_then(width);
    let fell = history.failed_before(GUESSES).map(|first| (first / high.at).ln());
    let is_slow =
        before.is_some_and(|before| now > before / 2.0) || fell.is_some_and(|fell| fell < now);
    now > WIDE.ln() && is_slow
}

/// The bracket is narrow: its lower end is the candidate, if the failure of its upper end is final.
fn settle(history: &ProbeHistory<'_>, low: &Value, high: &Value) -> Step {
    if high.status == Status::Ceiling {
        return Step::End(ended(history, NoMarkReason::ClientCeiling));
    }
    if let Some(confirmed) = history.confirmed().filter(|_| low.confirmed == 0) {
        return raised(history, confirmed);
    }
    if let Some(at) = lowered(history, low) {
        return Step::Confirm { at };
    }
    if let Some(at) = candidate(history, low, high) {
        return Step::Confirm { at };
    }
    let fluke = high.failures == 1 && !guess::foretells(history, high);
    if fluke && low.confirmed == 0 && history.failed_candidates() == 0 {
        return Step::Probe { at: high.at };
    }
    confirm(history, low)
}

/// A value above the lower end of the bracket, and possibly beyond an upper end that did not fail
/// clearly, that would probably pass confirmations; before the lower end is confirmed, or
/// afterwards.
fn candidate(history: &ProbeHistory<'_>, low: &Value, high: &Value) -> Option<f64> {
    let width = history.policy().width;
    let begun = low.confirmed > 0 && low.lacks > 0;
    if begun
        || history.failed_candidates() >= FAILED_CANDIDATES
        || history.confirmed_values() > RAISES
    {
        return None;
    }
    let Some(mark) = history.expected_mark() else {
        // There is no prediction, but a longer probe of the upper end decides.
        return (low.confirmed == 0 && high.is_open).then_some(high.at);
    };
    let most = history.failed_clearly().unwrap_or(f64::MAX) / (1.0 + width * GAIN / 2.0);
    let reach = low.at * (1.0 + width * REACH);
    let at = history.value((mark * (1.0 - width * MARGIN)).min(most).min(reach));
    (at > low.at * (1.0 + width * GAIN)).then_some(at)
}

/// If ops are so few that one probe decides nothing, the line through all of them decides: probes at the crossing until
/// it is as precise as the mark must be, or until probing has used its fraction of the time; then a candidate that will
/// probably pass its confirmations, and if it is refuted, the next one below it.
fn by_line(history: &ProbeHistory<'_>) -> Option<Step> {
    let policy = history.policy();
    if history.high()?.status == Status::Ceiling {
        return None;
    }
    if let Some(confirmed) = history.confirmed() {
        let at = raise(history, confirmed).filter(|_| history.coarse.is_some());
        return at.map(|at| Step::Confirm { at });
    }
    // Confirmations that have begun are finished, unless the value was refuted.
    if let Some(begun) = history.begun() {
        return Some(Step::Confirm { at: begun.at });
    }
    let crossing = history.coarse.as_ref()?;
    let known = crossing.estimate();
    let is_vague = known.high90 / known.low90 > (1.0 + policy.width).powi(2);
    if is_vague && !history.confirms() && !history.searched_enough() {
        let most = history.failed_clearly().unwrap_or(f64::MAX) / (1.0 + policy.width * GAIN);
        return Some(history.probe(known.value.min(most)));
    }
    Some(Step::Confirm { at: below_refuted_by_line(history, crossing, PROBABLE) })
}

/// The value whose confirmations pass with this probability, below all that failed clearly: if some were refuted, by a
/// significant step, which is larger the more of them contradicted the prediction; but no farther than growing steps
/// reach.
fn below_refuted_by_line(history: &ProbeHistory<'_>, crossing: &Crossing, probability: f64) -> f64 {
    let width = history.policy().width;
    let failed = history.failed_candidates();
    let may_fail = (1.0 - probability) * LESS_EACH_TIME.powf(len_to_f64(failed));
    let widened = match failed {
        _ if history.refutes_by_far() => WIDEST,
        0 | 1 => width * GAIN,
        _ => (width * 2_f64.powf(len_to_f64(failed) - 2.0)).min(WIDEST),
    };
    let below = |at: Option<f64>, step: f64| at.map_or(f64::MAX, |at| at / (1.0 + step));
    let refuted = below(history.refuted().next().map(|value| value.at), widened);
    let most = refuted.min(below(history.failed_clearly(), width * GAIN / 2.0));
    let least = history.below_refuted(failed + 1).map_or(0.0, |least| least.min(most));
    history.value(
        crossing.candidate(1.0 - may_fail, history.confirmations_of_one_ns()).min(most).max(least),
    )
}

/// The next candidate, if candidates failed before and none was confirmed. Probes then passed by
/// chance what confirmations refute, so from the third failure on it is lower than the value that
/// passed, by growing steps.
fn lowered(history: &ProbeHistory<'_>, low: &Value) -> Option<f64> {
    let steps = history.failed_candidates().checked_sub(LOWERED_FROM)?;
    if history.confirmed().is_some() {
        return None;
    }
    // Confirmations that have begun are finished, unless the value was refuted.
    if let Some(begun) = history.begun() {
        return Some(begun.at);
    }
    history.below_refuted(steps).map(|at| history.value(low.at.min(at)))
}

/// A value was confirmed below one that probes passed: the value that the line predicts between them
/// is tried as well.
fn raised(history: &ProbeHistory<'_>, confirmed: &Value) -> Step {
    match raise(history, confirmed) {
        Some(at) => Step::Confirm { at },
        None => Step::End(SearchOutcome::Mark(mark(history, confirmed))),
    }
}

/// A higher value that will probably pass confirmations as well: from the line for few ops, otherwise at most a value
/// that a probe passed.
fn raise(history: &ProbeHistory<'_>, confirmed: &Value) -> Option<f64> {
    let width = history.policy().width;
    if history.failed_candidates() >= FAILED_CANDIDATES || history.confirmed_values() > RAISES {
        return None;
    }
    let low = history.low().map_or(0.0, |low| low.at);
    let expected = || {
        if let Some(crossing) = &history.coarse {
            return Some(below_refuted_by_line(history, crossing, PROBABLE));
        }
        let expected = history.expected_mark()?;
        Some(history.value((expected * (1.0 - width * MARGIN)).min(low)))
    };
    let begun = history.begun().map(|begun| begun.at);
    begun.or_else(expected).filter(|at| *at > confirmed.at * (1.0 + width * GAIN))
}

fn confirm(history: &ProbeHistory<'_>, low: &Value) -> Step {
    if low.lacks > 0 {
        return Step::Confirm { at: low.at };
    }
    Step::End(SearchOutcome::Mark(mark(history, low)))
}

/// The feasible form of a step: if probes or time run out, the best value so far is confirmed. A
/// confirmation that cannot have enough ops is not begun.
fn within(history: &ProbeHistory<'_>, step: Step) -> Step {
    let confirmations = history.policy().confirmations;
    match step {
        Step::Probe { at }
            if history.allows(1, confirmations, history.units_per_s(at))
                && history.leaves_second_candidate()
                && !(can_be_confirmed(history) && history.is_too_rare_after_a_probe(at)) =>
        {
            step
        }
        Step::Probe { at } => match last_resort(history) {
            Some(step) => affordable(history, step),
            None if history.failed_candidates() > 0 => affordable(history, Step::Confirm { at }),
            None if history.allows(1, 0, history.units_per_s(at)) => step,
            None => no_mark(history, NoMarkReason::BudgetSpent),
        },
        Step::Confirm { .. } => affordable(history, step),
        Step::Estimate if !history.allows(1, 0, None) => {
            no_mark(history, NoMarkReason::BudgetSpent)
        }
        Step::Estimate | Step::Soak { .. } | Step::End(_) => step,
    }
}

/// Whether the highest value that passed can still be confirmed in the remaining budget.
fn can_be_confirmed(history: &ProbeHistory<'_>) -> bool {
    history.low().is_some_and(|low| !history.is_too_rare(low.at))
}

/// A confirmation, if all confirmations that the value still lacks are possible; otherwise that of
/// the highest value that passed; otherwise the end with the results so far.
fn affordable(history: &ProbeHistory<'_>, step: Step) -> Step {
    let Step::Confirm { at } = step else {
        return step;
    };
    let expected = history.units_per_s(at);
    if history.is_too_rare(at) {
        let why = match history.confirmed_at(at) {
            0 => NoMarkReason::TooFewOps,
            _ => NoMarkReason::BudgetSpent,
        };
        return Step::End(ended(history, why));
    }
    let confirmations = history.policy().confirmations;
    let missing = history.missing_at(at);
    let low = history.low();
    let sure = last_resort(history);
    // A candidate that may fail must leave time for one that will pass; a speculative higher one must leave
    // more.
    let hoped = history.confirmed().is_none() && low.is_some_and(|low| at > low.at);
    let is_sure = sure == Some(Step::Confirm { at }) || history.confirmed().is_some();
    let spare = if hoped { confirmations } else { 0 };
    let short = if is_sure || hoped { 0 } else { confirmations };
    if history.allows(0, missing.saturating_add(spare), expected)
        && history.allows_short(missing, short, expected)
    {
        return step;
    }
    match sure {
        Some(Step::Confirm { at: sure }) if sure < at => {
            affordable(history, Step::Confirm { at: sure })
        }
        _ if history.allows_short(0, missing, expected) => step,
        _ => Step::End(ended(history, NoMarkReason::BudgetSpent)),
    }
}

/// The value to confirm if there is no time for another candidate: one that the line predicts to pass with near
/// certainty, or else the one that passed, and if candidates failed, one clearly below them.
fn last_resort(history: &ProbeHistory<'_>) -> Option<Step> {
    if let Some(confirmed) = history.confirmed() {
        return Some(raised(history, confirmed));
    }
    if let Some(begun) = history.begun() {
        return Some(Step::Confirm { at: begun.at });
    }
    if let Some(crossing) = &history.coarse {
        return Some(Step::Confirm { at: below_refuted_by_line(history, crossing, SURE) });
    }
    let low = history.low()?;
    let steps = history.failed_candidates().checked_sub(1);
    let below = steps.and_then(|steps| history.below_refuted(steps));
    Some(Step::Confirm { at: below.map_or(low.at, |below| history.value(low.at.min(below))) })
}

fn no_mark(history: &ProbeHistory<'_>, why: NoMarkReason) -> Step {
    Step::End(SearchOutcome::NoMark(nothing_confirmed(history, why)))
}

/// `step`, its fourth power, its sixteenth …, bounded.
fn grow(step: f64, times: u32) -> f64 {
    step.powf(4_f64.powf(f64::from(times.min(8)))).min(LONGEST_STEP)
}

/// A guess is probed a little below it: a pass moves the end that counts.
fn below(history: &ProbeHistory<'_>) -> f64 {
    1.0 - history.policy().width / 2.0
}
