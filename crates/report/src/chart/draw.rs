//! A chart as SVG in a figure: once for wide screens and paper, once for phones; its sizes, and the names in it.
//!
//! Coordinates inside a plot are whole tenths of a pixel, so that paths stay short. Lines keep their width when the
//! script zooms, because strokes do not scale.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use highwater_model::display::foreign;

use super::forms::{data, described, rounded, shown_at};
use super::{COLORS, Cell, Chart, Label, Point, Quantity, Series, Shape, Span, SpanKind};

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
    let lines = noted(chart, &frame).iter().map(|of| of.line + 1).max();
    frame.above(strip).below(LINE * f64::from(lines.unwrap_or(1) - 1))
}

/// Charts that share the space above all folds: low ones, with the horizontal axis named only below the last one.
/// Without `data`, which the script needs, on a page that is redrawn each second.
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
        Shape::Line | Shape::Whiskers => "line",
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
        Shape::Diamond => "M0 -7.5L7.5 0L0 7.5L-7.5 0Z",
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

/// Positions on an axis, with names if there is space for them.
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

/// Approximate width of a letter in a drawing, in pixels.
const LETTER: f64 = 6.6;

/// Sizes of one drawing, in its pixels.
pub(super) struct Frame {
    pub(super) name: &'static str,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    bottom: f64,
    x_ticks: f64,
    y_ticks: f64,
    /// Whether the horizontal axis is named.
    names_x: bool,
    /// Height of the strip below the axis and its name; part of `height`.
    pub(super) strip: f64,
}

impl Frame {
    /// As wide as a page's column, so that text is not scaled, with `room` pixels to the right of the plot.
    pub(super) fn wide(room: f64) -> Self {
        Self {
            name: "wide",
            width: 1120.0,
            height: 300.0,
            left: 76.0,
            right: room.max(14.0),
            x_ticks: 10.0,
            y_ticks: 5.0,
            ..Self::narrow()
        }
    }

    pub(super) const fn narrow() -> Self {
        Self {
            name: "narrow",
            width: 358.0,
            height: 260.0,
            left: 64.0,
            right: 8.0,
            top: 32.0,
            bottom: 44.0,
            x_ticks: 4.0,
            y_ticks: 4.0,
            names_x: true,
            strip: 0.0,
        }
    }

    /// The same frame, higher by the strip below it.
    pub(super) fn above(self, strip: f64) -> Self {
        Self { height: self.height + strip, bottom: self.bottom + strip, strip, ..self }
    }

    /// The same frame, taller by the additional lines of names above the plot.
    pub(super) fn below(self, names: f64) -> Self {
        Self { height: self.height + names, top: self.top + names, ..self }
    }

    /// The same frame with another height, with or without the name of the horizontal axis.
    pub(super) fn low(self, height: f64, names_x: bool) -> Self {
        let bottom = if names_x { self.bottom } else { 24.0 };
        Self {
            height: height + bottom - 24.0,
            top: 24.0,
            bottom,
            y_ticks: if height < 200.0 { 3.0 } else { self.y_ticks },
            names_x,
            ..self
        }
    }

    /// Whether this is the frame for phones.
    pub(super) fn is_narrow(&self) -> bool {
        self.name == "narrow"
    }

    fn plot_width(&self) -> f64 {
        self.width - self.left - self.right
    }

    fn plot_height(&self) -> f64 {
        self.height - self.top - self.bottom
    }
}

fn x_of(chart: &Chart, frame: &Frame, x: f64) -> f64 {
    frame.left + chart.x.place(x) * frame.plot_width()
}

fn y_of(chart: &Chart, frame: &Frame, y: f64) -> f64 {
    frame.top + (1.0 - chart.y.place(y)) * frame.plot_height()
}

/// Maximum number of lines that are named at their ends; with more, there is a legend.
const DIRECT_MAX: usize = 6;
/// Maximum characters of such a name.
const WORDS: usize = 26;
/// Minimum pixels between two names, one above the other.
const APART: f64 = 14.0;

