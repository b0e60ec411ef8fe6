//! Metrics as OpenMetrics text for scrapers. Must not depend on their source.

use std::fmt;

use highwater_model::event::LATENCY_BOUNDS_NS;
use highwater_model::numbers::to_f64;
use highwater_report::TimesTotal;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use crate::families::{Family, Label, PREFIX, Point, Points};

/// Content type of a response.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text of these metrics.
pub(crate) fn text(families: Vec<Family>) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Snapshot(families)));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct Snapshot(Vec<Family>);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Self(families) = self;
        families.iter().try_for_each(|family| one(family, &mut encoder))
    }
}

#[expect(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime")]
fn one(family: &Family, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
    let (unit, kind) = match &family.points {
        Points::Info(_) => (None, MetricType::Info),
        Points::Gauges(_) => (None, MetricType::Gauge),
        Points::Counters(_) => (None, MetricType::Counter),
        Points::Times(_) => (Some(Unit::Seconds), MetricType::Histogram),
    };
    let mut metrics = encoder.encode_descriptor(family.name, family.help, unit.as_ref(), kind)?;
    match &family.points {
        Points::Info(labels) => metrics.encode_info(&escaped(labels)),
        Points::Gauges(points) => {
            each(&mut metrics, points, |metric, value| metric.encode_gauge(value))
        }
        Points::Counters(points) => each(&mut metrics, points, |metric, value| {
            metric.encode_counter::<NoLabelSet, u64, u64>(value, None)
        }),
        Points::Times(points) => each(&mut metrics, points, |metric, times| {
            let count = times.up_to.last().copied().unwrap_or(0);
            let buckets = buckets(&times.up_to);
            metric.encode_histogram::<NoLabelSet>(sum_s(times), count, &buckets, None)
        }),
    }
}

fn each<T>(
    metrics: &mut MetricEncoder<'_>,
    points: &[Point<T>],
    encode: impl Fn(&mut MetricEncoder<'_>, &T) -> Result<(), fmt::Error>,
) -> Result<(), fmt::Error> {
    for point in points {
        let labels = escaped(&point.labels);
        // Without labels there are no braces.
        if labels.is_empty() {
            encode(metrics, &point.value)?;
        } else {
            encode(&mut metrics.encode_family(&labels)?, &point.value)?;
        }
    }
    Ok(())
}

/// Sum of times in seconds.
#[expect(clippy::cast_precision_loss, reason = "a sum of seconds")]
pub(crate) fn sum_s(times: &TimesTotal) -> f64 {
    times.sum_ns as f64 / 1e9
}

/// The encoder does not escape label values.
fn escaped(labels: &[Label]) -> Vec<(&'static str, String)> {
    let escaped = labels.iter().map(|Label { name, value }| {
        let backslashes = value.replace('\\', "\\\\");
        let quotes = backslashes.replace('"', "\\\"");
        (*name, quotes.replace('\n', "\\n"))
    });
    escaped.collect()
}

/// Counts per bucket: the encoder accumulates them itself, and identifies the last bucket by its bound.
fn buckets(up_to: &[u64]) -> Vec<(f64, u64)> {
    LATENCY_BOUNDS_NS
        .iter()
        .map(|bound| to_f64(*bound) / 1e9)
        .chain([f64::MAX])
        .zip(apart(up_to))
        .collect()
}

/// Counts between each bound and the one before.
pub(crate) fn apart(up_to: &[u64]) -> impl Iterator<Item = u64> {
    let before = std::iter::once(0).chain(up_to.iter().copied());
    up_to.iter().zip(before).map(|(now, before)| now - before)
}
