//! The bounds must hold as often as stated, above all the upper one, which decides a pass.

use super::super::synthetic::Noise;
use super::*;

const SERIES: u32 = 1_000;

impl Noise {
    /// Number of successes.
    fn binomial(&mut self, trials: u64, probability: f64) -> u64 {
        (0..trials).map(|_| u64::from(self.uniform() < probability)).sum()
    }
}

fn near(found: f64, expect: f64, share: f64) {
    let error = (found - expect).abs() / expect.max(1e-12);
    assert!(error < share, "{found} instead of {expect}");
}

/// Totals and exceedances of one series.
type Counts = (Vec<u64>, Vec<u64>);

/// Maximum percentage of wrong bounds; more in short series with slow dependence or few stalls.
const WRONG: f64 = 8.0;
const WRONG_SHORT: f64 = 10.0;

/// Percentage of series whose upper bound is below the truth, and whose lower bound is above it.
fn wrong(truth: f64, series: impl Fn(&mut Noise) -> Counts) -> (f64, f64) {
    let (mut too_low, mut too_high) = (0, 0);
    for seed in 0..SERIES {
        let (totals, over) = series(&mut Noise::new(u64::from(seed)));
        let found = exceedance(&totals, &over);
        too_low += u32::from(found.upper95 < truth);
        too_high += u32::from(found.lower95 > truth);
    }
    let per_cent = |count| 100.0 * f64::from(count) / f64::from(SERIES);
    (per_cent(too_low), per_cent(too_high))
}

fn check(name: &str, truth: f64, series: impl Fn(&mut Noise) -> Counts) {
    check_within(WRONG, name, truth, series);
}

fn check_within(limit: f64, name: &str, truth: f64, series: impl Fn(&mut Noise) -> Counts) {
    let (too_low, too_high) = wrong(truth, series);
    println!("{name}: upper too low {too_low:.1}%, lower too high {too_high:.1}%");
    assert!(too_low <= limit, "{name}: {too_low}");
    assert!(too_high <= limit, "{name}: {too_high}");
    assert!(too_low + too_high >= 1.0, "{name}: bounds say nothing");
}

fn independent(name: &str, windows: usize, ops: f64, truth: f64) {
    check(name, truth, |noise| {
        let totals: Vec<u64> = (0..windows).map(|_| noise.poisson(ops)).collect();
        let over = totals.iter().map(|total| noise.binomial(*total, truth)).collect();
        (totals, over)
    });
}

/// A log-normal probability that wanders; its mean is `truth`.
fn wandering(name: &str, windows: usize, phi: f64, deviation: f64) {
    let truth = 0.01;
    let short = phi > 0.8 && windows < 600;
    check_within(if short { WRONG_SHORT } else { WRONG }, name, truth, |noise| {
        let log = noise.autoregression(phi, windows);
        let totals: Vec<u64> = (0..windows).map(|_| noise.poisson(50.0)).collect();
        let over = totals
            .iter()
            .zip(log)
            .map(|(total, log)| {
                let shift = deviation * log - deviation * deviation / 2.0;
                noise.binomial(*total, (truth * shift.exp()).min(1.0))
            })
            .collect();
        (totals, over)
    });
}

/// Stalls that last some windows, in which half of the ops exceed the bound.
fn stalls(name: &str, windows: usize, length: f64, truth: f64) {
    let share = 2.0 * truth;
    let begin = share / (1.0 - share) / length;
    // Three stalls on average; one series in twenty has none, which no method can detect.
    let few = windows < 600;
    check_within(if few { WRONG_SHORT } else { WRONG }, name, truth, |noise| {
        let mut stalled = noise.uniform() < share;
        let mut counts = (Vec::new(), Vec::new());
        for _ in 0..windows {
            let total = noise.poisson(20.0);
            let probability = if stalled { 0.5 } else { 0.0 };
            counts.0.push(total);
            counts.1.push(noise.binomial(total, probability));
            let draw = noise.uniform();
            stalled = if stalled { draw >= 1.0 / length } else { draw < begin };
        }
        counts
    });
}

#[test]
fn bounds_of_independent_ops_hold() {
    independent("600 windows of 10 ops", 600, 10.0, 0.01);
    independent("150 windows of 10 ops", 150, 10.0, 0.01);
}

