//! A chart as data: axes, series, shaded spans, and marks.
//!
//! Tests check the plotted values here; [`draw`] turns them into SVG, which the script of the page reads back. Must not
//! depend on a record or judge.

mod draw;
mod frame;
mod labels;
mod scale;
mod sparkline;
mod text;

pub(crate) use draw::{figures as all, hero};
pub(crate) use scale::{Axis, Label, Quantity, round_time_ticks};
pub(crate) use sparkline::sparklines;

/// Number of colors that color-blind readers can distinguish; further series are dashed.
pub(crate) const COLORS: usize = 8;

/// One chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Chart {
    /// Unique on its page; letters, digits and dashes.
    pub(crate) id: String,
    /// Title of the chart.
    pub(crate) title: String,
    /// Definitions of its terms, in one or two sentences.
    pub(crate) about: String,
    /// Horizontal axis.
    pub(crate) x: Axis,
    /// Vertical axis.
    pub(crate) y: Axis,
    /// Series in drawing order.
    pub(crate) series: Vec<Series>,
    /// Shaded parts of the x axis.
    pub(crate) spans: Vec<Span>,
    /// Horizontal lines with a name, such as a bound.
    pub(crate) levels: Vec<Label>,
    /// The strip below the x axis.
    pub(crate) strip: Strip,
}

/// Texts for positions on the x axis, below it; nothing is drawn without a cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Strip {
    /// The meaning of the cells.
    pub(crate) name: &'static str,
    /// Ascending by place.
    pub(crate) cells: Vec<Cell>,
}

/// The text for one position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    /// Position on the x axis.
    pub(crate) at: f64,
    /// A few words.
    pub(crate) name: String,
    /// The position and all evidence, as the tooltip and for screen readers.
    pub(crate) sentence: String,
    /// Index of its color, from 0.
    pub(crate) color: usize,
}

impl Chart {
    /// Whether part of its time is still to come.
    fn is_going_on(&self) -> bool {
        self.spans.iter().any(|span| span.kind == SpanKind::ToCome)
    }
}

/// Points with one name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    /// Name in the legend. Series with the same name are switched together.
    pub(crate) name: String,
    /// The part if a name has several series: `p50`, `p99`.
    pub(crate) part: &'static str,
    /// How it is drawn.
    pub(crate) shape: Shape,
    /// Index of its color, from 0.
    pub(crate) color: usize,
    /// Whether it is visible at first.
    pub(crate) on: bool,
    /// In the order of x.
    pub(crate) points: Vec<Point>,
}

impl Series {
    /// A visible series, the only one of its name.
    pub(crate) fn new(name: &str, shape: Shape, color: usize, points: Vec<Point>) -> Self {
        Self { name: name.to_owned(), part: "", shape, color, on: true, points }
    }
}

/// All drawn values of series, except the lower edges of bands.
pub(crate) fn values(series: &[Series]) -> impl Iterator<Item = f64> + Clone + '_ {
    series.iter().flat_map(|series| &series.points).filter_map(|point| point.y)
}

/// One point. Without `y` a line is interrupted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// Horizontal value.
    pub(crate) x: f64,
    /// Vertical value.
    pub(crate) y: Option<f64>,
    /// Lower edge of a band.
    pub(crate) low: Option<f64>,
}

impl Point {
    pub(crate) const fn new(x: f64, y: Option<f64>) -> Self {
        Self { x, y, low: None }
    }

    /// From `low` to `high`.
    pub(crate) const fn band(x: f64, low: f64, high: f64) -> Self {
        Self { low: Some(low), ..Self::new(x, Some(high)) }
    }
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A line.
    Line,
    /// A thin line.
    Thin,
    /// A dashed line.
    Dashed,
    /// The area between `low` and `y`.
    Band,
    /// A bar from zero for each point.
    Bars,
    /// Filled circles: measured, passed.
    Dot,
    /// Crosses: failed.
    Cross,
    /// Rings: uncertain.
    Ring,
    /// Filled diamonds: confirmed.
    Diamond,
}

impl Shape {
    /// Whether its points are drawn one by one.
    pub(crate) const fn is_glyph(self) -> bool {
        matches!(self, Self::Dot | Self::Cross | Self::Ring | Self::Diamond)
    }
}

/// A shaded part of the x axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    /// Where it begins.
    pub(crate) from: f64,
    /// Where it ends.
    pub(crate) to: f64,
    /// Name; may be empty.
    pub(crate) name: String,
    /// How it is shaded.
    pub(crate) kind: SpanKind,
}

/// Meaning of a shaded part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// A measured phase.
    Measured,
    /// A phase that is excluded from results.
    LeftOut,
    /// Time that is still to come.
    ToCome,
    /// A time without responses.
    Gap,
    /// The interval of a mark.
    Mark,
    /// The time of a user's note; the note is its name.
    Note,
}
