//! Several growths in one chart: what each makes at each size. Must not compare them.

use highwater_analysis::growth::counted;
use highwater_model::display::foreign;

use super::super::chart::{Axis, Chart, Point, Quantity, Series, Shape, values};
use super::curve;
use crate::compare_report::NamedGrowth;

/// Characters of a name.
const WORDS: usize = 60;

/// Throughput against nodes, a color for each growth; none where no size counts.
pub(in crate::html) fn growths(growths: &[&NamedGrowth<'_>]) -> Option<Chart> {
    let mut series = Vec::new();
    for (color, of) in growths.iter().enumerate() {
        let sizes = counted(of.growth.scale);
        let mut points: Vec<Point> = sizes
            .map(|trial| Point::new(f64::from(trial.size.nodes), Some(trial.figures.per_s)))
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let name = foreign(&of.name, WORDS);
        series.push(Series::new(&name, Shape::Line, color, points.clone()));
        series.push(Series::new(&name, Shape::Dot, color, points));
    }
    series.retain(|series| !series.points.is_empty());
    let unit = growths.first()?.growth.scale.unit.name();
    let nodes = series.iter().flat_map(|series| &series.points);
    let x = curve::axis(nodes.map(|point| point.x));
    (!series.is_empty()).then(|| Chart {
        id: "growths".to_owned(),
        title: format!("Throughput against nodes, {unit}/s"),
        about:
            "Signs were measured, each size once; the lines only lead the eye from one to the next."
                .to_owned(),
        x,
        y: Axis::from_zero(format!("{unit}/s"), Quantity::Rate, values(&series)),
        series,
        ..Chart::default()
    })
}
