//! A run over time: when throughput or latency changed, periodic slowdowns, and shifts of telemetry at those times.
//!
//! Reads the seconds of a record. Must not decide whether a change is worth reporting; a rule does.

use std::collections::BTreeMap;

use highwater_model::numbers::{len_to_f64, to_f64};
use highwater_model::plan::Unit;
use highwater_model::record::{IntervalRecord, RunRecord};
use highwater_model::target_telemetry::{
    SeriesKind, TargetTelemetry, TelemetrySeries, names, units,
};

use super::availability::whole_seconds;
use super::changes::changes;
use super::judge::{MeasuredStream, measured_streams};
use super::periodicity::periodic_slowdown;
use super::telemetry::{self, TimeRange};
use crate::long_run::student_quantile;

const SECOND_NS: u64 = 1_000_000_000;
/// Telemetry is compared over this time on both sides of a change.
const AROUND_NS: u64 = 60 * SECOND_NS;
/// A fraction that changed by this much, or another figure that changed by this fraction of itself, has shifted.
const SHIFTED_SHARE: f64 = 0.1;
const SHIFTED: f64 = 0.3;
/// The change must also be this many times the standard error of the two means.
const SHIFTED_ERRORS: f64 = 4.0;
/// The fraction of a phase's seconds that must contain an op; with fewer there is no time series to analyze.
const WITH_OPS: f64 = 0.5;

/// The figure that was analyzed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Acknowledged units per second.
    Throughput,
    /// Median latency of each second, nanoseconds.
    Latency,
}

/// A lasting change.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePoint {
    /// Stream, with its phase if there are several.
    pub place: String,
    /// The figure that changed.
    pub figure: Figure,
    /// The unit of the stream.
    pub unit: Unit,
    /// Time of the change, from the start of the run.
    pub at_ns: u64,
    /// Mean before it, since the previous change.
    pub before: f64,
    /// Mean after it, until the next change.
    pub after: f64,
    /// Probability of such a change at random.
    pub p_value: f64,
    /// Telemetry that shifted at that time, likeliest cause first.
    pub shifts: Vec<TelemetryShift>,
}

/// A telemetry series that shifted at a change.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryShift {
    /// Name of the series.
    pub name: String,
    /// Which of several nodes, disks, or networks shifted most.
    pub node: Option<String>,
    /// Unit; a count is reported per second.
    pub unit: String,
    /// Mean over the minute before.
    pub before: f64,
    /// Mean over the minute after.
    pub after: f64,
}

/// A periodic slowdown.
#[derive(Debug, Clone, PartialEq)]
pub struct Slowdown {
    /// Stream, with its phase if there are several.
    pub place: String,
    /// Period in seconds.
    pub period_s: f64,
    /// How far throughput falls below its mean, as a fraction of it.
    pub depth: f64,
    /// Length of the series analyzed, seconds.
    pub seconds: usize,
}

/// All changes of all streams in the order of the record. The median latency is analyzed in open load only; in closed
/// load it shows the same as the throughput.
pub fn change_points(record: &RunRecord) -> Vec<ChangePoint> {
    let streams = measured_streams(record);
    let mut change_points = Vec::new();
    for stream in &streams {
        let throughput = per_second(record, stream);
        let of = Figure::Throughput;
        change_points.extend(change_points_of(record, stream, of, &throughput));
        if stream.is_open() {
            let latency = latencies(record, stream);
            // Latencies change by factors, so their logarithms are analyzed.
            let logs: Vec<f64> = latency.iter().map(|ns| ns.ln()).collect();
            let found = change_points_of(record, stream, Figure::Latency, &logs);
            change_points.extend(found.into_iter().map(|change_point| ChangePoint {
                before: change_point.before.exp(),
                after: change_point.after.exp(),
                ..change_point
            }));
        }
    }
    change_points
}

/// Periodic slowdowns of all streams.
pub fn slowdowns(record: &RunRecord) -> Vec<Slowdown> {
    let streams = measured_streams(record);
    let found = streams.iter().filter_map(|stream| {
        let values = per_second(record, stream);
        let periodic_slowdown = periodic_slowdown(&without_change_points(&values))?;
        Some(Slowdown {
            place: stream.to_string(),
            period_s: periodic_slowdown.period,
            depth: periodic_slowdown.depth,
            seconds: values.len(),
        })
    });
    found.collect()
}

