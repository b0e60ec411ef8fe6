//! Metrics as the JSON of OTLP: an `ExportMetricsServiceRequest` by the rules of protobuf's JSON, in which 64-bit
//! integers are texts. Must not send.
//!
//! The library of OpenTelemetry cannot take what is counted already: it has no histogram that is observed, so that each
//! op would have to be recorded in it again.

use highwater_model::event::LATENCY_BOUNDS_NS;
use highwater_model::numbers::to_f64;
use highwater_model::units::Nanos;
use serde_json::{Value, json};

use crate::families::{Family, Label, PREFIX, Point, Points};
use crate::metrics::{apart, sum_s};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u8 = 2;

/// Who pushes.
pub(super) struct Resource {
    /// Tells two commands apart.
    pub(super) instance: String,
    /// Since when values are counted; wall clock.
    pub(super) started: Nanos,
}

/// The times of a value, as texts.
struct Times {
    started: String,
    now: String,
}

/// The body of a push.
pub(super) fn request(families: &[Family], resource: &Resource, now: Nanos) -> String {
    let times = Times {
        started: resource.started.0.to_string(),
        now: now.0.to_string(),
    };
    let about = [
        Label::new("service.name", "highwater"),
        Label::new("service.version", env!("CARGO_PKG_VERSION")),
        Label::new("service.instance.id", &resource.instance),
    ];
    let metrics: Vec<Value> = families
        .iter()
        .filter_map(|family| metric(family, &times))
        .collect();
    let request = json!({"resourceMetrics": [{
        "resource": {"attributes": attributes(&about)},
        "scopeMetrics": [{
            "scope": {"name": "highwater", "version": env!("CARGO_PKG_VERSION")},
            "metrics": metrics,
        }],
    }]});
    request.to_string()
}

/// Absent where a family has no values: OTLP has no empty metrics.
fn metric(family: &Family, times: &Times) -> Option<Value> {
    let name = format!("{PREFIX}_{}", family.name);
    let now = &times.now;
    let (name, unit, kind, data) = match &family.points {
        Points::Info(labels) => {
            let point =
                json!({"attributes": attributes(labels), "timeUnixNano": now, "asInt": "1"});
            let data = json!({"dataPoints": [point]});
            (name + "_info", "", "gauge", data)
        }
        Points::Gauges(points) => {
            let points = each(
                points,
                |value, attributes| json!({"attributes": attributes, "timeUnixNano": now, "asDouble": value}),
            )?;
            (name, "", "gauge", json!({"dataPoints": points}))
        }
        Points::Counters(points) => {
            let points = each(points, |value, attributes| {
                json!({
                    "attributes": attributes, "startTimeUnixNano": times.started, "timeUnixNano": now,
                    "asInt": value.to_string(),
                })
            })?;
            let data = json!({
                "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points,
            });
            (name, "", "sum", data)
        }
        Points::Times(points) => {
            let bounds = LATENCY_BOUNDS_NS.map(|bound| to_f64(bound) / 1e9);
            let points = each(points, |value, attributes| {
                let counts: Vec<String> = apart(&value.up_to).map(|n| n.to_string()).collect();
                let count = value.up_to.last().copied().unwrap_or(0).to_string();
                json!({
                    "attributes": attributes, "startTimeUnixNano": times.started, "timeUnixNano": now,
                    "count": count, "sum": sum_s(value), "bucketCounts": counts,
                    "explicitBounds": bounds,
                })
            })?;
            let data = json!({"aggregationTemporality": CUMULATIVE, "dataPoints": points});
            (name, "s", "histogram", data)
        }
    };
    Some(json!({"name": name, "description": family.help, "unit": unit, kind: data}))
}

fn each<T>(points: &[Point<T>], made: impl Fn(&T, Value) -> Value) -> Option<Vec<Value>> {
    let values = points.iter();
    let values = values.map(|point| made(&point.value, attributes(&point.labels)));
    let values: Vec<Value> = values.collect();
    (!values.is_empty()).then_some(values)
}

fn attributes(labels: &[Label]) -> Value {
    let labels = labels.iter();
    let attributes =
        labels.map(|Label { name, value }| json!({"key": name, "value": {"stringValue": value}}));
    attributes.collect()
}

/// Why a collector took only a part; absent where it took all, and where it does not say.
pub(super) fn rejected(response: &[u8]) -> Option<String> {
    let response: Value = serde_json::from_slice(response).ok()?;
    let partial = response.get("partialSuccess")?;
    let rejected = partial.get("rejectedDataPoints")?;
    // A text by the rules, a number by many writers.
    let is_none = rejected.as_u64() == Some(0) || rejected.as_str() == Some("0");
    let why = partial.get("errorMessage").and_then(Value::as_str);
    (!is_none).then(|| why.unwrap_or("it does not say why").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_report::TimesTotal;

    fn resource() -> Resource {
        Resource {
            instance: "1f".to_owned(),
            started: Nanos::from_secs(1),
        }
    }

    fn made(points: Points) -> Value {
        let family = Family::new("x", "What", points);
        let request = request(&[family], &resource(), Nanos::from_secs(2));
        let request: Value = serde_json::from_str(&request).unwrap();
        request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].clone()
    }

    #[test]
    fn counters_are_cumulative_sums_with_integers_as_texts() {
        let labels = vec![Label::new("stream", "in\"sert")];
        let value = u64::MAX;
        let made = made(Points::Counters(vec![Point { labels, value }]));
        let stream = json!([{"key": "stream", "value": {"stringValue": "in\"sert"}}]);
        let point = json!({
            "attributes": stream, "startTimeUnixNano": "1000000000", "timeUnixNano": "2000000000",
            "asInt": "18446744073709551615",
        });
        let sum = json!({"aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [point]});
        let metric = json!({"name": "highwater_x", "description": "What", "unit": "", "sum": sum});
        assert_eq!(made, json!([metric]));
    }

    #[test]
    fn a_histogram_has_one_count_more_than_bounds_and_they_add_up() {
        let mut value = TimesTotal::default();
        for (place, count) in value.up_to.iter_mut().enumerate() {
            *count = if place < 5 { 3 } else { 7 };
        }
        let labels = Vec::new();
        let made = made(Points::Times(vec![Point { labels, value }]));
        let point = &made[0]["histogram"]["dataPoints"][0];
        let counts = point["bucketCounts"].as_array().unwrap();
        let counts = counts
            .iter()
            .map(|count| count.as_str().unwrap().parse::<u64>());
        let counts: Vec<u64> = counts.map(Result::unwrap).collect();
        let bounds = point["explicitBounds"].as_array().unwrap();
        assert_eq!(counts.len(), bounds.len() + 1);
        assert_eq!((counts[0], counts[5], counts.iter().sum()), (3, 4, 7));
        assert_eq!(point["count"], "7");
        assert_eq!(made[0]["unit"], "s");
    }

    #[test]
    fn a_family_without_values_is_left_out() {
        assert_eq!(made(Points::Gauges(Vec::new())), json!([]));
    }

    #[test]
    fn a_part_that_was_rejected_is_seen_and_nothing_else_is() {
        let said = |text: &str| rejected(text.as_bytes());
        let partial = r#"{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}"#;
        assert_eq!(said(partial).as_deref(), Some("too old"));
        assert_eq!(said(r#"{"partialSuccess":{"rejectedDataPoints":0}}"#), None);
        assert_eq!(said(r#"{"partialSuccess":{}}"#), None);
        assert_eq!(said("{}"), None);
        assert_eq!(said("welcome"), None);
    }
}
