//! Points of a sweep, put in order: one mean and one error for each size.
//!
//! The error is the uncertainty of a measurement relative to the rate. It comes from replicates if
//! there are any, and is at least a floor.

use highwater_model::numbers::len_to_f64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Minimum relative standard deviation of a cluster's measurement. Runs of an unchanged cluster on
/// one day differ by some percent; machines, days, and data sizes add variation that replicates
/// within one session cannot show. So this minimum also applies to replicates.
pub const LEAST_ERROR: f64 = 0.03;
/// Maximum number of sizes of a sweep; bounds the cost of leaving each one out.
pub const MOST_SIZES: usize = 256;

/// Coefficient of the cube of the logarithm of the largest size over a smaller one, which is added
/// to the error.
const DISCOUNT: f64 = 0.15;

/// A measured point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Number of nodes, sessions, or shards; at least 1.
    pub size: f64,
    /// Throughput per second; above 0.
    pub per_s: f64,
}

/// A size with its measurements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Size {
    /// Number of nodes, sessions, or shards; at least 1.
    pub size: f64,
    /// Geometric mean of the measured throughputs, per second.
    pub per_s: f64,
    /// Number of measurements.
    pub measured: u32,
    /// Relative standard deviation of their mean.
    pub error: f64,
}

/// The origin of the assumed measurement errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorSource {
    /// Neither stated nor measured repeatedly: [`LEAST_ERROR`].
    Floor,
    /// Stated by the user.
    Stated,
    /// Calculated from sizes that were measured more than once.
    Replicates,
}

/// Sizes in ascending order, at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    sizes: Vec<Size>,
    /// Relative standard deviation of one measurement.
    error: f64,
    source: ErrorSource,
}

/// The reason why points do not form a sweep.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SweepError {
    /// There are no points.
    #[error("no point was measured")]
    Empty,
    /// A size or rate is impossible.
    #[error("size {size} with {per_s} per second is no measurement")]
    Impossible {
        /// The size as given.
        size: f64,
        /// The rate as given.
        per_s: f64,
    },
    /// There are too many sizes.
    #[error("more than {MOST_SIZES} sizes")]
    TooMany,
}

impl Sweep {
    /// Groups points by size. `stated` is the relative standard deviation of one measurement, if
    /// the user knows it.
    pub fn new(points: &[Point], stated: Option<f64>) -> Result<Self, SweepError> {
        let possible = |value: f64, least: f64| value.is_finite() && value >= least;
        for &Point { size, per_s } in points {
            if !possible(size, 1.0) || !possible(per_s, f64::MIN_POSITIVE) {
                return Err(SweepError::Impossible { size, per_s });
            }
        }
        let mut points = points.to_vec();
        points.sort_by(|a, b| a.size.total_cmp(&b.size));
        let groups: Vec<&[Point]> =
            points.chunk_by(|a, b| a.size.total_cmp(&b.size).is_eq()).collect();
        if groups.is_empty() {
            return Err(SweepError::Empty);
        }
        if groups.len() > MOST_SIZES {
            return Err(SweepError::TooMany);
        }
        let (error, source) = match (stated, pooled_deviation(&groups)) {
            (Some(stated), _) => (stated.max(LEAST_ERROR), ErrorSource::Stated),
            (None, Some(pooled)) => (pooled.max(LEAST_ERROR), ErrorSource::Replicates),
            (None, None) => (LEAST_ERROR, ErrorSource::Floor),
        };
        let sizes = groups.iter().map(|group| size_of(group, error)).collect();
        Ok(Self { sizes, error, source })
    }

    /// The measured sizes, ascending.
    pub fn sizes(&self) -> &[Size] {
        &self.sizes
    }

    /// Relative standard deviation of one measurement.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The source of [`Self::error`].
    pub fn error_source(&self) -> ErrorSource {
        self.source
    }

    /// The smallest size.
    pub fn smallest(&self) -> f64 {
        self.sizes.first().map_or(1.0, |first| first.size)
    }

    /// The largest size.
    pub fn largest(&self) -> f64 {
        self.sizes.last().map_or(1.0, |last| last.size)
    }

    /// The measured sizes around another one up to the largest, with the weight of each in a line through both in the
    /// logarithms; a single one if the size was measured, or is smaller than all.
    pub(super) fn around(&self, size: f64) -> Vec<(f64, Size)> {
        let after = self.sizes.partition_point(|of| of.size < size);
        let (before, next) = (self.sizes[..after].last(), self.sizes.get(after));
        match (before, next) {
            (Some(before), Some(next)) if next.size > size => {
                let part = (size / before.size).ln() / (next.size / before.size).ln();
                vec![(1.0 - part, *before), (part, *next)]
            }
            (_, Some(one)) | (Some(one), None) => vec![(1.0, *one)],
            (None, None) => Vec::new(),
        }
    }

    /// The same sizes plus a larger one, measured once.
    pub(super) fn with(&self, size: f64, per_s: f64) -> Self {
        let mut larger = self.clone();
        let error = larger.error.max(LEAST_ERROR);
        larger.sizes.push(Size { size, per_s, measured: 1, error });
        larger
    }

    /// Its first sizes, at least one.
    pub fn prefix(&self, sizes: usize) -> Self {
        Self { sizes: self.sizes[..sizes.clamp(1, self.sizes.len())].to_vec(), ..*self }
    }

    /// The same points, with less weight for sizes further below the largest one: at half the size,
    /// 5% is added to the error, at a quarter 40%. A bend is visible at the largest sizes.
    pub(super) fn discounted(&self) -> Self {
        let largest = self.largest();
        self.with_errors(|size| {
            let discount = DISCOUNT * (largest / size.size).ln().powi(3);
            size.error.hypot(discount)
        })
    }

    /// The same points with errors multiplied by `factor`.
    pub(super) fn widened(&self, factor: f64) -> Self {
        Self { error: self.error * factor, ..self.with_errors(|size| size.error * factor) }
    }

    fn with_errors(&self, error: impl Fn(&Size) -> f64) -> Self {
        let with_error = |size: &Size| Size { error: error(size), ..*size };
        Self { sizes: self.sizes.iter().map(with_error).collect(), ..*self }
    }
}

/// Deviation of one measurement, from all sizes that were measured more than once.
fn pooled_deviation(groups: &[&[Point]]) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for group in groups.iter().filter(|group| group.len() > 1) {
        let mean = mean_log(group);
        let deviations = group.iter().map(|point| point.per_s.ln() - mean);
        squares += deviations.map(|deviation| deviation * deviation).sum::<f64>();
        freedom += count(group) - 1.0;
    }
    (freedom > 0.0).then(|| (squares / freedom).sqrt())
}

fn size_of(group: &[Point], error: f64) -> Size {
    Size {
        size: group.first().map_or(1.0, |point| point.size),
        per_s: mean_log(group).exp(),
        measured: u32::try_from(group.len()).unwrap_or(u32::MAX),
        error: (error / count(group).sqrt()).max(LEAST_ERROR),
    }
}

fn mean_log(group: &[Point]) -> f64 {
    group.iter().map(|point| point.per_s.ln()).sum::<f64>() / count(group)
}

fn count(group: &[Point]) -> f64 {
    len_to_f64(group.len())
}
