//! The confirming round: which of two configurations is better, and whether that can be determined.

use super::super::state::gain95;
use super::*;

#[test]
fn equal_settings_cannot_be_distinguished_and_different_ones_can() {
    let false_gains = |gain: f64| {
        let mut false_gains = 0;
        for seed in 0..200 {
            let mut noise = Noise::new(seed);
            let mut tune = tune(&[2]);
            tune.policy.seed = seed;
            let outcome = run(&mut tune, counts, |at| {
                let level = if at == [1] { 1.0 + gain } else { 1.0 };
                1_000.0 * level * (1.0 + SPREAD * noise.normal())
            });
            let best = best(&outcome);
            let other = best.runner_up.as_ref().unwrap();
            if other.is_significant {
                assert!(other.gain95[0] > 0.0);
                false_gains += u32::from(gain <= 0.0 || best.at == [1]);
            }
        }
        false_gains
    };
    // Either may be ahead, so the two-sided interval is wrong for one of twenty.
    let equal = false_gains(0.0);
    assert!(equal <= 20, "{equal} of 200 equals were told apart");
    let different = false_gains(0.05);
    assert!(different >= 190, "{different} of 200 were told apart");
    // Without any noise equals are equal.
    let mut tune = tune(&[2]);
    let outcome = run(&mut tune, counts, |_| 1_000.0);
    assert!(!best(&outcome).runner_up.as_ref().unwrap().is_significant);
}

#[test]
fn the_winner_is_who_the_confirming_round_shows_to_be_ahead() {
    // In the search the first configuration is ahead, when they are measured in turn it is the second.
    let mut tune = tune(&[2]);
    let outcome = (0..100).find_map(|number| match next(&tune) {
        TuneStep::End(outcome) => Some(outcome),
        TuneStep::Measure { at, purpose } => {
            let ahead = usize::from(purpose == TrialPurpose::Confirm);
            let figure = if at[0] == ahead { 110.0 } else { 100.0 };
            let figure = figure + 0.1 * len_to_f64(number % 3);
            let trial = trial(&tune, at, purpose, Some(figure));
            tune.trials.push(trial);
            None
        }
    });
    let outcome = outcome.unwrap();
    let best = best(&outcome);
    assert_eq!(best.at, [1]);
    assert_eq!(best.runner_up.as_ref().unwrap().at, [0]);
    assert!((110.0..110.3).contains(&best.figure), "{best:?}");
}

#[test]
fn either_of_the_two_goes_first_by_chance() {
    let mut tune = tune(&[2]);
    tune.policy.confirmations = 20;
    tune.policy.probes_max = 100;
    run(&mut tune, counts, |at| 100.0 + len_to_f64(at[0]));
    let confirming = |trial: &&TrialRecord| trial.purpose == TrialPurpose::Confirm;
    let confirming: Vec<usize> =
        tune.trials.iter().filter(confirming).map(|trial| trial.at[0]).collect();
    let turns: Vec<&[usize]> = confirming.chunks(2).collect();
    assert_eq!(turns.len(), 20);
    assert!(turns.iter().all(|turn| turn[0] + turn[1] == 1), "each once: {turns:?}");
    // For twenty fair coins, the count is outside this range once in 2,500 cases.
    let first = turns.iter().filter(|turn| turn[0] == 1).count();
    assert!((3..=17).contains(&first), "{turns:?}");
}

/// The best of six configurations, and how often it was compared, where confirmations of the configuration at this
/// position have that verdict from the third one on.
fn spoilt(position: usize, verdict: TrialVerdict) -> BestConfiguration {
    let mut tune = tune(&[6]);
    let mut confirmed = 0;
    for _ in 0..100 {
        match next(&tune) {
            TuneStep::End(outcome) => return best(&outcome).clone(),
            TuneStep::Measure { at, purpose } => {
                let confirms = purpose == TrialPurpose::Confirm && at == [position];
                confirmed += u32::from(confirms);
                let figure = Some(100.0 + len_to_f64(at[0]));
                let mut trial = trial(&tune, at, purpose, figure);
                if confirms && confirmed >= 3 {
                    trial.verdict = verdict;
                }
                tune.trials.push(trial);
            }
        }
    }
    panic!("the tuning does not end");
}

#[test]
fn a_configuration_that_fails_once_in_the_confirming_round_has_not_won() {
    for verdict in [TrialVerdict::Missed, TrialVerdict::Invalid] {
        let winner = spoilt(5, verdict);
        assert_eq!((winner.at, winner.runner_up), (vec![4], None));
        let winner = spoilt(4, verdict);
        assert_eq!((winner.at, winner.runner_up), (vec![5], None));
    }
}

