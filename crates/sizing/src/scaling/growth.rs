//! How throughput grows with size: as was measured, or as is assumed.
//!
//! One place for both, so that who plans with them need not know which it is.

use super::average::Average;
use super::average::PooledGrowth;
use super::forecast::{DEVIATIONS, Forecast, LEAST_SIDE, Prediction, Sides, known};

/// How far predictions are proven, as a multiple of the largest measured size: every model fits what was measured, and
/// beyond this range they part.
pub const FARTHEST: f64 = 2.0;

/// Where predictions come from.
#[derive(Debug, Clone)]
pub enum Growth {
    /// Several sizes, and the models fitted to them.
    Measured(Average),
    /// The pooled growth of published clusters, from the sizes that there are.
    Assumed(PooledGrowth),
}

impl Growth {
    /// What a new measurement at a size from 1 would show. Beyond [`Self::farthest`] growth is taken to continue as it
    /// is predicted for the doubling up to there, with the same width: no models agree there, and nothing is proven.
    pub fn forecast(&self, size: f64) -> Forecast {
        let farthest = self.farthest();
        if size <= farthest {
            return self.proven(size);
        }
        let at_farthest = self.proven(farthest);
        let factor = (size / farthest).powf(self.last_power());
        at_farthest.scaled(known(factor))
    }

    fn proven(&self, size: f64) -> Forecast {
        match self {
            Self::Measured(average) => average.forecast(size),
            Self::Assumed(pooled) => pooled.forecast(size),
        }
    }

    /// The power of the size with which throughput is predicted to grow from the largest measured size to the farthest
    /// proven one: 0 (it stays or falls) to 1 (linear).
    fn last_power(&self) -> f64 {
        match self {
            Self::Measured(average) => average.growth_to(self.farthest()),
            Self::Assumed(pooled) => pooled.exponent(),
        }
    }

    /// The models, where growth was measured.
    pub fn average(&self) -> Option<&Average> {
        match self {
            Self::Measured(average) => Some(average),
            Self::Assumed(_) => None,
        }
    }

    /// Relative standard deviation that a new measurement is taken to have.
    pub fn error(&self) -> f64 {
        match self {
            Self::Measured(average) => average.error,
            Self::Assumed(pooled) => pooled.error,
        }
    }

    /// The largest measured size.
    pub fn largest(&self) -> f64 {
        match self {
            Self::Measured(average) => average.largest,
            Self::Assumed(pooled) => pooled.largest,
        }
    }

    /// The interval that a prediction for `size` would have, as a multiple of its middle, once a cluster of `measured`
    /// nodes, at least half of that, was measured and had what is predicted for it.
    pub fn interval_after(&self, measured: f64, size: f64) -> Prediction {
        let side = LEAST_SIDE.max(DEVIATIONS * self.error());
        Sides::of(self.last_power()).at(0.0, (size / measured).ln(), side).prediction()
    }

    /// The largest size for which a prediction has an interval.
    pub fn farthest(&self) -> f64 {
        FARTHEST * self.largest()
    }
}
