//! The throughput of each run of a group, in order.

use highwater_model::group::GroupRecord;

use super::super::chart::{Axis, Chart, Point, Quantity, Series, Shape, values};

/// Shapes of variants, in their order.
const SHAPES: [Shape; 3] = [Shape::Dot, Shape::Diamond, Shape::Ring];

/// Empty if no run ended as planned.
pub(in crate::html) fn runs(group: &GroupRecord) -> Vec<Chart> {
    let series: Vec<Series> = group
        .variants
        .iter()
        .enumerate()
        .map(|(number, variant)| {
            let points = group
                .complete(number)
                .map(|trial| Point::new(f64::from(trial.number), Some(trial.throughput_per_s)));
            let shape = SHAPES[number % SHAPES.len()];
            Series::new(&variant.name, shape, number, points.collect())
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    if series.is_empty() {
        return Vec::new();
    }
    let unit = format!("{}/s", group.unit.name());
    let last = group.trials.iter().map(|trial| trial.number).max().unwrap_or(1);
    vec![Chart {
        id: "runs-throughput".to_owned(),
        title: format!("Throughput of each run, {unit}"),
        about: "Runs in their order; a slow change of the machine is a slope.".to_owned(),
        x: Axis::between("run", Quantity::Number, 0.0, f64::from(last) + 1.0),
        y: Axis::from_zero(unit, Quantity::Rate, values(&series)),
        series,
        ..Chart::default()
    }]
}
