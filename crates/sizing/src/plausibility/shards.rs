//! Shards per node: too many for the database's own guidance, or too few to use every node.

use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::guidance::Guidance;
use crate::series::{Point, names, number_text};

pub(super) fn shards_per_node(point: &Point) -> Option<PlausibilityWarning> {
    let shards = point.number(names::PRIMARY_SHARDS).filter(|shards| *shards >= 1.0)?;
    let partitions = point.number(names::PARTITIONS).unwrap_or(1.0).max(1.0);
    let nodes = point.nodes()?;
    let replicas = point.number(names::REPLICAS).unwrap_or(0.0);
    let copies = shards * partitions * (1.0 + replicas);
    let of_partitions = if partitions > 1.0 {
        let [shards, partitions] = [shards, partitions].map(number_text);
        format!(" ({shards} in each of {partitions} partitions)")
    } else {
        String::new()
    };
    let [all, on] = [copies, nodes].map(number_text);
    let what = format!("{all} shards{of_partitions} on {on} nodes");
    if copies < nodes {
        let message = format!("{what}: {} nodes hold nothing", number_text(nodes - copies));
        let check = "with fewer shards than nodes some nodes only pass work on; give each node at \
                     least one.";
        return Some(Rule::ShardsPerNode.warning(Weight::Doubt, &[point], message, check));
    }
    let engine = point.word(names::ENGINE)?;
    let most = Guidance::of(Some(engine))?.most_shards_per_node;
    let per_node = copies / nodes;
    if per_node <= most {
        return None;
    }
    let rows = point.number(names::ROWS).map_or(String::new(), |rows| {
        let each = number_text(rows / (shards * partitions));
        format!(", {each} rows in each")
    });
    let (per_node, most) = (number_text(per_node), number_text(most));
    let message =
        format!("{what} are {per_node} per node{rows}; the guidance of {engine} is at most {most}");
    let check = "with larger partitions or fewer shards each, does it go faster? Small shards cost \
                 memory and slow queries down.";
    Some(Rule::ShardsPerNode.warning(Weight::Doubt, &[point], message, check))
}
