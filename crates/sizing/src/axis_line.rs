//! The configurations along one axis of a grid, through its best configuration: what a table or a model of that axis is
//! made of.

use crate::series::SeriesSet;
use crate::series::tuned_points;
use highwater_model::tune::{TrialRecord, TuneOutcome, TuneRecord};

/// The best configuration, or the best so far; absent where none counts.
pub fn base(tune: &TuneRecord) -> Option<&[usize]> {
    match tune.outcome.as_ref()? {
        TuneOutcome::Best(best) => Some(&best.at),
        TuneOutcome::NoBest(no_best) => no_best.best_so_far.as_deref(),
    }
}

/// The configurations that differ from `base` in nothing but the axis at this position, as far as they were
/// measured and count.
pub fn along(tune: &TuneRecord, base: &[usize], axis: usize) -> SeriesSet {
    SeriesSet {
        points: tuned_points(tune, |trial| is_along(trial, base, axis)),
        ..SeriesSet::default()
    }
}

/// Whether a configuration differs from `base` in nothing but the axis at this position.
pub fn is_along(trial: &TrialRecord, base: &[usize], axis: usize) -> bool {
    let mut pairs = trial.at.iter().zip(base).enumerate();
    pairs.all(|(position, (at, base))| position == axis || at == base)
}

#[cfg(test)]
mod tests {
    use highwater_model::plan::Unit;
    use highwater_model::tune::{TrialPurpose, TrialVerdict, TuneAxis, TuneFigure, TunePolicy};

    use super::*;

    /// A tuning over two axes of three values each, before its first trial.
    fn grid() -> TuneRecord {
        let axis = |name: &str| TuneAxis {
            name: name.to_owned(),
            values: (0..3).map(|value| value.to_string()).collect(),
        };
        TuneRecord {
            axes: vec![axis("with.axis0"), axis("with.axis1")],
            by: TuneFigure::Throughput,
            stream: "insert".to_owned(),
            unit: Unit::Rows,
            sessions: None,
            policy: TunePolicy {
                seed: 42,
                confirmations: 5,
                probes_max: 25,
                budget_ns: 1,
                trial_cost_ns: 1,
            },
            definition_hash: String::new(),
            trials: Vec::new(),
            outcome: None,
        }
    }

    #[test]
    fn the_points_along_an_axis_are_the_cells_that_count_and_differ_in_nothing_else() {
        let mut tune = grid();
        for (at, verdict) in [
            ([0, 1], TrialVerdict::Counts),
            ([1, 1], TrialVerdict::Counts),
            ([2, 1], TrialVerdict::Missed),
            ([1, 2], TrialVerdict::Counts),
            ([1, 1], TrialVerdict::Counts),
        ] {
            tune.trials.push(TrialRecord {
                number: u32::try_from(tune.trials.len() + 1).unwrap(),
                purpose: TrialPurpose::Search,
                at: at.to_vec(),
                verdict,
                reasons: Vec::new(),
                throughput_per_s: 100.0,
                figure: Some(100.0),
                showed: None,
                started_at: String::new(),
                took_ns: 1,
                run: String::new(),
            });
        }
        assert_eq!(tuned_points(&tune, |_| true).len(), 4);
        assert_eq!(along(&tune, &[1, 1], 0).points.len(), 3);
        assert_eq!(along(&tune, &[1, 1], 1).points.len(), 3);
    }
}
