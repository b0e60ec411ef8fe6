//! Sizing: series of measured or published points, scaling models fitted to them, plausibility warnings, the cluster
//! for a target rate, and tables over an axis.
//!
//! Everything is a pure function of its arguments: no I/O, clock, async, or global randomness.

pub mod axis_line;
mod batch_finding;
mod by_op;
pub mod cluster;
pub mod growth;
mod guidance;
pub mod plausibility;
pub mod scaling;
pub mod series;
pub mod tables;

pub use batch_finding::batch_too_small;
pub use by_op::{OpRate, by_op};
pub use guidance::Guidance;
