//! Intervals must miss about as often as stated, and series that are called steady must be steady.

use highwater_model::numbers::truncate_to_u64;
use highwater_model::record::{
    AnsweredRecord, ResultRecord, Steadiness, ThroughputRecord, Windows,
};

use super::accuracy::{Level, Process, STALLS};
use super::*;
use crate::synthetic::{Noise, seeds_of_version};

const WINDOW: Nanos = Nanos::from_millis(100);
const SERIES: u64 = 2_000;

/// Where most series have intervals, 3 to 8% of them miss; elsewhere at most 8% of all series have a
/// wrong one.
fn check(process: &Process) -> Level {
    let found = process.level(0..SERIES);
    let name = &process.name;
    println!("{name}: {found:.1?}");
    for (known, misses) in [(found.known, found.misses), (found.tested, found.drift_misses)] {
        if known >= 50.0 {
            assert!((3.0..=8.0).contains(&misses), "{name}: {found:?}");
        } else if known > 0.0 {
            assert!(misses * known <= 800.0, "{name}: {found:?}");
        }
    }
    found
}

fn check_autoregression(phi: f64, windows: usize) -> Level {
    check(&Process::autoregression(phi, windows))
}

/// Runs of a minute. With rare, short stalls a run has ten, whose lengths are poorly known, and up
/// to 8.5% of intervals miss. All processes together are held to the stated level.
fn check_stalls(series: u64) {
    let (mut misses, mut known) = (0.0, 0.0);
    for [stall, gap] in STALLS {
        let process = Process::stalling(stall, gap);
        let found = process.level(seeds_of_version(series));
        let name = &process.name;
        println!("{name}: {found:.1?}");
        assert!((1.5..=9.5).contains(&found.misses), "{name}: {found:?}");
        assert!((1.5..=8.5).contains(&found.drift_misses), "{name}: {found:?}");
        assert!(found.known >= 90.0, "{name}: {found:?}");
        misses += found.misses / len_to_f64(STALLS.len());
        known += found.known / len_to_f64(STALLS.len());
    }
    println!("all: {:.1}% held, {known:.1}% known", 100.0 - misses);
    assert!((4.0..=6.0).contains(&misses), "{misses}");
}

#[test]
fn intervals_of_stalling_targets_hold_at_the_stated_level() {
    check_stalls(400);
}

#[test]
#[ignore = "18,000 series"]
fn long_intervals_of_stalling_targets_hold_at_the_stated_level() {
    check_stalls(2_000);
}

#[test]
fn independent_counts_are_judged_at_the_stated_level() {
    assert!(check(&Process::poisson(5.0, 300)).known > 99.9);
    check_autoregression(0.0, 300);
}

#[test]
fn dependent_counts_are_judged_at_the_stated_level() {
    check_autoregression(0.3, 300);
    check_autoregression(0.6, 300);
    assert!(check_autoregression(0.9, 600).known > 95.0);
    check_autoregression(0.9, 3_000);
    check(&Process::hidden(0.9, 600));
}

#[test]
fn too_short_a_series_has_no_interval() {
    assert!(check_autoregression(0.98, 300).tested < 25.0);
    let short = check_autoregression(0.0, 29);
    assert!(short.tested <= 0.0 && short.known <= 0.0);
}

#[test]
#[ignore = "the whole grid takes half a minute"]
fn long_the_full_grid_is_judged_at_the_stated_level() {
    for length in [300, 600, 1_200, 3_000] {
        check(&Process::poisson(5.0, length));
        for phi in [0.0, 0.3, 0.6, 0.8, 0.9] {
            check_autoregression(phi, length);
        }
    }
    for length in [600, 1_200, 3_000] {
        check(&Process::hidden(0.9, length));
    }
    check(&Process::hidden(0.97, 3_000));
}

#[test]
fn a_drift_within_the_bound_is_steady_one_outside_is_not_and_one_at_it_is_neither() {
    let drifting = |percent: f64, phi: f64, windows: usize| {
        check(&Process::autoregression(phi, windows).drifting(percent))
    };
    for (percent, phi, windows) in [(0.0, 0.0, 300), (0.0, 0.6, 600), (5.0, 0.3, 1_200)] {
        assert!(drifting(percent, phi, windows).steady > 90.0);
    }
    for (percent, phi, windows) in [(20.0, 0.0, 300), (-20.0, 0.6, 600), (15.0, 0.6, 1_200)] {
        assert!(drifting(percent, phi, windows).not_steady > 90.0);
    }
    let at_it = drifting(10.0, 0.6, 600);
    assert!(at_it.steady < 4.0 && at_it.not_steady < 4.0, "{at_it:?}");
}

#[test]
fn a_drift_beside_stalls_is_not_called_steady() {
    let process = Process::stalling(1.6, 4.0).drifting(20.0);
    let found = process.level(0..400);
    assert!(found.steady < 2.0, "{found:?}");
}

