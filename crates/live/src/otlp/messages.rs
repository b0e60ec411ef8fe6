//! Metrics as OTLP messages, encoded as protobuf by the crates of OpenTelemetry and of `prost`. Must not send.
//!
//! Uses the messages instead of OpenTelemetry's meters, which take no existing counts: without an observable histogram,
//! each op would have to be recorded in them again.

use highwater_model::event::LATENCY_BOUNDS_NS;
use highwater_model::numbers::to_f64;
use highwater_model::units::Nanos;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value as Attribute,
};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, metric::Data, number_data_point::Value as Number,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

use crate::families::{Family, Label, PREFIX, Point, Points};
use crate::metrics::{apart, sum_s};

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// The sender of a push.
pub(super) struct Instance {
    /// Distinguishes two commands.
    pub(super) id: String,
    /// Wall-clock start of the counters.
    pub(super) started: Nanos,
}

/// The wall-clock times of a value.
#[derive(Clone, Copy)]
struct Times {
    started: u64,
    now: u64,
}

/// The body of a push.
pub(super) fn request(families: &[Family], instance: &Instance, now: Nanos) -> Vec<u8> {
    message(families, instance, now).encode_to_vec()
}

fn message(families: &[Family], instance: &Instance, now: Nanos) -> ExportMetricsServiceRequest {
    let times = Times { started: instance.started.0, now: now.0 };
    let about = [
        Label::new("service.name", "highwater"),
        Label::new("service.version", env!("CARGO_PKG_VERSION")),
        Label::new("service.instance.id", &instance.id),
    ];
    let metrics = families.iter().filter_map(|family| metric(family, times));
    let scope = InstrumentationScope {
        name: "highwater".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let scope_metrics =
        ScopeMetrics { scope: Some(scope), metrics: metrics.collect(), ..ScopeMetrics::default() };
    let resource = Resource { attributes: attributes(&about), ..Resource::default() };
    let resource_metrics = ResourceMetrics {
        resource: Some(resource),
        scope_metrics: vec![scope_metrics],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }
}

/// Absent if a family has no values: OTLP has no empty metrics.
fn metric(family: &Family, times: Times) -> Option<Metric> {
    let (suffix, unit, data) = match &family.points {
        Points::Info(labels) => {
            let data_points = vec![number(labels, None, times.now, Number::AsInt(1))];
            ("_info", "", Data::Gauge(Gauge { data_points }))
        }
        Points::Gauges(points) => {
            let data_points = each(points, |labels, value| {
                number(labels, None, times.now, Number::AsDouble(*value))
            })?;
            ("", "", Data::Gauge(Gauge { data_points }))
        }
        Points::Counters(points) => {
            let data_points = each(points, |labels, value| {
                // OTLP has no unsigned values.
                let value = Number::AsInt(i64::try_from(*value).unwrap_or(i64::MAX));
                number(labels, Some(times.started), times.now, value)
            })?;
            let sum = Sum { data_points, aggregation_temporality: CUMULATIVE, is_monotonic: true };
            ("", "", Data::Sum(sum))
        }
        Points::Times(points) => {
            let bounds = LATENCY_BOUNDS_NS.map(|bound| to_f64(bound) / 1e9);
            let data_points = each(points, |labels, value| HistogramDataPoint {
                attributes: attributes(labels),
                start_time_unix_nano: times.started,
                time_unix_nano: times.now,
                count: value.up_to.last().copied().unwrap_or(0),
                sum: Some(sum_s(value)),
                bucket_counts: apart(&value.up_to).collect(),
                explicit_bounds: bounds.to_vec(),
                ..HistogramDataPoint::default()
            })?;
            let histogram = Histogram { data_points, aggregation_temporality: CUMULATIVE };
            ("", "s", Data::Histogram(histogram))
        }
    };
    Some(Metric {
        name: format!("{PREFIX}_{}{suffix}", family.name),
        description: family.help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    })
}

fn each<T, P>(points: &[Point<T>], made: impl Fn(&[Label], &T) -> P) -> Option<Vec<P>> {
    let made: Vec<P> = points.iter().map(|Point { labels, value }| made(labels, value)).collect();
    (!made.is_empty()).then_some(made)
}

/// `started`: start of the count, for counters.
fn number(labels: &[Label], started: Option<u64>, now: u64, value: Number) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: started.unwrap_or_default(),
        time_unix_nano: now,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn attributes(labels: &[Label]) -> Vec<KeyValue> {
    labels
        .iter()
        .map(|Label { name, value }| KeyValue {
            key: (*name).to_owned(),
            value: Some(AnyValue { value: Some(Attribute::StringValue(value.clone())) }),
            ..KeyValue::default()
        })
        .collect()
}

/// Why a collector rejected a part; absent if it accepted everything, or if its response is not OTLP.
pub(super) fn rejected(response: &[u8]) -> Option<String> {
    let partial = ExportMetricsServiceResponse::decode(response).ok()?.partial_success?;
    let why = match partial.error_message {
        empty if empty.is_empty() => "it does not say why".to_owned(),
        said => said,
    };
    (partial.rejected_data_points != 0).then_some(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_report::TimesTotal;
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsPartialSuccess;

    fn made(points: Points) -> Vec<Metric> {
        let instance = Instance { id: "1f".to_owned(), started: Nanos::from_secs(1) };
        let family = Family::new("x", "What", points);
        let body = request(&[family], &instance, Nanos::from_secs(2));
        let decoded = ExportMetricsServiceRequest::decode(body.as_slice()).unwrap();
        decoded.resource_metrics[0].scope_metrics[0].metrics.clone()
    }

    #[test]
    fn counters_are_cumulative_sums_and_too_many_for_the_format_are_its_most() {
        for (counted, sent) in [(7, 7), (u64::MAX, i64::MAX)] {
            let labels = vec![Label::new("stream", "in\"sert")];
            let made = made(Points::Counters(vec![Point { labels, value: counted }]));
            let point = NumberDataPoint {
                attributes: attributes(&[Label::new("stream", "in\"sert")]),
                start_time_unix_nano: 1_000_000_000,
                time_unix_nano: 2_000_000_000,
                value: Some(Number::AsInt(sent)),
                ..NumberDataPoint::default()
            };
            let sum =
                Sum { data_points: vec![point], aggregation_temporality: 2, is_monotonic: true };
            assert_eq!(made[0].name, "highwater_x");
            assert_eq!(made[0].description, "What");
            assert_eq!(made[0].data, Some(Data::Sum(sum)));
        }
    }

    #[test]
    fn a_histogram_has_one_count_more_than_bounds_and_they_add_up() {
        let mut value = TimesTotal::default();
        for (place, count) in value.up_to.iter_mut().enumerate() {
            *count = if place < 5 { 3 } else { 7 };
        }
        let labels = Vec::new();
        let made = made(Points::Times(vec![Point { labels, value }]));
        let Some(Data::Histogram(histogram)) = &made[0].data else {
            panic!("{made:?}");
        };
        let point = &histogram.data_points[0];
        let counts = &point.bucket_counts;
        assert_eq!(counts.len(), point.explicit_bounds.len() + 1);
        assert_eq!((counts[0], counts[5], counts.iter().sum()), (3, 4, 7));
        assert_eq!((point.count, made[0].unit.as_str()), (7, "s"));
    }

    #[test]
    fn a_family_without_values_is_left_out() {
        assert_eq!(made(Points::Gauges(Vec::new())), []);
    }

    #[test]
    fn a_part_that_was_rejected_is_seen_and_nothing_else_is() {
        let said = |rejected_data_points, error_message: &str| {
            let partial = ExportMetricsPartialSuccess {
                rejected_data_points,
                error_message: error_message.to_owned(),
            };
            let response = ExportMetricsServiceResponse { partial_success: Some(partial) };
            rejected(&response.encode_to_vec())
        };
        assert_eq!(said(3, "too old").as_deref(), Some("too old"));
        assert_eq!(said(3, "").as_deref(), Some("it does not say why"));
        assert_eq!(said(0, "take care"), None);
        assert_eq!(rejected(b""), None);
        assert_eq!(rejected(b"{\"partialSuccess\":{}}"), None);
        assert_eq!(rejected(b"welcome"), None);
    }
}
