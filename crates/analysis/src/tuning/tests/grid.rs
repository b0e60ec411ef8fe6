//! The search of a grid: a sample, lines along the axes, again while something better is found; and
//! the effect of a budget.

use super::*;

/// A ridge across two axes, and a third axis that matters more than both: the best of a sample lies
/// anywhere along the ridge, and one time along each axis does not lead to its end.
fn ridge(at: &[usize]) -> f64 {
    let [x, y, z] = [0, 1, 2].map(|axis| len_to_f64(at[axis]));
    let (across, along, other) = (x - y, x + y - 16.0, z - 4.0);
    10_000.0 * (-(0.04 * across * across + 0.02 * along * along + other * other)).exp()
}

#[test]
fn a_ridge_is_followed_to_its_end() {
    for seed in 0..20 {
        let mut tune = tune(&[9, 9, 9]);
        tune.policy.seed = seed;
        let outcome = run(&mut tune, counts, ridge);
        assert_eq!(best(&outcome).at, [8, 8, 4], "seed {seed}");
    }
}

/// Five steps that lead up along two axes alternately; next to them, the surface goes down from the
/// first one.
fn stairs(at: &[usize]) -> f64 {
    const STEPS: [[usize; 2]; 6] = [[0, 0], [1, 0], [1, 1], [2, 1], [2, 2], [3, 2]];
    let step = STEPS.iter().position(|step| *step == at[..2]);
    step.map_or(50.0 - len_to_f64(at[0] + at[1]), |step| 100.0 + len_to_f64(step))
        - len_to_f64(at[2])
}

#[test]
fn axes_are_searched_again_while_they_improve_the_best() {
    for seed in 0..20 {
        let mut tune = tune(&[9, 9, 4]);
        tune.policy.seed = seed;
        let outcome = run(&mut tune, counts, stairs);
        let best = best(&outcome);
        assert_eq!(best.at, [3, 2, 0], "seed {seed}");
        assert!(!best.cut_short, "seed {seed}: a third of the grid suffices");
    }
}

#[test]
fn a_line_is_measured_whole_once_and_later_only_near_the_best() {
    // A separate peak, to which no path leads.
    let peak = |at: &[usize]| {
        if at[0] == 25 { 200.0 } else { 100.0 - len_to_f64(at[0]) }
    };
    for seed in 0..5 {
        let mut tune = tune(&[30, 30]);
        tune.policy.seed = seed;
        let outcome = run(&mut tune, counts, |at| peak(at) - 0.1 * len_to_f64(at[1].abs_diff(7)));
        let best = best(&outcome);
        assert_eq!(best.at, [25, 7], "seed {seed}");
        assert!(!best.cut_short, "seed {seed}: a third of the grid suffices");
    }
    let mut tune = tune(&[30, 30]);
    tune.policy.probes_max = 40;
    let outcome = run(&mut tune, counts, peak);
    assert!(best(&outcome).cut_short, "forty do not, and that is said");
}

#[test]
fn halving_uses_the_figures_of_its_time_and_counts_all_measurements_of_a_cell() {
    // So scattered that a second look changes the order.
    for seed in 0..50 {
        let mut noise = Noise::new(seed);
        let mut tune = tune(&[12]);
        tune.policy.seed = seed;
        let outcome = run(&mut tune, counts, |_| 1_000.0 * (0.3 * noise.normal()).exp());
        assert!(!best(&outcome).cut_short);
        let searched = |trial: &&TrialRecord| trial.purpose == TrialPurpose::Search;
        let mut times = [0; 12];
        for trial in tune.trials.iter().filter(searched) {
            times[trial.at[0]] += 1;
        }
        times.sort_unstable();
        assert_eq!(times, [1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3], "seed {seed}");
    }
    // The first of five was ahead by luck.
    let figures = [[120.0, 80.0], [110.0, 110.0], [109.0, 109.0], [1.0; 2], [1.0; 2]];
    let mut times = [0; 5];
    let mut tune = tune(&[5]);
    let outcome = run(&mut tune, counts, |at| {
        times[at[0]] += 1;
        figures[at[0]][usize::from(times[at[0]] > 1)]
    });
    let best = best(&outcome);
    let other = &best.runner_up.as_ref().unwrap().at;
    assert_eq!((&best.at, other), (&vec![1], &vec![2]));
}

