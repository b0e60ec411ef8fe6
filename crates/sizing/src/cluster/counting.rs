//! The number of nodes that is enough: the smallest that sustains all needs with a given probability, its interval, and
//! the measurement that proves it. Must not format.

use highwater_model::display;
use highwater_model::numbers::round_to_u32;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::basis::SizeAxis;
use super::plan::{Origin, Request, WithOrigin};
use crate::scaling::{Forecast, NextSize, Prediction};

/// Hours per month, for prices.
pub const HOURS_PER_MONTH: f64 = 730.0;
/// Maximum number of nodes that is searched.
const MOST_NODES: u32 = 10_000;
/// Probabilities at the ends of the 90% interval of the number of nodes.
const LIKELY: (f64, f64) = (0.05, 0.95);
/// Minimum number of measured sizes that show how throughput grows: with two, one step does not distinguish a bend from
/// noise, so nothing is expected beyond twice the largest, and no rate is out of reach.
const SIZES_THAT_SHOW_A_BEND: usize = 3;
/// Nodes beyond the best cluster add less than this, as a factor; if the measured sizes contain it, growth has ended.
pub(super) const AS_GOOD: f64 = 1.1;

/// Interval of the number of nodes that are enough, including those that may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeInterval {
    /// Number that is enough with a probability of 50%.
    pub expected: u32,
    /// Number that is enough with a probability of 5%.
    pub low: u32,
    /// Number that is enough with a probability of 95%; absent beyond `farthest`.
    pub high: Option<u32>,
    /// Largest proven number of nodes.
    pub farthest: u32,
}

impl NodeInterval {
    /// `6`, `5 to 6`, or `5 or more`.
    pub fn text(&self) -> String {
        range_text(self.low, self.high)
    }
}

/// The size to measure next, and what an unproven number of nodes depends on until then.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToProve {
    /// Twice the largest measured size.
    pub measure: u32,
    /// Largest proven number, including the nodes that may be lost. More are needed for the requested probability.
    pub farthest: u32,
    /// The probability that this number is enough; below the requested one.
    pub probability: f64,
    /// The number that is enough with a probability of 50% if the next size gives the expected result. It remains the
    /// same as long as measurements equal the expectation. Absent if that measurement would not prove it.
    pub expected: Option<u32>,
    /// The expected number if the next size gives the upper end of its 90% interval; absent without an expected number.
    pub low: Option<u32>,
    /// The same for the lower end of the 90% interval; absent also if no number is then enough.
    pub high: Option<u32>,
    /// Without an expected number, its order of magnitude: so many are needed even if throughput grows in proportion to
    /// the nodes, each as fast as in the best proven cluster, and no fewer than are expected under one of the conditions
    /// alone. Absent if it is no more than `farthest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u32>,
    /// The 90% interval of the throughput of the planned nodes after the next size gave the expected result, as
    /// fractions of the median, below and above 0. Absent if that result proves only a smaller number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

impl ToProve {
    /// The probability that the largest proven number is enough, rounded down: it is below the requested one.
    pub fn likely(&self) -> String {
        let percent = (100.0 * self.probability).floor();
        if percent < 1.0 { "less than 1%".to_owned() } else { format!("{percent:.0}%") }
    }
}

fn range_text(low: u32, high: Option<u32>) -> String {
    let count = |of: u32| display::count(of.into());
    match high {
        Some(high) if high == low => count(high),
        Some(high) => format!("{} to {}", count(low), count(high)),
        None => format!("{} or more", count(low)),
    }
}

/// The nodes that are enough, including those that may be lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeCounts {
    /// Number of nodes that sustain the needs with the requested probability; if it is unproven, the expected one, or
    /// without one the largest number that could have been proven.
    pub planned: u32,
    /// Whether more than `planned` are needed, with an unknown upper limit, so that no number is planned.
    pub is_exceeded: bool,
    /// Whether these nodes sustain the needs. If not, no number of nodes does, and further nodes add little.
    pub reached: bool,
    /// Interval of the number; absent if it is unproven, because no number up to twice the largest measured size was
    /// shown to be enough.
    pub interval: Option<NodeInterval>,
    /// What an unproven number depends on; absent for a proven one, and where no number is enough.
    pub to_prove: Option<ToProve>,
}

