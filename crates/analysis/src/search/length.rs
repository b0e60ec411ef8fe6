//! The number of ops that a probe needs for judging a percentile, and the accuracy of a mark from the number of ops of
//! a whole search.

use crate::judge::shares::{OPS_BEYOND_PERCENTILE, ops_to_plan};
use highwater_model::numbers::to_f64;
use highwater_model::plan::Objective;
use highwater_model::search::SearchRecord;
use highwater_model::units::Nanos;

/// With this many ops in the budget at the mark, nine of ten marks lie between this fraction below the highest
/// sustained rate and that fraction above it; for other numbers of ops, the fractions scale with these powers.
/// Fitted to the clusters of `docs/concepts/accuracy.md`, with separate seeds.
const TOLERANCE_OPS: f64 = 160_000.0;
const BELOW: (f64, f64) = (0.24, 0.2);
const ABOVE: (f64, f64) = (0.06, 0.7);
/// From this many ops per second on, these fractions apply.
const MANY_PER_S: f64 = 5_000.0;
const LEAST_BELOW: f64 = 0.03;
const LEAST_ABOVE: f64 = 0.02;
/// With fewer ops than this, a search often has no mark.
pub const FEWEST_OPS: f64 = 80_000.0;
/// With this many ops, three of four marks are within 5%.
pub const OPS_OF_FIVE_PERCENT: f64 = 800_000.0;

/// The percentile that needs most ops, and their number: that of the judgment, plus an allowance
/// for random variation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpsNeeded {
    /// The percentile, in millionths.
    pub quantile_ppm: u32,
    /// Number of executions of each op of a stream.
    pub ops: f64,
}

/// The number that the latency objectives need; absent without one.
pub fn ops_needed(objectives: &[Objective]) -> Option<OpsNeeded> {
    let quantile_ppm = objectives.iter().filter_map(Objective::quantile_ppm).max()?;
    let beyond = f64::from(1_000_000_u32.saturating_sub(quantile_ppm).max(1)) / 1e6;
    let least = to_f64(OPS_BEYOND_PERCENTILE) / beyond;
    Some(OpsNeeded { quantile_ppm, ops: ops_to_plan(least).ceil() })
}

/// Distance of a mark from the highest sustained rate in nine of ten searches, as fractions of that rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarkTolerance {
    /// At most this far below it.
    pub below: f64,
    /// At most this far above it.
    pub above: f64,
}

/// From the op rate at the mark and the budget; absent if the budget has too few ops for a claim.
pub fn mark_tolerance(ops_per_s: f64, budget: Nanos) -> Option<MarkTolerance> {
    if ops_per_s >= MANY_PER_S {
        return Some(MarkTolerance { below: LEAST_BELOW, above: LEAST_ABOVE });
    }
    let ops = ops_per_s * budget.as_secs_f64();
    (ops >= FEWEST_OPS).then(|| of_few_ops(ops))
}

/// The same for any number of ops; below [`FEWEST_OPS`] it is not claimed.
pub(super) fn of_few_ops(ops: f64) -> MarkTolerance {
    let by = |(of, power): (f64, f64)| of * (TOLERANCE_OPS / ops).powf(power);
    MarkTolerance { below: by(BELOW).max(LEAST_BELOW), above: by(ABOVE).max(LEAST_ABOVE) }
}

/// Ops per second of a search at this many units per second, and the resulting accuracy of its mark; absent if no
/// percentile determines the units of an op.
pub fn tolerance_at(search: &SearchRecord, units_per_s: f64) -> Option<(f64, MarkTolerance)> {
    ops_needed(&search.objective.stated)?;
    let per_s = units_per_s / units_per_op(search);
    Some((per_s, mark_tolerance(per_s, Nanos(search.policy.budget_ns?))?))
}

/// Units per op of a search, from its percentiles; otherwise assumed to be one.
pub(super) fn units_per_op(search: &SearchRecord) -> f64 {
    let of = ops_needed(&search.objective.stated);
    of.map_or(1.0, |needed| (search.policy.units_needed / needed.ops).max(1.0))
}
