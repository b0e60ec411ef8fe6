//! A growth: throughput against nodes with the models' band and what was predicted, and each node's part.

use highwater_model::scale::{ScalePurpose, ScaleRecord};
use highwater_sizing::growth::GrowthReport;

use super::super::chart::{Axis, Chart, Level, Point, Quantity, Series, Shape, values};
use super::curve;

/// Both charts; none where no size counts.
pub(in crate::html) fn scale(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Vec<Chart> {
    if grown.sizes.is_empty() {
        return Vec::new();
    }
    vec![total(scale, grown), per_node(scale, grown)]
}

fn total(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Chart {
    let unit = format!("{}/s", scale.unit.name());
    let series = [series(scale, grown, |_, per_s| per_s), linear(grown)].concat();
    let levels = scale.until_per_s.map(|until| Level {
        y: until,
        name: "requested".to_owned(),
    });
    let levels: Vec<Level> = levels.into_iter().collect();
    let all = values(&series).chain(levels.iter().map(|level| level.y));
    Chart {
        id: "scale".to_owned(),
        title: format!("Throughput against nodes, {unit}"),
        about: "Filled signs were measured. A ring is what was predicted for a size from the smaller ones, \
                before it was measured. The line is what all sizes together predict, and the band is the 90% interval of a \
                new measurement. Dashed: as many times the first size as there are nodes."
            .to_owned(),
        x: axis(grown),
        y: Axis::from_zero(unit, Quantity::Rate, all),
        series,
        spans: Vec::new(),
        levels,
    }
}

fn per_node(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Chart {
    let series = series(scale, grown, |nodes, per_s| per_s / nodes.max(1.0));
    Chart {
        id: "scale-per-node".to_owned(),
        title: format!("Each node's part, {}/s per node", scale.unit.name()),
        about: "A level line is linear growth; a falling one is what nodes lose to each other."
            .to_owned(),
        x: axis(grown),
        y: Axis::from_zero("per node", Quantity::Rate, values(&series)),
        series,
        ..Chart::default()
    }
}

fn axis(grown: &GrowthReport<'_>) -> Axis {
    let of_curve = grown.curve.iter().map(|point| point.nodes);
    let sizes = grown.sizes.iter();
    let measured = sizes.map(|size| f64::from(size.trial.size.nodes));
    curve::axis(of_curve.chain(measured))
}

fn series(scale: &ScaleRecord, grown: &GrowthReport<'_>, of: fn(f64, f64) -> f64) -> Vec<Series> {
    let at = |nodes: u32, per_s: f64| {
        let nodes = f64::from(nodes);
        Point::new(nodes, Some(of(nodes, per_s)))
    };
    let predicted = grown.sizes.iter().filter_map(|size| {
        let predicted = size.trial.predicted?;
        Some(at(size.trial.size.nodes, predicted.expected))
    });
    let measured = grown.sizes.iter();
    let measured = measured.map(|size| at(size.trial.size.nodes, size.trial.figures.per_s));
    let again = scale
        .trials
        .iter()
        .filter(|trial| trial.purpose == ScalePurpose::Again && trial.figures.verdict.counts());
    let again = again.map(|trial| at(trial.size.nodes, trial.figures.per_s));
    let measured = [
        Series::new("predicted before", Shape::Ring, 1, predicted.collect()),
        Series::new("measured", Shape::Dot, 0, measured.collect()),
        Series::new("measured again", Shape::Diamond, 2, again.collect()),
    ];
    let all = curve::predicted(&grown.curve, of)
        .into_iter()
        .chain(measured);
    all.filter(|series| !series.points.is_empty()).collect()
}

/// The first size, as many times as there are nodes.
fn linear(grown: &GrowthReport<'_>) -> Vec<Series> {
    let (Some(first), Some(last)) = (grown.sizes.first(), grown.sizes.last()) else {
        return Vec::new();
    };
    let ends = [first, last].map(|size| f64::from(size.trial.size.nodes));
    let points = ends.map(|nodes| Point::new(nodes, Some(first.compared.per_node * nodes)));
    vec![Series::new("linear", Shape::Dashed, 7, points.to_vec())]
}
