//! A size plan: throughput against nodes, what each node contributes, with the models' band.

use highwater_sizing::cluster::{NeedPlan, SizePlan, SizePlanPoint};

use super::super::chart::{
    Axis, Chart, Level, Point, Quantity, Series, Shape, Span, SpanKind, values,
};
use super::super::sections::known_word;

/// Of a point: its value, and the lower edge of a band.
type Part = fn(&SizePlanPoint) -> (Option<f64>, Option<f64>);

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
        spans: Vec::new(),
        levels: Vec::new(),
    }
}

fn axis(need: &NeedPlan, nodes: f64) -> Axis {
    let last = need
        .curve
        .iter()
        .map(|point| point.nodes)
        .fold(nodes, f64::max);
    Axis::between("nodes", Quantity::Number, 0.0, last + 0.5)
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
    let points = |part: Part| {
        let points = need.curve.iter().map(|point| {
            let (y, low) = part(point);
            let of = |per_s| of(point.nodes, per_s);
            Point {
                x: point.nodes,
                y: y.map(of),
                low: low.map(of),
            }
        });
        points.collect::<Vec<_>>()
    };
    let mut measured = points(|point| (point.measured_per_s, None));
    measured.retain(|point| point.y.is_some());
    let band = points(|point| (Some(point.predicted.high), Some(point.predicted.low)));
    let expected = points(|point| (Some(point.predicted.expected), None));
    // What others published never looks like a measurement of one's own.
    let word = known_word(need);
    let known = if word == "measured" {
        Shape::Dot
    } else {
        Shape::Ring
    };
    vec![
        Series::new("90 % of measurements", Shape::Band, 0, band),
        Series::new("expected", Shape::Line, 0, expected),
        Series::new(word, known, 1, measured),
    ]
}
