//! Helpers of several rules: groups of points by nodes, and the name of a place. Must not judge.

use crate::series::{Origin, Point};

/// Points with a number of nodes, grouped by it, ascending.
pub(super) fn by_nodes<'a>(points: &[&'a Point]) -> Vec<(f64, Vec<&'a Point>)> {
    let mut sorted: Vec<(f64, &Point)> =
        points.iter().filter_map(|point| Some((point.nodes()?, *point))).collect();
    sorted.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let groups = sorted.chunk_by(|(a, _), (b, _)| a.total_cmp(b).is_eq());
    let points_of = |group: &[(f64, &'a Point)]| group.iter().map(|(_, point)| *point).collect();
    groups.map(|group| (group[0].0, points_of(group))).collect()
}

/// The name of a place for sentences: `7`, or a run's ID.
pub(super) fn short(origin: &Origin) -> String {
    match origin {
        Origin::Line(line) => format!("line {line}"),
        Origin::Run(id) => id.clone(),
    }
}
