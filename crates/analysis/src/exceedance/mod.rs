//! The fraction of ops above a latency bound, and its confidence bounds.
//!
//! "p99 is at most 50 ms" means "at most 1% of the ops exceed 50 ms", and the confidence bound of a fraction needs no
//! assumption about the distribution of latencies. Slow ops come in bursts, so their effective sample size is smaller
//! than their number.

use statrs::function::beta::checked_beta_reg;

use highwater_model::numbers::{len_to_f64, to_f64};

use super::throughput::{
    Calibration, MAX_FREQUENCIES, RemovedTrend, long_run, solve, student_quantile,
};

#[cfg(test)]
mod tests;

/// Calibrated by the tests: either bound is wrong in 2 to 8% of their series, and in up to 10% with fewer than 30
/// effective windows, or three bursts in all.
const CALIBRATION: Calibration = Calibration {
    removed: RemovedTrend::Mean,
    frequencies: 0.08,
    most: MAX_FREQUENCIES,
    margin: 20.0,
};
/// With fewer windows, dependence cannot be estimated; each window then counts as one sample.
const MIN_WINDOWS: usize = 10;
/// The standard normal exceeds this with probability 5%.
const NORMAL_95: f64 = 1.644_853_626_951_472_7;
/// From this many effective successes and failures on, Wilson's bound replaces the exact one: they then differ by less
/// than a fiftieth of a standard error.
const LARGE: f64 = 400.0;

/// A fraction of ops and its one-sided bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exceedance {
    /// Ops above the bound divided by all ops; 0 without ops.
    pub fraction: f64,
    /// With 95% confidence the true fraction is at least this.
    pub lower95: f64,
    /// With 95% confidence the true fraction is at most this.
    pub upper95: f64,
    /// All ops.
    pub samples: u64,
}

/// The fraction exceeded, from ops (`totals`) and those above the bound (`over`) per window.
///
/// 1. The fraction is a ratio of sums R = Σ over / Σ totals. Its variance follows from the series zᵢ = overᵢ − R ·
///    totalsᵢ as n S / (Σ totals)², S being the long-run variance of z (ratio estimator: W. G. Cochran, "Sampling
///    techniques", chapter 6; dependence: see `long_run`).
/// 2. The *design effect* is that variance divided by the binomial one, R (1 − R) / Σ totals, and at least 1. Ops and
///    exceedances are divided by it, and reduced for S's few degrees of freedom by (z / t)², z and t being the 95%
///    points of normal and Student.
/// 3. The bounds are those of Clopper & Pearson (Biometrika 26, 1934) for these effective numbers. This is the interval
///    of Korn & Graubard (Survey Methodology 24, 1998), made for small fractions of dependent samples.
///
/// If none (or all) exceed, clustering cannot be observed: the design effect is 1 and the bound is the rule of three, 1
/// − 0.05^(1/N) ≈ 3 / N. Below 10 windows each counts as one sample. Slices of different lengths are cut to the shorter
/// one; more exceedances than ops in a window count as all of its ops.
pub fn exceedance(totals: &[u64], over: &[u64]) -> Exceedance {
    let windows: Vec<(f64, f64)> = totals
        .iter()
        .zip(over)
        .map(|(total, over)| (to_f64(*total), to_f64((*over).min(*total))))
        .collect();
    let samples: u64 = totals.iter().take(windows.len()).sum();
    let ops: f64 = windows.iter().map(|(total, _)| total).sum();
    if ops <= 0.0 {
        return Exceedance { fraction: 0.0, lower95: 0.0, upper95: 1.0, samples };
    }
    let fraction = windows.iter().map(|(_, over)| over).sum::<f64>() / ops;
    let effective = effective_samples(&windows, ops, fraction);
    let (lower95, upper95) = bounds(fraction, effective);
    Exceedance { fraction, lower95: lower95.min(fraction), upper95: upper95.max(fraction), samples }
}

/// The effective sample size of these ops.
fn effective_samples(windows: &[(f64, f64)], ops: f64, fraction: f64) -> f64 {
    if windows.len() < MIN_WINDOWS {
        let with_ops = windows.iter().filter(|(total, _)| *total > 0.0);
        return len_to_f64(with_ops.count());
    }
    if fraction <= 0.0 || fraction >= 1.0 {
        return ops;
    }
    let beyond = |(total, over): &(f64, f64)| over - fraction * total;
    let series: Vec<f64> = windows.iter().map(beyond).collect();
    let long_run = long_run(&series, CALIBRATION);
    let variance = len_to_f64(windows.len()) * long_run.variance / (ops * ops);
    let design_effect = (variance / (fraction * (1.0 - fraction) / ops)).max(1.0);
    let few_degrees = NORMAL_95 / student_quantile(0.05, long_run.degrees);
    ops / design_effect * few_degrees * few_degrees
}

/// One-sided 95% bounds of a fraction seen in `samples` independent samples.
fn bounds(fraction: f64, samples: f64) -> (f64, f64) {
    let successes = fraction * samples;
    let failures = samples - successes;
    if successes.min(failures) >= LARGE {
        return wilson(fraction, samples);
    }
    let lower = if successes > 0.0 { beta_quantile(0.05, successes, failures + 1.0) } else { 0.0 };
    let upper = if failures > 0.0 { beta_quantile(0.95, successes + 1.0, failures) } else { 1.0 };
    (lower, upper)
}

/// E. B. Wilson, Journal of the American Statistical Association 22, 1927.
fn wilson(fraction: f64, samples: f64) -> (f64, f64) {
    let square = NORMAL_95 * NORMAL_95 / samples;
    let center = (fraction + square / 2.0) / (1.0 + square);
    let spread = (fraction * (1.0 - fraction) * square + square * square / 4.0).sqrt();
    let half = spread / (1.0 + square);
    (center - half, center + half)
}

/// By bisection, which always terminates.
fn beta_quantile(probability: f64, a: f64, b: f64) -> f64 {
    solve(0.0, 1.0, |x| checked_beta_reg(a, b, x).is_ok_and(|reached| reached >= probability))
}
