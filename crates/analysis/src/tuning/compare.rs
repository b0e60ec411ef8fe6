//! Whether one configuration is better than another, from what the confirming round measured of both.

use crate::long_run::student_quantile;
use highwater_model::numbers::len_to_f64;

/// The gain of `a` over `b` as a share, with 95% confidence: Welch's interval of the difference of the
/// mean logarithms (B. L. Welch, Biometrika 34, 1947). Absent below two values each.
pub(super) fn gain95(a: &[f64], b: &[f64]) -> Option<[f64; 2]> {
    let (mean_a, variance_a, n_a) = moments(a)?;
    let (mean_b, variance_b, n_b) = moments(b)?;
    let (own_a, own_b) = (variance_a / n_a, variance_b / n_b);
    let error = (own_a + own_b).sqrt();
    let degrees = if error > 0.0 {
        (own_a + own_b).powi(2) / (own_a.powi(2) / (n_a - 1.0) + own_b.powi(2) / (n_b - 1.0))
    } else {
        n_a + n_b - 2.0
    };
    let half = student_quantile(0.025, degrees) * error;
    let difference = mean_a - mean_b;
    Some([(difference - half).exp_m1(), (difference + half).exp_m1()])
}

/// Mean and variance of the logarithms, and how many there are.
fn moments(values: &[f64]) -> Option<(f64, f64, f64)> {
    let n = len_to_f64(values.len());
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().map(|value| value.ln()).sum::<f64>() / n;
    let squares = values.iter().map(|value| (value.ln() - mean).powi(2));
    Some((mean, squares.sum::<f64>() / (n - 1.0), n))
}
