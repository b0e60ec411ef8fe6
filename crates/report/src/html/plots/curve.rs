//! What is drawn of any growth: the axis of nodes, the predictions with their band. Must not know what was measured.

use highwater_sizing::cluster::SizePlanPoint;

use super::super::chart::{Axis, Point, Quantity, Series, Shape};

/// From none to the most of these nodes.
pub(super) fn axis(nodes: impl Iterator<Item = f64>) -> Axis {
    let most = nodes.fold(0.0, f64::max);
    Axis::between("nodes", Quantity::Number, 0.0, most + 0.5)
}

/// The 90 % interval and what is expected, each drawn as `of` nodes and units per second.
pub(super) fn predicted(curve: &[SizePlanPoint], of: fn(f64, f64) -> f64) -> [Series; 2] {
    let band = curve.iter().map(|point| Point {
        x: point.nodes,
        y: Some(of(point.nodes, point.predicted.high)),
        low: Some(of(point.nodes, point.predicted.low)),
    });
    let expected = curve.iter().map(|point| {
        let per_s = of(point.nodes, point.predicted.expected);
        Point::new(point.nodes, Some(per_s))
    });
    [
        Series::new("90 % of measurements", Shape::Band, 0, band.collect()),
        Series::new("expected", Shape::Line, 0, expected.collect()),
    ]
}
