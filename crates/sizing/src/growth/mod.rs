//! A growth as it is measured: what the next size will show, before it was measured, and what all sizes show
//! together.
//!
//! What must not be here: which size is measured next.

#[cfg(test)]
mod tests;

use highwater_analysis::growth::{Drift, counted, drift};
use highwater_model::scale::{PredictedRate, ScalePurpose, ScaleRecord, ScaleTrial};

use crate::cluster::{ModelPlan, SizePlanPoint, curve, models};
use crate::scaling::{Average, Growth, Identifiability, Point, PooledGrowth, Sweep, Weighting};

/// What a further node is taken to add, as a part of what linear growth would: the rule of an article about
/// growing a cluster by one node after the other.
const RULE_OF_THUMB: f64 = 0.8;
/// Seconds of an hour, and rows or queries that a price is for.
const HOUR_S: f64 = 3_600.0;
const MILLION: f64 = 1e6;

/// What is predicted for a size from the smaller ones that were measured; absent where it is beyond what they can
/// show.
pub fn predicted(scale: &ScaleRecord, nodes: u32) -> Option<PredictedRate> {
    let mut smaller = scale.clone();
    smaller.trials.retain(|trial| trial.size.nodes < nodes);
    let (_, growth) = measured(&smaller)?;
    let nodes = f64::from(nodes);
    (nodes <= growth.farthest()).then(|| {
        let predicted = growth.forecast(nodes).prediction();
        PredictedRate {
            expected: predicted.expected,
            low90: predicted.low,
            high90: predicted.high,
        }
    })
}

/// Sizes and how they grow: one alone as published clusters do.
fn measured(scale: &ScaleRecord) -> Option<(Sweep, Growth)> {
    let unchanged = drift(scale).is_some_and(|drift| !drift.is_drifted());
    let again = scale.trials.iter();
    // A repeat shows how well sizes are known, unless the machine changed between.
    let again = again.filter(|trial| unchanged && trial.purpose == ScalePurpose::Again);
    let counting = again.filter(|trial| trial.figures.verdict.counts());
    let points: Vec<Point> = counted(scale)
        .chain(counting)
        .map(|trial| Point {
            size: f64::from(trial.size.nodes),
            per_s: trial.figures.per_s,
        })
        .collect();
    let sweep = Sweep::new(&points, None).ok()?;
    let growth = if sweep.sizes().len() > 1 {
        Growth::Measured(Average::new(&sweep))
    } else {
        Growth::Assumed(PooledGrowth::new(&sweep))
    };
    Some((sweep, growth))
}

/// What the sizes show together.
#[derive(Debug, Clone, PartialEq)]
pub struct GrowthReport<'a> {
    /// The sizes that count, in ascending order, the first one once.
    pub sizes: Vec<GrowthSize<'a>>,
    /// The next larger size, and what is predicted for it.
    pub next: Option<(u32, PredictedRate)>,
    /// Measured sizes and others up to the next one; empty below two sizes.
    pub curve: Vec<SizePlanPoint>,
    /// The models, with what each predicts for the next size; empty below two sizes.
    pub models: Vec<ModelPlan>,
    /// What the sizes tell of contention, crosstalk and peak.
    pub identifiability: Option<Identifiability>,
    /// The first size, measured again.
    pub drift: Option<Drift>,
    /// How many predictions were made before their size was measured, and how many of their intervals held it.
    pub predictions: (usize, usize),
}

/// A size beside the one before it and the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrowthSize<'a> {
    /// What was measured.
    pub trial: &'a ScaleTrial,
    /// Nodes more than before, as a part.
    pub increase: Option<f64>,
    /// Throughput more than before, per second.
    pub gain: Option<f64>,
    /// The same as a part of it.
    pub change: Option<f64>,
    /// Throughput over that of the first size times as many nodes.
    pub of_linear: f64,
    /// Throughput per node.
    pub per_node: f64,
    /// What the size before gives where each further node adds 0.8 of what it had of each, per second.
    pub rule_of_thumb: Option<f64>,
    /// What a million units cost, where a node has a price.
    pub price_per_million: Option<f64>,
}

/// Sets the sizes of a growth beside each other.
pub fn report(scale: &ScaleRecord) -> GrowthReport<'_> {
    let sizes = sizes(scale);
    let step = match &sizes[..] {
        [.., before, last] => last
            .trial
            .size
            .nodes
            .saturating_sub(before.trial.size.nodes),
        _ => 1,
    };
    let last = sizes.last().map(|size| size.trial.size.nodes);
    let next = last.and_then(|last| {
        let nodes = last.saturating_add(step.max(1));
        Some((nodes, predicted(scale, nodes)?))
    });
    let grown = measured(scale).filter(|(sweep, _)| sweep.sizes().len() > 1);
    let to = next.map_or(0.0, |(nodes, _)| f64::from(nodes));
    let made = sizes.iter().filter_map(|size| {
        let predicted = size.trial.predicted?;
        Some(predicted.holds(size.trial.figures.per_s))
    });
    let made: Vec<bool> = made.collect();
    GrowthReport {
        predictions: (made.len(), made.iter().filter(|held| **held).count()),
        sizes,
        next,
        curve: grown
            .as_ref()
            .map_or_else(Vec::new, |(sweep, growth)| curve(sweep, growth, to)),
        models: grown.as_ref().map_or_else(Vec::new, |(sweep, growth)| {
            models(sweep, growth, to, Weighting::Relative)
        }),
        identifiability: grown
            .as_ref()
            .and_then(|(_, growth)| growth.average()?.identifiability()),
        drift: drift(scale),
    }
}

fn sizes(scale: &ScaleRecord) -> Vec<GrowthSize<'_>> {
    let mut trials: Vec<&ScaleTrial> = counted(scale).collect();
    trials.sort_by_key(|trial| trial.size.nodes);
    let first = trials.first().copied();
    let before = [None].into_iter().chain(trials.iter().copied().map(Some));
    let pairs = trials.iter().copied().zip(before);
    pairs
        .map(|(trial, before)| size(scale, trial, before, first.unwrap_or(trial)))
        .collect()
}

fn size<'a>(
    scale: &ScaleRecord,
    trial: &'a ScaleTrial,
    before: Option<&ScaleTrial>,
    first: &ScaleTrial,
) -> GrowthSize<'a> {
    let nodes = |trial: &ScaleTrial| f64::from(trial.size.nodes);
    let per_s = trial.figures.per_s;
    let increase = before.map(|before| nodes(trial) / nodes(before) - 1.0);
    let earlier = before.map(|before| before.figures.per_s);
    let price = scale.price_per_node_hour;
    GrowthSize {
        trial,
        increase,
        gain: earlier.map(|earlier| per_s - earlier),
        change: earlier.map(|earlier| per_s / earlier - 1.0),
        of_linear: per_s * nodes(first) / (first.figures.per_s * nodes(trial)),
        per_node: per_s / nodes(trial),
        rule_of_thumb: earlier
            .zip(increase)
            .map(|(earlier, increase)| earlier * (1.0 + RULE_OF_THUMB * increase)),
        price_per_million: price.map(|price| price * nodes(trial) / HOUR_S / per_s * MILLION),
    }
}
