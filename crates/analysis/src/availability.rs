//! Availability over whole seconds: gaps, slow seconds, and recovery.
//!
//! The recovery time of the target after an outage comes from counts per window of 100 ms.
//!
//! The gap is an input.

mod faults;
#[cfg(test)]
mod tests;

pub use faults::{Dip, FaultEffect, fault_effects, phase_end};

use std::collections::BTreeMap;

use highwater_model::numbers::{len_to_f64, to_f64};
use highwater_model::plan::PhaseKind;
use highwater_model::record::{
    AvailabilityRecord, IntervalRecord, PhaseRecord, RecoveryRecord, ResultRecord, StallRecord,
    WINDOW_NS,
};
use highwater_model::units::Nanos;

/// Number of gaps kept in a record, longest first.
pub const GAPS_KEPT: usize = 64;

/// A gap is a stall if it lasts this long, and as long as this many mean times between acknowledgments.
const STALL_LEAST_NS: u64 = 50_000_000;
const PAUSES_OF_STALL: u64 = 14;
/// With fewer stalls, the time between them is unknown.
const STALLS_LEAST: u64 = 3;

/// Judges acknowledgments per whole second; the caller measures the gap more finely.
///
/// If most seconds have no acknowledgment, the median is 0: no second is below it, and recovery has no
/// reference rate.
pub fn availability(acknowledged_per_s: &[u64]) -> AvailabilityRecord {
    let twice_median = twice_median(acknowledged_per_s);
    let below_half = |count: u64| 4 * u128::from(count) < twice_median;
    let number = |seconds: usize| u64::try_from(seconds).unwrap_or(u64::MAX);
    let below = acknowledged_per_s.iter().filter(|count| below_half(**count));
    let zero = acknowledged_per_s.iter().filter(|count| **count == 0);
    let recovery =
        longest_dip_end(acknowledged_per_s).filter(|_| twice_median > 0).and_then(|end| {
            let after = acknowledged_per_s.get(end..)?;
            after.iter().position(|count| !below_half(*count))
        });
    AvailabilityRecord {
        seconds_below_half: number(below.count()),
        dips: number(zero.count()),
        recovery_ns: recovery.map(|seconds| Nanos::from_secs(number(seconds)).0),
        ..AvailabilityRecord::default()
    }
}

/// [`availability`] of consecutive measured phases. Each is compared with its own median, because steps have different
/// rates. Recovery is taken from the phase with the most seconds without an acknowledgment.
///
/// Omits seconds in which the load generator was stalled: they show nothing about the target.
pub fn of_phases(
    acknowledged_per_s: &[u64],
    phases: &[PhaseRecord],
    stalls: &[StallRecord],
) -> AvailabilityRecord {
    let mut whole = AvailabilityRecord::default();
    let mut rest = acknowledged_per_s;
    let mut most_dips = 0;
    for phase in phases.iter().filter(|phase| phase.kind == PhaseKind::Measure) {
        let seconds = whole_seconds(phase);
        let (own, behind) = rest.split_at(seconds.clone().count().min(rest.len()));
        rest = behind;
        let own: Vec<u64> = own
            .iter()
            .zip(seconds)
            .filter(|(_, second)| !is_stalled(*second, stalls))
            .map(|(count, _)| *count)
            .collect();
        let seen = availability(&own);
        whole.seconds_below_half += seen.seconds_below_half;
        whole.dips += seen.dips;
        if seen.dips > most_dips {
            most_dips = seen.dips;
            whole.recovery_ns = seen.recovery_ns;
        }
    }
    whole
}

/// Whether the load generator was stalled in a part of this second.
fn is_stalled(second: u64, stalls: &[StallRecord]) -> bool {
    let (from, to) = (second * Nanos::SECOND.0, (second + 1) * Nanos::SECOND.0);
    let mut stalls = stalls.iter();
    stalls.any(|stall| stall.start_ns < to && from < stall.end_ns())
}

/// The parts of gaps, [start, length], in which the load generator was not stalled.
fn without_stalls(gaps: Vec<[u64; 2]>, stalls: &[StallRecord]) -> Vec<[u64; 2]> {
    let cut = |gaps: Vec<[u64; 2]>, stall: &StallRecord| {
        let parts = gaps.into_iter().flat_map(|[start, length]| {
            let end = start.saturating_add(length);
            if stall.end_ns() <= start || end <= stall.start_ns {
                return vec![[start, length]];
            }
            let before = [start, stall.start_ns.saturating_sub(start)];
            let after = [stall.end_ns(), end.saturating_sub(stall.end_ns())];
            vec![before, after]
        });
        parts.filter(|[_, length]| *length > 0).collect()
    };
    stalls.iter().fold(gaps, cut)
}

