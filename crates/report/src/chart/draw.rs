//! A chart as SVG in a figure: once for wide screens and paper, once for phones.
//!
//! Coordinates inside a plot are whole tenths of a pixel, so that paths stay short. Lines keep their width when the
//! script zooms, because strokes do not scale.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::frame::{Frame, LETTER, x_of, y_of};
use super::labels::{are_direct, end_names, ends, names, room, strip, strip_height};
use super::text::{data, described, rounded, shown_at};
use super::{COLORS, Chart, Label, Point, Quantity, Series, Shape, Span, SpanKind};

/// Coordinate units per pixel.
const FINE: f64 = 10.0;
/// Width of a digit in pixels; it is wider than most letters.
const DIGIT: f64 = 7.4;

/// Height in pixels of a chart above all folds: one of two, and one alone. It leaves space for the answer and the key
/// figures on a first screen of 800 pixels.
const SHARED: f64 = 144.0;
const ALONE: f64 = 300.0;

/// Keyboard help of a chart.
const KEYS: &str = "arrow keys move the crosshair, plus and minus zoom, 0 shows all";

/// Charts, one below the other, each with its title, legend, drawings and data.
pub(crate) fn figures(charts: &[Chart]) -> Markup {
    html! {
        @for chart in charts {
            @let frames = [Frame::wide(shared_room(chart, charts)), Frame::narrow()];
            (drawn(chart, &frames.map(|frame| above_strip(chart, frame)), true))
        }
    }
}

/// Pixels to the right of a plot: the same for all charts over time, so that equal times are below each other.
fn shared_room(chart: &Chart, charts: &[Chart]) -> f64 {
    let over_time = |of: &Chart| of.x.quantity == Quantity::Time;
    let others = charts.iter().filter(|of| over_time(of) && over_time(chart));
    others.map(room).fold(room(chart), f64::max)
}

fn above_strip(chart: &Chart, frame: Frame) -> Frame {
    let strip = strip_height(chart, &frame);
    frame.above(strip)
}

/// Charts that share the place above all folds: low, with the horizontal axis named only below the last one. Without
/// `data`, which the script needs, on a page that is redrawn each second.
pub(crate) fn hero(charts: &[Chart], data: bool) -> Markup {
    let height = if charts.len() > 1 { SHARED } else { ALONE };
    html! {
        @for (number, chart) in charts.iter().enumerate() {
            @let frames = [Frame::wide(shared_room(chart, charts)), Frame::narrow()];
            @let low = |frame: Frame| above_strip(chart, frame.low(height, number + 1 == charts.len()));
            (drawn(chart, &frames.map(low), data))
        }
    }
}

fn caption(chart: &Chart) -> Markup {
    html! {
        figcaption {
            h3 { (chart.title) }
            p { (chart.about) }
        }
        (legend(chart))
    }
}

fn drawn(chart: &Chart, frames: &[Frame; 2], has_data: bool) -> Markup {
    let label = format!("{}: {KEYS}", chart.title);
    html! {
        figure class="chart" id=(chart.id) {
            (caption(chart))
            div class="plot" tabindex=[has_data.then_some("0")] role="group" aria-label=[has_data.then_some(label)] {
                @for frame in frames { (drawing(chart, frame)) }
            }
            @if has_data { script type="application/json" class="data" { (PreEscaped(data(chart))) } }
        }
    }
}

/// Names with samples of their lines; the script turns them into switches.
fn legend(chart: &Chart) -> Markup {
    // Lines that are labeled in the plot need no entry; marks have no end to label.
    let is_direct = are_direct(chart);
    let mut names: Vec<&Series> = Vec::new();
    let listed = chart.series.iter();
    for series in listed.filter(|series| !is_direct || series.shape.is_glyph()) {
        if names.iter().all(|named| named.name != series.name) {
            names.push(series);
        }
    }
    html! {
        // On a phone, names at the ends of lines would be over the lines.
        @if is_direct { ul class="legend ends" {
            @for (name, series) in end_names(chart) {
                li { svg class="swatch" viewBox="0 0 22 12" aria-hidden="true" { (swatch(series)) } (name) }
            }
        } }
        @if !names.is_empty() { ul class="legend" {
            @for series in names {
                li data-name=(series.name) data-on=(series.on) {
                    svg class="swatch" viewBox="0 0 22 12" aria-hidden="true" {
                        (swatch(series))
                    }
                    span { (series.name) }
                }
            }
        } }
    }
}

