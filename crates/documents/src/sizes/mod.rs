//! Accuracy of predictions on measured series: the first sizes of each series predict the later
//! ones, up to twice the largest known size, and predictions are compared with the measurements.
//!
//! Contains cases and their scores. Must not make a prediction, or text.

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

/// Validation series, which were not used for choosing any constant of the method: nothing may be
/// fitted to them.
const KEPT_APART: &str = include_str!("../../data/kept-apart.csv");

/// Minimum number of sizes from which growth is predicted.
const FEWEST: usize = 2;
/// Boundaries between the shapes of growth: exponents over a series' last doubling.
const SATURATING: f64 = 0.5;
const NEAR_LINEAR: f64 = 0.9;

/// A series along one axis, such as nodes or sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledSeries {
    /// Its name.
    pub name: String,
    /// Its publisher.
    pub source: String,
    /// What its sizes count.
    pub axis: String,
    /// The nodes that hold a row.
    pub placement: Placement,
    /// The sizes with their throughputs.
    pub sweep: Sweep,
}

/// The growth of a series over its last doubling, which is known only afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With an exponent of the size below 0.5.
    Saturating,
    /// With an exponent in between.
    Sublinear,
    /// With an exponent of 0.9 or more.
    NearLinear,
}

/// A prediction and the measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The series' name.
    pub series: String,
    /// Its source.
    pub source: String,
    /// What its sizes count.
    pub axis: String,
    /// The actual shape of the growth.
    pub outcome: Outcome,
    /// Number of known sizes.
    pub known: usize,
    /// The predicted size over the largest known one; above 1.
    pub times: f64,
    /// Whether the known growth was near-linear.
    pub near_linear: bool,
    /// The prediction.
    pub predicted: Prediction,
    /// The measured throughput.
    pub measured: f64,
}

/// The validation series.
#[expect(clippy::expect_used, reason = "a file of this repository that cannot be read must fail")]
pub fn kept_apart() -> Vec<ScaledSeries> {
    let set = series::read(KEPT_APART).expect("the series that are kept apart");
    ScaledSeries::from_points(&set.points)
}

impl ScaledSeries {
    /// Series of points that state their size: as `size` and `axis`, or else as nodes. Points with
    /// neither are omitted.
    pub fn from_points(points: &[Point]) -> Vec<Self> {
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

    /// The predictions of a growth with this many known sizes for later ones, up to twice the
    /// largest.
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