#[test]
fn a_gain_has_the_interval_of_unequal_variances() {
    let (even, scattered) =
        ([1_040.0, 1_050.0, 1_045.0, 1_042.0, 1_048.0], [960.0, 1_010.0, 900.0, 1_030.0]);
    // SciPy 1.17, `ttest_ind` of the logarithms with `equal_var=False`; with equal variances the gain
    // would count as significant, at 0.8% to 14.3%.
    let [low, high] = gain95(&even, &scattered).unwrap();
    assert!((low + 0.024_699_15).abs() < 1e-6, "{low}");
    assert!((high - 0.181_006_8).abs() < 1e-6, "{high}");
    assert_eq!(gain95(&even, &scattered[..1]), None);
}

#[test]
fn the_smaller_of_two_indistinguishable_configurations_is_the_best() {
    let outcome_of = |name: &str, second: f64| {
        let mut tune = tune(&[2]);
        tune.axes[0] =
            TuneAxis { name: name.to_owned(), values: vec!["1k".to_owned(), "2k".to_owned()] };
        let mut noise = Noise::new(7);
        run(&mut tune, counts, |at| {
            let level = if at == [1] { second } else { 1.0 };
            1_000.0 * level * (1.0 + SPREAD * noise.normal())
        })
    };
    let at = |outcome: &TuneOutcome| best(outcome).at.clone();
    assert_eq!(at(&outcome_of("batch", 1.001)), [0]);
    assert_eq!(at(&outcome_of("batch", 1.2)), [1], "which is really better");
    // It is unknown which value of a table's setting costs less, so the leading one is kept.
    let outcome = outcome_of("with.batch", 1.001);
    let best = best(&outcome);
    let other = best.runner_up.as_ref().unwrap();
    assert!(best.figure >= other.figure, "{best:?}");
    assert!(!other.is_significant, "{best:?}");
}

/// More in flight makes more rows, until a latency is exceeded: many pairs tie, and the best one is diagonal to them.
#[test]
fn nothing_better_is_left_unmeasured_beside_a_tie() {
    let batches = ["500", "1000", "2000", "4000", "8000"];
    let sessions = ["16", "32", "64", "128"];
    let axis = |name: &str, values: &[&str]| TuneAxis {
        name: name.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    for seed in 0..60 {
        let mut noise = Noise::new(seed);
        let mut tune = tune(&[batches.len(), sessions.len()]);
        (tune.policy.seed, tune.policy.probes_max) = (seed, 200);
        tune.axes = vec![axis("batch", &batches), axis("sessions", &sessions)];
        let in_flight = |at: &[usize]| 8_000.0 * f64::from(1_u32 << (at[0] + at[1]));
        let met = |at: &[usize]| {
            let is_met = in_flight(at) <= 32_000.0;
            if is_met { TrialVerdict::Counts } else { TrialVerdict::Missed }
        };
        let outcome = run(&mut tune, met, |at| {
            let overhead = 1.0 - 0.1 / (1.0 + len_to_f64(at[0]));
            in_flight(at).min(15_000.0) * overhead * (1.0 + 0.001 * noise.normal())
        });
        let best = best(&outcome);
        assert!(!best.cut_short, "seed {seed}");
        assert_eq!(best.at, [2, 0], "seed {seed}: {best:?}");
    }
}

#[test]
fn a_configuration_with_a_lower_confirmed_figure_is_the_best_only_in_a_tie() {
    // From equal ones to 20% apart, measured with up to 15% of noise.
    let (mut ties, mut slower) = (0, 0);
    for seed in 0..600 {
        let mut noise = Noise::new(seed);
        let spread = [0.002, 0.01, 0.15][usize::try_from(seed % 3).unwrap()];
        let apart = 0.2 * noise.uniform() * f64::from(u8::from(seed % 2 == 0));
        let mut tune = tune(&[2]);
        tune.policy.seed = seed;
        tune.axes[0] = TuneAxis {
            name: "batch".to_owned(),
            values: ["500", "2000"].map(str::to_owned).into(),
        };
        let outcome = run(&mut tune, counts, |at| {
            let level = 1_000.0 * (1.0 + apart * len_to_f64(at[0]));
            level * (spread * noise.normal()).exp()
        });
        let best = best(&outcome);
        let other = best.runner_up.as_ref().unwrap();
        let gain = best.figure / other.figure - 1.0;
        if other.is_tied {
            assert_eq!(best.at, [0], "seed {seed}: a tie goes to the smaller value");
            assert!(!other.is_significant && gain.abs() < 0.0101, "seed {seed}: {best:?}");
            ties += 1;
            slower += u32::from(gain < 0.0);
        } else {
            assert!(gain > 0.0, "seed {seed}: {best:?}");
        }
    }
    assert!(ties > 100 && slower > 30, "{ties} ties, {slower} of them measured slower");
}
