//! Findings about a growth: observations about the cluster or the load generator from all sizes together.
//!
//! A rule reads the growth's record and changes nothing. Must not report on the run of a single size; `crate::findings`
//! does.

use highwater_model::display::{count, percent, percent_whole, rate};
use highwater_model::limit::{LimitFigure, LimitingResource, Resource};
use highwater_model::scale::{ScaleRecord, ScaleTrial, SizeVerdict};

use super::counted;
use super::sizes::{NodeSpread, node_spread};
use super::sizes::{SizedRate, replicas_of};
use crate::findings::RuleFinding;
use crate::judge::measurement::CLIENT_CPU_LIMIT;

#[cfg(test)]
mod tests;

/// Above this many times its fair share of shards, the fullest node is saturated long before the others.
const UNBALANCED: f64 = 1.1;
/// A size that lost at least this fraction of the possible cost of unequal shards is taken to have lost it to them.
const LOST: f64 = 0.5;
/// If at least this fraction of the rate expected by the node rule is missing, replicas have a cost.
const REPLICAS_COST: f64 = 0.1;

type Rule = fn(&ScaleRecord) -> Option<RuleFinding>;

/// In reporting order.
const RULES: &[Rule] = &[client_limits_growth, unbalanced_shards, replica_cost, unequal_alone];

/// The findings of all rules for a growth.
pub fn findings(scale: &ScaleRecord) -> Vec<RuleFinding> {
    RULES.iter().filter_map(|rule| rule(scale)).collect()
}

/// `4 nodes`.
fn nodes(trial: &ScaleTrial) -> String {
    let plural = if trial.size.nodes == 1 { "" } else { "s" };
    format!("{} node{plural}", trial.size.nodes)
}

/// Consecutive pairs of the sizes that count.
fn steps(scale: &ScaleRecord) -> impl Iterator<Item = (&ScaleTrial, &ScaleTrial)> {
    counted(scale).zip(counted(scale).skip(1))
}

/// The load generator was saturated at a size.
fn client_limits_growth(scale: &ScaleRecord) -> Option<RuleFinding> {
    let mut trials = scale.trials.iter();
    let limited = trials.find(|trial| trial.figures.verdict == SizeVerdict::ClientCeiling)?;
    let shown = match counted(scale).next_back() {
        None => "no size shows the target".to_owned(),
        Some(last) => format!("only sizes up to {} show the target", nodes(last)),
    };
    let by = limited.figures.limit.as_ref();
    let by = by.and_then(|limit| limit.by.as_ref());
    let by = by.filter(|by| by.resource == Resource::LoadGenerator);
    let of_ceiling = by.and_then(|by| by.value(LimitFigure::OfCeiling));
    let figures = &limited.figures;
    let codes: Vec<&str> = figures.reasons.iter().map(|code| code.name()).collect();
    let reached = match of_ceiling {
        Some(part) => format!("it reached {} of its ceiling", percent_whole(part)),
        None if figures.client_cpu > CLIENT_CPU_LIMIT || codes.is_empty() => {
            format!("its CPU was at {}", percent_whole(figures.client_cpu))
        }
        None => codes.join(", "),
    };
    let target = figures.target_cpu.map_or_else(String::new, |busy| {
        format!(", the CPU of the busiest node at {}", percent_whole(busy))
    });
    Some(RuleFinding {
        code: "client_limits_growth",
        sentence: format!(
            "the load generator limited the growth at {}, so {shown}",
            nodes(limited)
        ),
        evidence: format!("{reached}{target}"),
        hint: "use a larger load generator, and resume the growth",
    })
}

/// One node has more shards than the others, or more to do for them.
fn unbalanced_shards(scale: &ScaleRecord) -> Option<RuleFinding> {
    uneven(scale).or_else(|| hot_node(scale))
}

/// The number of nodes does not divide the shards, and the missing throughput matches the fullest node.
fn uneven(scale: &ScaleRecord) -> Option<RuleFinding> {
    let (_, trial, excess) = steps(scale)
        .filter_map(|(before, trial)| {
            let (excess, earlier) = (excess_of(trial)?, excess_of(before)?);
            let grown = f64::from(trial.size.nodes) / f64::from(before.size.nodes);
            let of_linear = trial.figures.per_s / (before.figures.per_s * grown);
            let explained = 1.0 - earlier / excess;
            let is_lost = 1.0 - of_linear >= LOST * explained;
            let same_copies = replicas_of(before) == replicas_of(trial);
            let explains = excess >= UNBALANCED && excess > earlier && is_lost && same_copies;
            explains.then_some((before, trial, excess))
        })
        .max_by(|a, b| a.2.total_cmp(&b.2))?;
    let shards = trial.figures.shards?;
    let copies = replicas_of(trial) + 1;
    let in_copies = if copies == 1 { String::new() } else { format!(" in {copies} copies") };
    let (shards, on, excess) = (count(shards), nodes(trial), percent_whole(excess));
    Some(RuleFinding {
        code: "unbalanced_shards",
        sentence: format!(
            "with {on} one node had more shards than the others, and was full before them"
        ),
        evidence: format!(
            "{shards} shards{in_copies} on {on}: the fullest one has {excess} of its equal share"
        ),
        hint: "a number of shards that the nodes divide at each size, such as --shards 8n",
    })
}

