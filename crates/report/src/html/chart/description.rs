//! A chart in forms other than a drawing: text for screen readers, data for the script.

use highwater_model::display::count;

use super::figures::{rounded, shown};
use super::{Axis, Chart, Point, Series, Shape};
use crate::layout::{first_upper, list};

/// The text alternative of a chart, for screen readers.
pub(super) fn described(chart: &Chart) -> String {
    let series = chart.series.iter().filter_map(|series| {
        let values = || series.points.iter().filter_map(|point| point.y);
        let least = values().fold(f64::INFINITY, f64::min);
        let least = Some(least).filter(|least| least.is_finite())?;
        let greatest = values().fold(f64::NEG_INFINITY, f64::max);
        let (name, part) = (&series.name, series.part);
        let gap = if part.is_empty() { "" } else { " " };
        let points = count(values().count() as u64);
        let [from, to] = [least, greatest].map(|value| shown(chart.y.quantity, value));
        Some(format!("{name}{gap}{part}: {points} points, from {from} to {to}."))
    });
    let strip = Some(&chart.strip).filter(|strip| !strip.cells.is_empty());
    let strip = strip.map(|strip| {
        let cells = strip.cells.iter().map(|cell| cell.sentence.as_str());
        format!("{}: {}.", first_upper(strip.name), list(cells, "; "))
    });
    list(series.chain(strip), " ")
}

/// The chart for the script. `<` cannot end the element early.
pub(super) fn data(chart: &Chart) -> String {
    let quoted = |text: &str| {
        let json = serde_json::to_string(text).unwrap_or_default();
        json.replace('<', "\\u003c")
    };
    let labels = |axis: &Axis| {
        let labels = axis
            .labels
            .iter()
            .map(|label| format!("[{},{}]", rounded(label.at), quoted(&label.name)));
        match list(labels, ",").as_str() {
            "" => String::new(),
            labels => format!(",\"labels\":[{labels}]"),
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
    let series = chart.series.iter().enumerate().map(|(number, series)| {
        let places = |of: &Series| listed(of, |point| Some(point.x));
        let before = number.checked_sub(1).map(|before| &chart.series[before]);
        // The next series often has the same x values as the one before.
        let x = if before.map(places) == Some(places(series)) {
            String::new()
        } else {
            format!(",\"x\":[{}]", places(series))
        };
        let low = match series.shape {
            Shape::Band => format!(",\"low\":[{}]", listed(series, |point| point.low)),
            _ => String::new(),
        };
        let (name, part) = (quoted(&series.name), quoted(series.part));
        let y = listed(series, |point| point.y);
        format!("{{\"name\":{name},\"part\":{part}{x},\"y\":[{y}]{low}}}")
    });
    format!(
        "{{\"title\":{},\"x\":{},\"y\":{},\"series\":[{}]}}",
        quoted(&chart.title),
        axis(&chart.x),
        axis(&chart.y),
        list(series, ",")
    )
}

fn listed(series: &Series, of: fn(&Point) -> Option<f64>) -> String {
    let values =
        series.points.iter().map(|point| of(point).map_or_else(|| "null".to_owned(), rounded));
    list(values, ",")
}
