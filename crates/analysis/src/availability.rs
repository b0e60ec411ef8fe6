//! Availability over whole seconds: gaps, slow seconds, and recovery. `recovery` measures the recovery from a gap more
//! finely.

use std::collections::BTreeMap;

use highwater_model::plan::PhaseKind;
use highwater_model::record::{
    AvailabilityRecord, IntervalRecord, PhaseRecord, RecoveryRecord, ResultRecord, StallRecord,
};
use highwater_model::units::Nanos;

use super::recovery::recovery;

/// The number of gaps that a record keeps, longest first.
pub const GAPS_KEPT: usize = 64;

/// A gap is a stall if it lasts this long, and as long as this many mean times between acknowledgments.
const STALL_LEAST_NS: u64 = 50_000_000;
const PAUSES_OF_STALL: u64 = 14;
/// Fewer stalls show no time between them.
const STALLS_LEAST: u64 = 3;

/// Judges acknowledgments per whole second; the caller measures the gap more finely.
///
/// If most seconds have none, the median is 0: no second is below it, and there is nothing to recover to.
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
/// rates. Recovery is that of the phase with the most seconds without an acknowledgment.
///
/// Seconds in which the load generator was stalled are left out: they show nothing about the target.
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

/// Times in which a target acknowledged nothing, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// Mean length, nanoseconds.
    pub length_ns: u64,
    /// Mean time from one to the next, nanoseconds.
    pub every_ns: u64,
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

/// Sorts gaps, longest first and equal ones by start, and keeps as many as a record does.
pub fn longest_first(gaps: &mut Vec<[u64; 2]>) {
    gaps.sort_by_key(|[start, length]| (std::cmp::Reverse(*length), *start));
    gaps.truncate(GAPS_KEPT);
}

/// Acknowledgments in each of the [`measured_seconds`]. Load phases count seconds from their own start, so they are
/// left out.
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

/// The second after the longest row of seconds without any acknowledgement.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(per_s: &[u64], below_half: u64, dips: u64, recovery_s: Option<u64>) {
        let expect = AvailabilityRecord {
            seconds_below_half: below_half,
            dips,
            recovery_ns: recovery_s.map(|seconds| seconds * 1_000_000_000),
            ..AvailabilityRecord::default()
        };
        let found = availability(per_s);
        assert_eq!(found, expect, "{per_s:?}");
    }

    #[test]
    fn gaps_that_pauses_between_acknowledgments_do_not_explain_are_stalls() {
        let at = |second: u64, ms: u64| [second * 1_000_000_000, ms * 1_000_000];
        let gaps = vec![at(14, 420), at(2, 400), at(5, 30), at(8, 410)];
        let seen = AvailabilityRecord {
            gaps: gaps.clone(),
            acknowledged_per_s: vec![1_000; 20],
            ..AvailabilityRecord::default()
        };
        let expected = Stalls { length_ns: 410_000_000, every_ns: 6_000_000_000 };
        assert_eq!(stalls(&seen), Some(expected));
        // At ten ops per second a gap of 0.4 s is none.
        let rare = AvailabilityRecord { acknowledged_per_s: vec![10; 20], ..seen.clone() };
        assert_eq!(stalls(&rare), None);
        let two = AvailabilityRecord { gaps: gaps[..3].to_vec(), ..seen };
        assert_eq!(stalls(&two), None);
    }

    #[test]
    fn an_even_run_has_no_dips() {
        check(&[100, 90, 110, 100], 0, 0, None);
    }

    #[test]
    fn slow_seconds_are_counted_from_just_below_half() {
        check(&[100, 100, 50, 49, 100], 1, 0, None);
        check(&[3, 3, 3, 1, 2], 1, 0, None);
    }

    #[test]
    fn recovery_counts_from_the_end_of_the_longest_dip() {
        check(&[9, 9, 0, 9, 0, 0, 1, 4, 9, 9, 9, 9], 5, 3, Some(2));
        check(&[9, 9, 9, 9, 0, 9, 9], 1, 1, Some(0));
    }

    #[test]
    fn of_equal_dips_the_first_is_the_longest() {
        check(&[9, 9, 0, 1, 9, 9, 0, 9, 9], 3, 2, Some(1));
    }

    #[test]
    fn a_target_that_stays_down_does_not_recover() {
        check(&[9, 9, 9, 9, 0, 0], 2, 2, None);
        check(&[9, 9, 9, 9, 0, 1], 2, 1, None);
    }

    #[test]
    fn mostly_nothing_has_no_half_to_fall_below() {
        check(&[0, 0, 0, 5], 0, 3, None);
        check(&[], 0, 0, None);
    }

    fn step(number: u64, start_s: u64, length_s: u64) -> PhaseRecord {
        PhaseRecord {
            name: format!("step {number}"),
            kind: PhaseKind::Measure,
            step: None,
            start_ns: Nanos::from_secs(start_s).0,
            duration_ns: Nanos::from_secs(length_s).0,
            steady: None,
        }
    }

    #[test]
    fn only_whole_seconds_of_measured_phases_count_and_none_of_the_load() {
        let load = PhaseRecord { name: "load".to_owned(), kind: PhaseKind::Load, ..step(0, 0, 9) };
        let mut late = step(1, 2, 3);
        late.start_ns += 1;
        let second = |phase: &str, second, acknowledged| IntervalRecord {
            phase: phase.to_owned(),
            second,
            acknowledged,
            ..IntervalRecord::default()
        };
        let intervals = [
            second("load", 3, 1_000),
            second("step 1", 2, 7),
            second("step 1", 3, 10),
            // Sent in the warm-up, answered after it.
            second("warm-up", 3, 1),
            second("step 1", 5, 20),
        ];
        // From just after 2 s to just after 5 s: the third and the fourth second are whole.
        let phases = [load, late];
        assert_eq!(acknowledged_per_s(&intervals, &phases), [11, 0]);
    }

    #[test]
    fn a_record_keeps_the_longest_gaps_and_of_equal_ones_the_first() {
        let mut gaps: Vec<[u64; 2]> = (0..100).map(|at| [1_000 * at, 5 + at / 50]).collect();
        gaps.push([500_000, 9]);
        let record = of_gaps(gaps, vec![10, 0, 10], &[step(1, 0, 3)], &[], &[]);
        assert_eq!(record.gaps.len(), GAPS_KEPT);
        assert_eq!(record.gaps[..2], [[500_000, 9], [50_000, 6]]);
        assert_eq!(record.gaps[GAPS_KEPT - 1], [12_000, 5]);
        assert_eq!(record.longest_gap_start_ns, 500_000);
        assert_eq!(record.longest_gap_ns, 9);
        assert_eq!((record.dips, record.recovery_ns), (1, Some(0)));
    }

    #[test]
    fn each_step_is_compared_with_its_own_median() {
        let phases = [step(1, 2, 3), step(2, 5, 6)];
        let slow_then_fast = [10, 10, 10, 100, 100, 100, 100, 0, 100];
        let seen = of_phases(&slow_then_fast, &phases, &[]);
        assert_eq!((seen.seconds_below_half, seen.dips), (1, 1));
        assert_eq!(seen.recovery_ns, Some(0));
        let found = availability(&slow_then_fast).seconds_below_half;
        assert_eq!(found, 4);
    }
}
