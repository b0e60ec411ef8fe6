//! Runs side by side: the throughput of each run of a group in order, and the time series of several groups overlaid.

use highwater_model::group::GroupRecord;
use highwater_model::numbers::to_f64;
use highwater_model::plan::Unit;
use highwater_model::record::RunRecord;

use super::timeline::{Counted, Slot, Timeline};
use crate::chart::{Axis, Chart, Point, Quantity, Series, Shape, values};

/// Shapes of variants, in their order.
const SHAPES: [Shape; 3] = [Shape::Dot, Shape::Diamond, Shape::Ring];

/// Empty if no run ended as planned.
pub(crate) fn runs(group: &GroupRecord) -> Vec<Chart> {
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

/// Maximum number of drawn runs per group.
const RUNS_MAX: usize = 12;

/// Runs with one name.
pub(crate) struct Overlaid<'a> {
    /// Name in the legend.
    pub(crate) name: String,
    /// The runs.
    pub(crate) runs: Vec<&'a RunRecord>,
}

/// The value to draw for a point: units of the run's streams, or a latency.
type Of = fn(&Slot, f64) -> Option<f64>;

/// Throughput by unit, and the largest p99 of all ops.
pub(crate) fn overlay(groups: &[Overlaid<'_>]) -> Vec<Chart> {
    let rate: Of = |slot, seconds| Some(slot.acknowledged / seconds);
    let p99: Of = |slot, _| slot.p99.or(slot.max).map(to_f64);
    let charts = Unit::ALL.map(|unit| {
        let name = unit.name();
        let chart = chart(groups, Some(unit), rate)?;
        Some(Chart {
            id: format!("overlaid-{name}"),
            title: format!("Throughput, {name} per second"),
            about: format!("Acknowledged {name}; a line for each run, from its start."),
            y: Axis::from_zero(format!("{name}/s"), Quantity::Rate, values(&chart.series)),
            ..chart
        })
    });
    let latency = chart(groups, None, p99).map(|chart| Chart {
        id: "overlaid-latency".to_owned(),
        title: "p99 latency".to_owned(),
        about: "The slowest op's 99th percentile of each second, or its greatest latency where a \
                second has fewer than 100 ops."
            .to_owned(),
        y: Axis::around("latency", Quantity::Latency, values(&chart.series)),
        ..chart
    });
    charts.into_iter().flatten().chain(latency).collect()
}

/// The lines of all runs; absent if no run has such a stream.
fn chart(groups: &[Overlaid<'_>], unit: Option<Unit>, of: Of) -> Option<Chart> {
    let mut series = Vec::new();
    let mut longest = 0.0;
    for (color, group) in groups.iter().enumerate() {
        let timelines = group.runs.iter().take(RUNS_MAX);
        for timeline in timelines.filter_map(|record| Timeline::of(record)) {
            let streams = timeline.streams();
            let selected = |name: &str| {
                let mut streams = streams.iter();
                streams
                    .any(|(stream, of)| *stream == name && unit.is_none_or(|unit| unit == of.unit))
            };
            if !streams.iter().any(|(name, _)| selected(name)) {
                continue;
            }
            let counted = Counted { unit: unit.unwrap_or(Unit::Queries), units_per_op: 1 };
            let slots = timeline.slots(counted, |interval| selected(&interval.stream));
            let points =
                timeline.points(&slots, |slot, seconds| Point::new(0.0, of(slot, seconds)));
            longest = f64::max(longest, timeline.axis().to);
            series.push(Series::new(&group.name, Shape::Line, color, points));
        }
    }
    let drawn = values(&series).next().is_some();
    drawn.then(|| Chart {
        x: Axis::between("time since the start of each run", Quantity::Time, 0.0, longest),
        series,
        ..Chart::default()
    })
}
