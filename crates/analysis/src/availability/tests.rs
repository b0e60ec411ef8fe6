//! A queue whose server goes down, op by op: when it was back, and when nothing waited.

use proptest::prelude::*;

use highwater_model::control::{Change, InterventionRecord};
use highwater_model::fault::FaultAction;
use highwater_model::plan::PhaseKind;

use super::*;
use crate::fixture::{S, closed};

fn check_seconds(per_s: &[u64], below_half: u64, dips: u64, recovery_s: Option<u64>) {
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
    check_seconds(&[100, 90, 110, 100], 0, 0, None);
}

#[test]
fn slow_seconds_are_counted_from_just_below_half() {
    check_seconds(&[100, 100, 50, 49, 100], 1, 0, None);
    check_seconds(&[3, 3, 3, 1, 2], 1, 0, None);
}

#[test]
fn recovery_counts_from_the_end_of_the_longest_dip() {
    check_seconds(&[9, 9, 0, 9, 0, 0, 1, 4, 9, 9, 9, 9], 5, 3, Some(2));
    check_seconds(&[9, 9, 9, 9, 0, 9, 9], 1, 1, Some(0));
}

#[test]
fn of_equal_dips_the_first_is_the_longest() {
    check_seconds(&[9, 9, 0, 1, 9, 9, 0, 9, 9], 3, 2, Some(1));
}

#[test]
fn a_target_that_stays_down_does_not_recover() {
    check_seconds(&[9, 9, 9, 9, 0, 0], 2, 2, None);
    check_seconds(&[9, 9, 9, 9, 0, 1], 2, 1, None);
}

