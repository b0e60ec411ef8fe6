//! Periodic slowdowns: whether a series falls at regular distances.
//!
//! Fisher's exact test of the greatest ordinate of the periodogram (R. A. Fisher, "Tests of significance in harmonic
//! analysis", Proc. R. Soc. A 125, 1929), after removing the first-order autocorrelation (otherwise slow noise looks
//! like a long period). The period is taken from the autocorrelation, which fits short pulses better than one frequency
//! does; the depth is found by folding the series at the period.

use highwater_model::numbers::len_to_f64;

/// A period is reported if its p value is below this.
const LEVEL: f64 = 0.01;
/// Longer series are averaged to at most this many values: the cost of the periodogram is quadratic.
const VALUES_MAX: usize = 1_024;
/// With fewer values, or fewer periods, there is no pattern.
const VALUES_MIN: usize = 60;
const PERIODS_MIN: usize = 4;
/// A shorter lag is preferred if its autocorrelation is at least this fraction of the greatest.
const AS_GOOD: f64 = 0.85;

/// A periodic slowdown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeriodicSlowdown {
    /// Period in values.
    pub period: f64,
    /// How far the lowest part of a period is below the mean, as a fraction of it.
    pub depth: f64,
}

/// The periodic slowdown of a series, if any.
pub fn periodic_slowdown(values: &[f64]) -> Option<PeriodicSlowdown> {
    let size = values.len().div_ceil(VALUES_MAX).max(1);
    let chunks = values.chunks_exact(size);
    let averaged: Vec<f64> = chunks.map(|c| c.iter().sum::<f64>() / len_to_f64(size)).collect();
    if averaged.len() < VALUES_MIN {
        return None;
    }
    let mean = averaged.iter().sum::<f64>() / len_to_f64(averaged.len());
    let deviations: Vec<f64> = averaged.iter().map(|value| value - mean).collect();
    let p_value = fisher(&whitened(&deviations)?)?;
    if p_value >= LEVEL || mean <= 0.0 {
        return None;
    }
    let lag = period(&deviations)?;
    let depth = -lowest(&deviations, lag) / mean;
    Some(PeriodicSlowdown { period: len_to_f64(lag * size), depth })
}

/// The series without its first-order autocorrelation.
fn whitened(deviations: &[f64]) -> Option<Vec<f64>> {
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    if squares <= 0.0 {
        return None;
    }
    let pairs = || deviations.iter().zip(&deviations[1..]);
    let memory = pairs().map(|(a, b)| a * b).sum::<f64>() / squares;
    Some(pairs().map(|(a, b)| b - memory * a).collect())
}

/// p value of the greatest ordinate's fraction of the total, under white noise.
fn fisher(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let ordinates: Vec<f64> = (1..n.div_ceil(2)).map(|j| ordinate(values, j)).collect();
    let sum: f64 = ordinates.iter().sum();
    let most = ordinates.iter().copied().reduce(f64::max)?;
    if sum <= 0.0 {
        return None;
    }
    let (share, m) = (most / sum, len_to_f64(ordinates.len()));
    // P(g > x) = Σ (−1)^(k−1) C(m, k) (1 − kx)^(m−1); the first term bounds it from above.
    Some((m * (1.0 - share).powf(m - 1.0)).min(1.0))
}

fn ordinate(values: &[f64], j: usize) -> f64 {
    let step = std::f64::consts::TAU * len_to_f64(j) / len_to_f64(values.len());
    let (turn_sin, turn_cos) = step.sin_cos();
    let (mut sin, mut cos, mut a, mut b) = (0.0, 1.0, 0.0, 0.0);
    for value in values {
        a += value * cos;
        b += value * sin;
        (sin, cos) = (sin * turn_cos + cos * turn_sin, cos * turn_cos - sin * turn_sin);
    }
    a * a + b * b
}

/// The shortest lag whose autocorrelation is close to the greatest.
fn period(deviations: &[f64]) -> Option<usize> {
    let longest = deviations.len() / PERIODS_MIN;
    let alike: Vec<f64> = (0..=longest)
        .map(|lag| {
            deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b).sum::<f64>()
                / len_to_f64(deviations.len() - lag)
        })
        .collect();
    let is_peak = |lag: &usize| alike[lag - 1] <= alike[*lag] && alike[*lag] > alike[lag + 1];
    let peaks: Vec<usize> = (2..longest).filter(is_peak).filter(|lag| alike[*lag] > 0.0).collect();
    let most = peaks.iter().map(|lag| alike[*lag]).reduce(f64::max)?;
    peaks.into_iter().find(|lag| alike[*lag] >= AS_GOOD * most)
}

/// The lowest mean of a part of the period.
fn lowest(deviations: &[f64], lag: usize) -> f64 {
    let part = |phase: usize| {
        let values = deviations.iter().skip(phase).step_by(lag);
        values.clone().sum::<f64>() / len_to_f64(values.count()).max(1.0)
    };
    (0..lag).map(part).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::Noise;
    use super::*;

    /// Noise of 5% around 1,000, with lower values every `period` values.
    fn slowed(seed: u64, length: usize, period: usize, low: f64) -> Vec<f64> {
        let mut noise = Noise::new(seed);
        (0..length)
            .map(|t| {
                let level = if t % period < 2 { low } else { 1_000.0 };
                level + 50.0 * noise.normal()
            })
            .collect()
    }

    #[test]
    fn slowdowns_at_a_regular_distance_are_reported_with_their_depth() {
        for period in [7, 30, 47] {
            let found = periodic_slowdown(&slowed(3, 600, period, 400.0)).unwrap();
            assert!((found.period - len_to_f64(period)).abs() < 0.5, "{period}: {found:?}");
            assert!((0.4..0.7).contains(&found.depth), "{found:?}");
        }
        let long = periodic_slowdown(&slowed(3, 6_000, 300, 200.0)).unwrap();
        assert!((long.period - 300.0).abs() <= 6.0, "{long:?}");
    }

    /// At most the stated 1% of series without a period show one; 3 σ of 500 series are 1.3%.
    #[test]
    fn noise_has_no_period() {
        for phi in [0.0, 0.5, 0.9] {
            let series = (0..500).map(|seed| Noise::new(seed).autoregression(phi, 300));
            let false_alarms = series.filter(|values| {
                let values: Vec<f64> = values.iter().map(|v| 1_000.0 + 50.0 * v).collect();
                periodic_slowdown(&values).is_some()
            });
            let false_alarms = false_alarms.count();
            assert!(false_alarms <= 11, "phi {phi}: {false_alarms} of 500");
        }
    }

    #[test]
    fn short_or_constant_series_have_none() {
        assert_eq!(periodic_slowdown(&[]), None);
        assert_eq!(periodic_slowdown(&slowed(1, 59, 7, 0.0)), None);
        assert_eq!(periodic_slowdown(&[5.0; 100]), None);
    }
}
