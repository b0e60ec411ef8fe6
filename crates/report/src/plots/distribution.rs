//! The distribution of latencies by percentile, on the axis of HdrHistogram: each nine has the same width, so that the
//! tail is as visible as the middle.

use highwater_analysis::judge::measured_streams;
use highwater_model::histogram::LatencyHistogram;
use highwater_model::numbers::to_f64;
use highwater_model::record::{ResultRecord, RunRecord};
use highwater_model::units::Nanos;

use super::time::bounds;
use crate::chart::{Axis, Chart, Point, Quantity, Series, Shape, values};

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
    latency(record, &named).into_iter().chain(service(&named)).collect()
}

fn latency(record: &RunRecord, named: &[(String, &ResultRecord)]) -> Option<Chart> {
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

/// Latency and service time differ where ops waited; the pairs with the largest difference are visible at first.
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
