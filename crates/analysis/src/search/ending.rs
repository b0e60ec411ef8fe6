//! How a search ends: with the mark, or with the reason why there is none.
//!
//! Must not choose what to probe.

use highwater_model::search::{
    Mark, NoMark, NoMarkReason, ProbeRecord, ProbeVerdict, SearchOutcome,
};

use super::history::{ProbeHistory, Status, Value};

/// A search that does not go on: a value that was confirmed before stays the mark, but not where data
/// are wrong.
pub(super) fn ended(history: &ProbeHistory<'_>, why: NoMarkReason) -> SearchOutcome {
    let confirmed = history
        .confirmed()
        .filter(|_| why != NoMarkReason::WrongData);
    confirmed.map_or_else(
        || SearchOutcome::NoMark(nothing_confirmed(history, why)),
        |value| SearchOutcome::Mark(mark(history, value)),
    )
}

/// What ends a search whatever it knows.
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
    let high = history.high().filter(|high| high.status == Status::Failed);
    NoMark {
        why,
        highest_met: history.low().map(|low| low.at),
        lowest_failed: high.map(|high| high.at),
        limited_by: history.high().map_or_else(Vec::new, |v| v.reasons.clone()),
    }
}

/// A value that was confirmed as often as it had to be.
pub(super) fn mark(history: &ProbeHistory<'_>, value: &Value) -> Mark {
    let confirmations = history.confirmations_at(value.at);
    let high = history.failed_above(value.at);
    Mark {
        confirmed: value.at,
        failed: high.map(|high| high.at),
        limited_by: high.map_or_else(Vec::new, |high| high.reasons.clone()),
        hold_ns: confirmations
            .iter()
            .map(|p| p.measured_ns)
            .min()
            .unwrap_or(0),
        rows: confirmations.last().map_or(0, |probe| probe.rows_before),
        bytes: confirmations.last().and_then(|probe| probe.bytes_before),
        passed_above: history.met_above(high.map_or(f64::INFINITY, |high| high.at)),
        wider: high.is_some_and(|high| !history.is_narrow(value.at, high.at)),
    }
}
