//! How well predictions hold on series that somebody measured: each series' first sizes predict
//! the later ones, up to twice the largest known size, and the measurements are held against that.
//!
//! Cases and their scores, nothing else: no prediction is made here, and no text.

mod refit;
mod score;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use highwater_sizing::scaling::{
    self, Average, Growth, Placement, PooledGrowth, Prediction, Size, Sweep,
};
use highwater_sizing::series::{self, Point, names};

pub use refit::refitted;
pub use score::Score;

/// Series of which no constant of the method was chosen: nothing here may be fitted to them.
const KEPT_APART: &str = include_str!("../../data/kept-apart.csv");

/// Fewest sizes that growth is predicted from.
const FEWEST: usize = 2;
/// Exponents of the growth over a series' last doubling that part its shapes.
const SATURATING: f64 = 0.5;
const NEAR_LINEAR: f64 = 0.9;

/// A series along one axis, such as nodes or sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledSeries {
    /// Its name.
    pub name: String,
    /// Who published it.
    pub source: String,
    /// What its sizes count.
    pub axis: String,
    /// Which nodes hold a row.
    pub placement: Placement,
    /// The sizes with their throughputs.
    pub sweep: Sweep,
}

/// How a series grew over its last doubling; known only afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// By a power of the size below 0.5.
    Saturating,
    /// Between.
    Sublinear,
    /// By a power of 0.9 or more.
    NearLinear,
}

/// A prediction and what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The series' name.
    pub series: String,
    /// Its source.
    pub source: String,
    /// What its sizes count.
    pub axis: String,
    /// How it turned out.
    pub outcome: Outcome,
    /// Sizes that were known.
    pub known: usize,
    /// The predicted size over the largest known one; above 1.
    pub times: f64,
    /// Whether growth was near-linear as far as it was known.
    pub near_linear: bool,
    /// The prediction.
    pub predicted: Prediction,
    /// Throughput that was measured.
    pub measured: f64,
}

/// The series that are kept apart.
#[expect(clippy::expect_used, reason = "a file of this repository that cannot be read must fail")]
pub fn kept_apart() -> Vec<ScaledSeries> {
    let set = series::read(KEPT_APART).expect("the series that are kept apart");
    ScaledSeries::of(&set.points)
}

impl ScaledSeries {
    /// Series of points that say their size: by `size` and `axis`, else by nodes. Points without
    /// either are left out.
    pub fn of(points: &[Point]) -> Vec<Self> {
        let all: BTreeSet<&str> = points.iter().map(|point| point.series.as_str()).collect();
        let series = |name: &str| {
            let of_name = points.iter().filter(|point| point.series == name);
            let size = |point: &Point| point.number("size").or(point.nodes());
            let sizes = of_name.clone().filter_map(|point| {
                Some(scaling::Point { size: size(point)?, per_s: point.throughput })
            });
            let first = of_name.clone().next()?;
            Some(Self {
                name: name.to_owned(),
                source: first.source.clone(),
                axis: first.word("axis").unwrap_or("nodes").to_owned(),
                placement: placement(first),
                sweep: Sweep::new(&sizes.collect::<Vec<_>>(), None).ok()?,
            })
        };
        all.into_iter().filter_map(series).collect()
    }

    fn outcome(&self) -> Outcome {
        let sizes = self.sweep.sizes();
        let [first, .., last] = sizes else {
            return Outcome::NearLinear;
        };
        let from = (last.size / 2.0).max(first.size);
        let after = sizes.partition_point(|size| size.size < from);
        let (above, below) = (&sizes[after], &sizes[after.saturating_sub(1)]);
        let part = if after == 0 {
            1.0
        } else {
            (from / below.size).ln() / (above.size / below.size).ln()
        };
        let at_from = below.per_s.ln() + part * (above.per_s / below.per_s).ln();
        match (last.per_s.ln() - at_from) / (last.size / from).ln() {
            slope if slope < SATURATING => Outcome::Saturating,
            slope if slope < NEAR_LINEAR => Outcome::Sublinear,
            _ => Outcome::NearLinear,
        }
    }

    /// The predictions of this series, each from its first sizes.
    fn cases(&self) -> Vec<Case> {
        let sizes = self.sweep.sizes();
        let known = FEWEST..sizes.len();
        known
            .flat_map(|known| {
                let growth = Growth::measured(Average::new(&self.sweep.prefix(known)));
                self.held_against(&growth, known, &sizes[known..])
            })
            .collect()
    }

    /// The predictions of the pooled growth, each from a single size.
    fn assumed_cases(&self) -> Vec<Case> {
        let sizes = self.sweep.sizes();
        let of_one = |(at, known): (usize, &Size)| {
            let Size { size, per_s, .. } = *known;
            let sweep = Sweep::new(&[scaling::Point { size, per_s }], None).ok()?;
            let growth = Growth::assumed(PooledGrowth::new(&sweep, self.placement));
            Some(self.held_against(&growth, 1, &sizes[at + 1..]))
        };
        sizes.iter().enumerate().filter_map(of_one).flatten().collect()
    }

    /// What a growth of so many known sizes predicts for later ones, up to twice the largest.
    fn held_against(&self, growth: &Growth, known: usize, later: &[Size]) -> Vec<Case> {
        let near = later.iter().take_while(|of| of.size <= growth.farthest());
        let average = growth.average();
        near.map(|later| Case {
            series: self.name.clone(),
            source: self.source.clone(),
            axis: self.axis.clone(),
            outcome: self.outcome(),
            known,
            times: later.size / growth.largest(),
            near_linear: average.is_some_and(|of| of.is_near_linear_to(later.size)),
            predicted: growth.forecast(later.size).prediction(),
            measured: later.per_s,
        })
        .collect()
    }
}

fn placement(point: &Point) -> Placement {
    let word = point.word(names::PLACEMENT);
    word.and_then(Placement::named).unwrap_or_default()
}

/// Whether sizes along an axis are nodes or shards.
pub fn counts_nodes(axis: &str) -> bool {
    matches!(axis, "nodes" | "shards")
}

/// All predictions from at least two sizes.
pub fn cases(series: &[ScaledSeries]) -> Vec<Case> {
    series.iter().flat_map(ScaledSeries::cases).collect()
}

/// All predictions of the assumed growth: from each size by nodes or shards to the later ones, up
/// to twice as many.
pub fn assumed_cases(series: &[ScaledSeries]) -> Vec<Case> {
    series
        .iter()
        .filter(|series| counts_nodes(&series.axis))
        .flat_map(ScaledSeries::assumed_cases)
        .collect()
}
