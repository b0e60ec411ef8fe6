//! What each planned action on a cluster did to the load: from when, how deep, and how long until it had recovered.
//!
//! From counts per window of 100 ms, so that dips count, and not only gaps.

use highwater_model::control::Change;
use highwater_model::fault::FaultAction;
use highwater_model::plan::PhaseKind;
use highwater_model::record::{PhaseRecord, ResultRecord, RunRecord};

use super::{Counts, Curve, PER_SECOND, Span, at, window_at, window_start};

/// An action, and its effect on the load of its phase.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultEffect<'a> {
    /// What was done.
    pub action: &'a FaultAction,
    /// When it began, nanoseconds from the start of the run.
    pub time_ns: u64,
    /// Why it failed, if it did.
    pub failed: Option<&'a str>,
    /// The dip of the load that began before the next action; absent if the load did not fall behind.
    pub dip: Option<Dip>,
    /// Whether it came in the dip of an earlier action, and may have ended it.
    pub is_in_dip: bool,
}

/// A time in which fewer ops were acknowledged than offered. Times are nanoseconds from the action.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dip {
    /// Until the load fell behind.
    pub noticed_ns: u64,
    /// The lowest fraction of the offered ops that was acknowledged in a second.
    pub lowest: f64,
    /// Ops that were offered and not acknowledged in their time, at the worst moment.
    pub missing_ops: f64,
    /// Until the offered rate was acknowledged again, whatever was done in the meantime; absent if it was not before the
    /// phase's end.
    pub rate_again_ns: Option<u64>,
    /// Until what waited was worked off, too.
    pub recovered_ns: Option<u64>,
}

impl Dip {
    /// Until the load had recovered; endless if it had not.
    pub fn lasted_ns(&self) -> u64 {
        self.rate_again_ns.map_or(u64::MAX, |again| self.recovered_ns.unwrap_or(again))
    }
}

/// The effect of each planned action in a measured phase, in their order.
pub fn fault_effects(record: &RunRecord) -> Vec<FaultEffect<'_>> {
    let done = record.interventions.iter().filter_map(|done| match &done.change {
        Change::Fault { action, failed, .. } => Some((done.time_ns, action, failed.as_deref())),
        _ => None,
    });
    let done: Vec<_> = done.collect();
    let next = done.iter().skip(1).map(|(time_ns, ..)| *time_ns).chain([u64::MAX]);
    let mut behind_until = 0;
    let effects = done.iter().zip(next).map(|(&(time_ns, action, failed), next_ns)| {
        let is_in_dip = time_ns < behind_until;
        let phase = phase_of(&record.phases, time_ns).filter(|_| !is_in_dip);
        let dip = phase.and_then(|phase| dip([time_ns, next_ns], phase, &record.results));
        if let Some(dip) = dip {
            let lasted = dip.recovered_ns.map_or(u64::MAX, |ns| time_ns.saturating_add(ns));
            behind_until = lasted;
        }
        FaultEffect { action, time_ns, failed, dip, is_in_dip }
    });
    effects.collect()
}

/// When the measured phase of a time ends; 0 outside of them.
pub fn phase_end(phases: &[PhaseRecord], time_ns: u64) -> u64 {
    let phase = phase_of(phases, time_ns);
    phase.map_or(0, |phase| phase.start_ns.saturating_add(phase.duration_ns))
}

fn phase_of(phases: &[PhaseRecord], time_ns: u64) -> Option<&PhaseRecord> {
    phases.iter().find(|phase| {
        let end = phase.start_ns.saturating_add(phase.duration_ns);
        phase.kind == PhaseKind::Measure && (phase.start_ns..end).contains(&time_ns)
    })
}

/// The dip that begins between two times in this phase. The load falls behind when more ops are missing than are offered
/// in 300 ms.
fn dip(
    [from_ns, until_ns]: [u64; 2],
    phase: &PhaseRecord,
    results: &[ResultRecord],
) -> Option<Dip> {
    let of_phase: Vec<&ResultRecord> = results.iter().filter(|r| r.phase == phase.name).collect();
    let counts = Counts::from_results(&of_phase)?;
    let from = from_ns.checked_sub(phase.start_ns)?;
    let end = window_at(until_ns.saturating_sub(phase.start_ns)).min(counts.offered.len());
    let mut curve = Curve::new(&counts, Span { from, to: from });
    let (mut missing, mut most, mut begun) = (0.0_f64, 0.0_f64, window_at(from));
    let mut noticed = None;
    for window in window_at(from)..end {
        missing += curve.share * at(&counts.offered, window) - at(&counts.acknowledged, window);
        missing = missing.max(0.0);
        // A window's edge may part an op's offer from its acknowledgment.
        if missing <= ON_THE_WAY {
            begun = window + 1;
        }
        if missing > curve.behind {
            noticed = Some(window);
            break;
        }
    }
    let behind = noticed?;
    curve.first = behind;
    let again = curve.rate_again();
    let recovered = again.and_then(|again| curve.worked_off(again));
    let since = |window: usize| window_start(window).saturating_sub(from);
    let all = counts.offered.len();
    let dips = begun..recovered.or(again).unwrap_or(all);
    for window in behind + 1..dips.end {
        missing += curve.share * at(&counts.offered, window) - at(&counts.acknowledged, window);
        most = most.max(missing);
    }
    Some(Dip {
        noticed_ns: since(begun),
        lowest: lowest(&counts, curve.share, dips),
        missing_ops: most,
        rate_again_ns: again.map(since),
        recovered_ns: recovered.map(since),
    })
}

/// Ops that may be offered in one window and acknowledged in the next without being late: two arrivals.
const ON_THE_WAY: f64 = 2.0;

/// The lowest fraction of the offered ops acknowledged in a second that begins in these windows.
fn lowest(counts: &Counts, share: f64, windows: std::ops::Range<usize>) -> f64 {
    let sum = |of: &[f64], from: usize| (from..from + PER_SECOND).map(|w| at(of, w)).sum::<f64>();
    let last = counts.offered.len().saturating_sub(PER_SECOND);
    let seconds = windows.start..windows.end.min(last.saturating_add(1));
    let shares = seconds.filter_map(|window| {
        let offered = share * sum(&counts.offered, window);
        (offered > 0.0).then(|| sum(&counts.acknowledged, window) / offered)
    });
    shares.fold(1.0, f64::min)
}
