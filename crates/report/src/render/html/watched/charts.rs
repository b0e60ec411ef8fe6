//! Throughput and latency of a running run, over time.

use highwater_model::display::percent_whole;
use highwater_model::event::LoadBounds;
use highwater_model::numbers::to_f64;
use highwater_model::plan::{Objective, Unit};
use highwater_model::units::Nanos;
use maud::{Markup, html};

use crate::chart::{Axis, Chart, Label, Point, Quantity, Series, Shape, Span, SpanKind, values};
use crate::plots::notes;
use crate::watched::{RunWatched, Seconds, Slot, SlotStream, Stage};

/// Maximum number of streams whose latencies are drawn as bands, too.
const BANDS_MAX: usize = 3;

/// Maximum length of the axis: this multiple of the elapsed time, so that the data do not shrink to a line at its left
/// end, but always at least `SHOWN_S` seconds.
const SHOWN_AHEAD: f64 = 3.0;
const SHOWN_S: f64 = 60.0;

/// Name, color, and count of a kind of failure.
type Kind = (&'static str, usize, fn(&SlotStream) -> u64);

/// All charts with data.
pub(super) fn of(run: &RunWatched) -> Vec<Chart> {
    let seconds = &run.seconds;
    let throughputs =
        [Unit::Rows, Unit::Queries].into_iter().filter_map(|unit| throughput(seconds, unit));
    let charts = throughputs.chain(latency(seconds, &run.objectives)).chain(failures(seconds));
    let mut interventions = run.interventions.clone();
    let noted: Vec<Span> = notes(interventions.make_contiguous()).collect();
    let mut charts: Vec<Chart> = charts.collect();
    let to_come = to_come(run);
    for chart in &mut charts {
        chart.spans.extend(noted.iter().chain(&to_come).cloned());
        if let Some(last) = to_come.last() {
            chart.x.to = last.to;
        }
    }
    charts
}

/// The remaining time of the load, step by step; empty if it has no planned end.
fn to_come(run: &RunWatched) -> Vec<Span> {
    let (Stage::Load(LoadBounds { length, .. }), Some(last)) =
        (&run.stage, run.seconds.slots.last())
    else {
        return Vec::new();
    };
    let now = to_f64(last.from_s + last.seconds);
    let shown = (now * SHOWN_AHEAD).max(SHOWN_S);
    let steps = length.map_or_else(Vec::new, |length| steps(run, length));
    let ahead = steps.iter().filter(|step| step.to > now && step.from < shown);
    let spans = ahead.map(|step| Span {
        from: step.from.max(now),
        to: step.to.min(shown),
        // The current step is named at its start.
        name: match step.from {
            from if from < now => String::new(),
            _ => step.name.to_owned(),
        },
        kind: SpanKind::ToCome,
    });
    spans.collect()
}

/// Open sessions; absent before the first second.
pub(super) fn sessions(seconds: &Seconds) -> Option<Chart> {
    if seconds.slots.iter().all(|slot| slot.sessions == 0) {
        return None;
    }
    let points = points(seconds, |slot| Some(f64::from(slot.sessions)));
    let series = vec![Series::new("all streams", Shape::Line, 0, points)];
    chart(seconds, series, |series| Chart {
        title: "Sessions".to_owned(),
        y: Axis::from_zero("sessions", Quantity::Number, values(series)),
        ..Chart::default()
    })
}

/// Failed ops, the rejected ones among them, and ops that were never sent; absent if there are none.
fn failures(seconds: &Seconds) -> Option<Chart> {
    const KINDS: [Kind; 3] = [
        ("failed", 1, |stream| stream.errors),
        ("rejected", 3, |stream| stream.rejected),
        ("never sent", 5, |stream| stream.dropped),
    ];
    let series = KINDS.iter().filter_map(|(name, color, of)| {
        let points = points(seconds, |slot| {
            let all: u64 = slot.streams.iter().map(of).sum();
            Some(to_f64(all) / to_f64(slot.seconds))
        });
        let any = points.iter().any(|point| point.y > Some(0.0));
        any.then(|| Series::new(name, Shape::Bars, *color, points))
    });
    let about = about(seconds, "their mean");
    chart(seconds, series.collect(), |series| Chart {
        id: "failures".to_owned(),
        title: "Errors and rejections, ops per second, so far".to_owned(),
        about: format!(
            "Failed: the target refused or rejected the op, or its connection broke. Rejected: the part of these that \
             the target had no capacity for. Never sent: the op was due while every session was busy.{about}"
        ),
        y: Axis::from_zero("ops/s", Quantity::Rate, values(series)),
        ..Chart::default()
    })
}

fn throughput(seconds: &Seconds, unit: Unit) -> Option<Chart> {
    let mut series = Vec::new();
    for (number, name) in streams(seconds, |stream| stream.unit == unit) {
        let per_s = |of: fn(&SlotStream) -> Option<f64>| {
            points(seconds, |slot| Some(of(slot.streams.get(number)?)? / to_f64(slot.seconds)))
        };
        let reached = per_s(|stream| Some(stream.units));
        series.push(Series::new(&name, Shape::Line, number, reached));
        let offered = per_s(|stream| stream.offered);
        if offered.iter().any(|point| point.y.is_some()) {
            let name = format!("{name}, offered");
            series.push(Series::new(&name, Shape::Dashed, number, offered));
        }
    }
    let unit = unit.name();
    let about = about(seconds, "their mean");
    chart(seconds, series, |series| Chart {
        id: format!("throughput-{unit}"),
        title: format!("Throughput, {unit} per second, so far"),
        about: format!(
            "Acknowledged {unit} by the second in which the response came; dashed: offered.{about}"
        ),
        y: Axis::from_zero(format!("{unit}/s"), Quantity::Rate, values(series)),
        ..Chart::default()
    })
}

fn latency(seconds: &Seconds, objectives: &[Objective]) -> Option<Chart> {
    let mut series = Vec::new();
    let all = streams(seconds, |_| true);
    for (number, name) in &all {
        let of = |ns: fn(&SlotStream) -> Option<u64>| {
            points(seconds, |slot| ns(slot.streams.get(*number)?).map(to_f64))
        };
        let (p50, p99) = (of(|stream| stream.p50_ns), of(|stream| stream.p99_ns));
        let between = p99.iter().zip(&p50).map(|(p99, p50)| Point { low: p50.y, ..*p99 });
        let band = (all.len() <= BANDS_MAX)
            .then(|| ("p50 to p99", Shape::Band, between.collect::<Vec<_>>()));
        let lines = [("p99", Shape::Line, p99), ("p50", Shape::Dashed, p50)];
        for (part, shape, points) in band.into_iter().chain(lines) {
            if points.iter().any(|point| point.y.is_some()) {
                series.push(Series { part, ..Series::new(name, shape, *number, points) });
            }
        }
    }
    let levels: Vec<Label> = objectives
        .iter()
        .filter_map(|objective| match objective {
            Objective::Latency { max, op, .. } => Some(Label {
                at: to_f64(max.0),
                name: match op {
                    Some(op) => format!("allowed for {op}"),
                    None => "allowed".to_owned(),
                },
            }),
            _ => None,
        })
        .collect();
    let about = about(seconds, "the slowest second");
    chart(seconds, series, |series| Chart {
        id: "latency".to_owned(),
        title: "Latency, so far".to_owned(),
        about: format!(
            "Of the ops that were due in a second; p99 from 100 ops, of fewer over 10 s. Solid: p99, dashed: p50.{about}"
        ),
        y: Axis::around(
            "latency",
            Quantity::Latency,
            values(series).chain(levels.iter().map(|level| level.at)),
        ),
        levels: levels.clone(),
        ..Chart::default()
    })
}

fn about(seconds: &Seconds, joined: &str) -> String {
    match seconds.slot_s {
        1 => String::new(),
        slot => format!(" Each point is {joined} of {slot} s."),
    }
}

/// Streams that are drawn, with their index.
fn streams(seconds: &Seconds, drawn: impl Fn(&SlotStream) -> bool) -> Vec<(usize, String)> {
    let last = seconds.slots.last();
    let drawn = last
        .into_iter()
        .flat_map(|slot| slot.streams.iter().enumerate())
        .filter(|(_, stream)| drawn(stream));
    drawn.map(|(number, stream)| (number, stream.stream.clone())).collect()
}

/// A point in the middle of each slot.
fn points(seconds: &Seconds, y: impl Fn(&Slot) -> Option<f64>) -> Vec<Point> {
    let points = seconds.slots.iter().map(|slot| {
        let middle = to_f64(slot.from_s) + to_f64(slot.seconds) / 2.0;
        Point::new(middle, y(slot))
    });
    points.collect()
}

fn chart(
    seconds: &Seconds,
    series: Vec<Series>,
    of: impl FnOnce(&[Series]) -> Chart,
) -> Option<Chart> {
    if series.is_empty() {
        return None;
    }
    let last = seconds.slots.last()?;
    let end = to_f64(last.from_s + last.seconds).max(10.0);
    let made = of(&series);
    Some(Chart {
        x: Axis::between("time since the first phase began", Quantity::Time, 0.0, end),
        spans: phases(seconds),
        series,
        ..made
    })
}

/// The phases of the slots.
fn phases(seconds: &Seconds) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for slot in &seconds.slots {
        let to = to_f64(slot.from_s + slot.seconds);
        match spans.last_mut() {
            Some(span) if span.name == slot.phase => span.to = to,
            _ => spans.push(Span {
                from: to_f64(slot.from_s),
                to,
                name: slot.phase.clone(),
                kind: SpanKind::Measured,
            }),
        }
    }
    spans
}

