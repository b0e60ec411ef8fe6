//! How throughput grows with size: models, their fits, predictions, and what cannot be identified.
//!
//! From points (size, throughput) to a prediction with an interval. Where points come from, and
//! what a prediction is used for, is decided elsewhere.

mod average;
mod curve;
mod fit;
mod identifiability;
mod posterior;
mod replicas;
mod shapes;
mod sweep;

#[cfg(test)]
mod tests;

pub use average::{Average, FARTHEST, Forecast, LEVEL, Member, Prediction};
pub use curve::{Curve, Peak, ScalingModel};
pub use fit::{Fit, Parameter, Weighting, fit};
pub use identifiability::{Identifiability, Range};
pub use replicas::{Copies, ReplicaCost};
pub use sweep::{ErrorSource, LEAST_ERROR, MOST_SIZES, Point, Size, Sweep, SweepError};
