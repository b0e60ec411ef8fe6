//! Throughput, failures and latency over the time of a run, and the distribution of its latencies by percentile.
//!
//! The distribution has the axis of HdrHistogram: each nine has the same width, so that the tail is as visible as the
//! middle.

use highwater_analysis::judge::measured_streams;
use highwater_model::display::{quantile, span};
use highwater_model::histogram::LatencyHistogram;
use highwater_model::numbers::to_f64;
use highwater_model::plan::{Objective, Pace, Unit};
use highwater_model::record::{ImportRecord, LatencyBegin, MeasuredRun, ResultRecord, RunRecord};
use highwater_model::units::Nanos;

use super::machines::rejections;
use super::timeline::{CountedUnit, Slot, Timeline};
use crate::chart::{Axis, Chart, Label, Point, Quantity, Series, Shape, values};
use crate::layout::{first_upper, list};

/// Name, color, and count of a kind of failure.
type Kind = (&'static str, usize, fn(&Slot) -> f64);
/// For a slot: a latency, and the lower edge of its band.
type Percentiles = fn(&Slot) -> (Option<u64>, Option<u64>);

/// Maximum number of ops whose medians are drawn with their p99.
const BANDS_MAX: usize = 3;
/// Ops that are visible at first.
const OPS_SHOWN: usize = 6;
/// The color of the offered rate, which does not come from the target.
const OFFERED: usize = 7;

/// All charts over time for which the record has figures.
pub(crate) fn over_time(record: &MeasuredRun<'_>) -> Vec<Chart> {
    let Some(timeline) = Timeline::from_record(record) else {
        return Vec::new();
    };
    charts(&timeline, rejections(record), record.origin)
}

/// The same for a run in progress, whose intervals cover up to `seconds` seconds each; the axis ends at
/// `end`.
pub(crate) fn so_far(record: &RunRecord, seconds: u64, end: f64) -> Vec<Chart> {
    let timeline = Timeline::so_far(record, seconds, end);
    timeline.map_or_else(Vec::new, |timeline| charts(&timeline, Vec::new(), None))
}

fn charts(
    timeline: &Timeline<'_>,
    rejections: impl IntoIterator<Item = Chart>,
    origin: Option<&ImportRecord>,
) -> Vec<Chart> {
    Unit::ALL
        .into_iter()
        .filter_map(|unit| throughput(timeline, unit))
        .chain(failures(timeline))
        .chain(refusals(timeline))
        .chain(rejections)
        .chain(latency(timeline, origin))
        .collect()
}

/// Offered and acknowledged units per second of each stream with this unit.
fn throughput(timeline: &Timeline<'_>, unit: Unit) -> Option<Chart> {
    let streams = timeline.streams().into_iter().filter(|(_, counted)| counted.unit == unit);
    let mut series = Vec::new();
    for (number, (name, counted)) in streams.enumerate() {
        let slots = timeline.slots(counted, |interval| interval.stream == name);
        let mut streams = timeline.record.streams.iter();
        let open = streams.any(|of| of.stream == name && of.planned_rate.is_some());
        series.extend(rates(timeline, &slots, name, number, open));
    }
    let offered = if series.iter().any(|series| series.color == OFFERED) {
        "; the dashed line is what was offered"
    } else {
        ""
    };
    let unit = unit.name();
    let y = Axis::from_zero(format!("{unit}/s"), Quantity::Rate, values(&series));
    let gaps = match timeline.gaps().len() {
        0 => String::new(),
        1 => " The red bar is a time without any response.".to_owned(),
        _ => " Red bars are times without any response.".to_owned(),
    };
    let thinned = timeline.thinning.note("their mean, and from the lowest to the highest second");
    let texts = Chart {
        id: format!("throughput-{unit}"),
        title: format!("Throughput, {unit} per second"),
        about: format!(
            "{} acknowledged in each second{offered}.{thinned}{gaps}",
            first_upper(unit)
        ),
        y,
        ..Chart::default()
    };
    timeline.chart(texts, series)
}

fn rates(
    timeline: &Timeline<'_>,
    slots: &[Slot],
    name: &str,
    color: usize,
    open: bool,
) -> Vec<Series> {
    let one = |name: &str, part, shape, points| Series {
        part,
        ..Series::new(name, shape, color, points)
    };
    let mut series = Vec::new();
    if timeline.thinning.seconds > 1 && timeline.knows_seconds() {
        let extent = timeline.points(slots, |slot, _| {
            let seconds = || slot.per_second.iter().copied();
            let greatest = seconds().fold(0.0, f64::max);
            Point::band(0.0, seconds().fold(greatest, f64::min), greatest)
        });
        series.push(one(name, "seconds", Shape::Band, extent));
    }
    if open {
        let offered = timeline.per_second(slots, |slot| slot.offered);
        series.push(Series {
            color: OFFERED,
            ..one(&format!("{name}, offered"), "offered", Shape::Dashed, offered)
        });
    }
    let reached = timeline.per_second(slots, |slot| slot.acknowledged);
    series.push(one(name, "acknowledged", Shape::Line, reached));
    series
}

/// Failed ops, the rejected ones among them, and intended ops that were never sent.
fn failures(timeline: &Timeline<'_>) -> Option<Chart> {
    const KINDS: [Kind; 3] = [
        ("failed", 1, |slot| slot.errors),
        ("rejected", 3, |slot| slot.rejected),
        ("never sent", 5, |slot| slot.dropped),
    ];
    bars(
        timeline,
        &KINDS,
        "ops/s",
        Chart {
            id: "failures".to_owned(),
            title: "Errors and rejections, ops per second".to_owned(),
            about: "Failed: the target refused or rejected the op, or its connection broke. Rejected, drawn over \
         it: the part of these that the target had no capacity for. Never sent: the op was due while \
         every session was busy, until its phase ended."
                .to_owned(),
            ..Chart::default()
        },
    )
}

/// Rows that the target reported as not stored.
fn refusals(timeline: &Timeline<'_>) -> Option<Chart> {
    const KINDS: [Kind; 1] = [("refused", 1, |slot| slot.rows_refused)];
    bars(
        timeline,
        &KINDS,
        "rows/s",
        Chart {
            id: "rows-refused".to_owned(),
            title: "Rows refused, per second".to_owned(),
            about: "Rows that the target reported as not stored, in the second of its response; an acknowledged op can \
         have some."
                .to_owned(),
            ..Chart::default()
        },
    )
}

/// Bars over time; absent if all kinds are empty.
fn bars(timeline: &Timeline<'_>, kinds: &[Kind], unit: &str, texts: Chart) -> Option<Chart> {
    let slots = timeline.slots(CountedUnit::OPS, |_| true);
    let all = |of: fn(&Slot) -> f64| slots.iter().map(of).sum::<f64>();
    let series: Vec<Series> = kinds
        .iter()
        .filter(|(_, _, of)| all(*of) > 0.0)
        .map(|(name, color, of)| {
            let points = timeline.per_second(&slots, *of);
            Series::new(name, Shape::Bars, *color, points)
        })
        .collect();
    let y = Axis::from_zero(unit, Quantity::Rate, values(&series));
    timeline.chart(Chart { y, ..texts }, series)
}

/// Median to p99 of each op.
fn latency(timeline: &Timeline<'_>, origin: Option<&ImportRecord>) -> Option<Chart> {
    let ops = timeline.ops();
    let mut series = Vec::new();
    for (color, (stream, op)) in ops.iter().enumerate() {
        let slots = timeline.slots(CountedUnit::OPS, |i| i.stream == *stream && i.op == *op);
        let name = if stream == op { (*op).to_owned() } else { format!("{stream} {op}") };
        let few = ops.len() <= BANDS_MAX;
        series.extend(percentiles(timeline, &slots, &name, color, few));
    }
    series.retain(|series| series.points.iter().any(|point| point.y.is_some()));
    let values =
        series.iter().flat_map(|s| &s.points).flat_map(|point| [point.y, point.low]).flatten();
    let levels = bounds(timeline.record);
    let values = values.chain(levels.iter().map(|level| level.at));
    let y = Axis::around("latency", Quantity::Latency, values);
    let thinned = timeline
        .thinning
        .note("the highest p99 and the highest latency, and the middle one of their medians");
    // Only drawn percentiles have a name.
    let has = |part: &str| series.iter().any(|series| series.part == part);
    let lines = [("solid: p99", "p99"), ("dashed: p50", "p50"), ("thin: highest latency", "max")];
    let lines = list(lines.into_iter().filter(|(_, part)| has(part)).map(|(name, _)| name), ", ");
    let lines = if lines.is_empty() { lines } else { format!(" {}.", first_upper(&lines)) };
    let texts = Chart {
        id: "latency".to_owned(),
        title: "Latency over time".to_owned(),
        about: format!("{}{lines}{thinned}", begin(timeline.record, origin)),
        y,
        levels,
        ..Chart::default()
    };
    timeline.chart(texts, series)
}

/// The definition of latency.
fn begin(record: &RunRecord, origin: Option<&ImportRecord>) -> &'static str {
    let paces = record.plan.definition.streams.iter().flat_map(|stream| &stream.paces);
    let is_closed = |pace: &Pace| matches!(pace, Pace::Closed { .. });
    let all_closed = paces.clone().next().is_some() && paces.clone().all(is_closed);
    match origin.map(|origin| origin.begin) {
        // No op is due at a planned time.
        None if all_closed => "From the time at which its session was free to send an op.",
        None | Some(LatencyBegin::Intended) => {
            "From the time at which an op was due, so that waiting counts."
        }
        Some(LatencyBegin::Sent) => {
            "From the sending of an op to its response; waiting before that is not included."
        }
        Some(LatencyBegin::NotReported) => "The tool does not report where it begins.",
    }
}