/// Width of the bar in its own units, and the space between two steps.
const WIDTH: f64 = 1_000.0;
const APART: f64 = 4.0;

/// A planned phase, in seconds from the start of the first one.
#[derive(Debug, PartialEq)]
pub(super) struct Step<'a> {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Empty if the load has no planned phases.
    pub(super) name: &'a str,
}

/// The steps of a load of this length; a single step if its phases do not add up to that length.
pub(super) fn steps(run: &RunWatched, length: Nanos) -> Vec<Step<'_>> {
    let planned = run.phases.iter();
    let whole: u64 = planned.clone().map(|phase| phase.duration.0).sum();
    if whole != length.0 {
        return vec![Step { from: 0.0, to: to_f64(length.0) / 1e9, name: "" }];
    }
    let mut end = 0.0;
    let steps = planned.map(|phase| {
        let from = end;
        end += to_f64(phase.duration.0) / 1e9;
        Step { from, to: end, name: &phase.name }
    });
    steps.collect()
}

/// Progress of a load of this length, step by step.
pub(super) fn bar(run: &RunWatched, length: Nanos, share: f64) -> Markup {
    let length_s = to_f64(length.0) / 1e9;
    let percent = percent_whole(share);
    let place = |seconds: f64| seconds / length_s * WIDTH;
    html! {
        div class="steps" role="progressbar" aria-label="How far the load is" aria-valuemin="0"
            aria-valuemax="1" aria-valuenow=(format!("{share:.3}")) aria-valuetext=(percent) {
            svg viewBox=(format!("0 0 {WIDTH} 8")) preserveAspectRatio="none" aria-hidden="true" {
                @for step in steps(run, length) {
                    @let [from, to] = [step.from, step.to].map(place);
                    @let end = if to < WIDTH { (to - APART).max(from) } else { to };
                    @let done = (share * WIDTH).clamp(from, end) - from;
                    rect x=(format!("{from:.1}")) width=(format!("{:.1}", end - from)) height="8" {}
                    rect class="done" x=(format!("{from:.1}")) width=(format!("{done:.1}")) height="8" {}
                }
            }
        }
    }
}