#[test]
fn bounds_of_dependent_ops_hold() {
    wandering("phi 0.6, 600 windows", 600, 0.6, 0.7);
    stalls("stalls of 5 windows, 600 windows", 600, 5.0, 0.05);
}

#[test]
#[ignore = "the whole grid takes half a minute"]
fn long_bounds_hold_on_the_full_grid() {
    for windows in [150, 300, 600, 3_000] {
        independent(&format!("{windows} windows of 2"), windows, 2.0, 0.01);
        independent(&format!("{windows} windows of 20"), windows, 20.0, 0.01);
        independent(&format!("{windows} windows, half"), windows, 20.0, 0.5);
    }
    for windows in [300, 600, 3_000] {
        for phi in [0.0, 0.3, 0.6, 0.9] {
            wandering(&format!("phi {phi}, {windows} windows"), windows, phi, 0.5);
        }
        stalls(&format!("stalls of 5, {windows} windows"), windows, 5.0, 0.05);
    }
    stalls("stalls of 2, 3,000 windows", 3_000, 2.0, 0.01);
}

#[test]
fn without_exceedance_the_rule_of_three_bounds_it() {
    let found = exceedance(&[10; 100], &[0; 100]);
    assert_eq!((found.fraction, found.lower95), (0.0, 0.0));
    assert_eq!(found.samples, 1_000);
    near(found.upper95, 0.002_991_249_5, 1e-6);
}

#[test]
fn with_only_exceedances_it_bounds_the_rest() {
    let found = exceedance(&[10; 100], &[10; 100]);
    assert_eq!((found.fraction, found.upper95), (1.0, 1.0));
    near(found.lower95, 0.997_008_75, 1e-6);
}

#[test]
fn without_ops_nothing_is_known() {
    for (totals, over) in [(vec![], vec![]), (vec![0; 50], vec![0; 50]), (vec![5], vec![])] {
        let found = exceedance(&totals, &over);
        assert_eq!((found.lower95, found.upper95, found.samples), (0.0, 1.0, 0));
    }
}

#[test]
fn the_same_share_in_every_window_is_no_reason_for_less_than_binomial_width() {
    let found = exceedance(&[100; 600], &[1; 600]);
    near(found.fraction, 0.01, 1e-9);
    assert!(found.upper95 > 0.010_6, "{found:?}");
    assert!(found.upper95 < 0.010_8, "{found:?}");
}

#[test]
fn bursts_widen_the_bounds() {
    let totals = [100_u64; 600];
    let spread: Vec<u64> = (0..600_u64).map(|w| u64::from(w * 37 % 100 < 50) * 2).collect();
    let burst: Vec<u64> = (0..600).map(|w| u64::from(w % 100 < 10) * 10).collect();
    let (spread, burst) = (exceedance(&totals, &spread), exceedance(&totals, &burst));
    assert!((spread.fraction - burst.fraction).abs() < 1e-12);
    assert!(burst.upper95 - burst.fraction > 3.0 * (spread.upper95 - spread.fraction));
}

#[test]
fn a_few_windows_count_as_one_sample_each() {
    let found = exceedance(&[1_000; 5], &[0; 5]);
    near(found.upper95, 1.0 - 0.05_f64.powf(0.2), 1e-9);
}

#[test]
fn more_exceedances_than_ops_count_as_all_of_them() {
    let found = exceedance(&[10; 20], &[u64::MAX; 20]);
    assert!((found.fraction - 1.0).abs() < 1e-12);
}

#[test]
fn bounds_of_independent_samples_agree_with_tables() {
    let check = |successes: f64, samples: f64, lower: f64, upper: f64, share: f64| {
        let found = bounds(successes / samples, samples);
        near(found.0, lower, share);
        near(found.1, upper, share);
    };
    check(1.0, 1_000.0, 5.129_197_9e-5, 0.004_734_993_6, 1e-6);
    check(10.0, 1_000.0, 0.005_435_140_1, 0.016_903_175, 1e-6);
    check(300.0, 1e6, 0.000_272_093_7, 0.000_330_089_3, 1e-6);
    check(399.0, 40_000.0, 0.009_171_652_9, 0.010_831_715_2, 1e-6);
    check(500.0, 1e6, 0.000_463_805_3, 0.000_538_366_2, 2e-3);
    check(999.0, 1_000.0, 0.995_265_006, 0.999_948_709, 1e-6);
}
