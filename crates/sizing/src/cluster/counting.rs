//! The number of nodes that is enough: the smallest that sustains all needs with a given probability, its interval, and
//! the measurement that proves it. Must not format.

use highwater_model::numbers::round_to_u32;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::basis::SizeAxis;
use super::plan::{Origin, Request, Traced};
use crate::scaling::{FARTHEST, Forecast, Prediction};

/// Hours per month, for prices.
pub(super) const HOURS_PER_MONTH: f64 = 730.0;
/// Maximum number of nodes that is searched.
const MOST_NODES: u32 = 10_000;
/// Probabilities at the ends of the 90% interval of the number of nodes.
const LIKELY: (f64, f64) = (0.05, 0.95);
/// Of clusters that fall short, the smallest one that is this close to the best counts as the best.
const AS_GOOD: f64 = 1.01;

/// Numbers of nodes that may be enough, including those that may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeInterval {
    /// Enough with a probability of one half.
    pub expected: u32,
    /// Enough with a probability of 5%.
    pub low: u32,
    /// Enough with a probability of 95%; absent beyond `farthest`.
    pub high: Option<u32>,
    /// The most nodes that are proven.
    pub farthest: u32,
}

impl NodeInterval {
    /// `6`, `5 to 6`, or `5 to more than 10`.
    pub fn text(&self) -> String {
        match self.high {
            Some(high) if high == self.low => high.to_string(),
            Some(high) => format!("{} to {high}", self.low),
            None => format!("{} to more than {}", self.low, self.farthest),
        }
    }
}

/// The size to measure next, so that a number of nodes is proven.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToProve {
    /// Nodes.
    pub measure: u32,
    /// Lower end of the 90% interval of the throughput afterwards, as a fraction of the expected one; below 0.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The nodes that are enough, including those that may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCounts {
    /// Sustain the needs with the requested probability.
    pub planned: u32,
    /// Whether they do; otherwise no number of nodes does, and these come closest.
    pub reached: bool,
    /// Absent beyond twice the largest measured size.
    pub interval: Option<NodeInterval>,
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
    pub fn used(&self, nodes: u32, replicas: u32) -> Option<CapacityUse> {
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

    /// What sizes count; the same for all needs.
    pub fn axis(&self) -> SizeAxis {
        self.needs.first().map_or(SizeAxis::Nodes, |need| need.basis.axis)
    }

    /// Machines of each size: one for sizes in nodes, else those whose vCPUs are counted, and those that may be lost.
    pub fn machines(&self) -> u32 {
        match (self.axis(), self.needs.first()) {
            (SizeAxis::Vcpus, Some(need)) => need.basis.machines + self.survive.value,
            _ => 1,
        }
    }

    /// What sizes have more than the running nodes: the nodes that may be lost.
    pub(super) fn added(&self) -> u32 {
        if self.axis() == SizeAxis::Nodes { self.survive.value } else { 0 }
    }

    /// Planned replicas: as given, else as measured, but enough to keep all data if nodes fail.
    pub fn copies(&self) -> Traced<u32> {
        let (replicas, survive) = (&self.replicas, self.survive.value);
        if matches!(replicas.origin, Origin::Given(_)) || replicas.value >= survive {
            return replicas.clone();
        }
        Traced::assumed(survive, "as many as tolerated node failures, so that no data is lost")
    }

    /// Maximum number of running nodes that is proven.
    pub fn farthest(&self) -> u32 {
        let farthest = self.needs.iter().map(|need| need.basis.growth.farthest());
        round_to_u32(farthest.fold(f64::from(MOST_NODES), f64::min).floor())
    }

    /// Whether a prediction for this many running nodes has an interval.
    pub(super) fn is_proven(&self, nodes: u32) -> bool {
        nodes <= self.farthest()
    }

    /// The number of nodes needed with this number of replicas.
    pub fn node_counts(&self, replicas: u32) -> NodeCounts {
        let probabilities = [LIKELY.0, 0.5, LIKELY.1, self.probability.value];
        let mut found = [None; 4];
        let farthest = self.farthest();
        for nodes in 1..=farthest {
            let probability = self.probability_of(nodes, replicas);
            for (found, requested) in found.iter_mut().zip(probabilities) {
                if found.is_none() && probability >= requested {
                    *found = Some(nodes);
                }
            }
            if found.iter().all(Option::is_some) {
                break;
            }
        }
        let with_lost = |nodes: u32| nodes + self.added();
        if let [Some(low), Some(expected), high, Some(planned)] = found {
            let [low, expected, planned, farthest] =
                [low, expected, planned, farthest].map(with_lost);
            let high = high.map(with_lost);
            let interval = Some(NodeInterval { expected, low, high, farthest });
            return NodeCounts { planned, reached: true, interval };
        }
        let beyond = self.beyond(replicas);
        let planned = with_lost(beyond.unwrap_or_else(|| self.closest(replicas)));
        NodeCounts { planned, reached: beyond.is_some(), interval: None }
    }

    fn probability_of(&self, nodes: u32, replicas: u32) -> f64 {
        self.used(nodes, replicas).map_or(1.0, |used| used.probability())
    }

    /// The smallest number beyond the proven ones that is enough, if growth continues. It does not fall there, so that
    /// the number is bracketed and halved.
    fn beyond(&self, replicas: u32) -> Option<u32> {
        let is_enough = |nodes| self.probability_of(nodes, replicas) >= self.probability.value;
        let mut few = self.farthest();
        let mut enough = few;
        while enough == few || !is_enough(enough) {
            few = enough;
            enough = few.saturating_mul(2).min(MOST_NODES);
            if enough == few {
                return None;
            }
        }
        while enough - few > 1 {
            let middle = few + (enough - few) / 2;
            if is_enough(middle) { enough = middle } else { few = middle }
        }
        Some(enough)
    }

    /// Of the proven numbers, none of which is enough, the smallest one that uses nearly the least of its capacity.
    fn closest(&self, replicas: u32) -> u32 {
        let used = |nodes| self.used(nodes, replicas).map_or(0.0, |used| used.used().expected);
        let all: Vec<(u32, f64)> =
            (1..=self.farthest()).map(|nodes| (nodes, used(nodes))).collect();
        let least = all.iter().map(|(_, used)| *used).fold(f64::INFINITY, f64::min);
        let closest = all.iter().find(|(_, used)| *used <= AS_GOOD * least);
        closest.map_or(1, |(nodes, _)| *nodes)
    }

    /// The size whose measurement proves an unproven number; `None` for a proven one.
    pub(super) fn to_prove(&self, counts: &NodeCounts) -> Option<ToProve> {
        let working = f64::from(counts.planned - self.added());
        let growths = self.needs.iter().map(|need| &need.basis.growth);
        let least = growths.min_by(|a, b| a.largest().total_cmp(&b.largest()))?;
        let measure = (working / FARTHEST).ceil();
        let is_open = counts.interval.is_none() && counts.reached && measure > least.largest();
        is_open.then(|| {
            let after = least.interval_after(measure, working);
            ToProve { measure: round_to_u32(measure), low: after.low - 1.0, high: after.high - 1.0 }
        })
    }
}

/// Price per month of a cluster; of sizes in vCPUs, all machines together.
pub(super) fn price(request: &Request, nodes: u32) -> Option<f64> {
    let price = request.price_per_node_hour.as_ref()?.value;
    Some(price * f64::from(nodes) * f64::from(request.machines()) * HOURS_PER_MONTH)
}
