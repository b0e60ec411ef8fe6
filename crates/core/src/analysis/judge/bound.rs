//! The share of ops above a bound, with one-sided 95 % confidence limits that allow for ops which
//! are slow together.

use super::measured::float;

/// Standard normal quantile of 95 %, one-sided.
const Z95: f64 = 1.644_853_626_951_472_7;
/// Batches that the windows are grouped into: enough for a variance, long enough to hold a stall.
const BATCHES: usize = 30;

/// An estimate and its limits, all in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bound {
    pub(super) fraction: f64,
    /// The true share is at least this with 95 % confidence.
    pub(super) lower95: f64,
    /// The true share is at most this with 95 % confidence.
    pub(super) upper95: f64,
}

/// Wilson's score limits (E. B. Wilson, JASA 22, 1927) for the number of ops that independent ones
/// would have to be to vary as these do between batches (L. Kish, Survey Sampling, 1965: design
/// effect). `None` without ops.
pub(super) fn bound(ended: &[u64], over: &[u64]) -> Option<Bound> {
    let samples = float(ended.iter().sum());
    if samples <= 0.0 {
        return None;
    }
    let fraction = (float(over.iter().sum()) / samples).clamp(0.0, 1.0);
    let n = (samples / design_effect(ended, over, fraction)).max(1.0);
    let z2 = Z95 * Z95;
    let middle = (fraction + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let inner = fraction * (1.0 - fraction) / n + z2 / (4.0 * n * n);
    let half = Z95 / (1.0 + z2 / n) * inner.sqrt();
    Some(Bound {
        fraction,
        lower95: (middle - half).max(0.0),
        upper95: (middle + half).min(1.0),
    })
}

/// Variance of the share between batches over that of independent ops; at least 1.
fn design_effect(ended: &[u64], over: &[u64], fraction: f64) -> f64 {
    let independent = fraction * (1.0 - fraction);
    let length = ended.len().div_ceil(BATCHES).max(1);
    let batches: Vec<(f64, f64)> = ended
        .chunks(length)
        .enumerate()
        .map(|(index, ended)| {
            let from = (index * length).min(over.len());
            let to = (from + length).min(over.len());
            (
                float(ended.iter().sum()),
                float(over[from..to].iter().sum()),
            )
        })
        .collect();
    if batches.len() < 2 || independent <= 0.0 {
        return 1.0;
    }
    let count = float(u64::try_from(batches.len()).unwrap_or(u64::MAX));
    let samples: f64 = batches.iter().map(|(n, _)| n).sum();
    // Ratio estimator: sum of squared residuals, per op.
    let squares: f64 = batches
        .iter()
        .map(|(n, k)| (k - fraction * n).powi(2))
        .sum();
    let variance_per_op = squares * count / (count - 1.0) / samples;
    (variance_per_op / independent).max(1.0)
}
