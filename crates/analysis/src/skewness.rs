//! Skewness of the mean of a series, and its effect on the interval.
//!
//! A mean with few long stalls is skewed, and correlated with its variance. The t of the mean is then not a Student t,
//! but after Willink's transformation it nearly is (R. Willink, "A confidence interval and test for the mean of an
//! asymmetric distribution", Communications in Statistics 34, 2005; of batch means: A. Tafazzoli & J. R. Wilson,
//! "Skart: a skewness- and autoregression-adjusted batch-means procedure", IIE Transactions 43, 2011). `long_run`
//! estimates the variance itself.

use highwater_model::numbers::{len_to_f64, truncate_to_u64};

/// Below this the transformation is the identity, and its formula divides by zero.
const SYMMETRIC: f64 = 1e-3;

/// The skewness of the series' mean, from this number of batches of equal length, at least 3: that of one batch over
/// the square root of their number. 0 for a series that is too short.
pub(super) fn batch_skewness(deviations: &[f64], batches: f64) -> f64 {
    let length = truncate_to_u64(len_to_f64(deviations.len()) / batches);
    let Some(length) = usize::try_from(length).ok().filter(|length| *length > 0) else {
        return 0.0;
    };
    let means: Vec<f64> = deviations
        .chunks_exact(length)
        .map(|batch| batch.iter().sum::<f64>() / len_to_f64(length))
        .collect();
    let n = len_to_f64(means.len());
    let mean = means.iter().sum::<f64>() / n;
    let moment = |power: i32| means.iter().map(|m| (m - mean).powi(power)).sum::<f64>() / n;
    let variance = moment(2);
    if variance <= 0.0 || n < 3.0 {
        return 0.0;
    }
    let of_batch = moment(3) / variance.powf(1.5) * (n * (n - 1.0)).sqrt() / (n - 2.0);
    of_batch / n.sqrt()
}

/// Willink's G of a quantile of Student's t: ((1 + 6 b (t − b))^⅓ − 1) / 2 b, b a sixth of the
/// skewness of the mean.
pub(super) fn skewed(t: f64, skewness: f64) -> f64 {
    let b = skewness / 6.0;
    if b.abs() < SYMMETRIC {
        return t;
    }
    ((1.0 + 6.0 * b * (t - b)).cbrt() - 1.0) / (2.0 * b)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
