//! Recovery time of the target after an outage, from counts per window of 100 ms.
//!
//! The gap is an input. Must not look for gaps, or judge the figure.

#[cfg(test)]
mod tests;

use highwater_model::numbers::{len_to_f64, to_f64};
use highwater_model::record::{PhaseRecord, RecoveryRecord, ResultRecord, WINDOW_NS};
use highwater_model::units::Nanos;

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
    let counts = Counts::of(&of_phase)?;
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
    fn of(results: &[&ResultRecord]) -> Option<Self> {
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
    /// Ops offered but not finished at the begin of each window; the first is 0.
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
        (self.first..self.counts.offered.len()).find(|window| self.keeps_up_from(*window))
    }

    fn keeps_up_from(&self, window: usize) -> bool {
        let shortfall = |window: usize, part: f64| {
            part * self.share * at(&self.counts.offered, window)
                - at(&self.counts.acknowledged, window)
        };
        if shortfall(window, REACHED) > SPARE_OPS {
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
