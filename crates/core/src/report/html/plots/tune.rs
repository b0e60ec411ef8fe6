//! A tuning: what cells are compared by, along each axis through the best cell.

use crate::analysis::tuning::{base, is_along};
use crate::model::plan::Unit;
use crate::model::record::RunRecord;
use crate::model::tune::{
    TrialPurpose, TrialRecord, TrialVerdict, TuneFigure, TuneOutcome, TuneRecord,
};
use crate::report::text::tune::others;

use super::super::chart::{Axis, Chart, Point, Quantity, Series, Shape, Span, SpanKind};

/// Half the width of the shaded best value, as a part of the axis.
const HALF_BEST: f64 = 0.012;
/// Nanoseconds of a second.
const NS: f64 = 1e9;

/// Name, shape and color of the cells that a test picks.
type Kind = (&'static str, Shape, usize, fn(&TrialRecord) -> bool);

/// Every cell with a figure is of exactly one of them.
const KINDS: [Kind; 3] = [
    ("search", Shape::Dot, 2, |cell| {
        counts(cell) && cell.purpose == TrialPurpose::Search
    }),
    ("confirming round", Shape::Diamond, 0, |cell| {
        counts(cell) && cell.purpose == TrialPurpose::Confirm
    }),
    ("does not count", Shape::Cross, 1, |cell| !counts(cell)),
];

fn counts(cell: &TrialRecord) -> bool {
    cell.verdict == TrialVerdict::Counts
}

/// A chart for each axis along which several values were measured, with the position of the axis.
pub(in crate::report::html) fn tune(record: &RunRecord) -> Vec<(usize, Chart)> {
    let Some((tune, base)) = record.tune.as_ref().and_then(|t| Some((t, base(t)?))) else {
        return Vec::new();
    };
    let axes = 0..tune.axes.len();
    axes.filter_map(|axis| Some((axis, along(tune, base, axis)?)))
        .collect()
}

fn along(tune: &TuneRecord, base: &[usize], axis: usize) -> Option<Chart> {
    let name = &tune.axes[axis].name;
    let (x, places) = Axis::of_values(name.as_str(), &tune.axes[axis].values);
    let cells = tune.cells.iter();
    let cells: Vec<(&TrialRecord, Point)> = cells
        .filter(|cell| is_along(cell, base, axis))
        .filter_map(|cell| {
            let place = *places.get(*cell.at.get(axis)?)?;
            Some((cell, Point::new(place, Some(shown(tune, cell)?))))
        })
        .collect();
    let means = means(&cells);
    if means.len() < 2 {
        return None;
    }
    let unit = tune.unit;
    let (title, suffix, quantity) = match tune.by {
        TuneFigure::Throughput => ("Throughput", format!("{}/s", unit.name()), Quantity::Rate),
        TuneFigure::ServerCpuPerRow => ("CPU time per row", "CPU".to_owned(), Quantity::Latency),
        TuneFigure::DiskBytesPerRow => ("Bytes per row", "bytes".to_owned(), Quantity::Number),
    };
    let values: Vec<f64> = cells.iter().filter_map(|(_, point)| point.y).collect();
    let best = *places.get(*base.get(axis)?)?;
    let with = others(tune, base, axis).join(", ");
    let with = if with.is_empty() {
        String::new()
    } else {
        format!(" Other settings as in the best configuration: {with}.")
    };
    Some(Chart {
        id: format!("axis-{axis}"),
        title: format!("{title} along {name}{}", of(tune.by, unit)),
        about: format!(
            "Each mark is a measured cell, a run of its own; the line goes through the mean of each \
             value, the band from the least to the greatest. The shaded value is the best.{with}"
        ),
        spans: vec![shaded(&x, best, tune)],
        x,
        y: Axis::around(suffix, quantity, values.iter().copied()),
        series: series(&cells, means),
        levels: Vec::new(),
    })
}

fn of(by: TuneFigure, unit: Unit) -> String {
    match by {
        TuneFigure::Throughput => format!(", {} per second", unit.name()),
        TuneFigure::ServerCpuPerRow | TuneFigure::DiskBytesPerRow => String::new(),
    }
}

/// What cells are compared by, as it is drawn; of cells without it their throughput, if it is that.
fn shown(tune: &TuneRecord, cell: &TrialRecord) -> Option<f64> {
    match tune.by {
        TuneFigure::Throughput => {
            let reached = Some(cell.throughput_per_s).filter(|reached| *reached > 0.0);
            cell.figure.or(reached)
        }
        TuneFigure::ServerCpuPerRow => cell.figure.map(|seconds| seconds * NS),
        TuneFigure::DiskBytesPerRow => cell.figure,
    }
}

/// The mean of the cells that count, at each value; with the least and the greatest of them.
fn means(cells: &[(&TrialRecord, Point)]) -> Vec<(Point, Point)> {
    let mut counting: Vec<(f64, f64)> = cells
        .iter()
        .filter(|(cell, _)| counts(cell))
        .filter_map(|(_, point)| Some((point.x, point.y?)))
        .collect();
    counting.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let at_a_value = counting.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    at_a_value
        .filter_map(|values| {
            let ((x, least), (_, greatest)) = (*values.first()?, *values.last()?);
            let number: f64 = values.iter().map(|_| 1.0).sum();
            let mean = values.iter().map(|(_, y)| y).sum::<f64>() / number;
            let extent = Point {
                x,
                y: Some(greatest),
                low: Some(least),
            };
            Some((Point::new(x, Some(mean)), extent))
        })
        .collect()
}

fn series(cells: &[(&TrialRecord, Point)], means: Vec<(Point, Point)>) -> Vec<Series> {
    let one = |name: &str, part, shape, color, points| Series {
        name: name.to_owned(),
        part,
        shape,
        color,
        on: true,
        points,
    };
    let (means, extents) = means.into_iter().unzip();
    let mut series = vec![
        one("mean", "least to greatest", Shape::Band, 0, extents),
        one("mean", "", Shape::Line, 0, means),
    ];
    for (name, shape, color, is) in KINDS {
        let points = cells.iter().filter(|(cell, _)| is(cell));
        let mut points: Vec<Point> = points.map(|(_, point)| *point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        series.push(one(name, "", shape, color, points));
    }
    series.retain(|series| !series.points.is_empty());
    series
}

fn shaded(x: &Axis, best: f64, tune: &TuneRecord) -> Span {
    let at = x.place(best);
    let name = match tune.outcome {
        Some(TuneOutcome::Best(_)) => "best",
        _ => "best so far",
    };
    Span {
        from: x.value(at - HALF_BEST),
        to: x.value(at + HALF_BEST),
        name: name.to_owned(),
        kind: SpanKind::Mark,
    }
}
