//! Experiments: the probes of a search, the trials of a tuning along each axis through the best configuration, and runs of
//! a group side by side.

use highwater_model::display::rate;
use highwater_model::group::GroupRecord;
use highwater_model::numbers::to_f64;
use highwater_model::plan::Unit;
use highwater_model::record::RunRecord;
use highwater_model::search::{
    ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchOutcome, SearchRecord,
};
use highwater_model::tune::{
    TrialPurpose, TrialRecord, TrialVerdict, TuneFigure, TuneOutcome, TuneRecord,
};
use highwater_sizing::tables::axis::{base, is_along};

use super::time::bounds;
use super::timeline::{CountedUnit, Slot, Timeline};
use crate::chart::{Axis, Chart, Point, Quantity, Series, Shape, Span, SpanKind, Strip, values};
use crate::layout::list;

/// Name, shape, and color of the trials that a test selects.
pub(super) type Kind<T> = (&'static str, Shape, usize, fn(&T) -> bool);

/// Probes within this factor below and above a mark are near it.
const NEAR: f64 = 1.5;

/// Every probe that judged a value belongs to exactly one of them.
const PROBE_KINDS: [Kind<ProbeRecord>; 5] = [
    ("passed", Shape::Dot, 2, |probe| {
        probe.verdict == ProbeVerdict::Passed && probe.purpose == ProbePurpose::Search
    }),
    ("confirmation passed", Shape::Diamond, 0, |probe| {
        let confirms = matches!(probe.purpose, ProbePurpose::Confirm | ProbePurpose::Soak);
        probe.verdict == ProbeVerdict::Passed && confirms
    }),
    ("failed", Shape::Cross, 1, |probe| {
        matches!(probe.verdict, ProbeVerdict::Failed | ProbeVerdict::WrongData)
    }),
    ("not decided", Shape::Ring, 3, |probe| {
        matches!(probe.verdict, ProbeVerdict::NotDecided | ProbeVerdict::TooFewOps)
    }),
    ("does not count", Shape::Cross, 3, |probe| {
        matches!(
            probe.verdict,
            ProbeVerdict::Invalid | ProbeVerdict::TargetLost | ProbeVerdict::Interrupted
        )
    }),
];

/// Both charts of a search; `last_run` is a run of it.
pub(crate) fn search(last_run: &RunRecord, search: &SearchRecord) -> Vec<Chart> {
    let drawn = drawn(search);
    let achieved = achieved(&drawn, search);
    let latency = latency(last_run, &drawn, search);
    achieved.into_iter().chain(latency).collect()
}

/// The probes that are drawn, and the note about the others.
struct Drawn<'a> {
    probes: Vec<&'a ProbeRecord>,
    left_out: String,
}

/// All probes that judged a value; if most of them are near a mark, only those: a first guess far from it would squeeze
/// them into one spot.
fn drawn(search: &SearchRecord) -> Drawn<'_> {
    // A closed-load estimate offered nothing, so it has no place on the axis of rates.
    let probes = search.probes.iter();
    let all = probes.filter(|probe| probe.verdict != ProbeVerdict::Estimated);
    let is_near = |probe: &&ProbeRecord| match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => {
            let last = mark.failed.unwrap_or(mark.confirmed);
            (mark.confirmed / NEAR..=last * NEAR).contains(&probe.at)
        }
        _ => true,
    };
    let (near, far): (Vec<_>, Vec<_>) = all.partition(is_near);
    if far.len() > near.len() {
        return Drawn { probes: [near, far].concat(), left_out: String::new() };
    }
    let mut values: Vec<f64> = far.iter().map(|probe| probe.at).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let left_out = match list(values.into_iter().map(rate), ", ").as_str() {
        "" => String::new(),
        values => format!(" Far from the mark, so not drawn: {values}."),
    };
    Drawn { probes: near, left_out }
}

fn achieved(drawn: &Drawn<'_>, search: &SearchRecord) -> Option<Chart> {
    let unit = search.unit.name();
    let mut series = kinds(drawn, |probe| Some(probe.acknowledged_per_s));
    let x = axis(drawn, search)?;
    let y = Axis::close(format!("{unit}/s"), Quantity::Rate, values(&series));
    if search.axis == SearchAxis::Rate {
        series.insert(0, diagonal(&x, &y));
    }
    Some(Chart {
        id: "probes-achieved".to_owned(),
        title: format!("Offered against acknowledged, {unit} per second"),
        about: format!(
            "Each point is one probe, a run of its own. On the line everything that was offered was \
             acknowledged; below it the target could not keep up.{}{}",
            explained(search),
            drawn.left_out
        ),
        x,
        y,
        series,
        spans: mark(search),
        levels: Vec::new(),
        strip: Strip::default(),
    })
}

