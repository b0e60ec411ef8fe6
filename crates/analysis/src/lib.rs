//! Interpretation of records: statistics and judgments, as pure functions.
//!
//! Rates and their uncertainty, bounds on tails, availability, queueing theory, judgments, and the policies of
//! searches, tunings, growths, and groups of runs. Must not read a clock, draw random numbers, or print.

pub mod availability;
mod backlog;
pub mod change_points;
pub mod cluster_changes;
pub mod comparison;
pub mod exceedance;
pub mod findings;
#[cfg(any(test, feature = "fixture"))]
#[expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]
pub mod fixture;
pub mod group;
pub mod growth;
pub mod judge;
pub mod limit;
pub mod memory;
mod merge;
pub mod queueing;
pub mod search;
pub mod sums;
#[cfg(any(test, feature = "fixture"))]
pub mod synthetic;
pub mod telemetry;
pub mod throughput;
pub mod tuning;
mod whole;

pub use judge::{RunEnding, exit_code, judge, judge_imported};
pub use limit::limit;
pub use merge::{MergeError, late_allowed, late_message, merge};
pub use whole::running;
