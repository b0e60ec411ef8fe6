//! A chart in other forms than a drawing: words for readers who see none, figures for the script.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use super::figures::{points, rounded, shown};
use super::{Axis, Chart, Point, Series, Shape};

/// The text alternative of a chart, for screen readers.
pub(super) fn described(chart: &Chart) -> String {
    let mut text = String::new();
    for series in &chart.series {
        let values = || series.points.iter().filter_map(|point| point.y);
        let (least, greatest) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (f64::min(a, v), f64::max(b, v))
        });
        if !least.is_finite() {
            continue;
        }
        let part = if series.part.is_empty() { "" } else { " " };
        let _ = write!(
            text,
            "{}{part}{}: {}, from {} to {}. ",
            series.name,
            series.part,
            points(values().count()),
            shown(chart.y.quantity, least),
            shown(chart.y.quantity, greatest)
        );
    }
    text.trim_end().to_owned()
}

/// The chart for the script. `<` cannot end the element early.
pub(super) fn data(chart: &Chart) -> String {
    let quoted = |text: &str| {
        let json = serde_json::to_string(text).unwrap_or_default();
        json.replace('<', "\\u003c")
    };
    let labels = |axis: &Axis| {
        let labels = axis.labels.iter();
        let labels = labels.map(|label| format!("[{},{}]", rounded(label.at), quoted(&label.name)));
        let labels: Vec<String> = labels.collect();
        if labels.is_empty() {
            String::new()
        } else {
            format!(",\"labels\":[{}]", labels.join(","))
        }
    };
    let axis = |axis: &Axis| {
        format!(
            "{{\"title\":{},\"quantity\":{},\"scale\":{},\"from\":{},\"to\":{}{}}}",
            quoted(&axis.title),
            serde_json::to_string(&axis.quantity).unwrap_or_default(),
            serde_json::to_string(&axis.scale).unwrap_or_default(),
            rounded(axis.from),
            rounded(axis.to),
            labels(axis)
        )
    };
    let mut text = format!(
        "{{\"title\":{},\"x\":{},\"y\":{},\"series\":[",
        quoted(&chart.title),
        axis(&chart.x),
        axis(&chart.y)
    );
    let mut before: Option<&Series> = None;
    for series in &chart.series {
        if before.is_some() {
            text.push(',');
        }
        let _ = write!(
            text,
            "{{\"name\":{},\"part\":{}",
            quoted(&series.name),
            quoted(series.part)
        );
        let same = before.is_some_and(|other| {
            let places = |of: &Series| listed(of, |point| Some(point.x));
            other.points.len() == series.points.len() && places(other) == places(series)
        });
        if !same {
            let _ = write!(text, ",\"x\":[{}]", listed(series, |point| Some(point.x)));
        }
        let _ = write!(text, ",\"y\":[{}]", listed(series, |point| point.y));
        if series.shape == Shape::Band {
            let _ = write!(text, ",\"low\":[{}]", listed(series, |point| point.low));
        }
        text.push('}');
        before = Some(series);
    }
    text + "]}"
}

fn listed(series: &Series, of: fn(&Point) -> Option<f64>) -> String {
    let values = series.points.iter();
    let values = values.map(|point| of(point).map_or_else(|| "null".to_owned(), rounded));
    values.collect::<Vec<_>>().join(",")
}
