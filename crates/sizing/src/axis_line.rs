//! The configurations of a grid along one axis through its best configuration, as input for a table or model of that
//! axis.

use crate::series::SeriesSet;
use crate::series::tuned_points;
use highwater_model::tune::{TrialRecord, TuneOutcome, TuneRecord};

/// The best configuration so far; absent if none counts.
pub fn base(tune: &TuneRecord) -> Option<&[usize]> {
    match tune.outcome.as_ref()? {
        TuneOutcome::Best(best) => Some(&best.at),
        TuneOutcome::NoBest(no_best) => no_best.best_so_far.as_deref(),
    }
}

/// The measured configurations that count and differ from `base` only in the axis at this position.
pub fn along(tune: &TuneRecord, base: &[usize], axis: usize) -> SeriesSet {
    SeriesSet {
        points: tuned_points(tune, |trial| is_along(trial, base, axis)),
        ..SeriesSet::default()
    }
}

/// Whether a configuration differs from `base` only in the axis at this position.
pub fn is_along(trial: &TrialRecord, base: &[usize], axis: usize) -> bool {
    let mut pairs = trial.at.iter().zip(base).enumerate();
    pairs.all(|(position, (at, base))| position == axis || at == base)
}

#[cfg(test)]
mod tests {
    use highwater_analysis::fixture::tune::{trial, tune};
    use highwater_model::tune::{TrialPurpose, TrialVerdict};

    use super::*;

    #[test]
    fn the_points_along_an_axis_are_the_cells_that_count_and_differ_in_nothing_else() {
        let mut tune = tune(&[3, 3]);
        for (at, verdict) in [
            ([0, 1], TrialVerdict::Counts),
            ([1, 1], TrialVerdict::Counts),
            ([2, 1], TrialVerdict::Missed),
            ([1, 2], TrialVerdict::Counts),
            ([1, 1], TrialVerdict::Counts),
        ] {
            let purpose = TrialPurpose::Search;
            let mut trial = trial(&tune, at.to_vec(), purpose, Some(100.0));
            trial.verdict = verdict;
            tune.trials.push(trial);
        }
        assert_eq!(tuned_points(&tune, |_| true).len(), 4);
        assert_eq!(along(&tune, &[1, 1], 0).points.len(), 3);
        assert_eq!(along(&tune, &[1, 1], 1).points.len(), 3);
    }
}
