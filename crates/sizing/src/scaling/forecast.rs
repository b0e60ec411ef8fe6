//! A predicted throughput as a distribution: its median, its 90% interval, and probabilities.
//!
//! Two halves of normal distributions in the logarithm, joined at the median, because throughput
//! falls short of a prediction by more than it exceeds it. The widths of the sides are calibrated
//! on published series. Also contains the cost of replicas.

use highwater_analysis::growth::{REPLICA_COST, replica_factor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// Level of every interval: nine of ten new measurements fall within it.
pub const LEVEL: f64 = 0.9;
/// Half-width of the interval in standard deviations: the 0.95 quantile of the normal distribution.
pub(crate) const DEVIATIONS: f64 = 1.644_853_626_951_472_2;

/// A predicted throughput, per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// Median of new measurements.
    pub expected: f64,
    /// Lower bound of the 90% interval.
    pub low: f64,
    /// Upper bound of the 90% interval.
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

    /// Its median and its interval.
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

    /// The same for a throughput multiplied by `factor`. Both uncertainties are independent, so their squared
    /// widths are added, in the logarithm.
    pub fn scaled(&self, factor: Prediction) -> Self {
        Self {
            log_middle: self.log_middle + factor.expected.ln(),
            below: self.below.hypot((factor.expected / factor.low).ln()),
            above: self.above.hypot((factor.high / factor.expected).ln()),
        }
    }

    /// The fraction of the capacity that several needs use together. Each need is given per second,
    /// with the forecast of the cluster's throughput for this need alone. Fractions add up if all
    /// needs compete for the same machines, and their errors are assumed to be independent (first
    /// order in the logarithm). Less capacity means more use, so the sides are swapped. `None`
    /// without a need.
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
    /// Half the width of the interval, as a fraction of the expected throughput.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.expected
    }

    /// Whether a measurement lies in the interval.
    pub fn holds(&self, per_s: f64) -> bool {
        (self.low..=self.high).contains(&per_s)
    }

    /// Interval score of the logarithm (Gneiting and Raftery 2007): the width, plus 2/(1 − level)
    /// times the distance of the measurement from the interval. Less is better.
    pub fn score(&self, per_s: f64) -> f64 {
        let outside = (self.low / per_s).max(per_s / self.high).ln().max(0.0);
        (self.high / self.low).ln() + 2.0 / (1.0 - LEVEL) * outside
    }
}

/// Nine of ten repeated runs of a known size differ from it by less than this, in the logarithm.
pub(super) const LEAST_SIDE: f64 = 0.06;

/// Growth up to which the curve may still bend, like that of any other cluster.
const BENDING: f64 = 0.76;
/// Growth from which on it counts as near-linear: exactly linear growth is predicted to continue
/// with 0.87 to 0.92, and growth with an exponent of 0.9 with 0.80 to 0.83.
pub(super) const NEAR_LINEAR: f64 = 0.80;
/// Sides for near-linear growth, which leaves less range above it.
const LINEAR: Sides = Sides { below: 0.30, above: 0.24 };
/// Sides for constant throughput, and their increase halfway between that and linear growth, where a bend is as
/// likely to continue as to be noise. A bend that continues changes the result by more than one that disappears.
const FLAT: Sides = Sides { below: 0.10, above: 0.35 };
const BEND: Sides = Sides { below: 0.50, above: 0.15 };

/// Sides of a 90% interval in the logarithm, for each unit of the logarithm of the size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sides {
    pub(super) below: f64,
    pub(super) above: f64,
}

impl Sides {
    /// The sides for throughput predicted to grow with this power of the size (1 is linear): intermediate growth
    /// may still bend, so both sides are widest halfway. A fall, with a power below 0, seldom lasts, so the upper
    /// side is as wide as without it.
    pub(super) fn new(power: f64) -> Self {
        let growth = power.clamp(0.0, 1.0);
        let bent = growth.min(BENDING);
        let bend = 4.0 * bent * (1.0 - bent);
        let part = ((growth - BENDING) / (NEAR_LINEAR - BENDING)).clamp(0.0, 1.0);
        let side = |of: fn(Self) -> f64| {
            let side = of(FLAT) + bend * of(BEND);
            side + part * (of(LINEAR) - side)
        };
        let fall = (-power).max(0.0);
        Self { below: side(|of| of.below), above: side(|of| of.above) + fall }
    }