/// Repeated periods in which a target acknowledged nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// Mean length, nanoseconds.
    pub length_ns: u64,
    /// Mean time from one to the next, nanoseconds.
    pub every_ns: u64,
}

/// The longest time without an acknowledgment, in nanoseconds, if it was an outage of a whole second.
pub fn outage_ns(seen: &AvailabilityRecord) -> Option<u64> {
    (seen.dips > 0 && seen.recovery.is_some()).then_some(seen.longest_gap_ns)
}

/// The stalls of a run; absent if there are fewer than `STALLS_LEAST` gaps that pauses between acknowledgments do not
/// explain.
pub fn stalls(seen: &AvailabilityRecord) -> Option<Stalls> {
    let acknowledged: u64 = seen.acknowledged_per_s.iter().sum();
    let seconds = u64::try_from(seen.acknowledged_per_s.len()).ok()?;
    let pause_ns = Nanos::from_secs(seconds).0.checked_div(acknowledged)?;
    let least = STALL_LEAST_NS.max(pause_ns.saturating_mul(PAUSES_OF_STALL));
    let mut long: Vec<[u64; 2]> =
        seen.gaps.iter().copied().filter(|[_, length]| *length >= least).collect();
    long.sort_unstable();
    let number = u64::try_from(long.len()).ok().filter(|number| *number >= STALLS_LEAST)?;
    let ([first, _], [last, _]) = (long.first()?, long.last()?);
    Some(Stalls {
        length_ns: long.iter().map(|[_, length]| length).sum::<u64>() / number,
        every_ns: (last - first) / (number - 1),
    })
}

/// The availability record from gaps ([start, length], in any order), the acknowledgments per second of the measured
/// phases, and the results per window. Gaps in which the load generator was stalled are not counted against the target.
pub fn of_gaps(
    gaps: Vec<[u64; 2]>,
    acknowledged_per_s: Vec<u64>,
    phases: &[PhaseRecord],
    results: &[ResultRecord],
    stalls: &[StallRecord],
) -> AvailabilityRecord {
    let mut gaps = without_stalls(gaps, stalls);
    longest_first(&mut gaps);
    let [start, length] = gaps.first().copied().unwrap_or_default();
    let seen = of_phases(&acknowledged_per_s, phases, stalls);
    AvailabilityRecord {
        longest_gap_ns: length,
        longest_gap_start_ns: start,
        recovery: recovery_from([start, length], phases, results),
        gaps,
        acknowledged_per_s,
        ..seen
    }
}

/// The recovery from a gap within its measured phase.
fn recovery_from(
    gap: [u64; 2],
    phases: &[PhaseRecord],
    results: &[ResultRecord],
) -> Option<RecoveryRecord> {
    let phase = phases.iter().find(|phase| {
        let end = phase.start_ns.saturating_add(phase.duration_ns);
        phase.kind == PhaseKind::Measure && (phase.start_ns..end).contains(&gap[0])
    });
    recovery(gap, phase?, results)
}

/// Sorts gaps by length, longest first, then by start, and truncates them to the number that a
/// record keeps.
pub fn longest_first(gaps: &mut Vec<[u64; 2]>) {
    gaps.sort_by_key(|[start, length]| (std::cmp::Reverse(*length), *start));
    gaps.truncate(GAPS_KEPT);
}

/// Acknowledgments in each of the [`measured_seconds`]. Load phases are omitted because they count seconds from
/// their own start.
pub fn acknowledged_per_s(intervals: &[IntervalRecord], phases: &[PhaseRecord]) -> Vec<u64> {
    let mut by_second: BTreeMap<u64, u64> = BTreeMap::new();
    for interval in intervals.iter().filter(|i| !PhaseRecord::is_load(phases, &i.phase)) {
        *by_second.entry(interval.second).or_default() += interval.acknowledged;
    }
    measured_seconds(phases).map(|second| by_second.get(&second).copied().unwrap_or(0)).collect()
}

/// The whole seconds of the measured phases, one phase after another.
pub fn measured_seconds(phases: &[PhaseRecord]) -> impl Iterator<Item = u64> {
    phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).flat_map(whole_seconds)
}

/// The seconds, from the start of the first phase with a pace, that lie entirely within a phase.
pub fn whole_seconds(phase: &PhaseRecord) -> std::ops::Range<u64> {
    let end = phase.start_ns.saturating_add(phase.duration_ns);
    phase.start_ns.div_ceil(Nanos::SECOND.0)..end / Nanos::SECOND.0
}

/// In integers, so that half of an odd median is exact.
fn twice_median(counts: &[u64]) -> u128 {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let middle = |at: usize| sorted.get(at).copied().map_or(0, u128::from);
    let length = sorted.len();
    middle(length.saturating_sub(1) / 2) + middle(length / 2)
}