fn swatch(series: &Series) -> Markup {
    let class = class(series);
    html! {
        @if series.shape.is_glyph() {
            path class=(class) d=(glyph(series.shape)) transform="translate(11 6)" {}
        } @else if matches!(series.shape, Shape::Band | Shape::Bars) {
            rect class=(class) x="1" y="1" width="20" height="10" {}
        } @else {
            path class=(class) d="M1 6h20" {}
        }
    }
}

pub(super) fn class(series: &Series) -> String {
    let shape = match series.shape {
        Shape::Line => "line",
        Shape::Thin => "line thin",
        Shape::Dashed => "line dashed",
        Shape::Band => "band",
        Shape::Bars => "bars",
        Shape::Dot | Shape::Diamond => "glyph full",
        Shape::Cross | Shape::Ring => "glyph",
    };
    let round = if series.color >= COLORS { " again" } else { "" };
    format!("{shape} c{}{round}", series.color % COLORS)
}

/// A mark of about ten pixels around 0, 0.
const fn glyph(shape: Shape) -> &'static str {
    match shape {
        Shape::Cross => "M-4 -4L4 4M-4 4L4 -4",
        Shape::Diamond => "M0 -6L6 0L0 6L-6 0Z",
        _ => "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z",
    }
}

fn drawing(chart: &Chart, frame: &Frame) -> Markup {
    let title = format!("{}-{}-title", chart.id, frame.name);
    let description = format!("{}-{}-description", chart.id, frame.name);
    let (width, height) = (frame.plot_width(), frame.plot_height());
    html! {
        svg class=(frame.name) xmlns="http://www.w3.org/2000/svg" role="img"
            viewBox=(format!("0 0 {} {}", frame.width, frame.height))
            aria-labelledby=(format!("{title} {description}"))
            data-left=(frame.left) data-top=(frame.top)
            data-width=(width) data-height=(height) {
            title id=(title) { (chart.title) }
            desc id=(description) { (described(chart)) }
            g class="grid" { (y_ticks(chart, frame)) }
            svg class="inner" x=(frame.left) y=(frame.top) width=(width) height=(height)
                viewBox=(format!("0 0 {} {}", width * FINE, height * FINE))
                preserveAspectRatio="none" {
                @if chart.is_going_on() { (hatch(chart, frame)) }
                @for (number, span) in chart.spans.iter().enumerate() {
                    (shaded(chart, frame, span, number % 2 == 0))
                }
                @for series in chart.series.iter().filter(|series| !series.shape.is_glyph()) {
                    (line(chart, frame, series))
                }
                @for level in &chart.levels { (level_line(chart, frame, level)) }
            }
            g class="names" { (names(chart, frame)) }
            (glyphs(chart, frame))
            @if !frame.is_narrow() { g class="ends" { (ends(chart, frame)) } }
            path class="axis" d=(format!(
                "M{} {}h{}", frame.left, frame.height - frame.bottom, width
            )) {}
            g class="x-ticks" {
                (x_axis(chart, frame))
            }
            @if frame.names_x {
                text class="title" x=(frame.left + width / 2.0) y=(frame.height - frame.strip - 6.0)
                    text-anchor="middle" { (chart.x.title) }
            }
            (strip(chart, frame))
            @if frame.is_narrow() {
                text class="title" x="0" y="12" { (chart.y.title) }
            } @else {
                text class="title" x=(frame.left - 6.0) y="12" text-anchor="end" { (chart.y.title) }
            }
        }
    }
}

