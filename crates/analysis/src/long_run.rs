//! Uncertainty of the mean of an autocorrelated series.
//!
//! Counts of successive 100 ms windows are not independent: a merge or a checkpoint slows ten of them together. The
//! variance of the mean of n windows is then S / n with the *long-run variance* S = γ₀ · τ, where γ₀ is the variance of
//! one window and τ = 1 + 2 Σ ρₖ the integrated autocorrelation time; n / τ windows are *effective*.
//!
//! There are two estimates for different purposes:
//!
//! 1. τ by Geyer's initial monotone sequence (C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7,
//!    1992; see also A. Sokal, "Monte Carlo methods in statistical mechanics", 1997): the sums ρ₂ₘ + ρ₂ₘ₊₁ are added
//!    while they are positive, each limited to the one before it. It only sets the smoothness of the other estimate,
//!    and decides whether there are enough windows.
//! 2. S from the K lowest frequencies, Ŝ = Σ dⱼ² / K with dⱼ = √(2/n) Σₜ rₜ cos(πj(t + ½)/n). K Ŝ / S is nearly χ² with
//!    K degrees of freedom, so means have a Student t with K degrees of freedom. This is the method of batch means
//!    (Schmeiser 1982; Law & Kelton, "Simulation modeling and analysis", chapter 9) with cosines in place of the
//!    batches' steps, as advised by Lazarus, Lewis, Stock & Watson, "HAR inference: recommendations for practice",
//!    Journal of Business & Economic Statistics 36, 2018; Heidelberger & Welch 1981 use the same low frequencies.
//!    Cosines leak less of the higher frequencies, and a straight line can be removed from the series at the cost of
//!    the first of them.
//!
//! Using the estimate of τ for S directly would be wrong more often than stated: it is too small in short series, and
//! those with too small an estimate are the ones that pass a gate on n / τ.

use highwater_model::numbers::{len_to_f64, truncate_to_u64};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Longer series are first averaged over neighbors to at most this many values: the cost of autocorrelations is
/// quadratic in the length, and a day has 864,000 windows.
const MAX_VALUES: usize = 6_000;
/// Minimum degrees of freedom; a Student t with fewer has useless tails.
const MIN_FREQUENCIES: f64 = 4.0;
/// Maximum degrees of freedom; more would narrow the interval by less than 2%.
pub(super) const MAX_FREQUENCIES: f64 = 60.0;

/// The trend that was removed to get the residuals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removed {
    /// The mean, or a known mean of zero.
    Mean,
    /// A straight line.
    Line,
}

/// Parameters of the estimate, calibrated by the tests of its callers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calibration {
    /// The trend removed from the residuals.
    pub(super) removed: Removed,
    /// Frequencies used per effective window; fewer follow slow dependence better.
    pub(super) frequencies: f64,
    /// Maximum number of frequencies: their waves must be longer than any period in the series.
    pub(super) most: f64,
    /// The variance is multiplied by 1 + margin / effective windows, to allow for the error in τ.
    pub(super) margin: f64,
}

/// The uncertainty of a series' mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LongRun {
    /// n times the variance of the mean of n windows.
    pub(super) variance: f64,
    /// Degrees of freedom of `variance`.
    pub(super) degrees: f64,
    /// Effective sample size in windows; at most the length of the series.
    pub(super) effective_windows: f64,
}

/// The long-run variance of a series, from at least 6 residuals.
pub(super) fn long_run(residuals: &[f64], calibration: Calibration) -> LongRun {
    if residuals.len() <= MAX_VALUES {
        return of_bounded(residuals, calibration);
    }
    let size = residuals.len().div_ceil(MAX_VALUES);
    let batches = residuals.chunks_exact(size);
    let means: Vec<f64> =
        batches.map(|batch| batch.iter().sum::<f64>() / len_to_f64(size)).collect();
    let long_run = of_bounded(&means, calibration);
    // Windows vary more than their averages; n / τ is given in windows.
    let variance = |values: &[f64]| {
        let squares: f64 = values.iter().map(|value| value * value).sum();
        squares / len_to_f64(values.len())
    };
    let between = variance(&means);
    let windows = if between > 0.0 {
        long_run.effective_windows * variance(residuals) / between
    } else {
        f64::INFINITY
    };
    LongRun {
        variance: long_run.variance * len_to_f64(size),
        effective_windows: windows.min(len_to_f64(residuals.len())),
        ..long_run
    }
}

