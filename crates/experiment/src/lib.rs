//! Experiments, which answer a question with several runs: how much a target sustains, which configuration is best,
//! whether variants differ, and how a cluster grows.
//!
//! One loop executes them all. A policy selects the next trial; the loop executes it as an ordinary run with its own
//! record, in a subdirectory of the experiment, and rewrites the experiment's record after each trial. The policies and
//! the conclusions are in `highwater-analysis`; clusters that are started and resized for an experiment are in
//! `highwater-cluster`. Must not measure or decide.

mod group;
pub mod scale;
mod search;
pub mod shares;
mod trial_loop;
pub mod trials;
mod tune;

pub use group::GroupRun;
pub use scale::SizedTrial;
pub use search::Probe;
pub use trial_loop::{
    BudgetShortfall, Experiment, ExperimentRun, FinishedTrial, UpcomingTrial, check, run,
    run_side_by_side,
};
pub use tune::Configuration;
