//! A size plan: throughput against nodes, what each node contributes, with the models' band.

use highwater_sizing::cluster::{NeedPlan, SizePlan};

use super::super::chart::{
    Axis, Chart, Level, Point, Quantity, Series, Shape, Span, SpanKind, values,
};
use super::super::sections::known_word;
use super::curve;

/// Two charts for each need.
pub(in crate::html) fn growth(plan: &SizePlan) -> Vec<Chart> {
    let needs = plan.needs.iter().filter(|need| need.curve.len() > 1);
    needs
        .enumerate()
        .flat_map(|(number, need)| [total(plan, need, number), per_node(need, number)])
        .collect()
}

fn total(plan: &SizePlan, need: &NeedPlan, number: usize) -> Chart {
    let series = series(need, |_, per_s| per_s);
    let level = Level {
        y: need.per_s_at_end.max(need.per_s),
        name: "needed".to_owned(),
    };
    let values = values(&series).chain([level.y]);
    let nodes = f64::from(plan.nodes.planned);
    Chart {
        id: format!("growth-{number}"),
        title: format!("Throughput against nodes, {}", need.unit),
        about: format!(
            "Marks were {}; the line is what is expected of a new measurement, the band is its 90% interval. Left \
             of the last mark sizes are filled in, right of it they are extrapolated.",
            known_word(need)
        ),
        x: axis(need, nodes),
        y: Axis::from_zero(need.unit.clone(), Quantity::Rate, values),
        series,
        spans: planned(nodes),
        levels: vec![level],
    }
}

fn per_node(need: &NeedPlan, number: usize) -> Chart {
    let series = series(need, |nodes, per_s| per_s / nodes.max(1e-9));
    Chart {
        id: format!("per-node-{number}"),
        title: format!("Each node's part, {} per node", need.unit),
        about: "A level line is linear growth; a falling one is what nodes lose to each other: \
                contention (they queue for something shared) and crosstalk (each must agree with \
                each other)."
            .to_owned(),
        x: axis(need, 0.0),
        y: Axis::from_zero("per node", Quantity::Rate, values(&series)),
        series,
        ..Chart::default()
    }
}

fn axis(need: &NeedPlan, nodes: f64) -> Axis {
    curve::axis(need.curve.iter().map(|point| point.nodes).chain([nodes]))
}

fn planned(nodes: f64) -> Vec<Span> {
    vec![Span {
        from: nodes - 0.2,
        to: nodes + 0.2,
        name: "planned".to_owned(),
        kind: SpanKind::Mark,
    }]
}

fn series(need: &NeedPlan, of: fn(f64, f64) -> f64) -> Vec<Series> {
    let measured = need.curve.iter().filter_map(|point| {
        let per_s = of(point.nodes, point.measured_per_s?);
        Some(Point::new(point.nodes, Some(per_s)))
    });
    // What others published never looks like a measurement of one's own.
    let word = known_word(need);
    let known = if word == "measured" {
        Shape::Dot
    } else {
        Shape::Ring
    };
    let measured = Series::new(word, known, 1, measured.collect());
    let predicted = curve::predicted(&need.curve, of).into_iter();
    predicted.chain([measured]).collect()
}
