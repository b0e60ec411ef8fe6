//! A straight line through points with relative errors.
//!
//! Weighted least squares (each residual divided by its value), because a throughput with an error of 3% gives a time
//! with an error of 3%, whatever its size. Textbook formulas: Draper and Smith, "Applied Regression Analysis", chapter
//! 2, with weights 1/y².

use highwater_model::numbers::len_to_f64;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Assumed relative standard deviation of a throughput.
pub const MEASUREMENT_ERROR: f64 = 0.03;

/// `y = intercept + slope · x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) intercept: f64,
    pub(super) slope: f64,
    /// Variances of intercept and slope, and their covariance, for relative errors of 1.
    covariance: [f64; 3],
    /// Root mean square of the relative residuals, over the degrees of freedom.
    pub(super) scatter: f64,
    /// Points minus two.
    freedom: f64,
}

impl Line {
    /// The line through points (x, y) with y above zero; absent with fewer than three distinct x.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let mut xs: Vec<f64> = points.iter().map(|(x, _)| *x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        if xs.len() < 3 || points.iter().any(|(_, y)| *y <= 0.0) {
            return None;
        }
        let (mut s, mut sx, mut sxx, mut sy, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (x, y) in points {
            let weight = 1.0 / (y * y);
            s += weight;
            sx += weight * x;
            sxx += weight * x * x;
            sy += weight * y;
            sxy += weight * x * y;
        }
        let determinant = s * sxx - sx * sx;
        let slope = (s * sxy - sx * sy) / determinant;
        let intercept = (sy - slope * sx) / s;
        let freedom = len_to_f64(points.len() - 2);
        let squares: f64 =
            points.iter().map(|(x, y)| ((intercept + slope * x) / y - 1.0).powi(2)).sum();
        let line = Self {
            intercept,
            slope,
            covariance: [sxx / determinant, s / determinant, -sx / determinant],
            scatter: (squares / freedom).sqrt(),
            freedom,
        };
        (slope.is_finite() && intercept.is_finite()).then_some(line)
    }

    /// The value on the line.
    pub(super) fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// Half widths of the 95% confidence intervals of intercept and slope (Student's t).
    pub(super) fn half_widths(&self) -> Option<[f64; 2]> {
        let t = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        let quantile = t.inverse_cdf(0.975);
        let [intercept, slope, _] = self.covariance;
        Some([intercept, slope].map(|variance| quantile * self.scatter * variance.sqrt()))
    }

    /// Standard deviation of a new measurement at x around the line; at least the assumed measurement error.
    pub(super) fn deviation_at(&self, x: f64) -> f64 {
        let error = self.scatter.max(MEASUREMENT_ERROR);
        let [intercept, slope, both] = self.covariance;
        let of_line = intercept + 2.0 * x * both + x * x * slope;
        error * (self.at(x).powi(2) + of_line.max(0.0)).sqrt()
    }
}
