//! A predicted throughput as a distribution: its middle, its 90% interval, and chances.
//!
//! Two halves of normal distributions in the logarithm, joined at the middle, because throughput
//! falls short of a prediction by more than it exceeds it. How far the sides reach is decided
//! elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// Level of every interval: nine of ten new measurements fall into it.
pub const LEVEL: f64 = 0.9;
/// How many standard deviations that is to each side: the normal quantile of 0.95.
pub(crate) const DEVIATIONS: f64 = 1.644_853_626_951_472_2;

/// A predicted throughput, per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// Half of the new measurements are above it.
    pub expected: f64,
    /// 5% are below it.
    pub low: f64,
    /// 5% are above it.
    pub high: f64,
}

/// The distribution of a predicted throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    log_middle: f64,
    /// Logarithm of the middle over the lower end of the interval; above 0.
    below: f64,
    /// Logarithm of the upper end over the middle; above 0.
    above: f64,
}

impl Forecast {
    /// With sides of the 90% interval in the logarithm.
    pub(super) fn new(log_middle: f64, below: f64, above: f64) -> Self {
        Self { log_middle, below, above }
    }

    /// With equal sides.
    pub(super) fn even(log_middle: f64, side: f64) -> Self {
        Self::new(log_middle, side, side)
    }

    /// Its middle and its interval.
    pub fn prediction(&self) -> Prediction {
        Prediction {
            expected: self.log_middle.exp(),
            low: (self.log_middle - self.below).exp(),
            high: (self.log_middle + self.above).exp(),
        }
    }

    /// Probability that a new measurement reaches a throughput.
    pub fn chance_of(&self, per_s: f64) -> f64 {
        let away = per_s.ln() - self.log_middle;
        let side = if away < 0.0 { self.below } else { self.above };
        Normal::standard().cdf(-away * DEVIATIONS / side)
    }

    /// The same of a throughput that is `factor` times as high, where the logarithm of the factor
    /// is known to `log_deviation`.
    pub fn scaled(&self, factor: f64, log_deviation: f64) -> Self {
        let added = DEVIATIONS * log_deviation;
        Self {
            log_middle: self.log_middle + factor.ln(),
            below: self.below.hypot(added),
            above: self.above.hypot(added),
        }
    }

    /// The part of the capacity that several needs use together, each given per second beside the
    /// forecast of what the cluster can do of it alone: parts add up where all needs compete for
    /// the same machines, and their errors are taken as independent (first order in the
    /// logarithm). Less capacity is more use, so the sides change places. `None` without a need.
    pub fn used(needs: &[(f64, Self)]) -> Option<Self> {
        let part = |(per_s, alone): &(f64, Self)| per_s / alone.log_middle.exp();
        let total: f64 = needs.iter().map(part).sum();
        let side = |of: fn(&Self) -> f64| {
            let squares = needs.iter().map(|need| (part(need) / total * of(&need.1)).powi(2));
            squares.sum::<f64>().sqrt()
        };
        (total > 0.0).then(|| Self {
            log_middle: total.ln(),
            below: side(|alone| alone.above),
            above: side(|alone| alone.below),
        })
    }
}

impl Prediction {
    /// Half the width of the interval, as a part of the expected throughput.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.expected
    }

    /// Whether a measurement lies in the interval.
    pub fn holds(&self, per_s: f64) -> bool {
        (self.low..=self.high).contains(&per_s)
    }

    /// Interval score of the logarithm (Gneiting and Raftery 2007): the width, and 2/(1 − level)
    /// times what the measurement is outside by. Less is better.
    pub fn score(&self, per_s: f64) -> f64 {
        let outside = (self.low / per_s).max(per_s / self.high).ln().max(0.0);
        (self.high / self.low).ln() + 2.0 / (1.0 - LEVEL) * outside
    }
}