fn latency(last_run: &RunRecord, drawn: &Drawn<'_>, search: &SearchRecord) -> Option<Chart> {
    let series = kinds(drawn, |probe| probe.p99_ns.map(to_f64));
    values(&series).next()?;
    let levels = bounds(last_run);
    let all = values(&series).chain(levels.iter().map(|level| level.at));
    Some(Chart {
        id: "probes-latency".to_owned(),
        title: "Offered against p99 latency".to_owned(),
        about: format!(
            "Each point is one probe, a run of its own; the slowest op of the searched stream counts, from its intended \
             time.{}{}",
            explained(search),
            drawn.left_out
        ),
        x: axis(drawn, search)?,
        y: Axis::around("p99", Quantity::Latency, all),
        series,
        spans: mark(search),
        levels,
        strip: Strip::default(),
    })
}

fn axis(drawn: &Drawn<'_>, search: &SearchRecord) -> Option<Axis> {
    let values: Vec<f64> = drawn.probes.iter().map(|probe| probe.at).collect();
    let greatest = values.iter().copied().fold(0.0, f64::max);
    if greatest <= 0.0 {
        return None;
    }
    let (title, quantity) = match search.axis {
        SearchAxis::Rate => (format!("offered, {}/s", search.unit.name()), Quantity::Rate),
        SearchAxis::Sessions => ("sessions".to_owned(), Quantity::Whole),
    };
    Some(Axis::close(title, quantity, values.into_iter()))
}

fn kinds(drawn: &Drawn<'_>, of: fn(&ProbeRecord) -> Option<f64>) -> Vec<Series> {
    let points = drawn
        .probes
        .iter()
        .filter_map(|probe| Some((*probe, Point::new(probe.at, Some(of(probe)?)))));
    of_kinds(&PROBE_KINDS, &points.collect::<Vec<_>>())
}

/// Points of each kind, without empty kinds.
fn of_kinds<T>(kinds: &[Kind<T>], of: &[(&T, Point)]) -> Vec<Series> {
    let series = kinds.iter().map(|(name, shape, color, is)| {
        let mut points: Vec<Point> =
            of.iter().filter(|(of, _)| is(of)).map(|(_, point)| *point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series::new(name, *shape, *color, points)
    });
    series.filter(|series| !series.points.is_empty()).collect()
}

/// The line on which everything offered was acknowledged.
fn diagonal(x: &Axis, y: &Axis) -> Series {
    const STEPS: u32 = 80;
    let at = |step: u32| x.value(f64::from(step) / f64::from(STEPS));
    let on_both = (0..=STEPS).map(at).filter(|at| (y.from..=y.to).contains(at));
    let points = on_both.map(|at| Point::new(at, Some(at))).collect();
    Series::new("all acknowledged", Shape::Dashed, 7, points)
}

/// The interval of the estimate if there is one, otherwise the mark.
fn mark(search: &SearchRecord) -> Vec<Span> {
    let ends = match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => Some(
            mark.estimate
                .map_or((mark.confirmed, mark.confirmed), |found| (found.low90, found.high90)),
        ),
        Some(SearchOutcome::NoMark(no_mark)) => {
            no_mark.estimate.map(|found| (found.low90, found.high90))
        }
        None => None,
    };
    let name = "estimate".to_owned();
    let span = ends.map(|(from, to)| Span { from, to, name, kind: SpanKind::Mark });
    span.into_iter().collect()
}

/// What is shaded, if anything is.
fn explained(search: &SearchRecord) -> &'static str {
    if mark(search).is_empty() {
        ""
    } else {
        " The shaded part is the 90% interval of the estimate."
    }
}

/// Half the width of the shaded best value, as a fraction of the axis.
const HALF_BEST: f64 = 0.012;
/// Nanoseconds per second.
const NS: f64 = 1e9;

/// Every configuration with a figure belongs to exactly one of them.
const TRIAL_KINDS: [Kind<TrialRecord>; 3] = [
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
    series.extend(of_kinds(&TRIAL_KINDS, trials));
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
    let others = axis_values(tune, base).enumerate().filter(|(position, _)| *position != axis);
    others.map(|(_, value)| value).collect()
}

/// The values of a configuration, each with its axis.
pub(crate) fn axis_values(tune: &TuneRecord, at: &[usize]) -> impl Iterator<Item = String> {
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
        x: Axis::between("run", Quantity::Whole, 0.0, f64::from(last) + 1.0),
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
        for timeline in timelines.filter_map(|record| Timeline::from_record(record)) {
            let streams = timeline.streams();
            let selected = |name: &str| {
                let mut streams = streams.iter();
                streams
                    .any(|(stream, of)| *stream == name && unit.is_none_or(|unit| unit == of.unit))
            };
            if !streams.iter().any(|(name, _)| selected(name)) {
                continue;
            }
            let counted = CountedUnit { unit: unit.unwrap_or(Unit::Queries), units_per_op: 1 };
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
