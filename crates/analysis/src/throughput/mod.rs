//! The mean rate of a series of counts, how well it is known, and whether it drifts.
//!
//! Both answers allow for dependence between windows (see `long_run`), and both are absent where
//! the series is worth fewer than 30 independent windows: an interval is never invented.

use std::collections::BTreeSet;

use super::long_run::{Calibration, LongRun, Removed, long_run, student_p_value, student_quantile};
use highwater_model::numbers::len_to_f64;
use highwater_model::record::Steadiness;
use highwater_model::units::Nanos;

#[cfg(test)]
mod tests;

/// Fewest effective windows for an interval and for the test of steadiness.
pub const MIN_EFFECTIVE_WINDOWS: f64 = 30.0;
/// Level of the test of steadiness: so often a steady series is called not steady.
pub const STEADINESS_LEVEL: f64 = 0.05;

/// Chosen so that both the interval and the test are wrong in 3 to 8 % of the tests' series.
const CALIBRATION: Calibration = Calibration {
    removed: Removed::Line,
    frequencies: 0.15,
    margin: 5.0,
};

/// A rate over a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// Counted things per second.
    pub mean_per_s: f64,
    /// 95 % confidence interval of the mean, per second; absent when not tested.
    pub ci95: Option<(f64, f64)>,
    /// Independent windows that the series is worth.
    pub effective_windows: f64,
    /// Change over the series that a straight line shows, percent of the mean, whether it is
    /// significant or not; absent when not tested.
    pub drift_per_cent: Option<f64>,
    /// Whether the rate drifts.
    pub drift: Drift,
}

/// Whether a rate drifts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Drift {
    /// None was found. A drift smaller than the noise is not seen.
    None,
    /// A straight line fits better than a constant does.
    Found {
        /// Change over the series, percent of the mean.
        drift_per_cent: f64,
        /// How often a steady series would show such a line.
        p_value: f64,
    },
    /// Too few independent windows.
    NotTested,
}

impl Drift {
    /// Without its figures, as records hold it.
    pub const fn steadiness(self) -> Steadiness {
        match self {
            Self::None => Steadiness::Steady,
            Self::Found { .. } => Steadiness::NotSteady,
            Self::NotTested => Steadiness::NotTested,
        }
    }
}

/// A straight line through a series and what it leaves.
struct Line {
    mean: f64,
    /// Per window.
    slope: f64,
    /// Σ (t − t̄)².
    spread: f64,
    residuals: Vec<f64>,
    /// The line explains everything, rounding apart.
    exact: bool,
}

/// The rate of things counted per window, its interval and its steadiness.
///
/// With the long-run variance S of the series without its straight line, and K degrees of freedom:
///
/// - interval: mean ± t(K; 0.975) √(S / n);
/// - steadiness: the slope b has the variance S / Σ(t − t̄)², so b √Σ(t − t̄)² / √S is compared
///   with a Student t of K degrees of freedom at 5 %;
/// - S is at least s² / n, where s is the smallest difference between two counts: the ends of the
///   series cut a batch in two, so its sum is known to one batch at best. An even pace, whose
///   counts alternate, would else be measured so exactly that the cut shows as a drift.
///
/// A window of zero length, or no window at all, gives a rate of 0, not tested.
pub fn throughput(counts: &[u64], window: Nanos) -> Throughput {
    let windows = len_to_f64(counts.len());
    if counts.is_empty() || window == Nanos::ZERO {
        return not_tested(0.0, windows);
    }
    let per_s = 1.0 / window.as_secs_f64();
    let line = fit(counts);
    let rate = line.mean * per_s;
    let long_run = if line.exact {
        LongRun {
            variance: 0.0,
            degrees: 1.0,
            effective_windows: windows,
        }
    } else {
        let mut long_run = long_run(&line.residuals, CALIBRATION);
        let step = smallest_step(counts);
        long_run.variance = long_run.variance.max(step * step / windows);
        long_run
    };
    if long_run.effective_windows < MIN_EFFECTIVE_WINDOWS {
        return not_tested(rate, long_run.effective_windows);
    }
    let half = if line.exact {
        0.0
    } else {
        let error = (long_run.variance / windows).sqrt();
        student_quantile(0.025, long_run.degrees) * error * per_s
    };
    let drift_per_cent = if line.slope == 0.0 {
        0.0
    } else {
        100.0 * line.slope * windows / line.mean
    };
    Throughput {
        mean_per_s: rate,
        ci95: Some(((rate - half).max(0.0), rate + half)),
        effective_windows: long_run.effective_windows,
        drift_per_cent: Some(drift_per_cent),
        drift: drift(&line, &long_run, drift_per_cent),
    }
}

fn not_tested(mean_per_s: f64, effective_windows: f64) -> Throughput {
    Throughput {
        mean_per_s,
        ci95: None,
        effective_windows,
        drift_per_cent: None,
        drift: Drift::NotTested,
    }
}

fn drift(line: &Line, long_run: &LongRun, drift_per_cent: f64) -> Drift {
    let p_value = if line.slope == 0.0 {
        1.0
    } else if line.exact {
        0.0
    } else {
        let t = line.slope * line.spread.sqrt() / long_run.variance.sqrt();
        student_p_value(t, long_run.degrees)
    };
    if p_value < STEADINESS_LEVEL {
        Drift::Found {
            drift_per_cent,
            p_value,
        }
    } else {
        Drift::None
    }
}

/// The smallest difference between two distinct counts, or 0.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a window stay below 2^53"
)]
fn smallest_step(counts: &[u64]) -> f64 {
    // A day has 864,000 counts, and few distinct ones.
    let distinct: BTreeSet<u64> = counts.iter().copied().collect();
    let pairs = distinct.iter().zip(distinct.iter().skip(1));
    pairs.map(|(low, high)| high - low).min().unwrap_or(0) as f64
}

/// Least squares; the series must not be empty.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a window stay below 2^53"
)]
fn fit(counts: &[u64]) -> Line {
    let n = len_to_f64(counts.len());
    let mean = counts.iter().map(|c| u128::from(*c)).sum::<u128>() as f64 / n;
    if counts.iter().all(|c| Some(c) == counts.first()) {
        return Line {
            mean,
            slope: 0.0,
            spread: 0.0,
            residuals: Vec::new(),
            exact: true,
        };
    }
    let time = |t: usize| len_to_f64(t) - (n - 1.0) / 2.0;
    let deviations: Vec<f64> = counts.iter().map(|c| *c as f64 - mean).collect();
    let spread: f64 = (0..counts.len()).map(|t| time(t) * time(t)).sum();
    let together = deviations.iter().enumerate().map(|(t, d)| time(t) * d);
    let slope = together.sum::<f64>() / spread;
    let total: f64 = deviations.iter().map(|d| d * d).sum();
    // In their place: a day has 7 MB of them.
    let without = deviations.into_iter().enumerate();
    let residuals: Vec<f64> = without.map(|(t, d)| d - slope * time(t)).collect();
    let left: f64 = residuals.iter().map(|r| r * r).sum();
    Line {
        mean,
        slope,
        spread,
        residuals,
        exact: left <= 1e-20 * total,
    }
}