#[test]
fn a_drift_is_reported_with_its_size() {
    let slow: Vec<u64> = (0..600).map(|t| 1_030 - t / 10 + t * 7 % 3).collect();
    let found = throughput(&slow, WINDOW);
    let drift = found.drift.unwrap();
    assert!((drift.percent + 6.0).abs() < 0.1, "{drift:?}");
    let (low, high) = drift.ci95;
    assert!(low < drift.percent && drift.percent < high, "{drift:?}");
    assert!(high - low < 0.5, "{drift:?}");
    let [first, last] = found.thirds_per_s.unwrap();
    assert!((first / found.mean_per_s - 1.02).abs() < 1e-3, "{first}");
    assert!((last / found.mean_per_s - 0.98).abs() < 1e-3, "{last}");
}

/// Counts of arrivals at exactly even distances, `size` things each.
fn even(per_window: f64, size: u64, windows: usize) -> Vec<u64> {
    let due = |window: usize| truncate_to_u64(len_to_f64(window) * per_window);
    (0..windows).map(|w| (due(w + 1) - due(w)) * size).collect()
}

#[test]
fn an_even_pace_has_no_drift_although_its_counts_alternate() {
    for windows in [150, 600, 601, 3_000, 12_000, 20_000] {
        for per_window in [10.5, 10.25, 3.37, 7.9, 0.5, 0.1, 1_000.01, 12.345] {
            for size in [1, 1_000] {
                let found = throughput(&even(per_window, size, windows), WINDOW);
                let name = format!("{windows} windows of {per_window} times {size}: {found:?}");
                let (least, most) = found.drift.expect(&name).ci95;
                assert!(least <= 0.0 && 0.0 <= most, "{name}");
                let (low, high) = found.ci95.expect(&name);
                let truth = per_window * 10.0 * len_to_f64(usize::try_from(size).unwrap());
                assert!((low..=high).contains(&truth), "{name}");
            }
        }
    }
}

#[test]
fn a_constant_is_known_exactly_and_steady() {
    for rate in [0, 7, u64::from(u32::MAX)] {
        let found = throughput(&[rate; 300], WINDOW);
        let per_s = found.mean_per_s;
        assert_eq!(found.ci95, Some((per_s, per_s)));
        let (percent, ci95) = (0.0, (0.0, 0.0));
        assert_eq!(found.drift, Some(Drift { percent, ci95 }));
        assert!((found.effective_windows - 300.0).abs() < 1e-9);
    }
    assert_eq!(throughput(&[7; 29], WINDOW).ci95, None);
}

#[test]
fn a_perfect_line_is_not_steady() {
    let line: Vec<u64> = (0..300).map(|t| 1_000 + t).collect();
    let drift = throughput(&line, WINDOW).drift.unwrap();
    let rule = SteadinessRule::default();
    assert_eq!(drift.steadiness(rule), Steadiness::NotSteady);
}

#[test]
fn nothing_measured_is_not_tested() {
    for (series, window) in [(vec![], WINDOW), (vec![5; 100], Nanos::ZERO), (vec![5], WINDOW)] {
        let found = throughput(&series, window);
        assert_eq!((found.ci95, found.drift), (None, None));
        assert!(found.mean_per_s.is_finite());
    }
}

#[test]
fn the_rate_is_per_second() {
    let found = throughput(&[10, 20].repeat(50), Nanos::from_millis(250));
    assert!((found.mean_per_s - 60.0).abs() < 1e-9);
}

/// Counts of a target that stalls for half a second in every five, starting anywhere.
fn repeating(noise: &mut Noise) -> Vec<u64> {
    let begin = truncate_to_u64(50.0 * noise.uniform());
    (0..600)
        .map(|window| {
            let stands = (window + begin) % 50 < 5;
            if stands { 0 } else { noise.poisson(100.0) }
        })
        .collect()
}

/// Its frequencies have periods above five seconds; with shorter ones, the stalls would look
/// random.
#[test]
fn periodic_slowdowns_are_not_treated_as_chance() {
    let found = (0..400).map(|seed| throughput(&repeating(&mut Noise::new(seed)), WINDOW));
    let intervals: Vec<(f64, f64)> = found.filter_map(|found| found.ci95).collect();
    assert_eq!(intervals.len(), 400);
    let holds = |(low, high): &&(f64, f64)| (*low..=*high).contains(&900.0);
    assert!(intervals.iter().filter(holds).count() >= 376);
    let halves = intervals.iter().map(|(low, high)| (high - low) / 2.0 / 900.0);
    let mut halves: Vec<f64> = halves.collect();
    halves.sort_by(f64::total_cmp);
    // With waves of a second and longer, 2.4%.
    assert!(halves[200] < 0.02, "{}", halves[200]);
}

