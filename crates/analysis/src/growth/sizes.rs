//! Sizes in comparison: the gain of each over the one before it, against linear growth and against rules of thumb.
//!
//! The same arithmetic applies to measured and to published sizes. Must not predict.

use std::collections::BTreeMap;

use highwater_model::scale::{ScaleRecord, ScaleTrial};

use super::counted;

/// The assumed gain of a further node, as a fraction of linear growth: the rule of an article about growing a cluster
/// node by node.
const NODE_RULE: f64 = 0.8;
/// The assumed cost of each replica, as a fraction of that of the first copy: the first replica leaves 0.6 of the
/// throughput, as the same article expects.
pub const REPLICA_COST: f64 = 1.0 / 0.6 - 1.0;

/// Throughput with `to` replicas as a fraction of that with `from`, if each costs the fraction `cost` of the first copy.
pub fn replica_factor(cost: f64, from: f64, to: f64) -> f64 {
    (1.0 + cost * from) / (1.0 + cost * to)
}

/// The throughput of a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizedRate {
    /// Nodes; above 0.
    pub nodes: f64,
    /// Replicas of each shard.
    pub replicas: f64,
    /// Per second; above 0.
    pub per_s: f64,
}

/// A size compared with the previous one and the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparedSize {
    /// Increase in nodes over the previous size, as a fraction.
    pub increase: Option<f64>,
    /// Increase in throughput over the previous size, per second.
    pub gain: Option<f64>,
    /// The same as a fraction of the previous throughput.
    pub change: Option<f64>,
    /// Throughput over the first size's throughput per node times the number of nodes.
    pub of_linear: f64,
    /// Throughput per node.
    pub per_node: f64,
    /// Throughput expected from the previous size, per second, if each further node adds 0.8 of its throughput per
    /// node, and the first replica leaves 0.6 of it.
    pub rule_of_thumb: Option<f64>,
}

impl SizedRate {
    /// The rate of a measured size.
    pub fn of(trial: &ScaleTrial) -> Self {
        Self {
            nodes: f64::from(trial.size.nodes),
            replicas: f64::from(replicas_of(trial)),
            per_s: trial.figures.per_s,
        }
    }

    /// This size compared with others.
    pub fn beside(self, before: Option<Self>, first: Self) -> ComparedSize {
        ComparedSize {
            increase: before.map(|before| self.nodes / before.nodes - 1.0),
            gain: before.map(|before| self.per_s - before.per_s),
            change: before.map(|before| self.per_s / before.per_s - 1.0),
            of_linear: self.per_s * first.nodes / (first.per_s * self.nodes),
            per_node: self.per_s / self.nodes,
            rule_of_thumb: before.map(|before| {
                let factor = replica_factor(REPLICA_COST, before.replicas, self.replicas);
                self.without_replicas(before) * factor
            }),
        }
    }

    /// Throughput that the node rule alone expects of this size after the previous one, per second.
    pub(super) fn without_replicas(self, before: Self) -> f64 {
        before.per_s * (1.0 + NODE_RULE * (self.nodes / before.nodes - 1.0))
    }
}

/// Replicas of each shard at a measured size.
pub fn replicas_of(trial: &ScaleTrial) -> u32 {
    let stated = trial.figures.replicas.and_then(|of| of.try_into().ok());
    let stated = stated.or_else(|| stated_by(&trial.size.settings));
    held(stated, trial.size.nodes)
}

/// Replicas at a size that may not be measured yet: from its settings, or else those of the last size.
pub fn replicas(scale: &ScaleRecord, nodes: u32) -> u32 {
    let mut sizes = scale.sizes.iter();
    let size = sizes.find(|size| size.nodes == nodes);
    let stated = size.and_then(|size| stated_by(&size.settings));
    let last = counted(scale).next_back();
    let last = last.and_then(|trial| trial.figures.replicas?.try_into().ok());
    held(stated.or(last), nodes)
}

fn stated_by(settings: &BTreeMap<String, String>) -> Option<u32> {
    settings.get("replicas")?.parse().ok()
}

/// Two copies of a shard are never on one node.
fn held(stated: Option<u32>, nodes: u32) -> u32 {
    stated.unwrap_or(0).min(nodes.saturating_sub(1))
}
