//! A tuning: the figure that configurations are compared by, along each axis through the best configuration.

use highwater_model::tune::{
    TrialPurpose, TrialRecord, TrialVerdict, TuneFigure, TuneOutcome, TuneRecord,
};
use highwater_sizing::tables::axis::{base, is_along};

use super::search::{Kind, of_kinds};
use crate::chart::{Axis, Chart, Point, Quantity, Series, Shape, Span, SpanKind, Strip};

/// Half the width of the shaded best value, as a fraction of the axis.
const HALF_BEST: f64 = 0.012;
/// Nanoseconds per second.
const NS: f64 = 1e9;

/// Every configuration with a figure belongs to exactly one of them.
const KINDS: [Kind<TrialRecord>; 3] = [
    ("search", Shape::Dot, 2, |trial| counts(trial) && trial.purpose == TrialPurpose::Search),
    ("confirming round", Shape::Diamond, 0, |trial| {
        counts(trial) && trial.purpose == TrialPurpose::Confirm
    }),
    ("does not count", Shape::Cross, 1, |trial| !counts(trial)),
];

fn counts(trial: &TrialRecord) -> bool {
    trial.verdict == TrialVerdict::Counts
}

/// A chart for each axis with several measured values, with the position of the axis.
pub(crate) fn tune(tune: &TuneRecord) -> Vec<(usize, Chart)> {
    let Some(base) = base(tune) else {
        return Vec::new();
    };
    let axes = 0..tune.axes.len();
    axes.filter_map(|axis| Some((axis, along(tune, base, axis)?))).collect()
}

fn along(tune: &TuneRecord, base: &[usize], axis: usize) -> Option<Chart> {
    let name = &tune.axes[axis].name;
    let (x, places) = Axis::of_values(name.as_str(), &tune.axes[axis].values);
    let trials: Vec<(&TrialRecord, Point)> = tune
        .trials
        .iter()
        .filter(|trial| is_along(trial, base, axis))
        .filter_map(|trial| {
            let place = *places.get(*trial.at.get(axis)?)?;
            Some((trial, Point::new(place, Some(shown(tune, trial)?))))
        })
        .collect();
    let means = means(&trials);
    if means.len() < 2 {
        return None;
    }
    let (unit, title) = (tune.unit.name(), by(tune.by));
    let (of, suffix, quantity) = match tune.by {
        TuneFigure::Throughput => {
            (format!(", {unit} per second"), format!("{unit}/s"), Quantity::Rate)
        }
        TuneFigure::ServerCpuPerRow => (String::new(), "CPU".to_owned(), Quantity::Latency),
        TuneFigure::DiskBytesPerRow => (String::new(), "bytes".to_owned(), Quantity::Number),
    };
    let values: Vec<f64> = trials.iter().filter_map(|(_, point)| point.y).collect();
    let best = *places.get(*base.get(axis)?)?;
    let with = match others(tune, base, axis).join(", ").as_str() {
        "" => String::new(),
        with => format!(" Other settings as in the best configuration: {with}."),
    };
    Some(Chart {
        id: format!("axis-{axis}"),
        title: format!("{title} along {name}{of}"),
        about: format!(
            "Each mark is a measured configuration, a run of its own; the line goes through the mean of each \
             value, the band from the least to the greatest. The shaded value is the best.{with}"
        ),
        spans: vec![shaded(&x, best, tune)],
        x,
        y: Axis::around(suffix, quantity, values.iter().copied()),
        series: series(&trials, means),
        levels: Vec::new(),
        strip: Strip::default(),
    })
}

/// The compared figure as drawn; for configurations without it their throughput, if that is the figure.
fn shown(tune: &TuneRecord, trial: &TrialRecord) -> Option<f64> {
    match tune.by {
        TuneFigure::Throughput => {
            let reached = Some(trial.throughput_per_s).filter(|reached| *reached > 0.0);
            trial.figure.or(reached)
        }
        TuneFigure::ServerCpuPerRow => trial.figure.map(|seconds| seconds * NS),
        TuneFigure::DiskBytesPerRow => trial.figure,
    }
}

/// The mean of the configurations that count, at each value, with their minimum and maximum.
fn means(trials: &[(&TrialRecord, Point)]) -> Vec<(Point, Point)> {
    let mut counting: Vec<(f64, f64)> = trials
        .iter()
        .filter(|(trial, _)| counts(trial))
        .filter_map(|(_, point)| Some((point.x, point.y?)))
        .collect();
    counting.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let at_a_value = counting.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    at_a_value
        .filter_map(|values| {
            let ((x, least), (_, greatest)) = (*values.first()?, *values.last()?);
            let number: f64 = values.iter().map(|_| 1.0).sum();
            let mean = values.iter().map(|(_, y)| y).sum::<f64>() / number;
            Some((Point::new(x, Some(mean)), Point::band(x, least, greatest)))
        })
        .collect()
}

fn series(trials: &[(&TrialRecord, Point)], means: Vec<(Point, Point)>) -> Vec<Series> {
    let (means, extents) = means.into_iter().unzip();
    let mut series = vec![
        Series { part: "least to greatest", ..Series::new("mean", Shape::Band, 0, extents) },
        Series::new("mean", Shape::Line, 0, means),
    ];
    series.retain(|series| !series.points.is_empty());
    series.extend(of_kinds(&KINDS, trials));
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

/// `sessions 8`: the values of a configuration on all axes but one.
pub(crate) fn others(tune: &TuneRecord, base: &[usize], axis: usize) -> Vec<String> {
    let others = values(tune, base).enumerate().filter(|(position, _)| *position != axis);
    others.map(|(_, value)| value).collect()
}

/// The values of a configuration, each with its axis.
pub(crate) fn values(tune: &TuneRecord, at: &[usize]) -> impl Iterator<Item = String> {
    tune.axes.iter().zip(at).map(|(axis, at)| format!("{} {}", axis.name, axis.values[*at]))
}

/// The title of the compared figure.
pub(crate) const fn by(figure: TuneFigure) -> &'static str {
    match figure {
        TuneFigure::Throughput => "Throughput",
        TuneFigure::ServerCpuPerRow => "CPU time per row",
        TuneFigure::DiskBytesPerRow => "Bytes per row",
    }
}
