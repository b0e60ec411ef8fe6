//! Which run comes next, when a group ends, and how it is judged.

use proptest::prelude::*;

use super::*;
use crate::{exit_code, fixture};
use highwater_model::group::{GroupTrial, VariantRecord};
use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue};
use highwater_model::plan::Unit;

const RUN: u64 = 10;

fn group(variants: &[&str], times: u32) -> GroupRecord {
    let variants = variants.iter().map(|name| VariantRecord {
        name: (*name).to_owned(),
        urls: vec!["sim:".to_owned()],
        command: None,
        faults: Vec::new(),
    });
    GroupRecord {
        variants: variants.collect(),
        times,
        stream: "insert".to_owned(),
        unit: Unit::Rows,
        settle_ns: 0,
        budget_ns: None,
        trial_cost_ns: RUN,
        definition_hash: String::new(),
        trials: Vec::new(),
        outcome: None,
    }
}

fn trial(variant: usize, round: u32, ended: RunEnding) -> GroupTrial {
    GroupTrial {
        number: 1,
        variant,
        round,
        ended,
        judgments: None,
        throughput_per_s: 1.0,
        p99_ns: None,
        p99_at_least: false,
        sample: Sample::default(),
        fault: None,
        started_at: String::new(),
        took_ns: RUN,
        run: "probes/001-a".to_owned(),
    }
}

/// Runs a group to the end; `ended` sets how each run ends. Returns the runs and the reason for the end.
fn run(group: &mut GroupRecord, mut ended: impl FnMut() -> RunEnding) -> (String, GroupOutcome) {
    let mut order = String::new();
    loop {
        match next(group) {
            GroupStep::End(outcome) => return (order.trim_end().to_owned(), outcome),
            GroupStep::Run { variant, round } => {
                order += &format!("{}{round} ", group.variants[variant].name);
                group.trials.push(trial(variant, round, ended()));
            }
        }
    }
}

#[test]
fn rounds_alternate_in_direction() {
    for (variants, times, expected) in [
        (&["a"][..], 3, "a1 a2 a3"),
        (&["a", "b"], 3, "a1 b1 b2 a2 a3 b3"),
        (&["a", "b", "c"], 2, "a1 b1 c1 c2 b2 a2"),
    ] {
        let all = run(&mut group(variants, times), || RunEnding::Complete);
        assert_eq!(all, (expected.to_owned(), GroupOutcome::Complete));
    }
}

#[test]
fn a_run_that_lost_its_target_is_repeated_and_two_in_a_row_end_the_group() {
    use RunEnding::{Complete, Interrupted, TargetLost};
    for (ends, expected) in [
        (
            &[Complete, TargetLost, Complete, Complete, Complete][..],
            ("a1 b1 b1 b2 a2", GroupOutcome::Complete),
        ),
        (
            &[TargetLost, Complete, TargetLost, TargetLost],
            ("a1 a1 b1 b1", GroupOutcome::TargetLost),
        ),
        (&[Complete, Interrupted], ("a1 b1", GroupOutcome::Interrupted)),
    ] {
        let mut ends = ends.iter().copied();
        let (order, outcome) = run(&mut group(&["a", "b"], 2), || ends.next().unwrap());
        assert_eq!((order.as_str(), outcome), expected);
    }
}

#[test]
fn the_budget_ends_a_group_before_the_run_that_would_not_fit() {
    for (budget, expected) in [
        (None, ("a1 b1 b2 a2", GroupOutcome::Complete)),
        (Some(4 * RUN), ("a1 b1 b2 a2", GroupOutcome::Complete)),
        (Some(4 * RUN - 1), ("a1 b1 b2", GroupOutcome::BudgetSpent)),
        (Some(RUN - 1), ("", GroupOutcome::BudgetSpent)),
    ] {
        let mut group = group(&["a", "b"], 2);
        group.budget_ns = budget;
        let (order, outcome) = run(&mut group, || RunEnding::Complete);
        assert_eq!((order.as_str(), outcome), expected, "{budget:?}");
    }
}

