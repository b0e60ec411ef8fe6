//! A run over time: when throughput or latency changed, periodic slowdowns, and shifts of telemetry at those times.
//!
//! Reads the seconds of a record. Must not decide whether a change is worth reporting; a rule does.
//!
//! Change points: lasting changes of a series' mean.
//!
//! Binary segmentation (Scott & Knott, "A cluster analysis method for grouping means in the analysis of variance",
//! Biometrics 30, 1974; Vostrikova 1981): the best split of a range is tested; if it is significant, both parts are
//! tested in turn. The statistic is the greatest two-sample t of means over all splits. Its null distribution comes
//! from permuting the series (Matteson & James, "A nonparametric approach for multiple change point analysis", JASA
//! 109, 2014), so no shape of the noise is assumed.
//!
//! Neighboring seconds are autocorrelated, which a permutation would destroy. Blocks are permuted instead, as long as a
//! multiple of the autocorrelation time of the residuals without the best split. The multiple was chosen so that series
//! without a change are called changed in 3 to 8% of the cases, as counted by the tests.
//!
//! Periodic slowdowns: whether a series falls at regular distances.
//!
//! Fisher's exact test of the greatest ordinate of the periodogram (R. A. Fisher, "Tests of significance in harmonic
//! analysis", Proc. R. Soc. A 125, 1929), after removing the first-order autocorrelation (otherwise slow noise looks
//! like a long period). The period is taken from the autocorrelation, which fits short pulses better than one frequency
//! does; the depth is found by folding the series at the period.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use highwater_model::numbers::{ceil_to_usize, len_to_f64, to_f64};
use highwater_model::plan::Unit;
use highwater_model::record::{IntervalRecord, RunRecord};
use highwater_model::target_telemetry::{
    SeriesKind, TargetTelemetry, TelemetrySeries, names, units,
};
use highwater_model::units::Seed;
use highwater_workload::random::Draws;

use super::availability::whole_seconds;
use super::judge::{MeasuredStream, measured_streams};
use super::telemetry::{self, TimeRange};
use super::throughput::{RemovedTrend, autocorrelation_time};
use crate::throughput::student_quantile;

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

/// Latencies of the op with the most acknowledgments; a second without a response repeats the
/// previous value.
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

/// Significance level of the test of one range.
pub const LEVEL: f64 = 0.05;
/// Permutations per test; one less than a multiple of 20 meets the level exactly.
const PERMUTATIONS: u64 = 399;
/// Shorter ranges are not tested: their autocorrelation time cannot be estimated.
const VALUES_MIN: usize = 240;
/// If a further step explains this fraction of a part's variance, it is removed before the autocorrelation time is
/// estimated: otherwise several changes would pass for a long autocorrelation.
const PLAIN: f64 = 0.5;
/// Maximum number of steps removed.
const PLAIN_STEPS_MAX: usize = 16;
/// Minimum number of blocks for a test.
const BLOCKS_MIN: usize = 24;
/// Longer ranges are averaged first, so that at most this many blocks are permuted.
const BLOCKS_MAX: usize = 400;
/// A part has at least this fraction of the blocks.
const EDGE: f64 = 0.05;
/// Block length per excess of the autocorrelation time over that of independent values.
const BLOCK_PER_TIME: f64 = 8.0;
/// Maximum number of changes reported per series.
const CHANGES_MAX: usize = 8;

/// One change of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Position of the first value after it.
    pub at: usize,
    /// Mean between the previous change and this one.
    pub before: f64,
    /// Mean from it to the next change.
    pub after: f64,
    /// Upper bound of the probability that a series without a change shows such a split.
    pub p_value: f64,
}

/// All significant changes, ascending.
pub fn changes(values: &[f64]) -> Vec<Change> {
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut stretches = vec![(0, values.len())];
    while let Some((from, to)) = stretches.pop() {
        let Some((at, p_value)) = split(&values[from..to]) else {
            continue;
        };
        if p_value >= LEVEL || found.len() >= CHANGES_MAX {
            continue;
        }
        found.push((from + at, p_value));
        stretches.push((from, from + at));
        stretches.push((from + at, to));
    }
    found.sort_by_key(|(at, _)| *at);
    let mut bounds = vec![0];
    bounds.extend(found.iter().map(|(at, _)| *at));
    bounds.push(values.len());
    bounds
        .windows(3)
        .zip(&found)
        .map(|(around, (at, p_value))| Change {
            at: *at,
            before: mean(&values[around[0]..*at]),
            after: mean(&values[*at..around[2]]),
            p_value: *p_value,
        })
        .collect()
}