/// With `few` ops, all percentiles of an op have one name, and are switched together.
fn percentiles(
    timeline: &Timeline<'_>,
    slots: &[Slot],
    name: &str,
    color: usize,
    few: bool,
) -> Vec<Series> {
    let points = |of: Percentiles| {
        timeline.points(slots, |slot, _| {
            let (high, low) = of(slot);
            let [y, low] = [high, low].map(|ns| ns.map(to_f64));
            Point { x: 0.0, y, low }
        })
    };
    let one = |part: &'static str, shape, points| Series {
        name: if few { name.to_owned() } else { format!("{name} {part}") },
        part: if few { part } else { "" },
        shape,
        color,
        on: few || (color < OPS_SHOWN && part != "p50"),
        points,
        mean: None,
    };
    // Below 100 ops per second there is no p99; the maximum latency replaces it.
    let counted = slots.iter().any(|slot| slot.p99.is_some());
    let p99 = points(|slot| (slot.p99, None));
    let p50 = points(|slot| (middle(&slot.medians), None));
    let max = points(|slot| (slot.max, None));
    let mut series = Vec::new();
    if few {
        let band = points(|slot| (slot.p99.or(slot.max), middle(&slot.medians)));
        series.push(one("p50 to p99", Shape::Band, band));
        series.push(one("max", Shape::Thin, max.clone()));
    }
    if counted {
        series.push(one("p99", Shape::Line, p99));
    } else if !few {
        series.push(one("max", Shape::Line, max));
    }
    series.push(one("p50", Shape::Dashed, p50));
    series
}