proptest! {
    /// After any number of runs: no variant is more than one run ahead, and a larger number of runs only adds runs.
    #[test]
    fn every_prefix_of_a_group_is_balanced_and_more_runs_continue_its_order(
        variants in 1_usize..6,
        times in 1_u32..8,
        more in 1_u32..4,
    ) {
        let names = ["a", "b", "c", "d", "e"];
        let mut group = group(&names[..variants], times);
        let (order, _) = run(&mut group, || RunEnding::Complete);
        for made in 0..=group.trials.len() {
            let of = |variant| group.trials[..made].iter().filter(|t| t.variant == variant).count();
            let counts: Vec<usize> = (0..variants).map(of).collect();
            let (least, most) = (counts.iter().min(), counts.iter().max());
            prop_assert!(most.unwrap() - least.unwrap() <= 1, "{counts:?}");
        }
        group.times += more;
        let (added, outcome) = run(&mut group, || RunEnding::Complete);
        let mut whole = super::tests::group(&names[..variants], times + more);
        let (all, _) = run(&mut whole, || RunEnding::Complete);
        prop_assert_eq!(format!("{order} {added}"), all);
        prop_assert_eq!(outcome, GroupOutcome::Complete);
    }
}

/// The exit code of two runs, in the order documented in `docs/reference/exit-codes.md`.
fn of_both(one: u8, other: u8) -> u8 {
    let order = [4, 5, 130, 2, 3, 1, 0];
    let mut order = order.into_iter();
    order.find(|code| [one, other].contains(code)).unwrap()
}

#[test]
fn the_whole_has_the_exit_code_of_the_gravest_of_its_runs() {
    let data = [Data::Clean, Data::Lost, Data::Altered, Data::Unverified, Data::NotChecked];
    let measurement = [Measurement::Valid, Measurement::Invalid, Measurement::Inconclusive];
    let objective = [ObjectiveValue::Met, ObjectiveValue::Missed, ObjectiveValue::NoneSet];
    let ends = [RunEnding::Complete, RunEnding::Interrupted, RunEnding::TargetLost];
    let last = fixture::closed();
    let mut all: Vec<(Judgments, RunEnding)> = Vec::new();
    for (((data, measurement), objective), ended) in data
        .iter()
        .flat_map(|data| measurement.map(|measurement| (data, measurement)))
        .flat_map(|both| objective.map(|objective| (both, objective)))
        .flat_map(|three| ends.map(|ended| (three, ended)))
    {
        let mut judged = last.judgments.clone();
        judged.data.value = *data;
        judged.measurement.value = measurement;
        judged.objective.value = objective;
        all.push((judged, ended));
    }
    for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
        let mut group = group(&["a", "b"], 1);
        for (judged, ended) in [one, other] {
            let mut run = trial(group.trials.len(), 1, *ended);
            run.judgments = Some(judged.clone());
            group.trials.push(run);
        }
        group.outcome = Some(GroupOutcome::Complete);
        let whole = conclude(last.clone(), group, "group".to_owned());
        let code = |(judged, ended): &(Judgments, RunEnding)| exit_code(judged, *ended);
        let found = exit_code(&whole.judgments, RunEnding::from_incidents(&whole.incidents));
        assert_eq!(found, of_both(code(one), code(other)), "{one:?} {other:?}");
    }
}

#[test]
fn an_incomplete_group_is_inconclusive_with_a_reason() {
    for (outcome, codes) in
        [(None, 3), (Some(GroupOutcome::BudgetSpent), 3), (Some(GroupOutcome::Interrupted), 130)]
    {
        let mut group = group(&["a", "b"], 2);
        group.trials.push(trial(0, 1, RunEnding::Complete));
        group.outcome = outcome;
        let whole = conclude(fixture::closed(), group, "group".to_owned());
        let judged = &whole.judgments;
        assert_eq!(judged.measurement.value, Measurement::Inconclusive);
        let why = &judged.measurement.reasons[0];
        assert!(why.sentence().contains("1 of 4 runs"), "{why:?}");
        let ended = RunEnding::from_incidents(&whole.incidents);
        assert_eq!(exit_code(judged, ended), codes, "{outcome:?}");
    }
}

#[test]
fn variants_are_compared_from_the_group_record_alone() {
    let mut group = group(&["old", "new"], 3);
    for round in 1..=3 {
        for (variant, faster) in [(0, 1.0), (1, 0.8)] {
            let mut record = fixture::closed();
            record.streams[0].throughput.rows_per_s *= faster + 0.001 * f64::from(round);
            let seen = seen(&record);
            let mut run = trial(variant, round, RunEnding::Complete);
            run.sample = seen.sample;
            run.throughput_per_s = seen.throughput_per_s;
            group.trials.push(run);
        }
    }
    // A stopped run counts for no variant.
    group.trials.push(trial(1, 4, RunEnding::Interrupted));
    let compared = comparisons(&group);
    let [(1, comparison)] = &compared[..] else {
        panic!("{compared:?}");
    };
    assert_eq!(comparison.runs, [3, 3]);
    assert_eq!(comparison.verdict(), crate::comparison::Verdict::Worse);
    assert!(!comparison.is_guarded());
}