/// The best split of a range and its p value; `None` if the range is too short or constant.
pub fn split(values: &[f64]) -> Option<(usize, f64)> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let (rough, _) = best(values, edge_of(values.len()))?;
    let residuals = without_steps(values, rough);
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    if squares <= f64::EPSILON * values.iter().map(|v| v * v).sum::<f64>() {
        // Only the step itself is left.
        return Some((rough, 1.0 / len_to_f64(values.len())));
    }
    let time = autocorrelation_time(&residuals, squares, RemovedTrend::Line);
    let block = ceil_to_usize(BLOCK_PER_TIME * (time - 1.0)).max(1);
    let block = block.max(values.len().div_ceil(BLOCKS_MAX));
    let mut blocks: Vec<f64> = values.chunks_exact(block).map(mean).collect();
    if blocks.len() < BLOCKS_MIN {
        return None;
    }
    let edge = edge_of(blocks.len());
    let (_, between) = best(&blocks, edge)?;
    let seen = between * (1.0 - shared(time, len_to_f64(block)));
    let draws = Draws::new(Seed(0), &["changes"]);
    let (mut number, mut as_good) = (0, 1.0);
    for _ in 0..PERMUTATIONS {
        shuffle(&mut blocks, &draws, &mut number);
        let as_great = best(&blocks, edge).is_some_and(|(_, statistic)| statistic >= seen);
        as_good += f64::from(u8::from(as_great));
    }
    Some((rough, as_good / to_f64(PERMUTATIONS + 1)))
}

/// The covariance of neighboring blocks across their border, as a fraction of the variance of blocks. Permuted blocks
/// have none, so the observed statistic is reduced by this fraction. For a first-order autoregression of coefficient φ
/// it is 2 φ / (1 − φ²) / length, and its autocorrelation time is (1 + φ) / (1 − φ).
fn shared(time: f64, length: f64) -> f64 {
    (time - 1.0 / time) / 2.0 / length
}

/// Fisher & Yates shuffle.
fn shuffle(values: &mut [f64], draws: &Draws, number: &mut u64) {
    for last in (1..values.len()).rev() {
        let bound = u64::try_from(last + 1).unwrap_or(u64::MAX);
        let other = usize::try_from(draws.below(*number, bound)).unwrap_or(0);
        *number += 1;
        values.swap(last, other);
    }
}

/// The split whose means differ most for their lengths: its position, and Σ² between the parts as a fraction of the
/// total.
fn best(values: &[f64], edge: usize) -> Option<(usize, f64)> {
    let n = len_to_f64(values.len());
    let all = mean(values);
    let total: f64 = values.iter().map(|value| (value - all).powi(2)).sum();
    if total <= 0.0 || values.len() < 2 * edge {
        return None;
    }
    let mut best: Option<(usize, f64)> = None;
    let mut sum = 0.0;
    for (position, value) in values.iter().enumerate() {
        if position >= edge && position + edge <= values.len() {
            let left = len_to_f64(position);
            let between = sum * sum * n / (left * (n - left)) / total;
            if best.is_none_or(|(_, most)| between > most) {
                best = Some((position, between));
            }
        }
        sum += value - all;
    }
    best
}

/// The residuals without the best step, and without any other obvious steps.
fn without_steps(values: &[f64], first: usize) -> Vec<f64> {
    let mut parts = vec![(0, first), (first, values.len())];
    let mut residuals = vec![0.0; values.len()];
    let mut steps = 1;
    while let Some((from, to)) = parts.pop() {
        let part = &values[from..to];
        let further = best(part, edge_of(part.len())).filter(|(_, share)| *share >= PLAIN);
        if let Some((at, _)) = further.filter(|_| steps < PLAIN_STEPS_MAX) {
            steps += 1;
            parts.extend([(from, from + at), (from + at, to)]);
            continue;
        }
        let mean = mean(part);
        for (residual, value) in residuals[from..to].iter_mut().zip(part) {
            *residual = value - mean;
        }
    }
    residuals
}

fn edge_of(length: usize) -> usize {
    ceil_to_usize(EDGE * len_to_f64(length)).max(2)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / len_to_f64(values.len()).max(1.0)
}

