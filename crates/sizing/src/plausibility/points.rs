//! What several rules need of points: groups by nodes, and the name of a place.
//!
//! Must not judge.

use crate::series::{Origin, Point};

/// Points that have a number of nodes, one group for each, ascending.
pub(super) fn by_nodes<'a>(points: &[&'a Point]) -> Vec<(f64, Vec<&'a Point>)> {
    let mut groups: Vec<(f64, Vec<&Point>)> = Vec::new();
    for point in points {
        let Some(nodes) = point.nodes() else {
            continue;
        };
        match groups
            .iter_mut()
            .find(|(known, _)| known.total_cmp(&nodes).is_eq())
        {
            Some((_, group)) => group.push(point),
            None => groups.push((nodes, vec![point])),
        }
    }
    groups.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    groups
}

/// A place without the word, for sentences: `7`, or a run's id.
pub(super) fn short(origin: &Origin) -> String {
    match origin {
        Origin::Line(line) => format!("line {line}"),
        Origin::Run(id) => id.clone(),
    }
}
