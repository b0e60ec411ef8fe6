//! How throughput grows with size: models, their fits, predictions, and what cannot be told.
//!
//! From points (size, throughput) to a prediction with an interval. Where points come from, and
//! what a prediction is used for, is decided elsewhere.

mod average;
mod belief;
mod curve;
mod fit;
mod replicas;
mod shapes;
mod sweep;
mod told;

#[cfg(test)]
mod tests;

pub use average::{Average, FARTHEST, Forecast, LEVEL, Member, Prediction};
pub use curve::{Curve, Peak, ScalingModel};
pub use fit::{Fit, Parameter, Weighting, fit};
pub use replicas::{Copies, ReplicaCost};
pub use sweep::{ErrorSource, LEAST_ERROR, MOST_SIZES, Point, Size, Sweep, SweepError};
pub use told::{Range, Told};
