//! How throughput grows with size: models, their fits, predictions, and what cannot be identified.
//!
//! From points (size, throughput) to a prediction with an interval. Where points come from, and
//! what a prediction is used for, is decided elsewhere.

mod average;
mod curve;
mod fit;
mod forecast;
mod growth;
mod sweep;

#[cfg(test)]
mod tests;

pub use average::{Average, Member};
pub use average::{Placement, PooledGrowth};
pub use curve::{Curve, Peak, ScalingModel};
pub use fit::{Fit, Parameter, Weighting, fit};
pub use fit::{Identifiability, Range};
pub use forecast::{
    Copies, ReplicaCost, assumed_replica_cost, measured_replica_cost, replicas_leave,
};
pub(crate) use forecast::{DEVIATIONS, known};
pub use forecast::{Forecast, LEVEL, Prediction};
pub use growth::{FARTHEST, Growth};
pub use sweep::{ErrorSource, LEAST_ERROR, MOST_SIZES, Point, Size, Sweep, SweepError};