    /// The widest sides of any measured growth that does not fall.
    pub(super) const WIDEST: Self =
        Self { below: FLAT.below + BEND.below, above: FLAT.above + BEND.above };

    /// The wider ones on each side.
    pub(super) fn at_least(self, other: Self) -> Self {
        Self { below: self.below.max(other.below), above: self.above.max(other.above) }
    }

    /// At a distance of `steps` (logarithm of the size over the nearest measured one) from the
    /// measurements, if a new measurement lies within `side` of the truth.
    pub(super) fn at(self, log_middle: f64, steps: f64, side: f64) -> Forecast {
        let reach = |of: f64| side.hypot(of * steps);
        Forecast::new(log_middle, reach(self.below), reach(self.above))
    }
}

/// Nine of ten factors by which a first replica changes throughput are between these: from a replica that costs
/// slightly more than the first copy to one that costs hardly anything.
const FIRST_REPLICA: [f64; 2] = [0.45, 0.95];

/// Cost of writing a replica, as a fraction of that of the first copy, from 0, with its 90% interval.
pub type ReplicaCost = Prediction;

/// A throughput with its copies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Copies {
    /// Nodes; only equal ones are compared.
    pub size: f64,
    /// Replicas.
    pub replicas: f64,
    /// Per second.
    pub per_s: f64,
}

/// The assumed cost: every copy of a row is written, and a query reads only one copy.
pub fn assumed_replica_cost(rows: bool) -> ReplicaCost {
    // The smallest factor is that of the highest cost.
    let [high, low] = FIRST_REPLICA.map(|factor| 1.0 / factor - 1.0);
    if rows { Prediction { expected: REPLICA_COST, low, high } } else { known(0.0) }
}

/// A value without uncertainty.
pub(crate) const fn known(value: f64) -> Prediction {
    Prediction { expected: value, low: value, high: value }
}

/// The cost from clusters of the same size that were measured with different numbers of copies; each throughput has the
/// relative standard deviation `error`. Absent without such a pair.
pub fn measured_replica_cost(points: &[Copies], error: f64) -> Option<ReplicaCost> {
    let (mut weights, mut total) = (0.0, 0.0);
    for (i, a) in points.iter().enumerate() {
        for b in &points[i + 1..] {
            let pair = of_pair(a, b, error).or_else(|| of_pair(b, a, error));
            if let Some((cost, error)) = pair {
                let weight = 1.0 / (error * error);
                weights += weight;
                total += weight * cost;
            }
        }
    }
    // Pairs share points, so more pairs do not make the cost more precise.
    let side = DEVIATIONS * (1.0_f64 / weights).sqrt().max(error);
    let at_least_0 = |cost: f64| cost.max(0.0);
    let cost = at_least_0(total / weights);
    (weights > 0.0).then(|| Prediction {
        expected: cost,
        low: at_least_0(cost - side),
        high: cost + side,
    })
}

/// The factor for a throughput when replicas change from `from` to `to`.
pub fn replicas_leave(cost: ReplicaCost, from: f64, to: f64) -> Prediction {
    let [expected, one, other] =
        [cost.expected, cost.low, cost.high].map(|cost| replica_factor(cost, from, to));
    Prediction { expected, low: one.min(other), high: one.max(other) }
}

/// X(r0)/X(r1) = (1 + c·r1)/(1 + c·r0), solved for c, and its standard error by the slope of that.
fn of_pair(fewer: &Copies, more: &Copies, error: f64) -> Option<(f64, f64)> {
    let ratio = fewer.per_s / more.per_s;
    let below = more.replicas - ratio * fewer.replicas;
    let same_size = fewer.size.total_cmp(&more.size).is_eq();
    if !same_size || fewer.replicas >= more.replicas || below <= 0.0 {
        return None;
    }
    let slope = (more.replicas - fewer.replicas) / (below * below);
    Some(((ratio - 1.0) / below, slope * ratio * error * std::f64::consts::SQRT_2))
}