fn of_bounded(residuals: &[f64], calibration: Calibration) -> LongRun {
    let n = len_to_f64(residuals.len());
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let effective_windows = if squares > 0.0 {
        n / autocorrelation_time(residuals, squares, calibration.removed)
    } else {
        n
    };
    let degrees = (calibration.frequencies * effective_windows)
        .floor()
        .min(n - 2.0)
        .clamp(MIN_FREQUENCIES, calibration.most);
    // The line takes the equivalent of one frequency: (96/π⁴) Σ j⁻⁴ over odd j, of which j = 1 is 98.6%.
    let summed = match calibration.removed {
        Removed::Mean => degrees,
        Removed::Line => degrees + 1.0,
    };
    let margin = 1.0 + calibration.margin / effective_windows.max(1.0);
    LongRun {
        variance: low_frequency_power(residuals, summed) / degrees * margin,
        degrees,
        effective_windows,
    }
}

/// τ, at least 1, corrected for the bias that removing the mean or line causes in each ρₖ.
pub(super) fn autocorrelation_time(residuals: &[f64], squares: f64, removed: Removed) -> f64 {
    let n = len_to_f64(residuals.len());
    let correlation = |lag: usize| {
        residuals.iter().zip(residuals.get(lag..).unwrap_or(&[])).map(|(a, b)| a * b).sum::<f64>()
            / squares
    };
    let (mut tau, mut before, mut lag) = (-1.0, f64::INFINITY, 0);
    // Beyond n / 10 the exact value is not needed, and the sum would cost n² operations.
    while lag + 1 < residuals.len() / 2 && tau < n / 10.0 {
        let pair = correlation(lag) + correlation(lag + 1);
        if pair <= 0.0 {
            break;
        }
        before = pair.min(before);
        tau += 2.0 * before;
        lag += 2;
    }
    // Each of the ρₖ summed is too small by about τ / n per regressor removed.
    let regressors = match removed {
        Removed::Mean => 1.0,
        Removed::Line => 2.0,
    };
    let kept = 1.0 - regressors * len_to_f64(lag) / n;
    (tau / kept.max(0.2)).max(1.0)
}

/// Σ dⱼ² over the frequencies j = 1 ..= `frequencies`.
fn low_frequency_power(residuals: &[f64], frequencies: f64) -> f64 {
    struct Wave {
        cos: f64,
        sin: f64,
        step_cos: f64,
        step_sin: f64,
        sum: f64,
    }
    let n = len_to_f64(residuals.len());
    let mut waves = Vec::new();
    let mut j = 1.0;
    while j <= frequencies {
        let step = std::f64::consts::PI * j / n;
        waves.push(Wave {
            cos: (step / 2.0).cos(),
            sin: (step / 2.0).sin(),
            step_cos: step.cos(),
            step_sin: step.sin(),
            sum: 0.0,
        });
        j += 1.0;
    }
    for residual in residuals {
        for wave in &mut waves {
            wave.sum += residual * wave.cos;
            // Rotating a unit vector by the step is exact enough for any run and needs no cosine.
            let cos = wave.cos * wave.step_cos - wave.sin * wave.step_sin;
            wave.sin = wave.sin * wave.step_cos + wave.cos * wave.step_sin;
            wave.cos = cos;
        }
    }
    waves.iter().map(|wave| wave.sum * wave.sum).sum::<f64>() * 2.0 / n
}

/// The value that a Student t exceeds with probability `tail`, below one half.
pub(super) fn student_quantile(tail: f64, degrees: f64) -> f64 {
    let Ok(student) = StudentsT::new(0.0, 1.0, degrees) else {
        return f64::INFINITY;
    };
    solve(0.0, 1e6, |t| student.sf(t) <= tail)
}

/// The least x in (low, high) from which on `reached` holds, by bisection to full precision.
pub(super) fn solve(low: f64, high: f64, reached: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if reached(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

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
            let sum: f64 =
                series.iter().enumerate().map(|(t, r)| r * angle(len_to_f64(t)).cos()).sum();
            expect += sum * sum * 2.0 / 500.0;
        }
        near(low_frequency_power(&series, 7.0), expect);
    }

    #[test]
    fn a_long_series_is_averaged_first_and_means_the_same() {
        let mut noise = super::super::synthetic::Noise::new(1);
        let series = noise.autoregression(0.9, 50_000);
        let calibration = Calibration {
            removed: Removed::Mean,
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
            removed: Removed::Mean,
            frequencies: 0.15,
            most: MAX_FREQUENCIES,
            margin: 0.0,
        };
        assert!(long_run(&slow, calibration).effective_windows < 30.0);
    }

    #[test]
    fn alternating_and_constant_series_count_in_full() {
        for series in [vec![0.0; 100], [1.0, -1.0].repeat(50)] {
            for removed in [Removed::Mean, Removed::Line] {
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
}