/// A stream whose ops have ten rows, of which in every other second all are acknowledged in half.
#[test]
fn rows_count_if_ops_are_partly_acknowledged() {
    let ops = vec![10_u64; 600];
    let missing: Vec<u64> = (0..600).map(|window| window / 10 % 2 * 50).collect();
    let rows = 10 * 6_000 - missing.iter().sum::<u64>();
    let result = |missing: Vec<u64>| ResultRecord {
        answered: AnsweredRecord { ops: 6_000, rows },
        throughput: ThroughputRecord { ops_per_s: 100.0, rows_per_s: 750.0, ci95: None },
        windows: Windows { acknowledged: ops.clone(), missing, ..Windows::default() },
        ..ResultRecord::default()
    };
    let [whole, partial] = [vec![], missing].map(result);
    let (counts, units) = counted(Unit::Rows, &[&whole]);
    assert_eq!((&*counts, units), (&ops[..], 7.5), "ops that are alike");
    let (counts, units) = counted(Unit::Rows, &[&partial]);
    assert_eq!((&counts[8..12], units), (&[100, 100, 50, 50][..], 1.0));
    let (counts, units) = counted(Unit::Queries, &[&partial]);
    assert_eq!((&*counts, units), (&ops[..], 1.0));
    // Ops of a stream are added up.
    let (counts, _) = counted(Unit::Rows, &[&partial, &partial]);
    assert_eq!(&counts[8..12], [200, 200, 100, 100]);
}

fn near(found: f64, expect: f64) {
    let error = (found - expect).abs() / expect.abs().max(1e-300);
    assert!(error < 1e-6, "{found} instead of {expect}");
}

#[test]
fn student_agrees_with_tables() {
    near(student_quantile(0.025, 4.0), 2.776_445_105);
    near(student_quantile(0.025, 10.0), 2.228_138_852);
    near(student_quantile(0.025, 60.0), 2.000_297_822);
    near(student_quantile(0.05, 4.0), 2.131_846_786);
}

#[test]
fn power_is_that_of_the_cosines() {
    let series: Vec<f64> = (0..500).map(|i| f64::from((i * 7_919) % 101)).collect();
    let mut expect = 0.0;
    for j in 1..=7 {
        let angle = |t: f64| std::f64::consts::PI * f64::from(j) * (t + 0.5) / 500.0;
        let sum: f64 = series.iter().enumerate().map(|(t, r)| r * angle(len_to_f64(t)).cos()).sum();
        expect += sum * sum * 2.0 / 500.0;
    }
    near(low_frequency_power(&series, 7.0), expect);
}

#[test]
fn a_long_series_is_averaged_first_and_means_the_same() {
    let mut noise = crate::synthetic::Noise::new(1);
    let series = noise.autoregression(0.9, 50_000);
    let calibration = Calibration {
        removed: RemovedTrend::Mean,
        frequencies: 0.15,
        most: MAX_FREQUENCIES,
        margin: 0.0,
    };
    let found = long_run(&series, calibration);
    let truth = (1.0 + 0.9) / (1.0 - 0.9);
    assert!((found.variance / truth - 1.0).abs() < 0.4, "{found:?}");
    let effective = 50_000.0 / truth;
    assert!((found.effective_windows / effective - 1.0).abs() < 0.2, "{found:?}");
}

#[test]
fn a_day_of_slow_change_is_done_at_once() {
    let slow: Vec<f64> = (0..864_000).map(|t| (f64::from(t) / 2e5).sin()).collect();
    let calibration = Calibration {
        removed: RemovedTrend::Mean,
        frequencies: 0.15,
        most: MAX_FREQUENCIES,
        margin: 0.0,
    };
    assert!(long_run(&slow, calibration).effective_windows < 30.0);
}

#[test]
fn alternating_and_constant_series_count_in_full() {
    for series in [vec![0.0; 100], [1.0, -1.0].repeat(50)] {
        for removed in [RemovedTrend::Mean, RemovedTrend::Line] {
            let calibration =
                Calibration { removed, frequencies: 0.15, most: MAX_FREQUENCIES, margin: 5.0 };
            near(long_run(&series, calibration).effective_windows, 100.0);
        }
    }
}

/// Calculated by hand: (1 + 0.6 · 1.9)^⅓ = 1.288 659, (1 − 0.6 · 2.1)^⅓ = −0.638 250.
#[test]
fn a_skewed_mean_has_a_longer_interval_on_its_long_side() {
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-5, "{found}");
    near(skewed(2.0, 0.6), 1.443_295);
    near(skewed(-2.0, 0.6), -8.191_25);
    near(skewed(2.0, 0.0), 2.0);
    near(skewed(-2.0, -0.6), -1.443_295);
}

#[test]
fn skewness_is_that_of_the_batches() {
    // Six batches of two: means 0, 0, 0, 0, 0, 6; skewness of one is 2.449 after the correction.
    let series = [[0.0; 10].as_slice(), &[6.0, 6.0]].concat();
    let found = batch_skewness(&series, 6.0);
    assert!((found - 1.0).abs() < 1e-9, "{found}");
    let symmetric = [1.0, 1.0, -1.0, -1.0].repeat(6);
    assert!(batch_skewness(&symmetric, 12.0).abs() < 1e-9);
    assert!(batch_skewness(&[1.0, 2.0], 6.0).abs() < 1e-9);
    assert!(batch_skewness(&[3.0; 60], 6.0).abs() < 1e-9);
}