fn y_ticks(chart: &Chart, frame: &Frame) -> Markup {
    let end = frame.left + frame.plot_width();
    html! {
        @for tick in chart.y.ticks(frame.y_ticks) {
            @let y = rounded(y_of(chart, frame, tick));
            path d=(format!("M{} {y}H{}", frame.left, rounded(end))) {}
            text x=(frame.left - 8.0) y=(y) dy="0.32em" text-anchor="end" {
                (shown_at(chart.y.quantity, tick, frame.is_narrow()))
            }
        }
    }
}

fn x_axis(chart: &Chart, frame: &Frame) -> Markup {
    let labels =
        if chart.x.labels.is_empty() { x_ticks(chart, frame) } else { x_labels(chart, frame) };
    let bottom = frame.height - frame.bottom;
    html! {
        @for (x, name) in labels {
            path d=(format!("M{} {bottom}v4", rounded(x))) {}
            @if let Some(name) = name {
                text x=(within(frame, x, &name)) y=(bottom + 17.0) text-anchor="middle" { (name) }
            }
        }
    }
}

/// Positions on an axis, with names where there is space for one.
type Names = Vec<(f64, Option<String>)>;

fn x_ticks(chart: &Chart, frame: &Frame) -> Names {
    let ticks = chart.x.ticks(frame.x_ticks);
    let crowded = chart.x.quantity == Quantity::Tail && ticks.len() > 6 && frame.x_ticks < 6.0;
    let ticks = ticks.into_iter().enumerate().map(|(number, tick)| {
        let name = || shown_at(chart.x.quantity, tick, frame.is_narrow());
        let is_named = !crowded || number % 2 == 1;
        (x_of(chart, frame, tick), is_named.then(name))
    });
    ticks.collect()
}

/// The values of an axis with its own labels; a name that would overlap the one before is omitted.
fn x_labels(chart: &Chart, frame: &Frame) -> Names {
    const APART: f64 = 8.0;
    let mut free = 0.0;
    let labels = chart.x.labels.iter().map(|label| {
        let x = x_of(chart, frame, label.at);
        let half = half_width(&label.name, LETTER);
        let fits = x - half >= free;
        if fits {
            free = x + half + APART;
        }
        (x, fits.then(|| label.name.clone()))
    });
    labels.collect()
}

/// The x position of a label's middle that keeps the label inside the drawing.
fn within(frame: &Frame, x: f64, name: &str) -> String {
    let half = half_width(name, DIGIT);
    rounded(x.min(frame.width - half).max(half))
}

fn half_width(name: &str, letter: f64) -> f64 {
    name.chars().fold(0.0, |room, _| room + letter) / 2.0
}

/// Shades every other phase, so that neighbors can be distinguished.
fn shaded(chart: &Chart, frame: &Frame, span: &Span, odd: bool) -> Markup {
    let [from, to] = [span.from, span.to].map(|x| fine(chart.x.place(x) * frame.plot_width()));
    let kind = match span.kind {
        SpanKind::Measured if odd => "span measured odd",
        SpanKind::Measured => "span measured",
        SpanKind::LeftOut => "span left-out",
        SpanKind::ToCome => "span to-come",
        SpanKind::Gap => "span gap",
        SpanKind::Mark => "span mark",
        SpanKind::Note => "span note",
    };
    // A very short gap must be visible.
    let is_moment = matches!(span.kind, SpanKind::Gap | SpanKind::Note);
    let least = if is_moment { 15 } else { 1 };
    let hatched = span.kind == SpanKind::ToCome;
    let fill = hatched.then(|| format!("url(#{})", hatch_id(chart, frame)));
    html! {
        rect class=(kind) x=(from) y="0" width=((to - from).max(least))
            height=(frame.plot_height() * FINE) fill=[fill] {
            @if span.kind == SpanKind::Note { title { (span.name) } }
        }
    }
}

fn hatch_id(chart: &Chart, frame: &Frame) -> String {
    format!("{}-{}-hatch", chart.id, frame.name)
}

/// The fill of the remaining time. Each drawing has its own, because a hidden one must not be referenced.
fn hatch(chart: &Chart, frame: &Frame) -> Markup {
    html! {
        pattern id=(hatch_id(chart, frame)) width="80" height="80" patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)" {
            path class="hatch" d="M0 0V80" {}
        }
    }
}

