//! Names in a drawing: of phases and levels in place, of a few lines at their ends, and below the x axis a strip of
//! cells: a bar with a text at each position, on as many lines as the texts need.

use maud::{Markup, html};

use highwater_model::display::foreign;

use super::frame::{Frame, LETTER, x_of, y_of};
use super::text::rounded;
use super::{COLORS, Cell, Chart, Series, Shape, SpanKind};

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

/// Each line that is named at its end, with that name; none if there is a legend.
pub(super) fn end_names(chart: &Chart) -> Vec<(String, &Series)> {
    let lines = named(chart).filter(|_| are_direct(chart));
    lines.map(|series| (name_of(chart, series), series)).collect()
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
    let names = end_names(chart);
    let names = names.iter().map(|(name, _)| name);
    let names = names.chain(chart.levels.iter().map(|level| &level.name));
    match names.map(|name| name.chars().count()).max() {
        None => 0.0,
        Some(widest) => (0..widest).fold(18.0, |room, _| room + LETTER + 1.2),
    }
}

/// A name at the end of each line and each level, in its color, right of the plot, moved where names would overlap.
pub(super) fn ends(chart: &Chart, frame: &Frame) -> Markup {
    let lines = end_names(chart).into_iter().filter_map(|(name, series)| {
        let last = series.points.iter().rev().find_map(|point| point.y)?;
        Some((y_of(chart, frame, last), format!("end c{}", series.color % COLORS), name))
    });
    let levels = chart
        .levels
        .iter()
        .map(|level| (y_of(chart, frame, level.at), "level".to_owned(), level.name.clone()));
    let mut names: Vec<_> = lines.chain(levels).collect();
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = frame.top + 4.0;
    for (y, ..) in &mut names {
        *y = y.max(free);
        free = *y + APART;
    }
    let mut most = frame.height - frame.bottom;
    for (y, ..) in names.iter_mut().rev() {
        *y = y.min(most);
        most = *y - APART;
    }
    let x = rounded(frame.width - frame.right + 8.0);
    html! {
        @for (y, class, name) in names {
            text class=(class) x=(x) y=(rounded(y)) dy="0.32em" { (name) }
        }
    }
}

/// Above the plot, what a user changed and noted, and the names of phases if they fit beside it. On a phone, also the
/// names of levels.
pub(super) fn names(chart: &Chart, frame: &Frame) -> Markup {
    let noted = noted(chart, frame);
    let is_free = |from: f64, to: f64| {
        noted.iter().all(|(x, name, _)| to < *x || *x + width_of(name) + WORDS_APART < from)
    };
    html! {
        @for (x, name, at) in &noted {
            text class="note" x=(rounded(*x)) y=(frame.top - 7.0) data-x=(rounded(*at)) { (name) }
        }
        @for span in chart.spans.iter().filter(|span| !span.name.is_empty() && span.kind != SpanKind::Note) {
            @let [from, to] = [span.from, span.to].map(|x| x_of(chart, frame, x));
            @let room = width_of(&span.name) + 8.0;
            @let middle = f64::midpoint(from, to);
            @if (to - from >= room || span.kind == SpanKind::Mark) && is_free(middle - room / 2.0, middle + room / 2.0) {
                text x=(rounded(f64::midpoint(from, to))) y=(frame.top - 7.0)
                    text-anchor="middle" data-x=(rounded(f64::midpoint(span.from, span.to))) {
                    (span.name)
                }
            }
        }
        @for level in chart.levels.iter().filter(|_| frame.is_narrow()) {
            text class="level" x=(frame.width - frame.right - 4.0)
                y=(rounded(y_of(chart, frame, level.at) - 5.0)) text-anchor="end" { (level.name) }
        }
    }
}

/// The place, the text and the time of each change and note whose text has room to the right of its line.
fn noted(chart: &Chart, frame: &Frame) -> Vec<(f64, String, f64)> {
    let mut free = 0.0;
    let notes = chart.spans.iter().filter(|span| span.kind == SpanKind::Note);
    let notes = notes.filter_map(|span| {
        let name = foreign(&span.name, WORDS);
        let width = width_of(&name);
        let x = x_of(chart, frame, span.from).min(frame.width - width);
        let fits = x >= free;
        if fits {
            free = x + width + WORDS_APART;
        }
        fits.then_some((x, name, span.from))
    });
    notes.collect()
}