/// Shards of the fullest node over its fair share; 1 is balanced.
fn excess_of(trial: &ScaleTrial) -> Option<f64> {
    let shards = u32::try_from(trial.figures.shards?).ok()?;
    let pieces = shards.checked_mul(replicas_of(trial) + 1)?;
    let nodes = trial.size.nodes;
    (pieces > 0).then(|| {
        let fullest = f64::from(pieces.div_ceil(nodes));
        fullest * f64::from(nodes) / f64::from(pieces)
    })
}

/// At a larger size one node was at its limit while the others were not, unlike at the smallest size.
fn hot_node(scale: &ScaleRecord) -> Option<RuleFinding> {
    fn is_hot(trial: &ScaleTrial) -> Option<&LimitingResource> {
        let by = trial.figures.limit.as_ref()?.by.as_ref()?;
        (by.resource == Resource::HotNode).then_some(by)
    }
    let mut sizes = counted(scale);
    let first = sizes.next()?;
    if first.size.nodes > 1 && is_hot(first).is_some() {
        return None;
    }
    let (trial, hot) = sizes.find_map(|trial| Some((trial, is_hot(trial)?)))?;
    let busy = hot.value(LimitFigure::Busy).map(percent_whole)?;
    let others = hot.value(LimitFigure::OthersBusy).map(percent_whole)?;
    Some(RuleFinding {
        code: "unbalanced_shards",
        sentence: format!(
            "with {} one node was at its limit while the others had room",
            nodes(trial)
        ),
        evidence: format!("its CPU was at {busy}, that of the others at {others} on average"),
        hint: "look at how shards and their primaries are spread, and at keys that all rows share",
    })
}

/// A size with more replicas than the one before was slower than its number of nodes explains.
fn replica_cost(scale: &ScaleRecord) -> Option<RuleFinding> {
    let costs = steps(scale).filter_map(|(before, trial)| {
        let expected = SizedRate::from_trial(trial).without_replicas(SizedRate::from_trial(before));
        let missing = 1.0 - trial.figures.per_s / expected;
        let has_more = replicas_of(trial) > replicas_of(before);
        (has_more && missing >= REPLICAS_COST).then_some((before, trial, expected, missing))
    });
    let (before, trial, expected, missing) = costs.max_by(|a, b| a.3.total_cmp(&b.3))?;
    let replicas = |trial: &ScaleTrial| match replicas_of(trial) {
        0 => "no replica".to_owned(),
        1 => "1 replica".to_owned(),
        more => format!("{more} replicas"),
    };
    let rates = [before.figures.per_s, trial.figures.per_s, expected];
    let ([first, second, expected], missing) = (rates.map(rate), percent(missing));
    let ([from, to], [few, more]) = ([before, trial].map(nodes), [before, trial].map(replicas));
    Some(RuleFinding {
        code: "replica_cost",
        sentence: format!(
            "from {from} to {to} the number of replicas grew, too, which cost {missing} of the throughput"
        ),
        evidence: format!(
            "{first} with {few}, {second} with {more}; without more replicas the 0.8 rule expects {expected}"
        ),
        hint: "compare sizes with the same replicas, from the smallest that can hold them; the models count only these",
    })
}

/// Nodes measured alone differ, so gains depend on which node a size adds.
fn unequal_alone(scale: &ScaleRecord) -> Option<RuleFinding> {
    let spread = node_spread(scale).filter(NodeSpread::is_unequal)?;
    let of_first = spread.of_first.map_or_else(String::new, |part| {
        let part = percent_whole(part);
        format!("; linear growth from node 1 would show as {part} of linear")
    });
    let [apart, allowed] = [spread.apart, spread.allowed].map(percent);
    let [least, most] = [spread.slowest.per_s, spread.fastest.per_s].map(rate);
    Some(RuleFinding {
        code: "unequal_alone",
        sentence: format!(
            "node {} alone makes {apart} more than node {}, so what a size gains depends on which node it adds",
            spread.fastest.node, spread.slowest.node
        ),
        evidence: format!("{least} to {most}; equal nodes are apart by up to {allowed}{of_first}"),
        hint: "give all nodes the same machine and quota, or read gains of sizes only as exact as that",
    })
}