/// A period is reported if its p value is below this.
const PERIOD_LEVEL: f64 = 0.01;
/// Longer series are averaged to at most this many values: the cost of the periodogram is quadratic.
const VALUES_MAX: usize = 1_024;
/// With fewer values, or fewer periods, there is no pattern.
const PERIOD_VALUES_MIN: usize = 60;
const PERIODS_MIN: usize = 4;
/// A shorter lag is preferred if its autocorrelation is at least this fraction of the greatest.
const AS_GOOD: f64 = 0.85;

/// A periodic slowdown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeriodicSlowdown {
    /// Period in values.
    pub period: f64,
    /// How far the lowest part of a period is below the mean, as a fraction of it.
    pub depth: f64,
}

/// The periodic slowdown of a series, if any.
pub fn periodic_slowdown(values: &[f64]) -> Option<PeriodicSlowdown> {
    let size = values.len().div_ceil(VALUES_MAX).max(1);
    let chunks = values.chunks_exact(size);
    let averaged: Vec<f64> = chunks.map(|c| c.iter().sum::<f64>() / len_to_f64(size)).collect();
    if averaged.len() < PERIOD_VALUES_MIN {
        return None;
    }
    let mean = averaged.iter().sum::<f64>() / len_to_f64(averaged.len());
    let deviations: Vec<f64> = averaged.iter().map(|value| value - mean).collect();
    let p_value = fisher(&whitened(&deviations)?)?;
    if p_value >= PERIOD_LEVEL || mean <= 0.0 {
        return None;
    }
    let lag = period(&deviations)?;
    let depth = -lowest(&deviations, lag) / mean;
    Some(PeriodicSlowdown { period: len_to_f64(lag * size), depth })
}

/// The series without its first-order autocorrelation.
fn whitened(deviations: &[f64]) -> Option<Vec<f64>> {
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    if squares <= 0.0 {
        return None;
    }
    let pairs = || deviations.iter().zip(&deviations[1..]);
    let memory = pairs().map(|(a, b)| a * b).sum::<f64>() / squares;
    Some(pairs().map(|(a, b)| b - memory * a).collect())
}

/// p value of the greatest ordinate's fraction of the total, under white noise.
fn fisher(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let ordinates: Vec<f64> = (1..n.div_ceil(2)).map(|j| ordinate(values, j)).collect();
    let sum: f64 = ordinates.iter().sum();
    let most = ordinates.iter().copied().reduce(f64::max)?;
    if sum <= 0.0 {
        return None;
    }
    let (share, m) = (most / sum, len_to_f64(ordinates.len()));
    // P(g > x) = Σ (−1)^(k−1) C(m, k) (1 − kx)^(m−1); the first term bounds it from above.
    Some((m * (1.0 - share).powf(m - 1.0)).min(1.0))
}

fn ordinate(values: &[f64], j: usize) -> f64 {
    let step = std::f64::consts::TAU * len_to_f64(j) / len_to_f64(values.len());
    let (turn_sin, turn_cos) = step.sin_cos();
    let (mut sin, mut cos, mut a, mut b) = (0.0, 1.0, 0.0, 0.0);
    for value in values {
        a += value * cos;
        b += value * sin;
        (sin, cos) = (sin * turn_cos + cos * turn_sin, cos * turn_cos - sin * turn_sin);
    }
    a * a + b * b
}

/// The shortest lag whose autocorrelation is close to the greatest.
fn period(deviations: &[f64]) -> Option<usize> {
    let longest = deviations.len() / PERIODS_MIN;
    let alike: Vec<f64> = (0..=longest)
        .map(|lag| {
            deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b).sum::<f64>()
                / len_to_f64(deviations.len() - lag)
        })
        .collect();
    let is_peak = |lag: &usize| alike[lag - 1] <= alike[*lag] && alike[*lag] > alike[lag + 1];
    let peaks: Vec<usize> = (2..longest).filter(is_peak).filter(|lag| alike[*lag] > 0.0).collect();
    let most = peaks.iter().map(|lag| alike[*lag]).reduce(f64::max)?;
    peaks.into_iter().find(|lag| alike[*lag] >= AS_GOOD * most)
}

/// The lowest mean of a part of the period.
fn lowest(deviations: &[f64], lag: usize) -> f64 {
    let part = |phase: usize| {
        let values = deviations.iter().skip(phase).step_by(lag);
        values.clone().sum::<f64>() / len_to_f64(values.count()).max(1.0)
    };
    (0..lag).map(part).fold(f64::INFINITY, f64::min)
}
