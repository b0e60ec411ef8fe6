//! The end of a search: the mark, or the reason why there is none.
//!
//! Must not select the next probe.

use highwater_model::search::{
    Mark, NoMark, NoMarkReason, ProbeRecord, ProbeVerdict, SearchOutcome,
};

use super::estimate::estimate;
use super::history::{ProbeHistory, Value, how_confirmed, judged};

/// A search that cannot continue: a value that was already confirmed stays the mark, unless data are
/// wrong.
pub(super) fn ended(history: &ProbeHistory<'_>, why: NoMarkReason) -> SearchOutcome {
    match history.confirmed() {
        Some(value) if why != NoMarkReason::WrongData => SearchOutcome::Mark(mark(history, value)),
        _ => SearchOutcome::NoMark(nothing_confirmed(history, why)),
    }
}

/// Conditions that end a search regardless of its results.
pub(super) fn stopped(probes: &[ProbeRecord]) -> Option<NoMarkReason> {
    let last = probes.last()?;
    let before = probes.iter().rev().nth(1).map(|probe| probe.verdict);
    match last.verdict {
        ProbeVerdict::Interrupted => Some(NoMarkReason::Interrupted),
        ProbeVerdict::WrongData => Some(NoMarkReason::WrongData),
        ProbeVerdict::TargetLost if before == Some(ProbeVerdict::TargetLost) => {
            Some(NoMarkReason::TargetLost)
        }
        _ => None,
    }
}

pub(super) fn nothing_confirmed(history: &ProbeHistory<'_>, why: NoMarkReason) -> NoMark {
    let failed = history.shown_to_fail_above(0.0);
    let above = history.high();
    NoMark {
        why: outlasted(history, why),
        highest_met: history.shown_to_hold(),
        estimate: estimate(history),
        lowest_failed: failed.map(|failed| failed.at),
        limited_by: above.map_or_else(Vec::new, |value| value.reasons.clone()),
    }
}

/// If no value passed, and the ops of the lowest one took longer than its probe measured, or none of
/// them ended, the ops are the reason, whatever the objective.
fn outlasted(history: &ProbeHistory<'_>, why: NoMarkReason) -> NoMarkReason {
    let outlasted = match why {
        NoMarkReason::BelowLowest | NoMarkReason::BudgetSpent => {
            history.low().is_none() && lowest_outlasted(history)
        }
        NoMarkReason::NothingAcknowledged => nothing_ended(history),
        _ => false,
    };
    if outlasted { NoMarkReason::OpsTooLong } else { why }
}

fn lowest_outlasted(history: &ProbeHistory<'_>) -> bool {
    let judged = judged(history.probes);
    let lowest = judged.min_by(|a, b| a.at.total_cmp(&b.at));
    lowest.is_some_and(|probe| {
        probe.measured_ns > 0 && probe.mean_ns.is_some_and(|mean| mean >= probe.measured_ns)
    })
}

/// No op ended, successfully or with an error: all sent ops were still pending when the probe
/// ended.
fn nothing_ended(history: &ProbeHistory<'_>) -> bool {
    let mut probes = history.probes.iter();
    probes.all(|probe| probe.measured_ns > 0 && probe.failed_ops == 0)
}

/// A value with the required number of confirmations.
pub(super) fn mark(history: &ProbeHistory<'_>, value: &Value) -> Mark {
    let confirmations = history.confirmations_at(value.at);
    let lengths = confirmations.iter().map(|probe| probe.measured_ns);
    let high = history.failed_above(value.at);
    let failed = history.shown_to_fail_above(value.at);
    Mark {
        confirmed: value.at,
        estimate: estimate(history),
        failed: failed.map(|failed| failed.at),
        limited_by: high.map_or_else(Vec::new, |high| high.reasons.clone()),
        hold_ns: lengths.min().unwrap_or(0),
        confirmations: Some(how_confirmed(history.probes, value.at, &|probe| {
            history.counts(probe)
        })),
        rows: confirmations.last().map_or(0, |probe| probe.rows_before),
        bytes: confirmations.last().and_then(|probe| probe.bytes_before),
        passed_above: history.met_above(high.map_or(f64::INFINITY, |high| high.at)),
        wider: high.is_some_and(|high| !history.is_narrow(value.at, high.at)),
    }
}
