//! What copies cost: throughput with r replicas is that without, divided by 1 + c·r.
//!
//! c is the cost of writing one further copy, as a part of the cost of writing the first: 1 where a
//! copy costs as much, 0 where it costs nothing. Which cost is assumed where none was measured is
//! decided elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cost of a further copy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaCost {
    /// c; from 0.
    pub cost: f64,
    /// Standard error of c; 0 where it is assumed.
    pub error: f64,
}

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

impl ReplicaCost {
    /// From clusters of the same size that were measured with different numbers of copies; each
    /// throughput has the relative standard deviation `error`. Absent where there is no such pair.
    pub fn measured(points: &[Copies], error: f64) -> Option<Self> {
        let (mut weights, mut total) = (0.0, 0.0);
        for (i, a) in points.iter().enumerate() {
            for b in &points[i + 1..] {
                let pair = of_pair(a, b, error).or_else(|| of_pair(b, a, error));
                if let Some(one) = pair {
                    let weight = 1.0 / (one.error * one.error);
                    weights += weight;
                    total += weight * one.cost;
                }
            }
        }
        (weights > 0.0).then(|| Self {
            cost: (total / weights).max(0.0),
            // Pairs share points, so their number does not make the cost better known.
            error: (1.0 / weights).sqrt().max(error),
        })
    }

    /// What a throughput is multiplied by on going from `from` replicas to `to`, and the
    /// standard deviation of that factor's logarithm.
    pub fn factor(&self, from: f64, to: f64) -> (f64, f64) {
        let (before, after) = (1.0 + self.cost * from, 1.0 + self.cost * to);
        let slope = from / before - to / after;
        (before / after, (slope * self.error).abs())
    }
}

/// X(r0)/X(r1) = (1 + c·r1)/(1 + c·r0), solved for c; its error by the slope of that.
fn of_pair(fewer: &Copies, more: &Copies, error: f64) -> Option<ReplicaCost> {
    let ratio = fewer.per_s / more.per_s;
    let below = more.replicas - ratio * fewer.replicas;
    let same_size = fewer.size.total_cmp(&more.size).is_eq();
    if !same_size || fewer.replicas >= more.replicas || below <= 0.0 {
        return None;
    }
    let slope = (more.replicas - fewer.replicas) / (below * below);
    Some(ReplicaCost {
        cost: (ratio - 1.0) / below,
        error: slope * ratio * error * std::f64::consts::SQRT_2,
    })
}
