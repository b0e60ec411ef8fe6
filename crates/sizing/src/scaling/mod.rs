//! How throughput grows with size: models, their fits, predictions, and what cannot be identified.
//!
//! From points (size, throughput) to a prediction with an interval. Where points come from, and
//! what a prediction is used for, is decided elsewhere.

mod average;
mod curve;
mod fit;
mod forecast;
mod growth;
mod identifiability;
mod normal_equations;
mod pooled;
mod posterior;
mod reach;
mod replicas;
mod shapes;
mod sweep;

#[cfg(test)]
mod tests;

pub use average::{Average, Member};
pub use curve::{Curve, Peak, ScalingModel};
pub use fit::{Fit, Parameter, Weighting, fit};
pub(crate) use forecast::DEVIATIONS;
pub use forecast::{Forecast, LEVEL, Prediction};
pub use growth::{FARTHEST, Growth};
pub use identifiability::{Identifiability, Range};
pub use pooled::{Placement, PooledGrowth};
pub use replicas::{Copies, ReplicaCost};
pub use sweep::{ErrorSource, LEAST_ERROR, MOST_SIZES, Point, Size, Sweep, SweepError};
