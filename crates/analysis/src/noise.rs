//! The noise between runs of one definition: the expected range of the next one if nothing has changed. Must not report
//! changes.

use highwater_model::numbers::len_to_f64;

use crate::long_run::student_quantile;

/// With fewer runs the spread is unknown.
const RUNS_MIN: usize = 3;
/// Probability that the next run is above the range, and that it is below.
const TAIL: f64 = 0.025;

/// The 95% prediction interval of the next run's figure, from earlier runs of the same definition; absent with fewer
/// than three. No figure is below 0.
///
/// The prediction interval of one further normal value: mean ± t(0.975, n − 1) · s · √(1 + 1/n). Source: G. J. Hahn, W.
/// Q. Meeker, *Statistical Intervals* (1991), section 4.7.
pub fn next_run_within(earlier: &[f64]) -> Option<[f64; 2]> {
    if earlier.len() < RUNS_MIN {
        return None;
    }
    let n = len_to_f64(earlier.len());
    let mean = earlier.iter().sum::<f64>() / n;
    let squares = earlier.iter().map(|figure| (figure - mean).powi(2));
    let deviation = (squares.sum::<f64>() / (n - 1.0)).sqrt();
    let half = student_quantile(TAIL, n - 1.0) * deviation * (1.0 + 1.0 / n).sqrt();
    Some([(mean - half).max(0.0), mean + half])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_run_lies_within_the_spread_of_those_before() {
        assert_eq!(next_run_within(&[1.0, 2.0]), None);
        // s = 10, t(0.975, 2) = 4.302653, √(4/3) = 1.154701.
        let [low, high] = next_run_within(&[90.0, 100.0, 110.0]).unwrap();
        let half = 10.0 * 4.302_653 * 1.154_701;
        assert!((low - (100.0 - half)).abs() < 1e-3, "{low}");
        assert!((high - (100.0 + half)).abs() < 1e-3, "{high}");
        assert_eq!(next_run_within(&[5.0; 4]), Some([5.0, 5.0]));
        assert!(next_run_within(&[0.0, 0.0, 30.0]).unwrap()[0].abs() < 1e-9);
    }
}
