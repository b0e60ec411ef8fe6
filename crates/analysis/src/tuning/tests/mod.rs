//! The policy against response surfaces whose optimum is planted, with noise.
//!
//! A surface is a function from a configuration to its true figure; results of probes are sampled around it
//! from a seed. So hundreds of tunings take a moment. Whole runs on the simulated cluster are tests of the
//! command line.

mod concluding;
mod confirming;
mod grid;

use highwater_model::numbers::len_to_f64;
use highwater_model::target_telemetry::names;
use highwater_model::tune::{BestConfiguration, TrialPurpose, TrialRecord, TuneAxis, TuneFigure};

use super::*;
use crate::fixture::tune::trial;
use crate::fixture::{self, S};
use crate::judge::measured_streams;
use crate::synthetic::Noise;

/// Relative spread of a probe's results.
const SPREAD: f64 = 0.01;

fn tune(lengths: &[usize]) -> TuneRecord {
    let mut tune = fixture::tune::tune(lengths);
    tune.policy.probes_max = probes_most(&tune.axes, 5);
    tune
}

/// The loop that a caller runs.
fn run(
    tune: &mut TuneRecord,
    mut probe: impl FnMut(&[usize]) -> TrialVerdict,
    mut figure: impl FnMut(&[usize]) -> f64,
) -> TuneOutcome {
    // A policy that never ends must fail, not hang.
    for _ in 0..5_000 {
        match next(tune) {
            TuneStep::End(outcome) => return outcome,
            TuneStep::Measure { at, purpose } => {
                let verdict = probe(&at);
                let shown = (verdict == TrialVerdict::Counts).then(|| figure(&at));
                let mut trial = trial(tune, at, purpose, shown);
                trial.verdict = verdict;
                tune.trials.push(trial);
            }
        }
    }
    panic!("the tuning does not end");
}

fn counts(_: &[usize]) -> TrialVerdict {
    TrialVerdict::Counts
}

#[track_caller]
fn best(outcome: &TuneOutcome) -> &BestConfiguration {
    match outcome {
        TuneOutcome::Best(best) => best,
        TuneOutcome::NoBest(no_best) => panic!("{no_best:?}"),
    }
}

/// A hill with its top anywhere, as steep as drawn, and turned: the best value of an axis depends on
/// the others.
struct Hill {
    top: Vec<f64>,
    steep: Vec<f64>,
    turn: f64,
}

impl Hill {
    fn drawn(lengths: &[usize], noise: &mut Noise) -> Self {
        Self {
            top: lengths.iter().map(|length| noise.uniform() * len_to_f64(length - 1)).collect(),
            steep: lengths.iter().map(|_| 0.02 + 0.2 * noise.uniform()).collect(),
            turn: 0.4 * noise.uniform() - 0.2,
        }
    }

    fn at(&self, trial: &[usize]) -> f64 {
        let far: Vec<f64> =
            trial.iter().zip(&self.top).map(|(at, top)| len_to_f64(*at) - top).collect();
        let own: f64 = far.iter().zip(&self.steep).map(|(far, steep)| steep * far * far).sum();
        let both: f64 = far.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let least = self.steep.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        // Turned by less than it is steep, so that it stays a hill.
        10_000.0 * (-(own + self.turn * least * both)).exp()
    }
}

/// Every combination.
fn grid(lengths: &[usize]) -> Vec<Vec<usize>> {
    lengths.iter().fold(vec![Vec::new()], |trials, length| {
        trials
            .iter()
            .flat_map(|trial: &Vec<usize>| (0..*length).map(move |at| [&trial[..], &[at]].concat()))
            .collect()
    })
}

/// How many of a hundred hills on such a grid are found to within 3%, and the most probes it took.
fn hunted(lengths: &[usize]) -> (u32, usize) {
    let (mut near, mut most) = (0, 0);
    let all = grid(lengths);
    for seed in 0..100 {
        let mut noise = Noise::new(seed);
        let hill = Hill::drawn(lengths, &mut noise);
        let mut tune = tune(lengths);
        tune.policy.seed = seed;
        let outcome = run(&mut tune, counts, |at| hill.at(at) * (1.0 + SPREAD * noise.normal()));
        let optimum = all.iter().map(|at| hill.at(at)).fold(0.0, f64::max);
        let reached = hill.at(&best(&outcome).at);
        near += u32::from(reached >= 0.97 * optimum);
        most = most.max(tune.trials.len());
    }
    (near, most)
}