fn level_line(chart: &Chart, frame: &Frame, level: &Label) -> Markup {
    let y = fine((1.0 - chart.y.place(level.at)) * frame.plot_height());
    let width = fine(frame.plot_width());
    html! { path class="level" d=(format!("M0 {y}H{width}")) {} }
}

fn line(chart: &Chart, frame: &Frame, series: &Series) -> Markup {
    let path = match series.shape {
        Shape::Band => band(chart, frame, &series.points),
        Shape::Bars => bars(chart, frame, &series.points),
        _ => polyline(chart, frame, &series.points),
    };
    html! {
        path class=(class(series)) data-name=(series.name) data-on=(series.on) d=(path) {}
    }
}

/// Marks lie above the plot's own drawing, so that a zoom moves them and does not stretch them.
fn glyphs(chart: &Chart, frame: &Frame) -> Markup {
    let marks = chart.series.iter().enumerate();
    html! {
        @for (number, series) in marks.filter(|(_, series)| series.shape.is_glyph()) {
            g class="glyphs" data-series=(number) data-name=(series.name) data-on=(series.on) {
                @for point in &series.points {
                    @if let Some(y) = point.y {
                        path class=(class(series)) d=(glyph(series.shape)) transform=(format!(
                            "translate({} {})",
                            rounded(x_of(chart, frame, point.x)),
                            rounded(y_of(chart, frame, y)),
                        )) {}
                    }
                }
            }
        }
    }
}

/// A position in a plot.
fn place(chart: &Chart, frame: &Frame, x: f64, y: f64) -> (i64, i64) {
    (
        fine(chart.x.place(x) * frame.plot_width()),
        fine((1.0 - chart.y.place(y)) * frame.plot_height()),
    )
}

#[expect(clippy::cast_possible_truncation, reason = "places are within a drawing")]
fn fine(pixels: f64) -> i64 {
    (pixels * FINE).round() as i64
}

fn polyline(chart: &Chart, frame: &Frame, points: &[Point]) -> String {
    let mut path = String::new();
    for part in points.split(|point| !point.y.is_some_and(f64::is_finite)) {
        let places = part.iter().filter_map(|point| Some(place(chart, frame, point.x, point.y?)));
        // An isolated point is drawn as a dot: a line of length zero with round ends.
        through(&mut path, places, "h0");
    }
    path
}

/// A line through these places, with the text `first` after the first one.
fn through(path: &mut String, places: impl Iterator<Item = (i64, i64)>, first: &str) {
    let mut last: Option<(i64, i64)> = None;
    for (x, y) in places {
        let _ = match last {
            None => write!(path, "M{x} {y}{first}"),
            Some((before, above)) => write!(path, "l{} {}", x - before, y - above),
        };
        last = Some((x, y));
    }
}

/// Closed areas, one for each uninterrupted part.
fn band(chart: &Chart, frame: &Frame, points: &[Point]) -> String {
    let mut path = String::new();
    for part in points.split(|point| point.y.is_none() || point.low.is_none()) {
        let edge = |of: fn(&Point) -> Option<f64>| {
            part.iter().filter_map(move |point| Some(place(chart, frame, point.x, of(point)?)))
        };
        let places = edge(|point| point.y).chain(edge(|point| point.low).rev());
        through(&mut path, places, "");
        if !part.is_empty() {
            path.push('Z');
        }
    }
    path
}

fn bars(chart: &Chart, frame: &Frame, points: &[Point]) -> String {
    let half = match points {
        [first, second, ..] => (second.x - first.x) / 2.0,
        _ => 0.5,
    };
    let mut path = String::new();
    for point in points {
        let Some(y) = point.y.filter(|y| *y > 0.0) else {
            continue;
        };
        let (left, top) = place(chart, frame, point.x - half, y);
        let (right, bottom) = place(chart, frame, point.x + half, chart.y.from);
        let _ = write!(path, "M{left} {bottom}V{top}H{}V{bottom}Z", right.max(left + 8));
    }
    path
}
