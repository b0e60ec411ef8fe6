//! Charts as small multiples: a row for each figure, a cell for each machine, and one scale for all cells of a row.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use maud::{Markup, html};

use super::text::{rounded, shown};
use super::{Chart, Series};

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
    let mean = values().sum::<f64>() / f64::max(number, 1.0);
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