#[test]
fn the_best_of_a_large_grid_is_found_with_a_third_of_its_probes() {
    for lengths in [&[7, 6, 5][..], &[9, 5, 4], &[5, 5, 3, 3]] {
        let (near, most) = hunted(lengths);
        let trials: usize = lengths.iter().product();
        assert!(3 * most <= trials, "{most} of {trials}");
        assert!(near >= 95, "{near} of 100 near, {lengths:?}");
    }
}

#[test]
fn the_best_of_a_small_grid_is_found_within_the_announced_probes() {
    for lengths in [
        &[2, 2][..],
        &[9],
        &[3, 3],
        &[3, 4],
        &[4, 4],
        &[2, 8],
        &[4, 6],
        &[5, 5],
        &[3, 3, 3],
        &[7, 5],
        &[7, 7],
        &[4, 4, 4],
        &[10, 10],
    ] {
        let (near, most) = hunted(lengths);
        let said = probes_most(&tune(lengths).axes, 5);
        assert!(most <= said as usize, "{most} of {said}, {lengths:?}");
        assert!(near >= 95, "{near} of 100 near, {lengths:?}");
    }
}

#[test]
fn each_cell_of_a_small_grid_is_looked_at() {
    // However many values a single axis has, nothing between two of them foretells the third.
    for lengths in [&[9][..], &[3, 4], &[40]] {
        let mut tune = tune(lengths);
        let outcome = run(&mut tune, counts, |at| 100.0 + len_to_f64(at.iter().sum()));
        assert!(!best(&outcome).cut_short, "the probes suffice");
        assert_eq!(tune.trials.len(), tune.policy.probes_max as usize);
        for at in grid(lengths) {
            assert!(tune.trials.iter().any(|trial| trial.at == at), "{at:?}");
        }
    }
}

#[test]
fn a_lower_cost_per_row_is_better() {
    let mut tune = tune(&[6]);
    tune.by = TuneFigure::DiskBytesPerRow;
    let outcome = run(&mut tune, counts, |at| 100.0 + len_to_f64(at[0].abs_diff(2)));
    let best = best(&outcome);
    assert_eq!(best.at, [2]);
    assert!((best.figure - 100.0).abs() < 1e-6, "{best:?}");
}

#[test]
fn a_cell_that_does_not_count_cannot_win_and_is_not_measured_again() {
    let mut tune = tune(&[6]);
    let verdict = |at: &[usize]| match at[0] {
        5 => TrialVerdict::Missed,
        4 => TrialVerdict::Invalid,
        _ => TrialVerdict::Counts,
    };
    let outcome = run(&mut tune, verdict, |at| 100.0 + len_to_f64(at[0]));
    assert_eq!(best(&outcome).at, [3]);
    for value in [4, 5] {
        let times = tune.trials.iter().filter(|trial| trial.at == [value]).count();
        assert_eq!(times, 1);
    }
    let mut tune = self::tune(&[6]);
    let outcome = run(&mut tune, |_| TrialVerdict::NotMeasured, |_| 1.0);
    assert!(matches!(outcome, TuneOutcome::NoBest(ref no) if no.why == NoBestReason::NoneCounts));
    assert_eq!(tune.trials.len(), 6, "each once");
}

#[test]
fn an_ended_tuning_keeps_the_best_so_far() {
    for (verdict, times, why) in [
        (TrialVerdict::Interrupted, 1, NoBestReason::Interrupted),
        (TrialVerdict::WrongData, 1, NoBestReason::WrongData),
        (TrialVerdict::TargetLost, 2, NoBestReason::TargetLost),
    ] {
        let mut tune = tune(&[8]);
        let mut made = 0;
        let outcome = run(
            &mut tune,
            |_| {
                made += 1;
                if made > 5 { verdict } else { TrialVerdict::Counts }
            },
            |at| 100.0 + len_to_f64(at[0]),
        );
        let TuneOutcome::NoBest(no_best) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!((no_best.why, tune.trials.len()), (why, 5 + times));
        let most = tune.trials[..5].iter().map(|trial| trial.at[0]).max().unwrap();
        assert_eq!(no_best.best_so_far, Some(vec![most]));
    }
}