/// Runs it to its end; `takes` returns the duration of a trial of each purpose.
fn taking(tune: &mut TuneRecord, takes: impl Fn(TrialPurpose) -> u64) -> TuneOutcome {
    loop {
        match next(tune) {
            TuneStep::End(outcome) => return outcome,
            TuneStep::Measure { at, purpose } => {
                let figure = Some(100.0 + len_to_f64(at.iter().sum()));
                let mut trial = trial(tune, at, purpose, figure);
                trial.took_ns = takes(purpose);
                tune.trials.push(trial);
            }
        }
    }
}

#[test]
fn time_for_the_confirming_round_is_reserved_by_measured_and_not_planned_durations() {
    // Two configurations, and five more of each.
    for configurations in 12..40 {
        let mut tune = tune(&[7, 6, 5]);
        let took = 3 * tune.policy.trial_cost_ns;
        tune.policy.budget_ns = configurations * took;
        let outcome = taking(&mut tune, |_| took);
        let trials = tune.trials.len() as u64;
        assert!(trials <= configurations, "{trials}");
        assert!(best(&outcome).runner_up.is_some());
    }
}

#[test]
fn a_confirming_round_beyond_the_budget_is_not_continued() {
    let mut tune = tune(&[7, 6, 5]);
    tune.policy.budget_ns = 120 * S;
    let outcome = taking(&mut tune, |purpose| match purpose {
        TrialPurpose::Search => 10 * S,
        TrialPurpose::Confirm => 100 * S,
    });
    let TuneOutcome::NoBest(no_best) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(no_best.why, NoBestReason::BudgetSpent);
    assert_eq!(tune.trials.len(), 3);
    assert!(no_best.best_so_far.is_some());
}

/// A third of the grid is valid: the part in which the target rejects nothing.
fn corner(at: &[usize]) -> TrialVerdict {
    if at[0] <= 1 && at[1] <= 3 { TrialVerdict::Counts } else { TrialVerdict::Missed }
}

#[test]
fn sampling_continues_while_no_configuration_is_valid() {
    let lengths = [4, 6];
    let (mut near, mut sampled_on) = (0, 0);
    for seed in 0..200 {
        let mut noise = Noise::new(seed);
        let hill = Hill::drawn(&lengths, &mut noise);
        let mut tune = tune(&lengths);
        tune.policy.seed = seed;
        let outcome = run(&mut tune, corner, |at| hill.at(at) * (1.0 + SPREAD * noise.normal()));
        let valid = grid(&lengths).into_iter().filter(|at| corner(at) == TrialVerdict::Counts);
        let optimum = valid.map(|at| hill.at(&at)).fold(0.0, f64::max);
        let best = best(&outcome);
        assert_eq!(corner(&best.at), TrialVerdict::Counts, "seed {seed}");
        near += u32::from(hill.at(&best.at) >= 0.97 * optimum);
        let left_out = probes_left_out(&tune);
        sampled_on += u32::from(left_out > 0);
        let most = tune.policy.probes_max + left_out;
        assert!(tune.trials.len() <= most as usize, "seed {seed}: {}", tune.trials.len());
    }
    assert!(sampled_on > 30, "{sampled_on} samples of two had no valid configuration");
    assert!(near >= 190, "{near} of 200 near");
}

#[test]
fn no_valid_configuration_is_reported_only_after_the_whole_grid() {
    let why = |tune: &mut TuneRecord, verdict: TrialVerdict| {
        let outcome = run(tune, |_| verdict, |_| 1.0);
        let TuneOutcome::NoBest(no_best) = outcome else {
            panic!("{outcome:?}");
        };
        (no_best.why, tune.trials.len())
    };
    for verdict in [TrialVerdict::Missed, TrialVerdict::Invalid] {
        let mut whole = tune(&[7, 6, 5]);
        assert_eq!(why(&mut whole, verdict), (NoBestReason::NoneCounts, 210));
        let mut short = tune(&[7, 6, 5]);
        short.policy.budget_ns = 100 * short.policy.trial_cost_ns;
        let (why, trials) = why(&mut short, verdict);
        assert_eq!(why, NoBestReason::BudgetSpent);
        assert!((80..=100).contains(&trials), "{trials}");
    }
    // If one run does not report a figure, no other will.
    let mut blind = tune(&[7, 6, 5]);
    assert_eq!(why(&mut blind, TrialVerdict::NotMeasured), (NoBestReason::NoneCounts, 13));
}