/// Whether the lines of a chart are named at their ends instead of in a legend: few lines, all of them visible.
fn are_direct(chart: &Chart) -> bool {
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
fn end_names(chart: &Chart) -> Vec<(String, &Series)> {
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

/// Above the plot, the user's changes and notes, and the names of phases if they fit next to them. On a phone, also
/// the names of levels.
pub(super) fn names(chart: &Chart, frame: &Frame) -> Markup {
    let noted = noted(chart, frame);
    let is_free = |from: f64, to: f64| {
        let mut below = noted.iter().filter(|of| of.line == 0);
        below.all(|of| to < of.x || of.x + width_of(&of.name) + WORDS_APART < from)
    };
    html! {
        @for of in &noted {
            @let y = frame.top - 7.0 - LINE * f64::from(of.line);
            text class="note" x=(rounded(of.x)) y=(rounded(y)) data-x=(rounded(of.at)) { (of.name) }
        }
        @for span in chart.spans.iter().filter(|span| !span.name.is_empty() && span.kind != SpanKind::Note) {
            @let [from, to] = [span.from, span.to].map(|x| x_of(chart, frame, x));
            @let room = width_of(&span.name) + 8.0;
            @let most = frame.width - room / 2.0;
            @let middle = f64::midpoint(from, to).clamp(room / 2.0, most.max(room / 2.0));
            @if (to - from >= room || span.kind == SpanKind::Mark) && is_free(middle - room / 2.0, middle + room / 2.0) {
                text x=(rounded(middle)) y=(frame.top - 7.0)
                    text-anchor="middle" data-x=(rounded(f64::midpoint(span.from, span.to))) {
                    (span.name)
                }
            }
        }
        @for level in chart.levels.iter().filter(|_| frame.is_narrow()) {
            text class="level" x=(frame.width - frame.right - 4.0)
                y=(rounded(level_name_y(chart, frame, level.at))) text-anchor="end" { (level.name) }
        }
    }
}

/// Above its line, or below it if it would overlap the names above the plot.
fn level_name_y(chart: &Chart, frame: &Frame, at: f64) -> f64 {
    let y = y_of(chart, frame, at);
    if y - frame.top < LINE { y + LINE - 2.0 } else { y - 5.0 }
}

/// Maximum characters of a change or a note, and lines of them above a plot.
const NOTE_WORDS: usize = 40;
const NOTE_LINES: usize = 3;

/// A change or a note with its place, its time, and its line, from 0 just above the plot.
struct NotedName {
    x: f64,
    name: String,
    at: f64,
    line: u32,
}

/// Each change and note whose text fits to the right of its time, on the first line with enough space.
fn noted(chart: &Chart, frame: &Frame) -> Vec<NotedName> {
    let mut free = [0.0; NOTE_LINES];
    let notes = chart.spans.iter().filter(|span| span.kind == SpanKind::Note);
    let notes = notes.filter_map(|span| {
        let name = foreign(&span.name, NOTE_WORDS);
        let width = width_of(&name);
        let x = x_of(chart, frame, span.from).min(frame.width - width);
        let (line, free) = (0..).zip(&mut free).find(|(_, free)| x >= **free)?;
        *free = x + width + WORDS_APART;
        Some(NotedName { x, name, at: span.from, line })
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
struct PlacedCell<'a> {
    cell: &'a Cell,
    bar: f64,
    words: f64,
    line: u32,
}

/// Height of a chart's strip in pixels; 0 without a cell.
fn strip_height(chart: &Chart, frame: &Frame) -> f64 {
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
fn placed<'a>(chart: &'a Chart, frame: &Frame) -> Vec<PlacedCell<'a>> {
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
        PlacedCell { cell, bar, words, line: u32::try_from(line).unwrap_or(u32::MAX) }
    });
    placed.collect()
}

/// The width that the two closest bars allow.
fn bar_width(placed: &[PlacedCell<'_>]) -> f64 {
    let distances = placed.windows(2).map(|pair| pair[1].bar - pair[0].bar);
    let nearest = distances.fold(f64::INFINITY, f64::min);
    (nearest * (1.0 - FREE)).clamp(NARROWEST, WIDEST)
}

/// Width of a text in pixels.
fn width_of(words: &str) -> f64 {
    words.chars().fold(0.0, |room, _| room + LETTER)
}
