//! A chart as data: axes with their ticks, series, shaded spans, and marks.
//!
//! Tests check the plotted values here; [`draw`] turns them into SVG, which the script of the page reads back. Must not
//! depend on a record or judge.

mod draw;
mod forms;

use serde::Serialize;

use highwater_model::display::{foreign, plain};

pub(crate) use draw::{figures as all, hero};
pub(crate) use forms::sparklines;

/// Number of colors that color-blind readers can distinguish; further series are dashed.
const COLORS: usize = 8;

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
    /// Mean over the measured phases, as the record's own sentences have it; absent where it is that of all points.
    pub(crate) mean: Option<f64>,
}

impl Series {
    /// A visible series, the only one of its name.
    pub(crate) fn new(name: &str, shape: Shape, color: usize, points: Vec<Point>) -> Self {
        Self { name: name.to_owned(), part: "", shape, color, on: true, points, mean: None }
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
    /// A vertical line between two points that interrupt their line after them; it has the name of a glyph.
    Whiskers,
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
    const fn is_glyph(self) -> bool {
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

/// An axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Axis {
    /// Title with the unit, as printed next to the axis.
    pub(crate) title: String,
    /// Quantity of its values, for formatting.
    pub(crate) quantity: Quantity,
    /// Scale of its values.
    pub(crate) scale: Scale,
    /// Smallest value.
    pub(crate) from: f64,
    /// Largest value; greater than `from`.
    pub(crate) to: f64,
    /// The only labeled values, ascending; if empty, the axis chooses its ticks.
    pub(crate) labels: Vec<Label>,
}

/// A value of an axis with its name: a tick, or a line across the chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Label {
    /// The value.
    pub(crate) at: f64,
    /// Its text at the axis.
    pub(crate) name: String,
}

/// Quantity of an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Quantity {
    /// Seconds since the run began.
    Time,
    /// Nanoseconds.
    Latency,
    /// Anything per second.
    Rate,
    /// Whole or fractional numbers: cores, events per second.
    #[default]
    Number,
    /// Whole numbers: nodes, sessions, runs.
    Whole,
    /// Bytes.
    Bytes,
    /// Fractions of 1.
    Share,
    /// -log10(1 - quantile): 2 is the 99th percentile.
    Tail,
    /// Positions of words next to each other; the axis' labels name them.
    Word,
}

/// Scale of an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic; all values are above 0.
    Log,
}

/// Ratio of the largest to the smallest latency from which the axis is logarithmic.
const LOG_FROM: f64 = 25.0;
/// Fraction of an axis of values that is left free at either end for labels.
const ROOM: f64 = 0.08;
/// Maximum characters of a word on an axis.
const WORD: usize = 24;

impl Axis {
    /// From 0 to above the largest value.
    pub(crate) fn from_zero(
        title: impl Into<String>,
        quantity: Quantity,
        values: impl Iterator<Item = f64>,
    ) -> Self {
        let greatest = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        let greatest = if greatest > 0.0 { greatest } else { 1.0 };
        let step = above(greatest * 1.04 / 5.0);
        Self::between(title, quantity, 0.0, (greatest * 1.04 / step).ceil() * step)
    }

    /// Around positive values: logarithmic if they differ much, otherwise from 0.
    pub(crate) fn around(
        title: impl Into<String>,
        quantity: Quantity,
        values: impl Iterator<Item = f64> + Clone,
    ) -> Self {
        let (least, greatest) = of_positive(values.clone());
        if greatest < LOG_FROM * least {
            return Self::from_zero(title, quantity, values);
        }
        Self { scale: Scale::Log, ..Self::between(title, quantity, below(least), above(greatest)) }
    }

    /// Close around positive values; logarithmic if they differ by a factor of two.
    pub(crate) fn close(
        title: impl Into<String>,
        quantity: Quantity,
        values: impl Iterator<Item = f64>,
    ) -> Self {
        let (least, greatest) = of_positive(values);
        if greatest <= 0.0 {
            return Self::between(title, quantity, 0.0, 1.0);
        }
        let axis = Self::between(title, quantity, least / 1.06, greatest * 1.06);
        if greatest < 2.0 * least {
            return axis;
        }
        Self { scale: Scale::Log, ..axis }
    }

    /// From the first to the second value.
    pub(crate) fn between(
        title: impl Into<String>,
        quantity: Quantity,
        from: f64,
        to: f64,
    ) -> Self {
        Self {
            title: title.into(),
            quantity,
            from,
            to: if to > from { to } else { from + 1.0 },
            ..Self::default()
        }
    }