/// The middle value; for an even number, the lower of both.
fn middle(values: &[u64]) -> Option<u64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// Bounds of latency percentiles that the objective names.
pub(super) fn bounds(record: &RunRecord) -> Vec<Label> {
    record
        .plan
        .definition
        .objectives
        .iter()
        .filter_map(|objective| {
            let Objective::Latency { quantile_ppm, max, op } = objective else {
                return None;
            };
            let op = op.as_ref().map(|op| format!("{op} ")).unwrap_or_default();
            let (name, bound) = (quantile(*quantile_ppm), span(max.0));
            Some(Label { at: to_f64(max.0), name: format!("{op}{name} ≤ {bound}") })
        })
        .collect()
}

/// Minimum distance of two points, in nines.
const APART: f64 = 0.015;
/// Ops whose latency and service time are visible at first.
const PAIRS_SHOWN: usize = 3;
/// Curves that are visible at first.
const CURVES_SHOWN: usize = 10;
/// Maximum number of curves.
const CURVES_MAX: usize = 40;

/// Latency by percentile; for open load, also next to service time.
pub(crate) fn distributions(record: &RunRecord) -> Vec<Chart> {
    let measured = measured_streams(record);
    let named: Vec<(String, &ResultRecord)> = measured
        .iter()
        .flat_map(|stream| stream.results.iter().map(|result| (stream.place_of(result), *result)))
        .take(CURVES_MAX)
        .collect();
    latency_distribution(record, &named).into_iter().chain(service(&named)).collect()
}

