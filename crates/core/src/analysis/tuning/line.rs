//! The configurations along one axis of a grid, through its best configuration: what a table or a model of that axis is
//! made of.

use crate::analysis::series::SeriesSet;
use crate::analysis::series::tuned_points;
use crate::model::tune::{TrialRecord, TuneOutcome, TuneRecord};

/// The best configuration, or the best so far; absent where none counts.
pub(crate) fn base(tune: &TuneRecord) -> Option<&[usize]> {
    match tune.outcome.as_ref()? {
        TuneOutcome::Best(best) => Some(&best.at),
        TuneOutcome::NoBest(no_best) => no_best.best_so_far.as_deref(),
    }
}

/// The configurations that differ from `base` in nothing but the axis at this position, as far as they were
/// measured and count.
pub(crate) fn along(tune: &TuneRecord, base: &[usize], axis: usize) -> SeriesSet {
    SeriesSet {
        points: tuned_points(tune, |trial| is_along(trial, base, axis)),
        ..SeriesSet::default()
    }
}

/// Whether a configuration differs from `base` in nothing but the axis at this position.
pub(crate) fn is_along(trial: &TrialRecord, base: &[usize], axis: usize) -> bool {
    let mut pairs = trial.at.iter().zip(base).enumerate();
    pairs.all(|(position, (at, base))| position == axis || at == base)
}
