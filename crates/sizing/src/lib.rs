//! Sizing: series of measured or published points, scaling models fitted to them, plausibility warnings, the cluster
//! for a target rate, and tables over an axis.
//!
//! Everything is a pure function of its arguments: no I/O, clock, async, or global randomness.

mod batch_finding;
pub mod cluster;
pub mod growth;
mod guidance;
pub mod plausibility;
pub mod scaling;
pub mod series;
pub mod tables;

pub use batch_finding::batch_too_small;
pub use guidance::Guidance;
pub use tables::{OpRate, by_op};
