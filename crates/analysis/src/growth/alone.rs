//! Nodes measured alone: the next one, and whether they differ by more than repeated measurements of one node. Must not
//! draw conclusions about sizes.

use std::f64::consts::SQRT_2;

use highwater_model::scale::{ScaleEach, ScaleRecord, ScaleTrial};

use super::drift::LogRate;
use super::taken::spent;

/// 95% quantiles of the range of 2, 3, … equal measurements, in standard deviations of one: the studentized range
/// (Harter 1960).
const RANGE95: [f64; 9] = [2.772, 3.314, 3.633, 3.858, 4.030, 4.170, 4.286, 4.387, 4.474];
/// The same for up to the 256 nodes of a cluster file. The exact value is 6.64, so this errs towards equal nodes.
const RANGE95_OF_MANY: f64 = 6.7;

/// A node, and its units per second alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeRate {
    /// Its number.
    pub node: u32,
    /// Units per second.
    pub per_s: f64,
}

/// The slowest and the fastest of the nodes measured alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeSpread {
    /// Number of nodes measured with known precision.
    pub nodes: usize,
    /// Number of further nodes whose rate has unknown precision; none of them is the slowest or the fastest.
    pub inexact: usize,
    /// The slowest one.
    pub slowest: NodeRate,
    /// The fastest one.
    pub fastest: NodeRate,
    /// Difference between the fastest and the slowest, as a fraction of the slowest.
    pub apart: f64,
    /// The same difference for equal nodes, as a fraction: 95 of 100 times it is smaller.
    pub allowed: f64,
    /// The sum of all nodes' rates over their number times the rate of node 1: what linear growth from node 1 would
    /// show.
    pub of_first: Option<f64>,
}

impl NodeSpread {
    /// Whether they differ by more than measurements of equal nodes.
    pub fn is_unequal(&self) -> bool {
        self.apart > self.allowed
    }
}

/// Compares the nodes measured alone. Absent with fewer than two nodes whose rates count and have an interval: a rate
/// too variable for an interval must not pass for exact.
pub fn node_spread(scale: &ScaleRecord) -> Option<NodeSpread> {
    let trials = scale.alone.trials.iter();
    let (counting, inexact): (Vec<&ScaleTrial>, Vec<&ScaleTrial>) = trials
        .filter(|trial| trial.figures.verdict.counts())
        .partition(|trial| trial.figures.interval.is_some_and(|[low, _]| low > 0.0));
    let by_rate = |a: &&&ScaleTrial, b: &&&ScaleTrial| a.figures.per_s.total_cmp(&b.figures.per_s);
    let slowest = counting.iter().min_by(by_rate)?;
    let fastest = counting.iter().max_by(by_rate)?;
    let more = counting.len().checked_sub(2)?;
    let range = RANGE95.get(more).copied().unwrap_or(RANGE95_OF_MANY);
    let deviation = |of: &ScaleTrial| LogRate::of(ScaleEach::Run, &of.figures).deviation;
    let of_one = deviation(slowest).hypot(deviation(fastest)) / SQRT_2;
    let sum: f64 = counting.iter().map(|of| of.figures.per_s).sum();
    let mean = sum / f64::from(u32::try_from(counting.len()).ok()?);
    let first = counting.iter().find(|of| of.node == Some(1));
    let rate = |of: &ScaleTrial| Some(NodeRate { node: of.node?, per_s: of.figures.per_s });
    Some(NodeSpread {
        nodes: counting.len(),
        inexact: inexact.len(),
        slowest: rate(slowest)?,
        fastest: rate(fastest)?,
        apart: fastest.figures.per_s / slowest.figures.per_s - 1.0,
        allowed: (range * of_one).exp_m1(),
        of_first: first.map(|first| mean / first.figures.per_s),
    })
}

/// The next node to measure alone: before the first size, and only while time is left for all nodes and for two sizes.
pub(super) fn next(scale: &ScaleRecord) -> Option<u32> {
    let missing = scale.alone.missing();
    let of_nodes = scale.alone.trial_cost_ns.saturating_mul(missing.into());
    let of_sizes = scale.trial_cost_ns.saturating_mul(2);
    let spent = spent(&scale.alone.trials);
    let all = spent.saturating_add(of_nodes).saturating_add(of_sizes);
    let has_time = scale.budget_ns.is_none_or(|budget| all <= budget);
    let begins = scale.trials.is_empty() && missing > 0;
    let mut nodes = 1..=scale.alone.nodes;
    let is_measured = |node: &u32| scale.alone.trials.iter().any(|of| of.node == Some(*node));
    nodes.find(|node| begins && has_time && !is_measured(node))
}
