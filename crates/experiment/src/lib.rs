//! Questions that take several runs: how much a target sustains, which configuration is best, whether variants
//! differ, and how a cluster grows.
//!
//! One loop runs them all: a policy says what is tried next, the loop runs it as a run like any other, with
//! its own record in a directory below that of the whole, and writes the record of the whole anew after each.
//! What is tried next, and what a trial shows, is decided in `highwater-analysis`. Must not measure, and must
//! not decide. The clusters that may be started and resized for it are in `cluster`.

pub mod cluster;
mod group;
mod progress;
pub mod scale;
mod search;
mod side_by_side;
mod trial_loop;
pub mod trial_maker;
mod trials;
mod tune;

pub use group::GroupRun;
pub use scale::SizedTrial;
pub use search::Probe;
pub use side_by_side::run_side_by_side;
pub use trial_loop::{Experiment, Made, Planned, Side, check, run};
pub use tune::Configuration;
