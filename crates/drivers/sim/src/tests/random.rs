//! Random numbers have the moments of their distributions, and are uncorrelated.

#![expect(clippy::cast_precision_loss, reason = "counts of a million are exact in a double")]

use highwater_model::units::Seed;

use crate::values::{Purpose, RandomKey};

const DRAWS: u64 = 1_000_000;

/// Mean and variance over a million consecutive keys.
fn moments(random: impl Fn(RandomKey) -> f64) -> (f64, f64) {
    let root = RandomKey::new(Seed(11), Purpose::Op);
    let values: Vec<f64> = (0..DRAWS).map(|index| random(root.with(index))).collect();
    let mean = values.iter().sum::<f64>() / DRAWS as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / DRAWS as f64)
}

/// Four standard errors: of a mean √(variance / n), of a variance √((kurtosis − 1) / n) of itself.
fn check(random: impl Fn(RandomKey) -> f64, mean: f64, variance: f64, kurtosis: f64) {
    let (measured_mean, measured_variance) = moments(random);
    let n = DRAWS as f64;
    let mean_error = 4.0 * (variance / n).sqrt();
    assert!((measured_mean - mean).abs() < mean_error, "{measured_mean}, not {mean}");
    let variance_error = 4.0 * variance * ((kurtosis - 1.0) / n).sqrt();
    assert!(
        (measured_variance - variance).abs() < variance_error,
        "{measured_variance}, not {variance}"
    );
}

#[test]
fn the_distributions_have_their_mean_and_variance() {
    check(RandomKey::uniform, 0.5, 1.0 / 12.0, 1.8);
    check(RandomKey::exponential, 1.0, 1.0, 9.0);
    check(|random| f64::from(u8::from(random.happens(0.01))), 0.01, 0.0099, 99.0);
    check(|random| f64::from(random.below(6)), 2.5, 35.0 / 12.0, 1.74);
    // With w = 1 + cv², a lognormal has kurtosis w⁴ + 2w³ + 3w² − 3.
    check(|random| random.lognormal(0.5), 1.0, 0.25, 8.04);
    check(|random| random.lognormal(1.0), 1.0, 1.0, 41.0);
}

#[test]
fn neighboring_keys_are_uncorrelated() {
    let root = RandomKey::new(Seed(5), Purpose::Op);
    let correlation = |a: &dyn Fn(u64) -> RandomKey, b: &dyn Fn(u64) -> RandomKey| {
        let sum: f64 =
            (0..DRAWS).map(|index| (a(index).uniform() - 0.5) * (b(index).uniform() - 0.5)).sum();
        12.0 * sum / DRAWS as f64
    };
    let other = RandomKey::new(Seed(6), Purpose::Op);
    for neighbor in [
        &(|index: u64| root.with(index + 1)) as &dyn Fn(u64) -> RandomKey,
        &|index| root.with(index).with(1),
        &|index| root.with(0).with(index),
        &|index| other.with(index),
    ] {
        let correlation = correlation(&|index| root.with(index), neighbor);
        // Five standard errors of 1/√n.
        assert!(correlation.abs() < 0.005, "{correlation}");
    }
}

#[test]
fn certain_and_impossible_events_are_exact() {
    let root = RandomKey::new(Seed(5), Purpose::DroppedRow);
    for index in 0..10_000 {
        assert!(root.with(index).happens(1.0));
        assert!(!root.with(index).happens(0.0));
        assert_eq!(root.with(index).below(1), 0);
    }
}
