//! A growth while it is measured: the prediction of the next size before its measurement, and the
//! conclusions from all sizes.
//!
//! Must not decide which size is measured next.

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use highwater_analysis::growth::{
    ComparedSize, Drift, SizedRate, counted, drift, replicas, replicas_of,
};
use highwater_model::plan::Unit;
use highwater_model::scale::{PredictedRate, ScaleEach, ScalePurpose, ScaleRecord, ScaleTrial};

use crate::cluster::{ModelPlan, SizePlanPoint, curve, models};
use crate::scaling::{
    Average, Growth, Identifiability, Placement, Point, PooledGrowth, Sweep, Weighting,
    assumed_replica_cost, replicas_leave,
};
use crate::tables::{OpRate, by_op};

/// Seconds of an hour, and the number of rows or queries to which a price refers.
const HOUR_S: f64 = 3_600.0;
const MILLION: f64 = 1e6;

/// The prediction for a size from smaller measured ones; absent if it is beyond their range. Sizes with other
/// replicas count only if there are none with the same number.
pub fn predicted(scale: &ScaleRecord, nodes: u32) -> Option<PredictedRate> {
    let mut smaller = scale.clone();
    smaller.trials.retain(|trial| trial.size.nodes < nodes);
    let of_size = replicas(scale, nodes);
    let known = counted(&smaller).map(replicas_of);
    let of_smaller = known.min_by_key(|known| (known.abs_diff(of_size), u32::MAX - known))?;
    let (_, growth) = measured(&smaller, of_smaller)?;
    let nodes = f64::from(nodes);
    (nodes <= growth.farthest()).then(|| {
        let cost = assumed_replica_cost(scale.unit == Unit::Rows);
        let factor = replicas_leave(cost, f64::from(of_smaller), f64::from(of_size));
        let predicted = growth.forecast(nodes).scaled(factor).prediction();
        PredictedRate { expected: predicted.expected, low90: predicted.low, high90: predicted.high }
    })
}

/// Sizes with this many replicas, and their growth: a single size is assumed to grow like published clusters with
/// the same placement of rows.
fn measured(scale: &ScaleRecord, with: u32) -> Option<(Sweep, Growth)> {
    let unchanged = drift(scale).is_some_and(|drift| !drift.is_drifted());
    let again = scale.trials.iter();
    // A repeat shows the precision of sizes, unless the machine changed in between.
    let counting = again
        .filter(|trial| unchanged && trial.purpose == ScalePurpose::Again)
        .filter(|trial| trial.figures.verdict.counts());
    let points: Vec<Point> = counted(scale)
        .chain(counting)
        .filter(|trial| replicas_of(trial) == with)
        .map(|trial| Point { size: f64::from(trial.size.nodes), per_s: trial.figures.per_s })
        .collect();
    let sweep = Sweep::new(&points, None).ok()?;
    let growth = if sweep.sizes().len() > 1 {
        Growth::measured(Average::new(&sweep))
    } else {
        let placement =
            if scale.rows_everywhere { Placement::Everywhere } else { Placement::Divided };
        Growth::assumed(PooledGrowth::new(&sweep, placement))
    };
    Some((sweep, growth))
}

/// The conclusions from all sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct GrowthReport<'a> {
    /// The sizes that count, ascending; the first one only once.
    pub sizes: Vec<GrowthSize<'a>>,
    /// The rate of each op of the stream at each of them, by name; empty if there is only one op.
    pub by_op: Vec<BTreeMap<String, OpRate>>,
    /// The next larger size, and its prediction.
    pub next: Option<(u32, PredictedRate)>,
    /// Measured and intermediate sizes up to the next one; empty with fewer than two sizes.
    pub curve: Vec<SizePlanPoint>,
    /// The models, with the prediction of each for the next size; empty with fewer than two sizes.
    pub models: Vec<ModelPlan>,
    /// Contention, crosstalk, and peak, as far as the sizes identify them.
    pub identifiability: Option<Identifiability>,
    /// The first size, measured again.
    pub drift: Option<Drift>,
    /// Number of predictions made before their size was measured, and number of their intervals that contained
    /// the measurement.
    pub predictions: (usize, usize),
}

