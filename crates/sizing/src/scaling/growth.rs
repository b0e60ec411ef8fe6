//! How throughput grows with size: as was measured, or as is assumed.
//!
//! One place for both, so that who plans with them need not know which it is.

use super::average::Average;
use super::average::PooledGrowth;
use super::forecast::Forecast;

/// A prediction is refused beyond so many times the largest measured size: every model fits what
/// was measured, and beyond the range they part.
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
    /// What a new measurement at a size from 1 would show.
    pub fn forecast(&self, size: f64) -> Forecast {
        match self {
            Self::Measured(average) => average.forecast(size),
            Self::Assumed(pooled) => pooled.forecast(size),
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

    /// The largest size that is predicted without being asked to extrapolate.
    pub fn farthest(&self) -> f64 {
        FARTHEST * self.largest()
    }
}
