//! A chart as data: axes, series, shaded spans, marks. Everything that is drawn is in here.
//!
//! What is plotted is tested on these values; [`draw`] turns them into SVG and the script of the
//! page reads them again. No record is known here, and nothing is judged.

mod description;
mod draw;
mod figures;
mod frame;
mod labels;
mod scale;
mod sparkline;
mod strip;
mod thin;

pub(super) use draw::{figure, figures as all, hero, still};
pub(super) use scale::{Axis, Label, Quantity, round_time_ticks};
pub(super) use sparkline::sparklines;
pub(super) use thin::Thinning;

/// Colors that can be told apart by color-blind readers; series beyond them are dashed.
pub(super) const COLORS: usize = 8;

/// One chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Chart {
    /// Unique on its page; letters, digits and dashes.
    pub(super) id: String,
    /// What it shows.
    pub(super) title: String,
    /// What the terms in it mean, in one or two sentences.
    pub(super) about: String,
    /// To the right.
    pub(super) x: Axis,
    /// Upwards.
    pub(super) y: Axis,
    /// What is drawn, first to last.
    pub(super) series: Vec<Series>,
    /// Shaded parts of the x axis.
    pub(super) spans: Vec<Span>,
    /// Horizontal lines with a name, such as a bound.
    pub(super) levels: Vec<Label>,
    /// What belongs to places of the x axis, below it.
    pub(super) strip: Strip,
}

/// What belongs to places of the x axis, named below them; nothing is drawn without a cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Strip {
    /// What the cells say of their places.
    pub(super) name: &'static str,
    /// Ascending by place.
    pub(super) cells: Vec<Cell>,
}

/// What belongs to one place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    /// Where.
    pub(super) at: f64,
    /// A few words.
    pub(super) name: String,
    /// The place and all that is known of it, for readers who see no drawing, or point at it.
    pub(super) sentence: String,
    /// Which color, from 0.
    pub(super) color: usize,
}

impl Chart {
    /// Whether some of it has not been yet.
    fn is_going_on(&self) -> bool {
        self.spans.iter().any(|span| span.kind == SpanKind::ToCome)
    }
}

/// Points of one name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    /// In the legend. Series of one name are switched together.
    pub(super) name: String,
    /// What of it, where a name has several series: `p50`, `p99`.
    pub(super) part: &'static str,
    /// How it is drawn.
    pub(super) shape: Shape,
    /// Which color, from 0.
    pub(super) color: usize,
    /// Whether it is shown at first.
    pub(super) on: bool,
    /// In the order of x.
    pub(super) points: Vec<Point>,
}

impl Series {
    /// Shown at first, the only one of its name.
    pub(super) fn new(name: &str, shape: Shape, color: usize, points: Vec<Point>) -> Self {
        Self { name: name.to_owned(), part: "", shape, color, on: true, points }
    }
}

/// All values that are drawn of series, but for lower edges of bands.
pub(super) fn values(series: &[Series]) -> impl Iterator<Item = f64> + Clone + '_ {
    series.iter().flat_map(|series| &series.points).filter_map(|point| point.y)
}

/// One point. Without `y` a line is interrupted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// To the right.
    pub(super) x: f64,
    /// Upwards.
    pub(super) y: Option<f64>,
    /// Of a band: its lower edge.
    pub(super) low: Option<f64>,
}

impl Point {
    pub(super) const fn new(x: f64, y: Option<f64>) -> Self {
        Self { x, y, low: None }
    }

    /// From `low` to `high`.
    pub(super) const fn band(x: f64, low: f64, high: f64) -> Self {
        Self { low: Some(low), ..Self::new(x, Some(high)) }
    }
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
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
    /// Rings: shown, but not for certain.
    Ring,
    /// Filled diamonds: confirmed.
    Diamond,
}

impl Shape {
    /// Whether its points are drawn one by one.
    pub(super) const fn is_glyph(self) -> bool {
        matches!(self, Self::Dot | Self::Cross | Self::Ring | Self::Diamond)
    }
}

/// A shaded part of the x axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    /// Where it begins.
    pub(super) from: f64,
    /// Where it ends.
    pub(super) to: f64,
    /// What it is; may be empty.
    pub(super) name: String,
    /// How it is shaded.
    pub(super) kind: SpanKind,
}

/// What a shaded part stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    /// A measured phase.
    Measured,
    /// A phase that is in no result.
    LeftOut,
    /// What has not been yet.
    ToCome,
    /// A time without an answer.
    Gap,
    /// The interval of a mark.
    Mark,
    /// The time of a user's note, which is its name.
    Note,
}