    /// Only these values, each labeled: numbers by their size, words next to each other in their order. Also returns
    /// the position of each, in the given order.
    pub(crate) fn of_values(title: impl Into<String>, values: &[String]) -> (Self, Vec<f64>) {
        let number = |value: &String| value.parse().ok().filter(|n: &f64| n.is_finite());
        let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
        let is_word = numbers.is_none();
        let places =
            numbers.unwrap_or_else(|| (0_u32..).take(values.len()).map(f64::from).collect());
        let mut labels: Vec<Label> = places
            .iter()
            .zip(values)
            .map(|(at, value)| Label {
                at: *at,
                name: if is_word { foreign(value, WORD) } else { plain(*at) },
            })
            .collect();
        labels.sort_by(|a, b| a.at.total_cmp(&b.at));
        let least = labels.first().map_or(0.0, |label| label.at);
        let greatest = labels.last().map_or(0.0, |label| label.at);
        let mut axis = Self::between(title, Quantity::Number, least, greatest);
        if is_word {
            (axis.quantity, axis.from, axis.to) = (Quantity::Word, least - 0.5, greatest + 0.5);
        } else if least > 0.0 && greatest >= 2.0 * least {
            let room = (greatest / least).powf(ROOM);
            axis.scale = Scale::Log;
            (axis.from, axis.to) = (least / room, greatest * room);
        } else {
            let room = (axis.to - axis.from) * ROOM;
            (axis.from, axis.to) = (axis.from - room, axis.to + room);
        }
        axis.labels = labels;
        (axis, places)
    }

    /// The value at a fraction of the axis: the inverse of [`Axis::place`].
    pub(crate) fn value(&self, part: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.from + part * (self.to - self.from),
            Scale::Log => self.from * (self.to / self.from).powf(part),
        }
    }

    /// The position of a value: 0 at the start, 1 at the end, clamped.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log => {
                let value = value.max(self.from);
                (value / self.from).ln() / (self.to / self.from).ln()
            }
        };
        part.clamp(0.0, 1.0)
    }

    /// About `about` values at which the axis is labeled, ascending.
    pub(crate) fn ticks(&self, about: f64) -> Vec<f64> {
        if !self.labels.is_empty() {
            return self.labels.iter().map(|label| label.at).collect();
        }
        let rough = (self.to - self.from) / about;
        match (self.quantity, self.scale) {
            (Quantity::Tail, _) => whole_steps(self.to),
            (_, Scale::Log) if self.to >= 12.0 * self.from => log_ticks(self.from, self.to),
            (Quantity::Time, Scale::Linear) => linear_ticks(self.from, self.to, time_step(rough)),
            (Quantity::Whole, Scale::Linear) => {
                linear_ticks(self.from, self.to, above(rough).max(1.0))
            }
            // 1, 2 or 5 times a power of ten.
            (_, Scale::Linear | Scale::Log) => linear_ticks(self.from, self.to, above(rough)),
        }
    }
}

/// About `about` ticks on an axis of seconds, at whole minutes, hours, or days.
pub(crate) fn round_time_ticks(axis: &Axis, about: f64) -> Vec<f64> {
    let step = time_step((axis.to - axis.from) / about).max(60.0);
    linear_ticks(axis.from, axis.to, step)
}

/// The smallest and the largest value above 0; infinity and 0 without any.
fn of_positive(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .filter(|v| v.is_finite() && *v > 0.0)
        .fold((f64::INFINITY, 0.0), |(least, greatest), v| {
            (f64::min(least, v), f64::max(greatest, v))
        })
}

/// 0, 1, 2 … (the positions of the nines), with the median's position inserted.
fn whole_steps(to: f64) -> Vec<f64> {
    let nines = (0..=12).map(f64::from).filter(|at| *at <= to + 1e-9);
    let median = std::f64::consts::LOG10_2;
    let mut ticks: Vec<f64> = nines.collect();
    if to >= median {
        ticks.insert(1, median);
    }
    ticks
}

/// A customary step in seconds, minutes, or hours, of at least `rough` seconds.
fn time_step(rough: f64) -> f64 {
    const STEPS: [f64; 16] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0,
        7_200.0, 14_400.0, 21_600.0,
    ];
    let step = STEPS.into_iter().find(|step| *step >= rough);
    step.unwrap_or_else(|| (rough / 86_400.0).ceil() * 86_400.0)
}

fn linear_ticks(from: f64, to: f64, step: f64) -> Vec<f64> {
    const MOST: u32 = 50;
    let first = (from / step).ceil();
    (0..MOST)
        .map(|n| (first + f64::from(n)) * step)
        .take_while(|tick| *tick <= to + step * 1e-6)
        .collect()
}