/// The series with all lasting changes removed: they are not periodic slowdowns.
fn without_change_points(values: &[f64]) -> Vec<f64> {
    let changes = changes(values);
    let Some(first) = changes.first() else {
        return values.to_vec();
    };
    let level = |position: usize| {
        let passed = changes.iter().rev().find(|change| change.at <= position);
        passed.map_or(first.before, |change| change.after)
    };
    values
        .iter()
        .enumerate()
        .map(|(position, value)| value - level(position) + first.before)
        .collect()
}

fn change_points_of(
    record: &RunRecord,
    stream: &MeasuredStream<'_>,
    figure: Figure,
    values: &[f64],
) -> Vec<ChangePoint> {
    let begin = whole_seconds(stream.phase).start;
    let at_ns = |position: usize| {
        let second = begin.saturating_add(u64::try_from(position).unwrap_or(u64::MAX));
        second.saturating_mul(SECOND_NS)
    };
    let found = changes(values);
    let change_points = found.iter().enumerate().map(|(number, change)| {
        let before = number.checked_sub(1).map_or(0, |before| found[before].at);
        let after = found.get(number + 1).map_or(values.len(), |next| next.at);
        let between = TimeRange { from_ns: at_ns(before), to_ns: at_ns(after) };
        ChangePoint {
            place: stream.to_string(),
            figure,
            unit: stream.stream.unit,
            at_ns: at_ns(change.at),
            before: change.before,
            after: change.after,
            p_value: change.p_value,
            shifts: shifts(record, at_ns(change.at), between),
        }
    });
    change_points.collect()
}

/// The intervals of the whole seconds of a stream's phase; none if most seconds have none.
fn seconds<'a>(
    record: &'a RunRecord,
    stream: &MeasuredStream<'_>,
) -> Option<BTreeMap<u64, Vec<&'a IntervalRecord>>> {
    let range = whole_seconds(stream.phase);
    let mut seconds: BTreeMap<u64, Vec<&IntervalRecord>> = range.map(|s| (s, Vec::new())).collect();
    for interval in &record.intervals {
        let is_of = interval.phase == stream.phase.name && interval.stream == stream.stream.stream;
        if let Some(second) = seconds.get_mut(&interval.second).filter(|_| is_of) {
            second.push(interval);
        }
    }
    let with_ops = seconds.values().filter(|second| !second.is_empty()).count();
    let all = highwater_model::numbers::len_to_f64(seconds.len());
    (highwater_model::numbers::len_to_f64(with_ops) >= WITH_OPS * all && with_ops > 0)
        .then_some(seconds)
}

fn per_second(record: &RunRecord, stream: &MeasuredStream<'_>) -> Vec<f64> {
    let units = |interval: &&IntervalRecord| match stream.stream.unit {
        Unit::Rows => interval.rows_acknowledged,
        Unit::Queries | Unit::Transactions => interval.acknowledged,
    };
    let seconds = seconds(record, stream).unwrap_or_default();
    seconds.values().map(|second| second.iter().map(units).sum::<u64>()).map(to_f64).collect()
}

/// Of the op that was sent most often; a second without a response repeats the value before it.
fn latencies(record: &RunRecord, stream: &MeasuredStream<'_>) -> Vec<f64> {
    let Some(most) = stream.results.iter().max_by_key(|result| result.acknowledged) else {
        return Vec::new();
    };
    let mut last = None;
    let mut latencies = Vec::new();
    for second in seconds(record, stream).unwrap_or_default().values() {
        let mut of_op = second.iter().filter(|interval| interval.op == most.op);
        last = of_op.find_map(|interval| interval.p50_ns).or(last);
        latencies.extend(last.map(|ns| to_f64(ns.max(1))));
    }
    latencies
}

/// Names of series whose shift explains a change, likeliest first. Figures that only follow the throughput (rows,
/// transactions, network and log bytes) are left out.
const CAUSES: &[&str] = &[
    "disk_credit",
    names::DISK_BUSY,
    names::REJECTED,
    names::LOCK_WAITS,
    names::CHECKPOINTS,
    "checkpoint_blocks",
    names::CPU_STEAL,
    names::CPU_IOWAIT,
    names::DISK_WAITS,
    "log_waits",
    "latch_waits",
    "stalled",
    "health_severity",
    "shards_started",
    names::QUEUE,
    names::HEAP_USED,
    names::MEMORY_USED,
    names::CPU_BUSY,
    names::DISK_READ,
    "blocks_read",
    names::ACTIVE,
    names::LOAD,
];

