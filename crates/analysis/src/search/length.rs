//! How many ops a probe needs, so that what it shows of a percentile counts.

use crate::judge::shares::{OPS_BEYOND_PERCENTILE, ops_to_plan};
use highwater_model::numbers::to_f64;
use highwater_model::plan::Objective;

/// The percentile that needs most ops, and how many: as many as a judgment asks for, and as many
/// more as chance may leave out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpsNeeded {
    /// The percentile, in millionths.
    pub quantile_ppm: u32,
    /// Ops of each op of a stream.
    pub ops: f64,
}

/// What the latency objectives need; absent without one.
pub fn ops_needed(objectives: &[Objective]) -> Option<OpsNeeded> {
    let quantile_ppm = objectives.iter().filter_map(Objective::quantile_ppm).max()?;
    let beyond = f64::from(1_000_000_u32.saturating_sub(quantile_ppm).max(1)) / 1e6;
    let least = to_f64(OPS_BEYOND_PERCENTILE) / beyond;
    Some(OpsNeeded { quantile_ppm, ops: ops_to_plan(least).ceil() })
}