#[test]
fn a_budget_is_kept_and_ends_with_a_confirming_round_or_a_note() {
    for seconds in 1..60 {
        let mut tune = tune(&[7, 6, 5]);
        tune.policy.budget_ns = seconds * 20 * S;
        let outcome = run(&mut tune, counts, |at| 100.0 + len_to_f64(at.iter().sum()));
        let spent: u64 = tune.trials.iter().map(|trial| trial.took_ns).sum();
        assert!(spent <= tune.policy.budget_ns, "{spent}");
        match outcome {
            TuneOutcome::Best(best) => assert!(best.runner_up.is_some()),
            TuneOutcome::NoBest(no_best) => {
                // Two configurations, and five more of each, are a tuning.
                assert!(seconds < 6, "{seconds}: {no_best:?}");
                assert!(matches!(
                    no_best.why,
                    NoBestReason::BudgetSpent | NoBestReason::NoneCounts
                ));
            }
        }
    }
}

#[test]
fn a_resumed_tuning_continues_and_its_orders_follow_the_seed() {
    let figure =
        |at: &[usize]| 1_000.0 - len_to_f64(at[0].abs_diff(3)) - len_to_f64(at[1].abs_diff(4));
    let course = |seed| {
        let mut tune = tune(&[8, 8]);
        tune.policy.seed = seed;
        run(&mut tune, counts, figure);
        tune
    };
    let whole = course(1);
    for made in 0..whole.trials.len() {
        let mut left = whole.clone();
        left.trials.truncate(made);
        let TuneStep::Measure { at, purpose } = next(&left) else {
            panic!("ended early");
        };
        assert_eq!(at, whole.trials[made].at);
        assert_eq!(purpose, whole.trials[made].purpose);
    }
    let order = |tune: &TuneRecord| tune.trials.iter().map(|c| c.at.clone()).collect::<Vec<_>>();
    assert_ne!(order(&whole), order(&course(2)));
    let confirming = whole.trials.iter().filter(|c| c.purpose == TrialPurpose::Confirm);
    assert_eq!(confirming.count(), 10, "five of each");
}

#[test]
fn cpu_per_row_is_that_of_the_embedded_threads_or_the_busy_share_of_all_cores() {
    let mut record = fixture::closed();
    let rows: u64 = record.results.iter().map(|r| r.rows.acknowledged).sum();
    record.target.embedded = true;
    for client in &mut record.clients {
        client.embedded_cpu_seconds = 0.0;
    }
    record.clients[0].embedded_cpu_seconds = 3.0;
    let shown = |record: &_| measured(TuneFigure::ServerCpuPerRow, record).figure;
    let expected = 3.0 / highwater_model::display::ratio(rows, 1);
    assert!((shown(&record).unwrap() / expected - 1.0).abs() < 1e-9);
    // The CPU of this process is not the server's if the server is a separate process.
    record.target.embedded = false;
    assert_eq!(shown(&record), None);
    fixture::add_telemetry(&mut record);
    assert_eq!(shown(&record), None, "no number of cores");
    record.target.settings.insert("cores".to_owned(), "8".to_owned());
    // Two nodes of eight cores each, half and a quarter of them busy.
    let telemetry = record.target_telemetry.as_mut().unwrap();
    let nodes = telemetry.series.iter_mut().filter(|series| series.name == names::CPU_BUSY);
    for (series, busy) in nodes.zip([0.5, 0.25]) {
        series.values.fill(Some(busy));
    }
    let streams = measured_streams(&record);
    let rows_per_s: f64 = streams.iter().map(|s| s.stream.throughput.rows_per_s).sum();
    let expected = 0.75 * 8.0 / rows_per_s;
    assert!((shown(&record).unwrap() / expected - 1.0).abs() < 1e-9);
    // The CPU use reported by another source is not the target's.
    for series in &mut record.target_telemetry.as_mut().unwrap().series {
        "host".clone_into(&mut series.source);
    }
    assert_eq!(shown(&record), None);
}
