//! How throughput grows with size: models, their fits, predictions, and what cannot be identified.
//!
//! From points (size, throughput) to a prediction with an interval. Must not know the source of
//! points, or the use of a prediction.

mod average;
mod beyond;
mod curve;
mod fit;
mod forecast;
mod sweep;

#[cfg(test)]
mod tests;

pub use average::{Average, Member, Placement, PooledGrowth};
pub use beyond::{Growth, NextSize};
pub use curve::{Curve, Peak, ScalingModel};
pub use fit::{Fit, Identifiability, Parameter, Range, Weighting, fit};
pub use forecast::{
    Copies, Forecast, LEVEL, Prediction, ReplicaCost, assumed_replica_cost, measured_replica_cost,
    replicas_leave,
};
pub(crate) use forecast::{DEVIATIONS, known};
pub use sweep::{ErrorSource, LEAST_ERROR, MOST_SIZES, Point, Size, Sweep, SweepError};