/// A bar in pixels: its height, and its maximum and minimum width.
const BAR: f64 = 4.0;
const WIDEST: f64 = 84.0;
const NARROWEST: f64 = 6.0;
/// Fraction of the distance between two positions that is left free between their bars.
const FREE: f64 = 0.2;
/// Pixels of a line of text, and between two texts on one line.
const LINE: f64 = 15.0;
const WORDS_APART: f64 = 8.0;
/// Pixels above the bars and below the last line.
const AROUND: f64 = 6.0;

/// A cell with the middle of its bar and of its text, and the line of the text, from 0.
struct Placed<'a> {
    cell: &'a Cell,
    bar: f64,
    words: f64,
    line: u32,
}

/// Height of a chart's strip in pixels; 0 without a cell.
pub(super) fn strip_height(chart: &Chart, frame: &Frame) -> f64 {
    let placed = placed(chart, frame);
    let last = placed.iter().map(|placed| placed.line).max();
    last.map_or(0.0, |last| 2.0 * AROUND + BAR + LINE * f64::from(last + 1))
}

/// The strip, at the bottom of a drawing whose frame has space for it.
pub(super) fn strip(chart: &Chart, frame: &Frame) -> Markup {
    let placed = placed(chart, frame);
    let top = frame.height - frame.strip + AROUND;
    let baseline = |line: u32| top + BAR + LINE * f64::from(line + 1) - 2.0;
    let width = bar_width(&placed);
    html! {
        @if !placed.is_empty() {
            g class="strip" {
                // From a bar to a text that is not directly below it.
                @for of in placed.iter().filter(|of| of.line > 0) {
                    path class="leader" d=(format!(
                        "M{} {}V{}", rounded(of.bar), rounded(top + BAR), rounded(baseline(of.line) - 10.0)
                    )) {}
                }
                text x="0" y=(rounded(baseline(0))) { (chart.strip.name) }
                @for of in &placed {
                    g class=(format!("c{}", of.cell.color % COLORS)) {
                        title { (of.cell.sentence) }
                        rect x=(rounded(of.bar - width / 2.0)) y=(rounded(top)) width=(rounded(width))
                            height=(rounded(BAR)) {}
                        text x=(rounded(of.words)) y=(rounded(baseline(of.line))) text-anchor="middle" {
                            (of.cell.name)
                        }
                    }
                }
            }
        }
    }
}

/// Places each cell's text on the first line with enough space below its bar.
fn placed<'a>(chart: &'a Chart, frame: &Frame) -> Vec<Placed<'a>> {
    // The strip's name is to the left.
    let begin = width_of(chart.strip.name) + WORDS_APART;
    let mut free: Vec<f64> = Vec::new();
    let placed = chart.strip.cells.iter().map(|cell| {
        let bar = x_of(chart, frame, cell.at);
        let half = width_of(&cell.name) / 2.0;
        let words = bar.min(frame.width - half).max(begin + half);
        let line = free.iter().position(|free| *free <= words - half);
        let line = line.unwrap_or_else(|| {
            free.push(0.0);
            free.len() - 1
        });
        free[line] = words + half + WORDS_APART;
        Placed { cell, bar, words, line: u32::try_from(line).unwrap_or(u32::MAX) }
    });
    placed.collect()
}

/// The width that the two closest bars allow.
fn bar_width(placed: &[Placed<'_>]) -> f64 {
    let distances = placed.windows(2).map(|pair| pair[1].bar - pair[0].bar);
    let nearest = distances.fold(f64::INFINITY, f64::min);
    (nearest * (1.0 - FREE)).clamp(NARROWEST, WIDEST)
}

/// Width of a text in pixels.
fn width_of(words: &str) -> f64 {
    words.chars().fold(0.0, |room, _| room + LETTER)
}
