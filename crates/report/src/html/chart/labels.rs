//! Names in a drawing: of phases and levels in place, and of a few lines at their ends.

use maud::{Markup, html};

use highwater_model::display::foreign;

use super::figures::rounded;
use super::frame::{Frame, LETTER, x_of, y_of};
use super::{COLORS, Chart, Series, Shape, SpanKind};

/// Maximum number of lines that are named at their ends; with more, there is a legend.
const DIRECT_MAX: usize = 6;
/// Maximum characters of such a name.
const WORDS: usize = 26;
/// Minimum pixels between two names, one above the other.
const APART: f64 = 14.0;

/// Whether the lines of a chart are named at their ends instead of in a legend: few lines, all of them visible.
pub(super) fn are_direct(chart: &Chart) -> bool {
    let mut all = chart.series.iter();
    (1..=DIRECT_MAX).contains(&named(chart).count())
        && all.all(|series| series.on && series.shape != Shape::Bars)
}

/// The lines that have an end.
fn named(chart: &Chart) -> impl Iterator<Item = &Series> {
    chart.series.iter().filter(|series| {
        matches!(series.shape, Shape::Line | Shape::Thin | Shape::Dashed)
            && series.points.iter().any(|point| point.y.is_some())
    })
}

/// The name of a line at its end; only its part if all lines have the same name.
fn name_of(chart: &Chart, series: &Series) -> String {
    let first = named(chart).next().map(|series| &series.name);
    let is_one = series.part.is_empty() || named(chart).all(|of| Some(&of.name) == first);
    let name = if series.part.is_empty() {
        series.name.clone()
    } else if is_one || series.name.ends_with(series.part) {
        series.part.to_owned()
    } else {
        format!("{} {}", series.name, series.part)
    };
    foreign(&name, WORDS)
}

/// Pixels to the right of the plot for the names at the ends of lines.
pub(super) fn room(chart: &Chart) -> f64 {
    if !are_direct(chart) {
        return 0.0;
    }
    let widest =
        named(chart).map(|series| name_of(chart, series).chars().count()).max().unwrap_or(0);
    (0..widest).fold(18.0, |room, _| room + LETTER + 1.2)
}

/// A name at the end of each line, in its color, moved where names would overlap.
pub(super) fn ends(chart: &Chart, frame: &Frame) -> Markup {
    let mut names: Vec<(f64, &Series)> = named(chart)
        .filter_map(|series| {
            let last = series.points.iter().rev().find_map(|point| point.y)?;
            Some((y_of(chart, frame, last), series))
        })
        .collect();
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = frame.top + 4.0;
    for (y, _) in &mut names {
        // On phones, a name is above its line.
        let place = if frame.is_narrow() { *y - 9.0 } else { *y };
        *y = place.max(free);
        free = *y + APART;
    }
    let mut most = frame.height - frame.bottom;
    for (y, _) in names.iter_mut().rev() {
        *y = y.min(most);
        most = *y - APART;
    }
    // If the remaining time is drawn, too, the lines end before it.
    let mut ahead = chart.spans.iter().filter(|of| of.kind == SpanKind::ToCome);
    let now = ahead.next().map(|span| x_of(chart, frame, span.from));
    let (x, anchor) =
        if let Some(now) = now.filter(|now| !frame.is_narrow() || *now < frame.width / 2.0) {
            (now + 8.0, "start")
        } else if frame.is_narrow() {
            (frame.width - frame.right - 2.0, "end")
        } else {
            (frame.width - frame.right + 8.0, "start")
        };
    html! {
        @for (y, series) in names {
            text class=(format!("end c{}", series.color % COLORS)) x=(rounded(x)) y=(rounded(y))
                dy="0.32em" text-anchor=(anchor) { (name_of(chart, series)) }
        }
    }
}

/// Names of phases above the plot if they fit, and names of levels at their lines.
pub(super) fn names(chart: &Chart, frame: &Frame) -> Markup {
    html! {
        @for span in chart.spans.iter().filter(|span| !span.name.is_empty() && span.kind != SpanKind::Note) {
            @let [from, to] = [span.from, span.to].map(|x| x_of(chart, frame, x));
            @let room = span.name.chars().fold(8.0, |room, _| room + LETTER);
            @if to - from >= room || span.kind == SpanKind::Mark {
                text x=(rounded(f64::midpoint(from, to))) y=(frame.top - 7.0)
                    text-anchor="middle" data-x=(rounded(f64::midpoint(span.from, span.to))) {
                    (span.name)
                }
            }
        }
        @for level in &chart.levels {
            text class="level" x=(frame.width - frame.right - 4.0)
                y=(rounded(y_of(chart, frame, level.at) - 5.0)) text-anchor="end" { (level.name) }
        }
    }
}