/// Telemetry that shifted at that time, between the previous and the next change.
fn shifts(record: &RunRecord, at_ns: u64, between: TimeRange) -> Vec<TelemetryShift> {
    let Some(telemetry) = &record.target_telemetry else {
        return Vec::new();
    };
    // The second of the change itself belongs to neither side.
    let before = TimeRange {
        from_ns: between.from_ns.max(at_ns.saturating_sub(AROUND_NS)),
        to_ns: at_ns.saturating_sub(SECOND_NS),
    };
    let after = TimeRange {
        from_ns: at_ns.saturating_add(SECOND_NS),
        to_ns: between.to_ns.min(at_ns.saturating_add(AROUND_NS)),
    };
    let mut all = Vec::new();
    for &cause in CAUSES {
        let series = telemetry::named(telemetry, cause);
        let most = series
            .filter_map(|series| shift_of(telemetry, series, before, after))
            .max_by(|a, b| distance(a).total_cmp(&distance(b)));
        all.extend(most);
    }
    all
}

fn distance(shifts: &TelemetryShift) -> f64 {
    (shifts.after - shifts.before).abs()
}

fn shift_of(
    telemetry: &TargetTelemetry,
    series: &TelemetrySeries,
    before: TimeRange,
    after: TimeRange,
) -> Option<TelemetryShift> {
    let values = telemetry::values_of(telemetry, series);
    let (then, then_error) = level(telemetry, &values, before)?;
    let (now, now_error) = level(telemetry, &values, after)?;
    let change = (now - then).abs();
    let least = match (series.kind, series.unit.as_str()) {
        (SeriesKind::Level, units::SHARE) => SHIFTED_SHARE,
        _ => SHIFTED * then.abs().max(now.abs()),
    };
    let errors = then_error.hypot(now_error);
    (change > 0.0 && change >= least && change >= SHIFTED_ERRORS * errors).then(|| TelemetryShift {
        name: series.name.clone(),
        node: series.node.clone(),
        unit: series.unit.clone(),
        before: then,
        after: now,
    })
}

/// Mean and standard error over a time range; `None` with fewer than three values.
fn level(
    telemetry: &TargetTelemetry,
    values: &[Option<f64>],
    range: TimeRange,
) -> Option<(f64, f64)> {
    let inside = telemetry
        .times_ns
        .iter()
        .zip(values)
        .filter(|(time, _)| range.from_ns < **time && **time <= range.to_ns);
    let values: Vec<f64> = inside.filter_map(|(_, value)| *value).collect();
    if values.len() < 3 {
        return None;
    }
    let n = highwater_model::numbers::len_to_f64(values.len());
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, (squares / (n - 1.0) / n).sqrt()))
}

/// With fewer runs the spread is unknown.
const RUNS_MIN: usize = 3;
/// Probability that the next run is above the range, and that it is below.
const TAIL: f64 = 0.025;

/// The 95% prediction interval of the next run's figure, from earlier runs of the same definition; absent with fewer
/// than three. No figure is below 0.
///
/// The prediction interval of one further normal value: mean ± t(0.975, n − 1) · s · √(1 + 1/n). Source: G. J. Hahn, W.
/// Q. Meeker, *Statistical Intervals* (1991), section 4.7.
pub fn next_run_within(earlier: &[f64]) -> Option<[f64; 2]> {
    if earlier.len() < RUNS_MIN {
        return None;
    }
    let n = len_to_f64(earlier.len());
    let mean = earlier.iter().sum::<f64>() / n;
    let squares = earlier.iter().map(|figure| (figure - mean).powi(2));
    let deviation = (squares.sum::<f64>() / (n - 1.0)).sqrt();
    let half = student_quantile(TAIL, n - 1.0) * deviation * (1.0 + 1.0 / n).sqrt();
    Some([(mean - half).max(0.0), mean + half])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_run_lies_within_the_spread_of_those_before() {
        assert_eq!(next_run_within(&[1.0, 2.0]), None);
        // s = 10, t(0.975, 2) = 4.302653, √(4/3) = 1.154701.
        let [low, high] = next_run_within(&[90.0, 100.0, 110.0]).unwrap();
        let half = 10.0 * 4.302_653 * 1.154_701;
        assert!((low - (100.0 - half)).abs() < 1e-3, "{low}");
        assert!((high - (100.0 + half)).abs() < 1e-3, "{high}");
        assert_eq!(next_run_within(&[5.0; 4]), Some([5.0, 5.0]));
        assert!(next_run_within(&[0.0, 0.0, 30.0]).unwrap()[0].abs() < 1e-9);
    }
}
