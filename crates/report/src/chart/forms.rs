//! A chart in other forms than a large drawing: its numbers for axes, its text for screen readers, its data for the script,
//! and small multiples: a row for each figure, a cell for each machine.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use maud::{Markup, html};

use highwater_model::display::{bytes, count, duration, plain, rate};
use highwater_model::numbers::{round_to_u64, round_to_usize};

use super::{Axis, Chart, Point, Quantity, Series, Shape};
use crate::layout::{first_upper, list};

/// A value as readers see it, with its unit if the axis has none next to it.
pub(super) fn shown(quantity: Quantity, value: f64) -> String {
    match quantity {
        Quantity::Time => clock(value),
        Quantity::Latency => short_duration(value),
        Quantity::Rate if value.abs() >= 1_000.0 => rate(value),
        Quantity::Rate | Quantity::Number | Quantity::Whole | Quantity::Word => plain(value),
        Quantity::Bytes => bytes(round_to_u64(value)),
        Quantity::Share => format!("{}%", plain(value * 100.0)),
        Quantity::Tail => percentile(value),
    }
}

/// The value in a shorter form for narrow space: `120 k`, `1.5 M`.
pub(super) fn shown_at(quantity: Quantity, value: f64, is_narrow: bool) -> String {
    match quantity {
        Quantity::Rate if is_narrow && value.abs() >= 1e6 => format!("{} M", plain(value / 1e6)),
        Quantity::Rate if is_narrow && value.abs() >= 1e4 => format!("{} k", plain(value / 1e3)),
        _ => shown(quantity, value),
    }
}

/// `0:30`, `12:05`, `1:02:00`.
fn clock(seconds: f64) -> String {
    let seconds = round_to_u64(seconds);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else {
        format!("{minutes}:{rest:02}")
    }
}

/// A duration on an axis: `20 ms`, never `20.0 ms`.
fn short_duration(nanos: f64) -> String {
    let (scale, unit) = match nanos {
        ns if ns <= 0.0 => return "0".to_owned(),
        ns if ns >= 120e9 => return duration(round_to_u64(ns)),
        ns if ns >= 0.999_5e9 => (1e9, "s"),
        ns if ns >= 0.999_5e6 => (1e6, "ms"),
        ns if ns >= 0.999_5e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    format!("{} {unit}", plain(nanos / scale))
}

/// `p50`, `p99.9` from -log10(1 - quantile).
fn percentile(tail: f64) -> String {
    if tail < 1e-9 {
        return "p0".to_owned();
    }
    let percent = 100.0 * (1.0 - 10f64.powf(-tail));
    // As many digits as the quantile has nines, at most those of a hundred billionth.
    let digits = round_to_usize(tail.round()).saturating_sub(2).min(9);
    let is_whole = (tail - tail.round()).abs() < 1e-9;
    let digits = match (is_whole, percent < 90.0) {
        (true, _) => digits,
        (false, true) => 0,
        (false, false) => digits + 1,
    };
    format!("p{percent:.digits$}")
}

/// At most five significant digits, without an exponent, as the script reads them.
pub(super) fn rounded(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let decimals = match value.abs() {
        m if m >= 10_000.0 => return format!("{value:.0}"),
        m if m >= 1_000.0 => 1,
        m if m >= 100.0 => 2,
        m if m >= 10.0 => 3,
        m if m >= 1.0 => 4,
        _ => 6,
    };
    let text = format!("{value:.decimals$}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

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

/// Width of a cell's line in pixels.
const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 34.0;

/// A row for each chart, a cell for each of its series.
pub(crate) fn sparklines(charts: &[Chart]) -> Markup {
    html! {
        dl class="multiples" {
            @for chart in charts {
                div {
                    dt {
                        (chart.title) " "
                        span class="top" { "0 to " (shown(chart.y.quantity, chart.y.to)) }
                    }
                    dd {
                        @for series in &chart.series { (cell(chart, series)) }
                    }
                }
            }
        }
    }
}

fn cell(chart: &Chart, series: &Series) -> Markup {
    let values = || series.points.iter().filter_map(|point| point.y);
    let number: f64 = values().map(|_| 1.0).sum();
    let of_all = values().sum::<f64>() / f64::max(number, 1.0);
    let mean = series.mean.unwrap_or(of_all);
    let greatest = values().fold(0.0, f64::max);
    let of = |value: f64| shown(chart.y.quantity, value);
    html! {
        div class="cell" {
            span class="name" { (series.name) }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" aria-hidden="true" {
                path class="axis" d=(format!("M0 {HEIGHT}H{WIDTH}")) {}
                path class="line c0" d=(line(chart, series)) {}
            }
            span class="figures" { "mean " b { (of(mean)) } " · max " b { (of(greatest)) } }
        }
    }
}

fn line(chart: &Chart, series: &Series) -> String {
    let mut path = String::new();
    let mut is_open = false;
    for point in &series.points {
        let Some(y) = point.y else {
            is_open = false;
            continue;
        };
        let begin = if is_open { 'L' } else { 'M' };
        is_open = true;
        let x = rounded(chart.x.place(point.x) * WIDTH);
        let y = rounded((1.0 - chart.y.place(y)) * (HEIGHT - 2.0) + 1.0);
        let _ = write!(path, "{begin}{x} {y}");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_labeled_in_the_units_of_people() {
        let cases = [
            (Quantity::Time, 65.0, "1:05"),
            (Quantity::Time, 3_720.0, "1:02:00"),
            (Quantity::Latency, 20e6, "20 ms"),
            (Quantity::Latency, 1_500e6, "1.5 s"),
            (Quantity::Latency, 0.0, "0"),
            (Quantity::Rate, 400_000.0, "400,000"),
            (Quantity::Rate, 0.5, "0.5"),
            (Quantity::Share, 0.25, "25%"),
            (Quantity::Bytes, 2e9, "2.0 GB"),
            (Quantity::Tail, 0.0, "p0"),
            (Quantity::Tail, std::f64::consts::LOG10_2, "p50"),
            (Quantity::Tail, 1.0, "p90"),
            (Quantity::Tail, 3.0, "p99.9"),
        ];
        for (quantity, value, expected) in cases {
            assert_eq!(shown(quantity, value), expected);
        }
    }

    #[test]
    fn axes_of_a_phone_are_labeled_with_fewer_digits() {
        let cases = [(120_000.0, "120 k"), (1_500_000.0, "1.5 M"), (5_000.0, "5,000"), (0.0, "0")];
        for (value, expected) in cases {
            assert_eq!(shown_at(Quantity::Rate, value, true), expected);
        }
        assert_eq!(shown_at(Quantity::Rate, 120_000.0, false), "120,000");
    }

    #[test]
    fn the_script_reads_five_digits() {
        let cases = [
            (421_234.56, "421235"),
            (1_234.56, "1234.6"),
            (12.345_678, "12.346"),
            (0.25, "0.25"),
            (0.0, "0"),
            (-0.000_000_1, "0"),
            (f64::NAN, "null"),
        ];
        for (value, expected) in cases {
            assert_eq!(rounded(value), expected);
        }
    }
}
