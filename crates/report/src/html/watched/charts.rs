//! Throughput and latency of a run that goes on, over time.

use highwater_model::numbers::to_f64;
use highwater_model::plan::{Objective, Unit};

use super::super::chart::{
    Axis, Chart, Level, Point, Quantity, Series, Shape, Span, SpanKind, values,
};
use crate::watched::{Seconds, Slot, SlotStream};

/// Both charts, as far as there is something to draw.
pub(super) fn of(seconds: &Seconds, objectives: &[Objective]) -> Vec<Chart> {
    let units = [Unit::Rows, Unit::Queries].into_iter();
    let throughputs = units.filter_map(|unit| throughput(seconds, unit));
    throughputs.chain(latency(seconds, objectives)).collect()
}

fn throughput(seconds: &Seconds, unit: Unit) -> Option<Chart> {
    let mut series = Vec::new();
    for (number, name) in streams(seconds, |stream| stream.unit == unit) {
        let per_s = |of: fn(&SlotStream) -> Option<f64>| {
            points(seconds, number, |slot, stream| {
                Some(of(stream)? / to_f64(slot.seconds))
            })
        };
        series.push(Series::new(
            &name,
            Shape::Line,
            number,
            per_s(|stream| Some(stream.units)),
        ));
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
        ..blank()
    })
}

fn latency(seconds: &Seconds, objectives: &[Objective]) -> Option<Chart> {
    let mut series = Vec::new();
    for (number, name) in streams(seconds, |_| true) {
        let of = |ns: fn(&SlotStream) -> Option<u64>| {
            points(seconds, number, move |_, stream| ns(stream).map(to_f64))
        };
        let parts = [
            ("p99", Shape::Line, of(|stream| stream.p99_ns)),
            ("p50", Shape::Thin, of(|stream| stream.p50_ns)),
        ];
        for (part, shape, points) in parts {
            if points.iter().any(|point| point.y.is_some()) {
                series.push(Series::new(
                    &format!("{name}, {part}"),
                    shape,
                    number,
                    points,
                ));
            }
        }
    }
    let bounds = objectives.iter().filter_map(|objective| match objective {
        Objective::Latency { max, op, .. } => Some((max.0, op)),
        _ => None,
    });
    let levels: Vec<Level> = bounds
        .map(|(ns, op)| Level {
            y: to_f64(ns),
            name: match op {
                Some(op) => format!("allowed for {op}"),
                None => "allowed".to_owned(),
            },
        })
        .collect();
    let about = about(seconds, "the slowest second");
    chart(seconds, series, |series| Chart {
        id: "latency".to_owned(),
        title: "Latency, so far".to_owned(),
        about: format!("Of the ops that were due in a second; p99 from 100 ops.{about}"),
        y: Axis::around(
            "latency",
            Quantity::Latency,
            values(series)
                .chain(levels.iter().map(|level| level.y))
                .collect::<Vec<_>>()
                .into_iter(),
        ),
        levels: levels.clone(),
        ..blank()
    })
}

fn about(seconds: &Seconds, joined: &str) -> String {
    match seconds.slot_s {
        1 => String::new(),
        slot => format!(" Each point is {joined} of {slot} s."),
    }
}

/// Streams that are drawn, with their place.
fn streams(seconds: &Seconds, drawn: impl Fn(&SlotStream) -> bool) -> Vec<(usize, String)> {
    let last = seconds.slots.last();
    let streams = last
        .into_iter()
        .flat_map(|slot| slot.streams.iter().enumerate());
    let drawn = streams.filter(|(_, stream)| drawn(stream));
    drawn
        .map(|(number, stream)| (number, stream.stream.clone()))
        .collect()
}

fn points(
    seconds: &Seconds,
    stream: usize,
    y: impl Fn(&Slot, &SlotStream) -> Option<f64>,
) -> Vec<Point> {
    let slots = seconds.slots.iter();
    slots
        .map(|slot| {
            let y = slot.streams.get(stream).and_then(|stream| y(slot, stream));
            Point::new(to_f64(slot.from_s) + to_f64(slot.seconds) / 2.0, y)
        })
        .collect()
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

fn blank() -> Chart {
    let axis = Axis::between("", Quantity::Number, 0.0, 1.0);
    Chart {
        id: String::new(),
        title: String::new(),
        about: String::new(),
        x: axis.clone(),
        y: axis,
        series: Vec::new(),
        spans: Vec::new(),
        levels: Vec::new(),
    }
}

/// The phases that the slots were in.
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
