//! The growth that is assumed where none was measured: that of published clusters, pooled.
//!
//! Which of them is taken carries no information: the growth of one predicts that of another
//! worse than the median of all does. So there is one exponent, with the spread of theirs; another one
//! where every node holds all rows, because there nodes add reads and no writes.

use super::forecast::{DEVIATIONS, Forecast};
use super::reach::{LEAST_SIDE, Sides};
use super::sweep::Sweep;

/// Which nodes hold a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Some of them.
    #[default]
    Divided,
    /// All of them.
    Everywhere,
}

impl Placement {
    /// By the word that files of figures have for it.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "divided" => Some(Self::Divided),
            "everywhere" => Some(Self::Everywhere),
            _ => None,
        }
    }

    /// Throughput is taken to grow with this power of the nodes: the median of published series by
    /// nodes or shards over steps of at most a doubling.
    pub const fn exponent(self) -> f64 {
        match self {
            Self::Divided => 0.80,
            // The median of three sources, of which one fell and one grew linearly at first.
            Self::Everywhere => 0.45,
        }
    }

    /// How far other systems were from that, at their lower and their upper end.
    const fn spread(self) -> Sides {
        match self {
            Self::Divided => Sides { below: 0.42, above: 0.30 },
            Self::Everywhere => Sides { below: 0.90, above: 0.55 },
        }
    }
}

/// Throughput at measured sizes, and the pooled growth beyond them.
#[derive(Debug, Clone)]
pub struct PooledGrowth {
    /// Logarithms of sizes and throughputs, ascending; at least one.
    points: Vec<(f64, f64)>,
    /// The largest measured size.
    pub(super) largest: f64,
    /// Relative standard deviation of a new measurement.
    pub(super) error: f64,
    placement: Placement,
}

impl PooledGrowth {
    /// From at least one size.
    pub fn new(sweep: &Sweep, placement: Placement) -> Self {
        let sizes = sweep.sizes().iter();
        Self {
            points: sizes.map(|size| (size.size.ln(), size.per_s.ln())).collect(),
            largest: sweep.largest(),
            error: sweep.error(),
            placement,
        }
    }

    /// The power of the nodes that throughput is taken to grow with.
    pub const fn exponent(&self) -> f64 {
        self.placement.exponent()
    }

    /// What a new measurement at a size from 1 would show: between measured sizes what a line in
    /// the logarithms says, outside of them what the pooled exponent does.
    pub fn forecast(&self, size: f64) -> Forecast {
        let log_size = size.ln();
        let side = LEAST_SIDE.max(DEVIATIONS * self.error);
        let after = self.points.partition_point(|point| point.0 < log_size);
        let (nearest, steps) = match (self.points[..after].last(), self.points.get(after)) {
            (Some(below), Some(above)) => {
                let part = (log_size - below.0) / (above.0 - below.0);
                return Forecast::even(below.1 + part * (above.1 - below.1), side);
            }
            (Some(end), None) | (None, Some(end)) => (end, log_size - end.0),
            (None, None) => (&(0.0, 0.0), 0.0),
        };
        let middle = nearest.1 + self.exponent() * steps;
        let spread = self.placement.spread();
        if steps < 0.0 {
            // A smaller exponent is more throughput at smaller sizes.
            let swapped = Sides { below: spread.above, above: spread.below };
            return swapped.at(middle, steps, side);
        }
        spread.at(middle, steps, side)
    }
}