fn latency_distribution(record: &RunRecord, named: &[(String, &ResultRecord)]) -> Option<Chart> {
    let mut series: Vec<Series> = named
        .iter()
        .enumerate()
        .map(|(number, (name, result))| {
            let points = curve(&result.histograms.latency, result.latency_ns.beyond);
            Series { on: number < CURVES_SHOWN, ..Series::new(name, Shape::Line, number, points) }
        })
        .collect();
    series.retain(|series| series.points.len() > 1);
    let cut = named.iter().any(|(_, result)| result.latency_ns.beyond > 0);
    let cut = if cut {
        " A curve that ends early: the rest of its ops failed or never ended."
    } else {
        ""
    };
    let levels = bounds(record);
    chart(
        "percentiles",
        "Latency by percentile",
        format!(
            "A percentile is the latency that this part of the ops did not exceed. Each further nine has the same \
             room, so that the slowest ops are seen.{cut}"
        ),
        series,
    )
    .map(|chart| Chart { levels, ..chart })
}

/// Latency and service time differ if ops waited; the pairs with the largest difference are visible at first.
fn service(named: &[(String, &ResultRecord)]) -> Option<Chart> {
    let mut open: Vec<&(String, &ResultRecord)> = named.iter().filter(|(_, r)| r.open).collect();
    open.sort_by(|(_, a), (_, b)| waiting(b).total_cmp(&waiting(a)));
    let mut series = Vec::new();
    for (number, (name, result)) in open.iter().enumerate() {
        let one = |part, shape, points| Series {
            part,
            on: number < PAIRS_SHOWN,
            ..Series::new(name, shape, number, points)
        };
        let latency = curve(&result.histograms.latency, result.latency_ns.beyond);
        let service = curve(&result.histograms.service, result.service_ns.beyond);
        if latency.len() > 1 && service.len() > 1 {
            series.push(one("latency", Shape::Line, latency));
            series.push(one("service time", Shape::Dashed, service));
        }
    }
    chart(
        "service",
        "Latency against service time",
        "Solid: latency, from the intended time. Dashed: service time, from the time of sending. \
         What lies between both is waiting for a free session: the target's doing, and what a tool \
         that measures from the time of sending does not see."
            .to_owned(),
        series,
    )
}

/// Ratio of latency to service time at the p99, or at the median.
fn waiting(result: &ResultRecord) -> f64 {
    let [latency, service] = [&result.latency_ns, &result.service_ns]
        .map(|summary| summary.p99.or(summary.p50).map_or(0.0, to_f64));
    latency / service.max(1.0)
}

fn chart(id: &str, title: &str, about: String, series: Vec<Series>) -> Option<Chart> {
    let farthest =
        series.iter().flat_map(|series| &series.points).map(|point| point.x).fold(1.0, f64::max);
    let y = Axis::around("latency", Quantity::Latency, values(&series));
    let x = Axis::between("percentile", Quantity::Tail, 0.0, farthest);
    (!series.is_empty()).then(|| Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        about,
        x,
        y,
        series,
        ..Chart::default()
    })
}

/// Points of a stored histogram, from the fastest op to the slowest that ended; `beyond` ops rank
/// above all of them.
pub(crate) fn curve(stored: &str, beyond: u64) -> Vec<Point> {
    let Ok(mut histogram) = LatencyHistogram::decode(stored) else {
        return Vec::new();
    };
    histogram.record_beyond(beyond, Nanos::ZERO);
    let count = to_f64(histogram.count());
    let mut seen = 0;
    let mut points: Vec<Point> = Vec::new();
    let mut left_out: Option<Point> = None;
    for bin in histogram.inner().iter_recorded() {
        seen += bin.count_since_last_iteration();
        let rest = (count - to_f64(seen)).max(1.0);
        let place = (count / rest).log10();
        let value = to_f64(bin.value_iterated_to());
        if points.is_empty() {
            points.push(Point::new(0.0, Some(value)));
        }
        let point = Point::new(place, Some(value));
        let near = points.last().is_some_and(|last| place - last.x < APART);
        if near {
            left_out = Some(point);
        } else {
            points.push(point);
            left_out = None;
        }
    }
    points.extend(left_out);
    points
}