/// Powers of ten, with their halves and fifths if there are few of them.
fn log_ticks(from: f64, to: f64) -> Vec<f64> {
    let decades = (to / from).log10();
    let steps: &[f64] = if decades <= 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let mut ticks = Vec::new();
    let mut decade = 10f64.powf(from.log10().floor());
    while decade <= to && ticks.len() < 50 {
        for step in steps {
            let tick = decade * step;
            if tick >= from * (1.0 - 1e-9) && tick <= to * (1.0 + 1e-9) {
                ticks.push(tick);
            }
        }
        decade *= 10.0;
    }
    ticks
}

/// The next of 1, 2, 5, 10 … at or below a value.
fn below(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let found = [5.0, 2.0, 1.0].map(|step| step * decade).into_iter().find(|step| *step <= value);
    found.unwrap_or(decade)
}

/// The next of 1, 2, 5, 10 … at or above a value.
fn above(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let found =
        [1.0, 2.0, 5.0, 10.0].map(|step| step * decade).into_iter().find(|step| *step >= value);
    found.unwrap_or(10.0 * decade)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(axis: &Axis) -> Vec<f64> {
        axis.ticks(6.0)
    }

    #[test]
    fn ticks_are_numbers_that_people_count_in() {
        let rate = Axis::from_zero("rows/s", Quantity::Rate, [431_000.0].into_iter());
        assert_eq!(ticks(&rate), [0.0, 100e3, 200e3, 300e3, 400e3, 500e3]);
        let time = Axis::between("time", Quantity::Time, 0.0, 3_602.0);
        assert_eq!(ticks(&time), [0.0, 900.0, 1_800.0, 2_700.0, 3_600.0]);
        // There are no fractions of nodes.
        let nodes = |quantity| ticks(&Axis::between("nodes", quantity, 0.0, 1.5));
        assert_eq!(nodes(Quantity::Whole), [0.0, 1.0]);
        assert_eq!(nodes(Quantity::Number), [0.0, 0.5, 1.0, 1.5]);
    }

    #[test]
    fn wide_ranges_are_spread_by_their_logarithm_and_narrow_ones_from_zero() {
        let wide = Axis::around("", Quantity::Latency, [3e6, 900e6].into_iter());
        assert_eq!((wide.scale, wide.from, wide.to), (Scale::Log, 2e6, 1e9));
        assert_eq!(ticks(&wide), [1e7, 1e8, 1e9]);
        assert!((wide.place(2e7) - 1.0 / 2.698_97).abs() < 1e-5);
        let narrow = Axis::around("", Quantity::Latency, [3e6, 9e6].into_iter());
        assert_eq!((narrow.scale, narrow.from), (Scale::Linear, 0.0));
    }

    #[test]
    fn an_axis_of_values_is_labeled_only_with_them() {
        let of = |values: &str| {
            let values: Vec<String> = values.split(' ').map(str::to_owned).collect();
            let (axis, places) = Axis::of_values("", &values);
            for place in &places {
                let part = axis.place(*place);
                assert!((0.05..=0.95).contains(&part), "{part}");
                assert!((axis.value(part) - place).abs() < 1e-6 * place.max(1.0));
            }
            let labels: Vec<&str> = axis.labels.iter().map(|of| of.name.as_str()).collect();
            let labels = labels.join(" ");
            format!("{:?} {:?}: {labels} {places:?}", axis.scale, axis.quantity)
        };
        let values = ["4000 500 32000", "10 12 15", "0 1 2", "1s -1 30s", "7"];
        insta::assert_snapshot!(values.map(of).join("\n"), @"
        Log Number: 500 4,000 32,000 [4000.0, 500.0, 32000.0]
        Linear Number: 10 12 15 [10.0, 12.0, 15.0]
        Linear Number: 0 1 2 [0.0, 1.0, 2.0]
        Linear Word: 1s -1 30s [0.0, 1.0, 2.0]
        Linear Number: 7 [7.0]
        ");
    }

    #[test]
    fn an_axis_of_nothing_is_still_one() {
        let empty = Axis::around("", Quantity::Rate, std::iter::empty());
        assert!(empty.to > empty.from && !ticks(&empty).is_empty());
        assert!(empty.place(f64::NAN).is_nan() || empty.place(0.5) <= 1.0);
    }

    #[test]
    fn the_axis_of_percentiles_has_the_median_and_every_nine() {
        let axis = Axis::between("", Quantity::Tail, 0.0, 3.2);
        let median = std::f64::consts::LOG10_2;
        assert_eq!(ticks(&axis), [0.0, median, 1.0, 2.0, 3.0]);
    }
}
