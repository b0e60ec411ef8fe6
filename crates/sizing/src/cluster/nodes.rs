//! Number of nodes: the smallest cluster that sustains all needs with a given probability.
//!
//! Only throughput counts here; shards and disks follow from the nodes.

use super::request::Request;
use crate::scaling::{Forecast, Prediction};
use highwater_model::numbers::round_to_u32;

/// Maximum number of nodes of a plan that may extrapolate.
const MOST_NODES: u32 = 1_000;
/// Probabilities at the ends of the 90% interval of the number of nodes.
const LIKELY: (f64, f64) = (0.05, 0.95);

/// Numbers of nodes, including those that may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCounts {
    /// Sustains the needs with the requested probability.
    pub planned: u32,
    /// Sustains the needs with a probability of one half.
    pub expected: u32,
    /// Lower end: enough with a probability of 5%.
    pub low: u32,
    /// Upper end: enough with a probability of 95%. Absent above the maximum number of nodes.
    pub high: Option<u32>,
}

/// Why there is no number of nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unreached {
    /// The largest number of nodes tried, without those that may be lost.
    pub farthest: u32,
    /// The fraction of the capacity that the needs would use there.
    pub used: Prediction,
    /// The number of nodes that sustain the needs with a probability of one half, if up to that.
    pub expected: Option<u32>,
    /// The probability that was requested.
    pub probability: f64,
    /// Whether more nodes could be tried on request.
    pub refused: bool,
}

/// A cluster's used fraction of its capacity.
#[derive(Debug, Clone, Copy)]
pub struct CapacityUse {
    used: Forecast,
    /// The maximum fraction.
    most: f64,
}

impl CapacityUse {
    /// The used fraction of the capacity.
    pub fn used(&self) -> Prediction {
        self.used.prediction()
    }

    /// Probability that the needs are sustained with the requested headroom.
    pub fn probability(&self) -> f64 {
        1.0 - self.used.chance_of(self.most)
    }
}

impl Request {
    /// The use of a cluster of `nodes` running nodes by the needs of the last month.
    pub fn carried(&self, nodes: u32, replicas: u32) -> Option<CapacityUse> {
        let vcpus = self.vcpus_per_node.as_ref().map(|vcpus| vcpus.value);
        let needs: Vec<(f64, Forecast)> = self
            .needs
            .iter()
            .map(|need| {
                let forecast = need.basis.forecast(f64::from(nodes), f64::from(replicas), vcpus);
                (need.per_s.value * self.growth(), forecast)
            })
            .collect();
        Some(CapacityUse { used: Forecast::used(&needs)?, most: 1.0 - self.spare.value })
    }

    /// Growth factor of the needs at the end.
    pub fn growth(&self) -> f64 {
        (1.0 + self.growth_per_month.value).powf(f64::from(self.months.value))
    }

    /// Maximum number of running nodes in a plan.
    pub fn farthest(&self) -> u32 {
        if self.extrapolate {
            return MOST_NODES;
        }
        let nodes = self
            .needs
            .iter()
            .map(|need| need.basis.growth.farthest())
            .fold(f64::from(MOST_NODES), f64::min);
        round_to_u32(nodes.floor())
    }

    /// The number of nodes needed with this number of replicas.
    pub fn node_counts(&self, replicas: u32) -> Result<NodeCounts, Unreached> {
        let probabilities = [LIKELY.0, 0.5, LIKELY.1, self.probability.value];
        let mut found = [None; 4];
        for nodes in 1..=self.farthest() {
            let Some(probability) =
                self.carried(nodes, replicas).map(|carried| carried.probability())
            else {
                break;
            };
            for (found, requested) in found.iter_mut().zip(probabilities) {
                if found.is_none() && probability >= requested {
                    *found = Some(nodes);
                }
            }
            if found.iter().all(Option::is_some) {
                break;
            }
        }
        let with_lost = |nodes: u32| nodes + self.survive.value;
        match found {
            [Some(low), Some(expected), high, Some(planned)] => Ok(NodeCounts {
                planned: with_lost(planned),
                expected: with_lost(expected),
                low: with_lost(low),
                high: high.map(with_lost),
            }),
            _ => Err(self.unreached(replicas, found[1])),
        }
    }

    fn unreached(&self, replicas: u32, expected: Option<u32>) -> Unreached {
        let farthest = self.farthest();
        let used = self.carried(farthest, replicas).map(|carried| carried.used());
        Unreached {
            farthest,
            used: used.unwrap_or(Prediction {
                expected: f64::INFINITY,
                low: f64::INFINITY,
                high: f64::INFINITY,
            }),
            expected,
            probability: self.probability.value,
            refused: !self.extrapolate,
        }
    }
}