#[test]
fn mostly_nothing_has_no_half_to_fall_below() {
    check_seconds(&[0, 0, 0, 5], 0, 3, None);
    check_seconds(&[], 0, 0, None);
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

const MS: u64 = 1_000_000;
/// Begin of the phase: times of a record count from the run's start.
const PHASE_START: u64 = 2 * S;

/// A server with a capacity in ops per second, and the rate offered.
#[derive(Debug, Clone)]
struct Served {
    rate: u64,
    capacity: u64,
    seconds: u64,
    /// Outages, [start, length].
    away: Vec<[u64; 2]>,
    /// Number of failing ops in ten.
    fail: usize,
    /// A time with a part of the capacity: [start, length, ops per second].
    slow: [u64; 3],
    /// Ops come at random times.
    seed: Option<u64>,
}

/// The recovery in the record, and when the queue was empty after the longest outage.
struct Shown {
    recovery: Option<RecoveryRecord>,
    gap: [u64; 2],
    emptied: Option<u64>,
}

impl Served {
    fn new(rate: u64, capacity: u64, away_ms: &[[u64; 2]]) -> Self {
        Self {
            rate,
            capacity,
            seconds: 30,
            away: away_ms.iter().map(|[a, b]| [a * MS, b * MS]).collect(),
            fail: 0,
            slow: [0; 3],
            seed: None,
        }
    }

    /// Intended times, ascending.
    fn due(&self) -> Vec<u64> {
        let ops = 0..self.rate * self.seconds;
        let Some(seed) = self.seed else {
            return ops.map(|op| op * S / self.rate).collect();
        };
        let random = |op| seeded(seed, op) % (self.seconds * S);
        let mut due: Vec<u64> = ops.map(random).collect();
        due.sort_unstable();
        due
    }

    /// Intended time and response time of each op.
    fn ops(&self) -> Vec<[u64; 2]> {
        let mut free = 0;
        let [slow_from, slow_for, slow_capacity] = self.slow;
        let due = self.due().into_iter();
        due.map(|due| {
            let begin = due.max(free);
            let is_slow = (slow_from..slow_from + slow_for).contains(&begin);
            let mut end = begin + S / if is_slow { slow_capacity } else { self.capacity };
            for [begin, length] in &self.away {
                if (*begin..begin + length).contains(&end) {
                    end = begin + length + S / self.capacity;
                }
            }
            free = end;
            [due, end]
        })
        .collect()
    }

    fn shown(&self) -> Shown {
        let ops = self.ops();
        let end = self.seconds * S;
        let result = self.result(&ops);
        let fails = |op: usize| op % 10 < self.fail;
        let mut last = 0;
        let mut gap = [0, 0];
        let answers = (0..ops.len()).filter(|op| !fails(*op)).map(|op| ops[op][1]);
        for time in answers.filter(|time| *time < end).chain([end]) {
            if time - last > gap[1] {
                gap = [last, time - last];
            }
            last = time;
        }
        let back = gap[0] + gap[1];
        // The first op that found an empty queue.
        let alone = ops
            .iter()
            .find(|[due, end]| *due >= gap[0] && *end > back && end - due <= S / self.capacity);
        gap[0] += PHASE_START;
        Shown {
            recovery: recovery(gap, &phase(self.seconds), &[result]),
            gap,
            emptied: alone.map(|[due, _]| due + PHASE_START - gap[0]),
        }
    }

    /// The effect of an action at this time of the phase.
    fn dip_from(&self, at: u64) -> Option<Dip> {
        let mut record = closed();
        record.phases = vec![phase(self.seconds)];
        record.results = vec![self.result(&self.ops())];
        let action = FaultAction::Kill { node: 2 };
        record.interventions = vec![InterventionRecord {
            by: None,
            time_ns: PHASE_START + at,
            phase: "measure".to_owned(),
            change: Change::Fault { action, planned_ns: at, took_ns: 0, failed: None },
        }];
        fault_effects(&record)[0].dip
    }

    /// The counts of these ops.
    fn result(&self, ops: &[[u64; 2]]) -> ResultRecord {
        let fails = |op: usize| op % 10 < self.fail;
        let end = self.seconds * S;
        let windows = |of: &dyn Fn(usize) -> Option<u64>| {
            let mut counts = vec![0; window_at(end)];
            let times = (0..ops.len()).filter_map(of).filter(|time| *time < end);
            times.for_each(|time| counts[window_at(time)] += 1);
            counts
        };
        let mut result = closed().results[0].clone();
        result.open = true;
        result.phase = "measure".to_owned();
        result.windows.offered = windows(&|op| Some(ops[op][0]));
        result.windows.acknowledged = windows(&|op| (!fails(op)).then(|| ops[op][1]));
        result.windows.failed = windows(&|op| fails(op).then(|| ops[op][1]));
        result
    }
}

/// A random number from seed and index (S. Vigna's SplitMix64).
fn seeded(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn phase(seconds: u64) -> PhaseRecord {
    PhaseRecord {
        name: "measure".to_owned(),
        kind: PhaseKind::Measure,
        step: Some(0),
        start_ns: PHASE_START,
        duration_ns: seconds * S,
        steady: None,
    }
}

/// Tolerance of a gap: 300 ms and two arrival intervals.
fn tolerance(rate: u64) -> u64 {
    300 * MS + 2 * S / rate
}

/// A target that is back serves the offered rate from the gap's end on, and has recovered when the queue is empty; ops
/// of 100 ms and two more may still wait then.
fn check(served: &Served) {
    let shown = served.shown();
    let seen = shown.recovery.unwrap_or_else(|| panic!("no outage in {served:?}"));
    let off = tolerance(served.rate);
    assert_eq!(seen.start_ns, shown.gap[0], "{served:?}");
    let again = seen.rate_again_ns.unwrap_or_else(|| panic!("{served:?}: {seen:?}"));
    assert!(again.abs_diff(shown.gap[1]) <= off, "{served:?}: {seen:?}, away {}", shown.gap[1]);
    let emptied = shown.emptied.unwrap();
    let recovered = seen.recovered_ns.unwrap_or_else(|| panic!("{served:?}: {seen:?}"));
    let near = served.rate * S / 10 + 2 * S;
    let early = near / (served.capacity - served.rate);
    assert!(
        recovered <= emptied + off && recovered + early + off >= emptied,
        "{served:?}: {seen:?}, emptied after {emptied}"
    );
}

#[test]
fn recovery_from_a_single_outage_is_that_of_the_queue() {
    for rate in [3, 10, 50, 500, 5_000] {
        for times in [2, 5, 50] {
            for length in [1_500, 2_050, 4_990] {
                check(&Served::new(rate, times * rate, &[[5_230, length]]));
            }
        }
    }
    // With a tenth of spare capacity, the backlog takes ten times as long as the outage.
    check(&Served::new(500, 550, &[[3_010, 1_500]]));
}

#[test]
fn a_gap_in_which_little_was_offered_is_no_outage() {
    let within = |rate, length| {
        let shown = Served::new(rate, 100 * rate, &[[5_000, length]]).shown();
        shown.recovery.is_some()
    };
    assert!(!within(5_000, 299) && within(5_000, 320));
    assert!(!within(3, 300) && within(3, 1_400));
    assert_eq!(Served::new(3, 300, &[]).shown().recovery, None);
}

#[test]
fn an_outage_to_the_end_of_the_phase_is_not_recovered_from() {
    let mut served = Served::new(50, 500, &[[25_000, 9_000]]);
    let shown = served.shown();
    let lasting =
        RecoveryRecord { start_ns: shown.gap[0], rate_again_ns: None, recovered_ns: None };
    assert_eq!(shown.recovery, Some(lasting));
    // Back before the end, but two seconds are too short for the backlog.
    served = Served::new(50, 60, &[[25_000, 3_000]]);
    let seen = served.shown().recovery.unwrap();
    assert!(seen.rate_again_ns.is_some(), "{seen:?}");
    assert_eq!(seen.recovered_ns, None);
}

#[test]
fn of_two_outages_within_ten_seconds_the_second_ends_both() {
    let seen = |second| {
        let served = Served::new(100, 1_000, &[[4_000, 3_000], [second, 1_000]]);
        let seen = served.shown().recovery.unwrap();
        [seen.rate_again_ns, seen.recovered_ns].map(|ns| ns.unwrap() / (100 * MS))
    };
    // From the end of the second one: 12 s.
    let [again, recovered] = seen(11_000);
    assert!((79..=80).contains(&again), "{again} {recovered}");
    assert!((80..=82).contains(&recovered), "{again} {recovered}");
    let [again, recovered] = seen(17_600);
    assert!((30..=31).contains(&again), "{again} {recovered}");
    assert!((33..=34).contains(&recovered), "{again} {recovered}");
}

#[test]
fn a_rate_that_comes_back_by_and_by_counts_from_where_it_is_reached() {
    // 20 of 100 ops/s for two seconds after an outage of two: 360 wait. Then 200 ops/s for three
    // seconds, and 160 ops/s for one.
    let mut result = closed().results[0].clone();
    let seconds = |counts: &[u64]| -> Vec<u64> {
        let windows = counts.iter().map(|count| [*count; PER_SECOND]);
        windows.flatten().collect()
    };
    result.open = true;
    result.phase = "measure".to_owned();
    result.windows.offered = seconds(&[10; 12]);
    result.windows.acknowledged = seconds(&[10, 10, 0, 0, 2, 2, 20, 20, 20, 16, 10, 10]);
    result.windows.failed = seconds(&[0; 12]);
    let gap = [PHASE_START + 2 * S, 2 * S];
    let seen = recovery(gap, &phase(12), &[result]).unwrap();
    // The rate is reached again from the seventh second on; in the last eight tenths of the tenth second, no more wait
    // than a window and two ops.
    assert_eq!(seen.rate_again_ns, Some(4 * S));
    assert_eq!(seen.recovered_ns, Some(7_800 * MS));
}

#[test]
fn a_target_that_always_rejects_some_is_compared_with_itself() {
    let mut served = Served::new(200, 2_000, &[[8_000, 2_000]]);
    served.fail = 2;
    check(&served);
}

#[test]
fn a_closed_load_has_recovered_at_half_of_its_median_second() {
    let mut result = closed().results[0].clone();
    result.phase = "measure".to_owned();
    let windows = |count: u64, of: usize| vec![count; of];
    let series = [windows(40, 50), windows(0, 15), windows(9, 10), windows(30, 45)];
    result.windows.acknowledged = series.concat();
    let gap = [PHASE_START + 5 * S, 1_500 * MS];
    let seen = recovery(gap, &phase(12), std::slice::from_ref(&result)).unwrap();
    assert_eq!(seen.rate_again_ns, Some(2_500 * MS));
    assert_eq!(seen.recovered_ns, seen.rate_again_ns);
    result.windows.acknowledged.clear();
    assert_eq!(recovery(gap, &phase(12), &[result]), None);
}

#[test]
fn an_open_record_without_offered_ops_gives_no_result() {
    let mut result = closed().results[0].clone();
    result.open = true;
    result.phase = "measure".to_owned();
    result.windows.acknowledged = vec![10; 300];
    assert_eq!(recovery([PHASE_START, 5 * S], &phase(30), &[result]), None);
}

/// An action whose effect begins some time later: times within 300 ms and two arrivals, ops within those of 300 ms.
fn check_dip(served: &Served, delay: u64) {
    let [begin, length] = served.away[0];
    let dip = served.dip_from(begin - delay).unwrap_or_else(|| panic!("no dip in {served:?}"));
    let off = tolerance(served.rate);
    let [again, emptied] = [length, served.shown().emptied.unwrap()].map(|ns| ns + delay);
    assert!(dip.noticed_ns.abs_diff(delay) <= off, "{served:?}: {dip:?}");
    let rate_again = dip.rate_again_ns.unwrap_or_else(|| panic!("{served:?}: {dip:?}"));
    assert!(rate_again.abs_diff(again) <= off, "{served:?}: {dip:?}, away {again}");
    let recovered = dip.recovered_ns.unwrap_or_else(|| panic!("{served:?}: {dip:?}"));
    let near = served.rate * S / 10 + 2 * S;
    let early = near / (served.capacity - served.rate);
    assert!(recovered <= emptied + off && recovered + early + off >= emptied, "{dip:?}, {emptied}");
    assert!(dip.lowest <= 0.03, "{served:?}: {dip:?}");
    let missed = to_f64(length) / 1e9 * to_f64(served.rate);
    let spare = 0.3 * to_f64(served.rate) + 2.0;
    assert!((dip.missing_ops - missed).abs() <= spare, "{served:?}: {dip:?}, {missed}");
}

#[test]
fn a_dip_is_as_deep_as_the_capacity_that_is_left() {
    for left in [100, 250, 380, 700, 900] {
        let served = Served { slow: [5 * S, 6 * S, left], ..Served::new(1_000, 3_000, &[]) };
        let dip = served.dip_from(5 * S).unwrap();
        let expected = to_f64(left) / 1_000.0;
        assert!((dip.lowest - expected).abs() <= 0.03, "{left}: {dip:?}");
        // The queue is served slowly until its time is over; a tenth less counts as the rate.
        let is_again = dip.rate_again_ns.unwrap().abs_diff(6 * S) <= tolerance(1_000);
        assert!(is_again || left == 900, "{left}: {dip:?}");
    }
}

#[test]
fn a_dip_begins_where_ops_are_missing_and_not_at_the_edge_of_a_window() {
    // 44.9 ops in a window: one of each is acknowledged in the next one.
    check_dip(&Served::new(449, 898, &[[8_805, 1_400]]), 305 * MS);
}

#[test]
fn an_action_without_an_effect_has_no_dip_whatever_the_noise() {
    for seed in 0..100 {
        let rate = 20 << (seed % 7);
        let served = Served { seed: Some(seed), ..Served::new(rate, 2 * rate, &[]) };
        assert_eq!(served.dip_from((2 + seed % 20) * S), None, "{served:?}");
    }
}

#[test]
fn a_dip_goes_on_through_the_action_that_ends_it() {
    let served = Served::new(100, 1_000, &[[5_000, 4_000]]);
    let mut record = closed();
    record.phases = vec![phase(30)];
    record.results = vec![served.result(&served.ops())];
    let action = |time_ns, action| InterventionRecord {
        by: None,
        time_ns: PHASE_START + time_ns,
        phase: "measure".to_owned(),
        change: Change::Fault { action, planned_ns: time_ns, took_ns: 0, failed: None },
    };
    record.interventions = vec![
        action(5 * S, FaultAction::Kill { node: 2 }),
        action(8 * S, FaultAction::Start { node: 2 }),
        action(20 * S, FaultAction::Stop { node: 1 }),
    ];
    let effects = fault_effects(&record);
    let again = effects[0].dip.unwrap().rate_again_ns.unwrap();
    assert!(again.abs_diff(4 * S) <= tolerance(100), "{effects:?}");
    assert!(effects[1].is_in_dip && effects[1].dip.is_none(), "{effects:?}");
    assert!(!effects[2].is_in_dip && effects[2].dip.is_none(), "{effects:?}");
    // Until the end, nothing is recovered.
    let served = Served::new(100, 1_000, &[[25_000, 9_000]]);
    let dip = served.dip_from(25 * S).unwrap();
    assert_eq!((dip.rate_again_ns, dip.recovered_ns), (None, None), "{dip:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_dip_of_an_action_is_that_of_the_queue(
        rate in 20_u64..2_000,
        times in 2_u64..20,
        begin in 4_000_u64..9_000,
        length in 1_400_u64..6_000,
        delay in 0_u64..2_000,
    ) {
        check_dip(&Served::new(rate, times * rate, &[[begin, length]]), delay * MS);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn recovery_is_that_of_the_queue_at_any_rate(
        rate in 3_u64..2_000,
        times in 2_u64..20,
        begin in 2_000_u64..9_000,
        length in 1_400_u64..6_000,
    ) {
        check(&Served::new(rate, times * rate, &[[begin, length]]));
    }
}