impl NodeCounts {
    /// The number that is enough, proven or expected.
    pub fn enough(&self) -> Option<u32> {
        (self.reached && !self.is_exceeded).then_some(self.planned)
    }
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

    /// Machines of each size: one for sizes in nodes, otherwise those whose vCPUs are counted plus those that may be
    /// lost.
    pub fn machines(&self) -> u32 {
        match (self.axis(), self.needs.first()) {
            (SizeAxis::Vcpus, Some(need)) => need.basis.machines + self.survive.value,
            _ => 1,
        }
    }

    /// Difference between a size and its running nodes: the nodes that may be lost.
    pub(super) fn added(&self) -> u32 {
        if self.axis() == SizeAxis::Nodes { self.survive.value } else { 0 }
    }

    /// Planned replicas: as given, or else as measured, but enough to keep all data if nodes fail.
    pub fn copies(&self) -> WithOrigin<u32> {
        let (replicas, survive) = (&self.replicas, self.survive.value);
        if matches!(replicas.origin, Origin::Given(_)) || replicas.value >= survive {
            return replicas.clone();
        }
        WithOrigin::assumed(survive, "as many as tolerated node failures, so that no data is lost")
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
            let low = low.max(self.too_small(expected, replicas) + 1);
            let [low, expected, planned, farthest] =
                [low, expected, planned, farthest].map(with_lost);
            let high = high.map(with_lost);
            let interval = Some(NodeInterval { expected, low, high, farthest });
            return NodeCounts {
                planned,
                is_exceeded: false,
                reached: true,
                interval,
                to_prove: None,
            };
        }
        let to_prove = self.to_prove(replicas);
        let (planned, is_exceeded) = to_prove.map_or_else(
            || (with_lost(self.closest(replicas)), false),
            |of| match of.expected {
                Some(expected) if expected > of.farthest => (expected, false),
                _ => (of.farthest, true),
            },
        );
        NodeCounts { planned, is_exceeded, reached: to_prove.is_some(), interval: None, to_prove }
    }

    /// Whether every need was measured at enough sizes to show how its throughput grows.
    fn shows_growth(&self) -> bool {
        let mut needs = self.needs.iter();
        needs.all(|need| need.basis.sweep.sizes().len() >= SIZES_THAT_SHOW_A_BEND)
    }

    /// Whether enough sizes show that throughput is not expected to grow beyond the measured ones.
    fn has_ended(&self, replicas: u32) -> bool {
        let largest = self.needs.iter().map(|need| need.basis.growth.largest());
        let largest = largest.fold(f64::INFINITY, f64::min);
        self.shows_growth() && f64::from(self.closest(replicas)) <= largest
    }

    /// The largest number of running nodes that the next size can prove; with too few sizes, the largest proven one.
    fn horizon(&self) -> u32 {
        if !self.shows_growth() {
            return self.farthest();
        }
        self.with_next(NextSize::Expected).farthest()
    }

    /// The largest measured size below `expected` that did not sustain the needs; 0 without one. If only the
    /// measurement decides, no interval contains it.
    fn too_small(&self, expected: u32, replicas: u32) -> u32 {
        let fell_short = self.needs.iter().flat_map(|need| {
            let needed = need.per_s.value * self.growth() / (1.0 - self.spare.value);
            let copies = (need.basis.replicas.value - f64::from(replicas)).abs();
            let is_same = copies <= 0.0 && self.vcpus_per_node.is_none();
            let sizes = need.basis.sweep.sizes().iter();
            sizes.filter(move |size| is_same && size.per_s < needed).map(|size| size.size)
        });
        let below = fell_short.filter(|size| *size < f64::from(expected));
        round_to_u32(below.fold(0.0, f64::max))
    }

    fn probability_of(&self, nodes: u32, replicas: u32) -> f64 {
        self.used(nodes, replicas).map_or(1.0, |used| used.probability())
    }

    /// The smallest number, including nodes that may be lost, that is enough with this probability, proven or not.
    /// Throughput does not fall beyond the proven numbers, so the number is found by bracketing and bisection.
    pub(super) fn enough(&self, probability: f64, replicas: u32) -> Option<u32> {
        let is_enough = |nodes| self.probability_of(nodes, replicas) >= probability;
        let (mut few, mut enough) = (0, 1);
        while !is_enough(enough) {
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
        Some(enough + self.added())
    }

    /// The request after the next size of each need was measured with this result.
    fn with_next(&self, next: NextSize) -> Self {
        let mut then = self.clone();
        for need in &mut then.needs {
            need.basis.growth = need.basis.growth.with_next(next).clone();
        }
        then
    }

    /// The measurement that an unproven number depends on; `None` if throughput is not expected to grow, so that no number
    /// is enough.
    fn to_prove(&self, replicas: u32) -> Option<ToProve> {
        if self.has_ended(replicas) {
            return None;
        }
        let farthest = self.farthest();
        let growths = self.needs.iter().map(|need| &need.basis.growth);
        let least = growths.min_by(|a, b| a.largest().total_cmp(&b.largest()))?;
        let grown = least.with_next(NextSize::Expected);
        let horizon = self.horizon() + self.added();
        let expected = self.enough(0.5, replicas).filter(|expected| *expected <= horizon);
        let at_least = self.linear(replicas).max(self.under_one(replicas)) + self.added();
        let interval = expected.filter(|of| *of > farthest + self.added()).map(|nodes| {
            let then = grown.forecast(f64::from(nodes)).prediction();
            [then.low / then.expected - 1.0, then.high / then.expected - 1.0]
        });
        let after = |next| expected.and_then(|_| self.with_next(next).enough(0.5, replicas));
        Some(ToProve {
            measure: round_to_u32(grown.largest()),
            farthest: farthest + self.added(),
            probability: self.probability_of(farthest, replicas),
            expected,
            low: after(NextSize::High),
            high: after(NextSize::Low),
            at_least: (expected.is_none() && at_least > farthest + self.added())
                .then_some(at_least),
            interval,
        })
    }

    /// The largest number of running nodes that is expected under one of the conditions alone, as far as it is known:
    /// under all of them together, no smaller one is enough.
    fn under_one(&self, replicas: u32) -> u32 {
        let bare = || {
            let mut bare = self.clone();
            (bare.spare.value, bare.survive.value, bare.growth_per_month.value) = (0.0, 0, 0.0);
            bare
        };
        let [mut spare, mut grown] = [bare(), bare()];
        spare.spare.value = self.spare.value;
        grown.growth_per_month.value = self.growth_per_month.value;
        let alone = [bare(), spare, grown].into_iter().filter_map(|alone| {
            alone.enough(0.5, replicas).filter(|nodes| *nodes <= alone.horizon())
        });
        alone.max().unwrap_or(0)
    }

    /// The number of running nodes that is enough if throughput grows linearly from the proven cluster with the highest
    /// throughput per node.
    fn linear(&self, replicas: u32) -> u32 {
        // Below the smallest measured size, the throughput per node is a guess.
        let sweeps = self.needs.iter().map(|need| need.basis.sweep.sizes());
        let first = sweeps.filter_map(|sizes| Some(round_to_u32(sizes.first()?.size)));
        let first = first.max().unwrap_or(1).clamp(1, self.farthest().max(1));
        let needed = (first..=self.farthest()).filter_map(|nodes| {
            let used = self.used(nodes, replicas)?;
            Some(f64::from(nodes) * used.used().expected / used.most)
        });
        round_to_u32(needed.fold(f64::INFINITY, f64::min).ceil())
    }

    /// If no proven number is enough, the smallest of them that uses nearly the least of its capacity.
    fn closest(&self, replicas: u32) -> u32 {
        let used = |nodes| self.used(nodes, replicas).map_or(0.0, |used| used.used().expected);
        let all: Vec<(u32, f64)> =
            (1..=self.farthest()).map(|nodes| (nodes, used(nodes))).collect();
        let least = all.iter().map(|(_, used)| *used).fold(f64::INFINITY, f64::min);
        let closest = all.iter().find(|(_, used)| *used <= AS_GOOD * least);
        closest.map_or(1, |(nodes, _)| *nodes)
    }
}

/// Price per month of a cluster; of sizes in vCPUs, all machines together.
pub(super) fn price(request: &Request, nodes: u32) -> Option<f64> {
    let price = request.price_per_node_hour.as_ref()?.value;
    Some(price * f64::from(nodes) * f64::from(request.machines()) * HOURS_PER_MONTH)
}