/// The second after the longest series of consecutive seconds without an acknowledgment.
fn longest_dip_end(counts: &[u64]) -> Option<usize> {
    let (mut longest, mut current, mut end) = (0_usize, 0_usize, None);
    for (second, count) in counts.iter().enumerate() {
        current = if *count == 0 { current + 1 } else { 0 };
        if current > longest {
            longest = current;
            end = Some(second + 1);
        }
    }
    end
}

/// A recovery must last this long, or to the phase's end: a target that fails again at once has not recovered.
pub const LASTS: Nanos = Nanos::from_secs(10);
/// Allowed backlog: the ops offered in this many windows, 300 ms, plus [`SPARE_OPS`]. Gaps are not measured more
/// exactly, so a short stall is not a second outage.
pub const WINDOWS_BEHIND: f64 = 3.0;
/// Two arrivals may fall on either side of any time.
pub const SPARE_OPS: f64 = 2.0;
/// The first window of a recovery must reach this fraction of the offered rate. The rest is scatter: a window holds few
/// ops.
const REACHED: f64 = 0.9;

/// Windows per second.
const PER_SECOND: usize = 10;

/// Recovery of the target from a gap, [start, length], in this phase; `results` are those of the record. Absent if too
/// little was offered in the gap for an outage, or without counts per window.
///
/// If any stream is open, only open streams count. In closed load nothing is offered while the target is down; half of
/// the median second then stands for the offered rate, and nothing waits.
pub fn recovery(
    gap: [u64; 2],
    phase: &PhaseRecord,
    results: &[ResultRecord],
) -> Option<RecoveryRecord> {
    let of_phase: Vec<&ResultRecord> = results.iter().filter(|r| r.phase == phase.name).collect();
    let counts = Counts::from_results(&of_phase)?;
    let [start, length] = gap;
    let from = start.checked_sub(phase.start_ns)?;
    let gap = Span { from, to: from.saturating_add(length) };
    let curve = Curve::new(&counts, gap);
    if curve.offered_in(gap) <= curve.behind {
        return None;
    }
    let since = |window: usize| window_start(window).max(gap.to).saturating_sub(gap.from);
    let again = curve.rate_again();
    Some(RecoveryRecord {
        start_ns: start,
        rate_again_ns: again.map(since),
        recovered_ns: again.and_then(|again| curve.worked_off(again)).map(since),
    })
}

/// A time within a phase, nanoseconds from its start.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: u64,
    to: u64,
}

/// Ops per window of a phase.
struct Counts {
    offered: Vec<f64>,
    acknowledged: Vec<f64>,
    failed: Vec<f64>,
    /// Whether offered ops wait while the target is down.
    wait: bool,
}

impl Counts {
    fn from_results(results: &[&ResultRecord]) -> Option<Self> {
        let open: Vec<&&ResultRecord> = results.iter().filter(|r| r.open).collect();
        if open.is_empty() {
            let closed = results.iter().map(|r| &r.windows.acknowledged);
            return Self::of_closed(sum(closed));
        }
        // A record of an earlier version does not report when ops were offered.
        let reported = open.iter().all(|r| !r.windows.offered.is_empty());
        reported.then(|| Self {
            offered: sum(open.iter().map(|r| &r.windows.offered)),
            acknowledged: sum(open.iter().map(|r| &r.windows.acknowledged)),
            failed: sum(open.iter().map(|r| &r.windows.failed)),
            wait: true,
        })
    }

    fn of_closed(acknowledged: Vec<f64>) -> Option<Self> {
        let seconds = acknowledged.chunks_exact(PER_SECOND);
        let half = median(seconds.map(|second| second.iter().sum()).collect())? / 2.0;
        (half > 0.0).then(|| Self {
            offered: vec![half / len_to_f64(PER_SECOND); acknowledged.len()],
            failed: Vec::new(),
            acknowledged,
            wait: false,
        })
    }
}

/// Counts per window, summed over several series of possibly different length.
fn sum<'a>(series: impl Iterator<Item = &'a Vec<u64>>) -> Vec<f64> {
    let mut sums = Vec::new();
    for counts in series {
        if sums.len() < counts.len() {
            sums.resize(counts.len(), 0.0);
        }
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += to_f64(*count);
        }
    }
    sums
}

/// Offered and finished ops, and the criteria of a recovery.
struct Curve<'a> {
    counts: &'a Counts,
    /// Ops offered but not finished at the start of each window; the first is 0.
    waiting: Vec<f64>,
    /// The window in which the gap ended.
    first: usize,
    /// The fraction of offered ops acknowledged in the median second before the gap: a target that always rejects some
    /// ops also does so after the gap.
    share: f64,
    /// Number of ops waiting before the gap.
    waited_before: f64,
    /// Ops per window.
    per_window: f64,
    /// Allowed backlog in ops.
    behind: f64,
}

