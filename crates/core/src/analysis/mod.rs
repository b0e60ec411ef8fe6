//! What a record means: statistics and judgments, as pure functions.
//!
//! Rates and their uncertainty, bounds on tails, availability, queueing theory, judgments, the
//! policy of searches. Nothing here reads a clock, draws a random number or prints.

pub mod availability;
pub mod buckets;
pub mod change_points;
pub mod changes;
pub mod comparison;
pub mod exceedance;
pub mod findings;
pub mod guidance;
pub mod judge;
pub mod littles_law;
mod long_run;
pub mod periodicity;
pub mod plausibility;
pub mod queueing;
pub mod recovery;
pub mod scaling;
pub mod search;
pub mod series;
pub mod sizing;
pub mod sums;
#[cfg(test)]
mod synthetic;
pub mod tables;
pub mod telemetry;
pub mod throughput;
pub mod tuning;

pub use judge::{Ended, exit_code, judge};
