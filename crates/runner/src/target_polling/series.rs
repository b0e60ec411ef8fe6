//! Turns readings into series: counters into increases, seconds into fractions, and long runs into longer intervals.
//! Pure and bounded.

use std::collections::BTreeMap;

use highwater_driver::MetricSample;
use highwater_driver::telemetry::Measure;
use highwater_model::target_telemetry::{
    POINTS_MAX, SERIES_MAX, SeriesKind, TargetTelemetry, TelemetryPoint, TelemetrySeries,
    TelemetryValue, names,
};
use highwater_model::units::Nanos;

/// Time between two samples, unless a run is long.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// Significant digits kept: people and programs read a record, and it holds many values.
const DIGITS: usize = 6;

/// Key of a series: source, name, node.
type Key = (usize, String, Option<String>);

/// All readings so far.
pub(super) struct Table {
    pub(super) interval: Nanos,
    times: Vec<Nanos>,
    series: Vec<Held>,
    /// Position of a key's series; `None` if it was dropped.
    positions: BTreeMap<Key, Option<usize>>,
    left_out: u64,
}

struct Held {
    /// Position of its source; the name is filled in at the end.
    source: usize,
    series: TelemetrySeries,
    /// Time and value of the last counter reading.
    last: Option<(Nanos, f64)>,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            interval: INTERVAL,
            times: Vec::new(),
            series: Vec::new(),
            positions: BTreeMap::new(),
            left_out: 0,
        }
    }
}

impl Table {
    /// A sample: the readings of each source that answered, by its position.
    pub(super) fn add(&mut self, at: Nanos, answers: Vec<Option<Vec<MetricSample>>>) {
        if self.times.last().is_some_and(|last| *last >= at) {
            return;
        }
        self.times.push(at);
        for (source, readings) in answers.into_iter().enumerate() {
            for reading in readings.into_iter().flatten() {
                self.take(source, at, &reading);
            }
        }
        let points = self.times.len();
        for held in &mut self.series {
            held.series.values.resize(points, None);
        }
        if points >= POINTS_MAX {
            self.halve();
        }
    }

    /// The highest busy CPU fraction in the last sample; only of this source, if it has any.
    pub(super) fn busiest_cpu(&self, only: Option<usize>) -> Option<f64> {
        let busy = |held: &&Held| held.series.name == names::CPU_BUSY;
        let of_only = self.series.iter().filter(busy);
        let only = only.filter(|only| of_only.clone().any(|held| held.source == *only));
        let last = of_only
            .filter(|held| only.is_none_or(|only| held.source == only))
            .filter_map(|held| held.series.values.last().copied().flatten());
        last.max_by(f64::total_cmp)
    }

    fn take(&mut self, source: usize, at: Nanos, reading: &MetricSample) {
        let Some(position) = self.position(source, reading) else {
            return;
        };
        let points = self.times.len();
        let held = &mut self.series[position];
        let value = match reading.measure {
            _ if !reading.value.is_finite() => None,
            Measure::Level => Some(reading.value),
            Measure::Count => held.increase(at, reading.value).map(|(value, _)| value),
            Measure::Seconds => held
                .increase(at, reading.value)
                .map(|(seconds, passed)| seconds / passed.as_secs_f64()),
        };
        held.series.values.resize(points, None);
        if let Some(place) = held.series.values.last_mut() {
            *place = value.map(rounded);
        }
    }

    fn position(&mut self, source: usize, reading: &MetricSample) -> Option<usize> {
        let key = (source, reading.name.to_string(), reading.node.clone());
        if let Some(position) = self.positions.get(&key) {
            return *position;
        }
        if self.series.len() >= SERIES_MAX {
            self.left_out = self.left_out.saturating_add(1);
            // Keys are remembered so that each is counted once, but within a bound.
            if self.positions.len() < 4 * SERIES_MAX {
                self.positions.insert(key, None);
            }
            return None;
        }
        let position = self.series.len();
        let series = TelemetrySeries {
            source: String::new(),
            name: key.1.clone(),
            node: key.2.clone(),
            unit: reading.unit.to_string(),
            kind: match reading.measure {
                Measure::Level | Measure::Seconds => SeriesKind::Level,
                Measure::Count => SeriesKind::Count,
            },
            values: Vec::new(),
        };
        self.series.push(Held { source, series, last: None });
        self.positions.insert(key, Some(position));
        Some(position)
    }

    /// Joins neighboring samples. The first sample stays separate: counters start there.
    fn halve(&mut self) {
        let times = std::mem::take(&mut self.times);
        let (first, rest) = times.split_at(1);
        self.times = first.to_vec();
        self.times.extend(rest.chunks(2).filter_map(|pair| pair.last()));
        for held in &mut self.series {
            held.halve();
        }
        self.interval = Nanos(self.interval.0.saturating_mul(2));
    }

    /// The last sample, on a time axis that begins at `origin`.
    pub(super) fn last(&self, origin: Nanos, sources: &[&str]) -> TelemetryPoint {
        let values = self.series.iter().filter_map(|held| {
            Some(TelemetryValue {
                source: (*sources.get(held.source)?).to_owned(),
                name: held.series.name.clone(),
                unit: held.series.unit.clone(),
                node: held.series.node.clone(),
                kind: held.series.kind,
                value: held.series.values.last().copied().flatten()?,
            })
        });
        let at = self.times.last().copied().unwrap_or_default();
        TelemetryPoint { time_ns: at.saturating_sub(origin).0, values: values.collect() }
    }

    /// The series with the names of their sources, on a time axis that begins at `origin`; without the list of polled
    /// sources.
    pub(super) fn finish(self, origin: Nanos, sources: &[&str]) -> TargetTelemetry {
        let series = self.series.into_iter().map(|held| {
            let source = sources.get(held.source).copied().unwrap_or_default();
            TelemetrySeries { source: source.to_owned(), ..held.series }
        });
        TargetTelemetry {
            interval_ns: self.interval.0,
            times_ns: self.times.iter().map(|t| t.saturating_sub(origin).0).collect(),
            sources: Vec::new(),
            series: series.collect(),
            series_left_out: self.left_out,
        }
    }
}

impl Held {
    /// The increase of a counter, and its duration. A counter that fell was restarted.
    fn increase(&mut self, at: Nanos, value: f64) -> Option<(f64, Nanos)> {
        let (then, before) = self.last.replace((at, value))?;
        let passed = at.saturating_sub(then);
        (value >= before && passed > Nanos::ZERO).then_some((value - before, passed))
    }

    fn halve(&mut self) {
        let series = &mut self.series;
        series.values = series.kind.halved(&series.values);
        if series.kind == SeriesKind::Level {
            for value in series.values.iter_mut().flatten() {
                *value = rounded(*value);
            }
        }
    }
}

/// Six significant digits; whole numbers, such as counts, are kept unchanged.
fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}
