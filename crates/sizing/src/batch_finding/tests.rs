//! The finding, on both sides of its bound.

use highwater_analysis::fixture;
use highwater_analysis::fixture::tune::{trial, tune};
use highwater_analysis::tuning::conclude;
use highwater_model::tune::{
    NoBest, NoBestReason, TrialPurpose, TuneAxis, TuneOutcome, TuneRecord,
};

use super::*;

/// The code of the finding about a tuning.
fn found(tune: TuneRecord) -> Option<&'static str> {
    batch_too_small(&concluded(tune)).map(|finding| finding.code)
}

fn concluded(tune: TuneRecord) -> ExperimentRecord {
    let mut last = fixture::closed();
    last.streams[0].sessions = 8;
    conclude(last, tune, "tune".to_owned())
}

/// A tuning over batches that each take 10 ms plus 10 µs per row, with 8 sessions.
fn batches(rows: &[u32]) -> TuneRecord {
    let mut tune = tune(&[rows.len()]);
    tune.axes[0] = TuneAxis {
        name: "batch".to_owned(),
        values: rows.iter().map(ToString::to_string).collect(),
    };
    for (position, rows) in rows.iter().enumerate() {
        let mut trial = trial(&tune, vec![position], TrialPurpose::Search, None);
        trial.throughput_per_s = 8.0 * f64::from(*rows) / (0.01 + 1e-5 * f64::from(*rows));
        tune.trials.push(trial);
    }
    tune.outcome = Some(TuneOutcome::NoBest(NoBest {
        why: NoBestReason::BudgetSpent,
        best_so_far: Some(vec![rows.len() - 1]),
    }));
    tune
}

#[test]
fn batches_are_too_small_where_much_of_the_largest_ones_time_is_fixed() {
    assert_eq!(found(batches(&[100, 300, 1_000])), Some("batch_too_small"));
    // 10 of 110 ms.
    assert_eq!(found(batches(&[100, 1_000, 10_000])), None);
    assert_eq!(found(batches(&[100, 300])), None, "no model of two");
    // The line has a fixed quarter of the time, but with the scatter of configurations less than a fifth is certain.
    let sizes: &[u32] = &[100, 300, 1_000, 2_000, 3_000];
    let by_times = |times: [f64; 5]| {
        let mut tune = batches(sizes);
        for (trial, times) in tune.trials.iter_mut().zip(times) {
            trial.throughput_per_s /= times;
        }
        tune
    };
    assert_eq!(found(by_times([1.0; 5])), Some("batch_too_small"));
    let scattered = by_times([1.05, 0.9, 1.1, 0.9, 1.02]);
    assert_eq!(found(scattered), None);
    // From some size on a row costs twice as much, so no single line fits all.
    assert_eq!(found(by_times([1.0, 1.0, 1.0, 1.7, 1.75])), None);
    let said = batch_too_small(&concluded(batches(&[100, 300, 1_000]))).unwrap();
    let half = "50.0% of the time of the largest";
    assert!(said.sentence.starts_with(half), "{said:?}");
    let times = "a batch takes 10.0 ms and 10.0 µs for each row";
    assert_eq!(said.evidence, times);
}