impl<'a> Curve<'a> {
    fn new(counts: &'a Counts, gap: Span) -> Self {
        let (begin, first) = (window_at(gap.from), window_at(gap.to));
        let mut waiting = vec![0.0];
        let mut waits = 0.0;
        for (window, offered) in counts.offered.iter().enumerate() {
            waits += offered - at(&counts.acknowledged, window) - at(&counts.failed, window);
            waiting.push(waits);
        }
        let before = waiting.iter().take(begin + 1).skip(1).copied().collect();
        let length = len_to_f64(counts.offered.len()).max(1.0);
        let per_window = counts.offered.iter().sum::<f64>() / length;
        Self {
            first,
            share: share(counts, begin),
            waited_before: median(before).unwrap_or(0.0),
            per_window,
            behind: WINDOWS_BEHIND * per_window + SPARE_OPS,
            counts,
            waiting,
        }
    }

    fn offered_in(&self, gap: Span) -> f64 {
        let windows = window_at(gap.from)..=window_at(gap.to);
        windows
            .map(|window| {
                let begin = window_start(window).max(gap.from);
                let end = window_start(window + 1).min(gap.to);
                let part = to_f64(end.saturating_sub(begin)) / to_f64(WINDOW_NS);
                at(&self.counts.offered, window) * part
            })
            .sum()
    }

    /// The first window, from the gap's end on, from which the offered rate is acknowledged.
    fn rate_again(&self) -> Option<usize> {
        let again =
            (self.first..self.counts.offered.len()).find(|window| self.keeps_up_from(*window))?;
        Some(self.end_of_shortfall(again))
    }

    /// A shallow dip loses few ops in a window, so that the rate seems to be kept before its end: that is where most ops
    /// are missing, if those are more than a window's.
    fn end_of_shortfall(&self, from: usize) -> usize {
        let (mut missing, mut most, mut end) = (0.0, self.per_window + SPARE_OPS, from);
        for window in lasting(from, self.counts.offered.len()) {
            missing += self.shortfall(window, 1.0);
            if missing > most {
                (most, end) = (missing, window + 1);
            }
        }
        end
    }

    fn shortfall(&self, window: usize, part: f64) -> f64 {
        part * self.share * at(&self.counts.offered, window) - at(&self.counts.acknowledged, window)
    }

    fn keeps_up_from(&self, window: usize) -> bool {
        let shortfall = |window, part| self.shortfall(window, part);
        // Nothing is acknowledged again in a window in which nothing was.
        let [offered, acknowledged] = [&self.counts.offered, &self.counts.acknowledged];
        let is_silent = at(offered, window) > 0.0 && at(acknowledged, window) <= 0.0;
        if is_silent || shortfall(window, REACHED) > SPARE_OPS {
            return false;
        }
        // A surplus compensates for earlier shortfalls only, not for later ones: otherwise working off a backlog would
        // hide the next outage.
        let mut missing: f64 = 0.0;
        lasting(window, self.counts.offered.len()).all(|window| {
            missing = (missing + shortfall(window, 1.0)).max(0.0);
            missing <= self.behind
        })
    }

    /// The first window, from this one on, at whose start no more ops wait than before the gap.
    fn worked_off(&self, from: usize) -> Option<usize> {
        if !self.counts.wait {
            return Some(from);
        }
        let more = |window: usize| at(&self.waiting, window) - self.waited_before;
        let near = self.per_window + SPARE_OPS;
        (from..self.counts.offered.len()).find(|window| {
            let mut lasting = lasting(*window, self.waiting.len());
            more(*window) <= near && lasting.all(|window| more(window) <= self.behind)
        })
    }
}

/// The windows from this one on through which a recovery must last.
fn lasting(window: usize, end: usize) -> std::ops::Range<usize> {
    window..(window + window_at(LASTS.0)).min(end)
}

/// The median fraction of ops offered in a second that was acknowledged, before this window.
fn share(counts: &Counts, before: usize) -> f64 {
    let seconds = counts.offered.chunks_exact(PER_SECOND);
    let shares = seconds
        .zip(counts.acknowledged.chunks_exact(PER_SECOND))
        .take(before / PER_SECOND)
        .filter_map(|(o, a)| {
            let offered: f64 = o.iter().sum();
            (offered > 0.0).then(|| a.iter().sum::<f64>() / offered)
        });
    median(shares.collect()).unwrap_or(1.0).min(1.0)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// 0 beyond the ends.
fn at(series: &[f64], window: usize) -> f64 {
    series.get(window).copied().unwrap_or(0.0)
}

fn window_at(offset_ns: u64) -> usize {
    usize::try_from(offset_ns / WINDOW_NS).unwrap_or(usize::MAX)
}

fn window_start(window: usize) -> u64 {
    u64::try_from(window).unwrap_or(u64::MAX).saturating_mul(WINDOW_NS)
}