/// A size compared with the previous one and the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrowthSize<'a> {
    /// The measurement.
    pub trial: &'a ScaleTrial,
    /// The comparison with the previous size and the first one.
    pub compared: ComparedSize,
    /// The bounds of the gain, derived from those of both sizes: between marks, the minimum and maximum difference;
    /// between runs, a 95% interval. Absent without a previous size, or if a size has no bounds.
    pub gain_bounds: Option<[f64; 2]>,
    /// The price of a million units, if a node has a price.
    pub price_per_million: Option<f64>,
}

/// Compares the sizes of a growth.
pub fn report(scale: &ScaleRecord) -> GrowthReport<'_> {
    let sizes = sizes(scale);
    let nodes: Vec<u32> = sizes.iter().map(|size| size.trial.size.nodes).collect();
    let step = match nodes[..] {
        [.., before, last] => last.saturating_sub(before),
        _ => 1,
    };
    let next = nodes.last().and_then(|last| {
        let nodes = last.saturating_add(step.max(1));
        Some((nodes, predicted(scale, nodes)?))
    });
    let with = sizes.last().map_or(0, |size| replicas_of(size.trial));
    let grown = measured(scale, with).filter(|(sweep, _)| sweep.sizes().len() > 1);
    let to = next.map_or(0.0, |(nodes, _)| f64::from(nodes));
    let made = sizes.iter().filter_map(|size| {
        let predicted = size.trial.predicted?;
        Some(predicted.holds(size.trial.figures.per_s))
    });
    let made: Vec<bool> = made.collect();
    let ops = sizes.iter().map(|size| &size.trial.figures.per_s_by_op);
    GrowthReport {
        by_op: by_op(ops),
        predictions: (made.len(), made.iter().filter(|held| **held).count()),
        sizes,
        next,
        curve: grown.as_ref().map_or_else(Vec::new, |(sweep, growth)| curve(sweep, growth, to)),
        models: grown.as_ref().map_or_else(Vec::new, |(sweep, growth)| {
            models(sweep, growth, to, Weighting::Relative)
        }),
        identifiability: grown.as_ref().and_then(|(_, growth)| growth.average()?.identifiability()),
        drift: drift(scale),
    }
}

fn sizes(scale: &ScaleRecord) -> Vec<GrowthSize<'_>> {
    let mut trials: Vec<&ScaleTrial> = counted(scale).collect();
    trials.sort_by_key(|trial| trial.size.nodes);
    let first = trials.first().copied();
    let before = [None].into_iter().chain(trials.iter().copied().map(Some));
    trials
        .iter()
        .copied()
        .zip(before)
        .map(|(trial, before)| size(scale, trial, before, first.unwrap_or(trial)))
        .collect()
}

fn size<'a>(
    scale: &ScaleRecord,
    trial: &'a ScaleTrial,
    before: Option<&ScaleTrial>,
    first: &ScaleTrial,
) -> GrowthSize<'a> {
    let measured = SizedRate::from_trial(trial);
    let price = scale.price_per_node_hour;
    GrowthSize {
        trial,
        gain_bounds: before.and_then(|before| gain_bounds(scale, before, trial)),
        compared: measured.beside(before.map(SizedRate::from_trial), SizedRate::from_trial(first)),
        price_per_million: price
            .map(|price| price * measured.nodes / HOUR_S / measured.per_s * MILLION),
    }
}

fn gain_bounds(scale: &ScaleRecord, before: &ScaleTrial, now: &ScaleTrial) -> Option<[f64; 2]> {
    let [before_low, before_high] = scale.bounds(&before.figures)?;
    let [low, high] = scale.bounds(&now.figures)?;
    let gain = now.figures.per_s - before.figures.per_s;
    Some(match scale.each {
        ScaleEach::Find => [low - before_high, high - before_low],
        // The errors of two runs are independent.
        ScaleEach::Run | ScaleEach::Tune => {
            let [now, before] = [&now.figures, &before.figures].map(|of| of.per_s);
            let less = (now - low).hypot(before_high - before);
            let more = (high - now).hypot(before - before_low);
            [gain - less, gain + more]
        }
    })
}
