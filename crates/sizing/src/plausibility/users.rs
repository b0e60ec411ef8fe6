//! Load per node that changes with the number of nodes, so that the series shows both effects at once.

use super::points::by_nodes;
use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::series::{Point, names, number_text};

/// Maximum difference of the load per node between sizes, as a fraction.
const TOLERANCE: f64 = 0.10;

/// Only if each size was measured with one load: a grid of loads separates the effects.
pub(super) fn users_per_node(points: &[&Point]) -> Option<PlausibilityWarning> {
    let generators = |point: &Point| point.number(names::CLIENT_PROCESSES);
    changes(points, "sessions", Point::sessions)
        .or_else(|| changes(points, "load generators", generators))
}

fn changes(
    points: &[&Point],
    what: &str,
    load: fn(&Point) -> Option<f64>,
) -> Option<PlausibilityWarning> {
    let mut sizes: Vec<(f64, f64, &Point)> = Vec::new();
    for (nodes, group) in by_nodes(points) {
        let mut loads: Vec<f64> = group.iter().filter_map(|point| load(point)).collect();
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        match loads[..] {
            [] => {}
            [load] => sizes.push((nodes, load / nodes, group[0])),
            _ => return None,
        }
    }
    let by_load = |a: &&(f64, f64, &Point), b: &&(f64, f64, &Point)| a.1.total_cmp(&b.1);
    let (least, most) = (sizes.iter().min_by(by_load)?, sizes.iter().max_by(by_load)?);
    if most.1 <= least.1 * (1.0 + TOLERANCE) {
        return None;
    }
    let (before, after) = if least.0 < most.0 { (least, most) } else { (most, least) };
    let [from, to] = [before.1, after.1].map(number_text);
    let [few, many] = [before.0, after.0].map(nodes);
    let message = format!(
        "{what} per node go from {from} at {few} to {to} at {many}: what changes between the sizes \
         is the load as well as the cluster"
    );
    let check = "measure every size with the same load per node, or with the best load of each \
                 and say so.";
    Some(Rule::UsersPerNode.warning(Weight::Doubt, &[before.2, after.2], message, check))
}

fn nodes(nodes: f64) -> String {
    let plural = if nodes > 1.0 { "s" } else { "" };
    format!("{} node{plural}", number_text(nodes))
}
