//! Which size comes next, when a growth ends, drift, and judgments.

use std::collections::BTreeMap;

use proptest::prelude::*;

use highwater_model::judgment::{Measurement, ObjectiveValue, ReasonCode, RunEnding};
use highwater_model::record::{ExperimentRecord, Incident, IncidentKind, RecordRef, RunRecord};
use highwater_model::scale::{ScaleEach, SizeFigures};
use highwater_model::search::{
    ProbePurpose, ProbeRecord, ProbeVerdict, SearchOutcome, SearchRecord,
};
use highwater_model::tune::{
    BestConfiguration, NoBest, NoBestReason, RunObservations, TrialPurpose, TrialVerdict,
    TuneOutcome, TuneRecord,
};

use super::*;
use crate::fixture::growth::{TRIAL, add, growth, of_verdict, size};
use crate::{exit_code, fixture};

/// Adds a node measured alone.
pub(super) fn add_alone(scale: &mut ScaleRecord, node: u32, figures: SizeFigures) {
    add(scale, 1, ScalePurpose::Alone, figures);
    let last = scale.trials.pop();
    scale.alone.trials.extend(last.map(|trial| ScaleTrial { node: Some(node), ..trial }));
}

/// Measures to the end; `shows` sets the figures of each size. Returns the sizes measured and the reason for the end.
fn grow(
    scale: &mut ScaleRecord,
    mut shows: impl FnMut(u32) -> (SizeVerdict, f64),
) -> (String, ScaleOutcome) {
    let mut order = String::new();
    loop {
        let (size, purpose) = match next(scale) {
            GrowthStep::Measure { size, purpose } => (size, purpose),
            GrowthStep::Alone(node) => {
                order += &format!("n{node} ");
                let (verdict, per_s) = shows(1);
                add_alone(scale, node, of_verdict(verdict, per_s, None));
                continue;
            }
            GrowthStep::End(outcome) => {
                scale.outcome = Some(outcome);
                return (order.trim_end().to_owned(), outcome);
            }
        };
        let again = if purpose == ScalePurpose::Again { "=" } else { "" };
        order += &format!("{}{again} ", size.nodes);
        let (verdict, per_s) = shows(size.nodes);
        add(scale, size.nodes, purpose, of_verdict(verdict, per_s, None));
    }
}

fn linear(nodes: u32) -> (SizeVerdict, f64) {
    (SizeVerdict::Counts, 100.0 * f64::from(nodes))
}

#[track_caller]
fn check(
    scale: &mut ScaleRecord,
    shows: &[(u32, SizeVerdict)],
    order: &str,
    outcome: ScaleOutcome,
) {
    let mut left = shows.to_vec();
    let shown = grow(scale, |nodes| {
        let first = left.iter().position(|(of, _)| *of == nodes);
        let verdict = first.map(|at| left.remove(at).1);
        (verdict.unwrap_or(SizeVerdict::Counts), linear(nodes).1)
    });
    assert_eq!(shown, (order.to_owned(), outcome));
}

#[test]
fn sizes_ascend_and_the_first_one_is_repeated() {
    use ScaleOutcome::Complete;
    check(&mut growth(&[1, 2, 3]), &[], "1 2 3 1=", Complete);
    check(&mut growth(&[3, 6, 12, 24]), &[], "3 6 12 24 3=", Complete);
}

#[test]
fn the_first_size_that_reaches_the_rate_is_the_last() {
    let mut scale = growth(&[1, 2, 3, 4]);
    scale.until_per_s = Some(200.0);
    check(&mut scale, &[], "1 2 1=", ScaleOutcome::Reached);
    assert_eq!(reached(&scale).unwrap().size.nodes, 2);
    // A size that missed its objective does not reach the rate.
    let mut scale = growth(&[1, 2, 3, 4]);
    scale.until_per_s = Some(200.0);
    let missed = [(2, SizeVerdict::Missed)];
    check(&mut scale, &missed, "1 2 3 1=", ScaleOutcome::Reached);
    let mut scale = growth(&[1, 2]);
    scale.until_per_s = Some(1e9);
    check(&mut scale, &[], "1 2 1=", ScaleOutcome::Complete);
    assert_eq!(reached(&scale), None);
}

#[test]
fn a_size_without_a_figure_is_skipped_and_the_first_that_counts_is_repeated() {
    use SizeVerdict::{Counts, NotMeasured, TargetLost};
    let of = |nodes: &[u32], shows: &[(u32, SizeVerdict)], order: &str| {
        check(&mut growth(nodes), shows, order, ScaleOutcome::Complete);
    };
    of(&[1, 2, 3], &[(1, NotMeasured)], "1 2 3 2=");
    // A single size shows no growth.
    of(&[1, 2, 3], &[(1, NotMeasured), (3, NotMeasured)], "1 2 3");
    // A size that lost its target is measured again, also as a repeat.
    of(&[1, 2], &[(2, TargetLost)], "1 2 2 1=");
    of(&[1, 2], &[(1, Counts), (1, TargetLost)], "1 2 1= 1=");
}

#[test]
fn early_ends_of_a_growth() {
    use SizeVerdict::{ClientCeiling, Interrupted, TargetLost, WrongData};
    for (shows, order, outcome) in [
        (&[(2, TargetLost), (2, TargetLost)][..], "1 2 2", ScaleOutcome::TargetLost),
        (&[(2, WrongData)], "1 2", ScaleOutcome::WrongData),
        (&[(2, Interrupted)], "1 2", ScaleOutcome::Interrupted),
        // A larger size would saturate the load generator again; but the repeat still shows drift.
        (&[(3, ClientCeiling)], "1 2 3 1=", ScaleOutcome::ClientCeiling),
        (&[(2, ClientCeiling)], "1 2", ScaleOutcome::ClientCeiling),
    ] {
        check(&mut growth(&[1, 2, 3, 4]), shows, order, outcome);
    }
}

#[test]
fn the_budget_reserves_time_to_repeat_the_first_size() {
    for (budget, order, outcome) in [
        (4 * TRIAL, "1 2 3 1=", ScaleOutcome::Complete),
        (4 * TRIAL - 1, "1 2 1=", ScaleOutcome::BudgetSpent),
        (2 * TRIAL, "1", ScaleOutcome::BudgetSpent),
        (TRIAL, "1", ScaleOutcome::BudgetSpent),
        (TRIAL - 1, "", ScaleOutcome::BudgetSpent),
    ] {
        let mut scale = growth(&[1, 2, 3]);
        scale.budget_ns = Some(budget);
        check(&mut scale, &[], order, outcome);
    }
}

#[test]
fn a_growth_continues_with_more_sizes_and_repeats_the_first_after_them() {
    let mut scale = growth(&[1, 2]);
    check(&mut scale, &[], "1 2 1=", ScaleOutcome::Complete);
    scale.sizes = [1, 2, 4].map(size).to_vec();
    check(&mut scale, &[], "4 1=", ScaleOutcome::Complete);
}

/// A growth from one to two nodes with this repeat of the first size.
fn repeated(first: SizeFigures, again: SizeFigures) -> ScaleRecord {
    let mut scale = growth(&[1, 2]);
    add(&mut scale, 1, ScalePurpose::First, first);
    let second = of_verdict(SizeVerdict::Counts, 190.0, None);
    add(&mut scale, 2, ScalePurpose::Grow, second);
    add(&mut scale, 1, ScalePurpose::Again, again);
    scale.outcome = Some(ScaleOutcome::Complete);
    scale
}

#[test]
fn a_machine_drifted_if_the_first_size_differs_by_more_than_two_measurements_do() {
    let plain = |per_s| of_verdict(SizeVerdict::Counts, per_s, None);
    // Two measurements, each with a standard error of 3%: 95 of 100 pairs differ by less than 1.96 · √2 · 3% = 8.7%.
    for (again, drifted) in
        [(100.0, false), (92.5, false), (108.0, false), (91.0, true), (109.5, true), (85.0, true)]
    {
        let scale = repeated(plain(100.0), plain(again));
        let found = drift(&scale).unwrap();
        assert_eq!(found.is_drifted(), drifted, "{found:?}");
        assert!((found.allowed - 0.087).abs() < 0.001, "{found:?}");
        let change = again / 100.0 - 1.0;
        assert!((found.change - change).abs() < 1e-9, "{found:?}");
    }
    // Less precise measurements may differ by more.
    let wide = |per_s: f64| {
        let interval = Some([per_s * 0.85, per_s / 0.85]);
        of_verdict(SizeVerdict::Counts, per_s, interval)
    };
    let drifted = |again| drift(&repeated(wide(100.0), wide(again))).unwrap().is_drifted();
    assert!(!drifted(85.0) && drifted(60.0));
    // Measurements this imprecise show nothing if they do not differ by more.
    let decided = |of: &SizeFigures| drift(&repeated(of.clone(), of.clone())).unwrap();
    let known = |per_s, low, high| of_verdict(SizeVerdict::Counts, per_s, Some([low, high]));
    assert!(decided(&known(100.0, 88.0, 114.0)).is_unchanged());
    let vague = decided(&known(100.0, 80.0, 125.0));
    assert!(!vague.is_drifted() && !vague.is_unchanged(), "{vague:?}");
    // The confirmed value counts, not the median of an estimate far from it.
    let scale = repeated(known(99.0, 98.0, 101.0), known(99.0, 98.0, 400.0));
    assert!(drift(&scale).unwrap().change.abs() < 1e-9);
    // A run's throughput itself counts, wherever it lies in its interval.
    let mut of_runs = repeated(known(100.0, 60.0, 110.0), known(101.0, 90.0, 140.0));
    of_runs.each = ScaleEach::Run;
    assert!((drift(&of_runs).unwrap().change - 0.01).abs() < 1e-9);
    // A repeat that drifted is not outweighed by a later one without drift.
    let mut twice = repeated(plain(100.0), plain(80.0));
    add(&mut twice, 1, ScalePurpose::Again, plain(100.0));
    assert!(drift(&twice).unwrap().is_drifted());
    // A repeat that failed shows nothing.
    let lost = of_verdict(SizeVerdict::NotMeasured, 0.0, None);
    assert_eq!(drift(&repeated(plain(100.0), lost)), None);
}

#[test]
fn a_growth_is_judged_by_its_drift_its_end_and_the_rate_that_was_requested() {
    let plain = |per_s| of_verdict(SizeVerdict::Counts, per_s, None);
    let last = fixture::closed();
    let judged = |scale: ScaleRecord| {
        let record = conclude(last.clone(), scale, "grown".to_owned());
        let code = exit_code(&record.judgments, RunEnding::from_incidents(&record.incidents));
        let first = record.judgments.measurement.reasons.first();
        let reason = first.map(|reason| reason.code);
        let objective = record.judgments.objective.value;
        (record.judgments.measurement.value, reason, objective, code)
    };
    let unchanged = || repeated(plain(100.0), plain(101.0));
    let (value, _, objective, code) = judged(unchanged());
    assert_eq!(value, Measurement::Valid);
    assert_eq!((objective, code), (ObjectiveValue::NoneSet, 0));

    let drifted = repeated(plain(100.0), plain(85.0));
    let (value, reason, _, code) = judged(drifted);
    assert_eq!(value, Measurement::Invalid);
    assert_eq!((reason, code), (Some(ReasonCode::MachineDrifted), 3));

    for (outcome, reason, code) in [
        (Some(ScaleOutcome::BudgetSpent), ReasonCode::TooShort, 3),
        (Some(ScaleOutcome::ClientCeiling), ReasonCode::ClientSaturated, 3),
        (Some(ScaleOutcome::TargetLost), ReasonCode::TargetLost, 5),
        (Some(ScaleOutcome::Interrupted), ReasonCode::Interrupted, 130),
        (None, ReasonCode::Interrupted, 3),
    ] {
        let scale = ScaleRecord { outcome, ..unchanged() };
        let (value, first, _, exit) = judged(scale);
        assert_eq!(value, Measurement::Inconclusive, "{outcome:?}");
        assert_eq!(first, Some(reason), "{outcome:?}");
        assert_eq!(exit, code, "{outcome:?}");
    }

    for (until, outcome, objective, code) in [
        (150.0, ScaleOutcome::Reached, ObjectiveValue::Met, 0),
        (500.0, ScaleOutcome::Complete, ObjectiveValue::Missed, 1),
        (500.0, ScaleOutcome::BudgetSpent, ObjectiveValue::NotDecided, 3),
    ] {
        let scale = ScaleRecord { until_per_s: Some(until), outcome: Some(outcome), ..unchanged() };
        let (_, _, value, exit) = judged(scale);
        assert_eq!((value, exit), (objective, code), "{until} {outcome:?}");
    }
}

#[test]
fn preparing_a_size_does_not_use_the_budget() {
    let mut scale = growth(&[1, 2]);
    scale.budget_ns = Some(3 * TRIAL);
    let order = std::iter::from_fn(|| match next(&scale) {
        GrowthStep::Measure { size, purpose } => {
            let figures = of_verdict(SizeVerdict::Counts, linear(size.nodes).1, None);
            add(&mut scale, size.nodes, purpose, figures);
            let trial = scale.trials.last_mut().unwrap();
            (trial.took_ns, trial.ready_ns) = (100 * TRIAL, 99 * TRIAL);
            Some(size.nodes)
        }
        GrowthStep::Alone(_) | GrowthStep::End(_) => None,
    });
    assert_eq!(order.collect::<Vec<_>>(), [1, 2, 1]);
}

#[test]
fn nodes_are_measured_alone_before_the_first_size_while_time_is_left_for_sizes() {
    let alone = |nodes, budget_ns| {
        let mut scale = growth(&[1, 2]);
        (scale.alone.nodes, scale.alone.trial_cost_ns) = (nodes, TRIAL);
        scale.budget_ns = budget_ns;
        scale
    };
    let all = ScaleOutcome::Complete;
    check(&mut alone(2, None), &[], "n1 n2 1 2 1=", all);
    check(&mut alone(2, Some(5 * TRIAL)), &[], "n1 n2 1 2 1=", all);
    // None begins without time for two sizes after them.
    check(&mut alone(2, Some(3 * TRIAL)), &[], "1 2 1=", all);
    let lost = [(1, SizeVerdict::TargetLost); 2];
    check(&mut alone(2, None), &lost, "n1 n2 1 2 1=", all);
    // A resumed growth measures no node alone midway.
    let mut resumed = alone(0, None);
    check(&mut resumed, &[], "1 2 1=", all);
    (resumed.alone.nodes, resumed.outcome) = (2, None);
    assert_eq!(next(&resumed), GrowthStep::End(all));
}

/// A tuning of two configurations: the first is the best, the second ran last.
fn tuned(second: TrialVerdict, second_per_s: f64) -> TuneRecord {
    let showed = |p99_ns: u64| RunObservations {
        per_s_by_op: BTreeMap::new(),
        p99_ns: Some(p99_ns),
        p99_at_least: false,
        target_cpu: Some(0.9),
        client_cpu: 0.2,
        limit: None,
    };
    let mut tune = fixture::tune::tune(&[2]);
    for (at, verdict, per_s) in [(0, TrialVerdict::Counts, 100.0), (1, second, second_per_s)] {
        let mut trial = fixture::tune::trial(&tune, vec![at], TrialPurpose::Search, Some(per_s));
        trial.verdict = verdict;
        if verdict == TrialVerdict::Invalid {
            trial.reasons = vec![ReasonCode::ClientSaturated];
        }
        trial.showed = Some(showed(u64::from(trial.number)));
        tune.trials.push(trial);
    }
    tune.outcome = Some(TuneOutcome::Best(BestConfiguration {
        at: vec![0],
        values: [("sessions".to_owned(), "4".to_owned())].into(),
        figure: 100.0,
        runner_up: None,
        cut_short: false,
    }));
    tune
}

fn figures_of(record: &ExperimentRecord) -> SizeFigures {
    figures("insert", Some(RecordRef::Experiment(record)))
}

/// A run of two ops with equal ops per second, the second of which acknowledged more by this factor.
fn of_two_ops(more: f64) -> RunRecord {
    let mut record = fixture::closed();
    let mut second = record.results[0].clone();
    second.op = "upsert".to_owned();
    second.throughput.rows_per_s += more;
    record.results.push(second);
    record
}

#[test]
fn a_size_shows_each_op_of_the_run_whose_figure_it_has() {
    let one = fixture::closed();
    let per_s = one.results[0].throughput.rows_per_s;
    let of_run = |record: &RunRecord| figures("insert", Some(record.into())).per_s_by_op;
    let named = |[insert, upsert]: [f64; 2]| -> BTreeMap<String, f64> {
        [("insert".to_owned(), insert), ("upsert".to_owned(), upsert)].into()
    };
    assert_eq!(of_run(&one), BTreeMap::new());
    assert_eq!(of_run(&of_two_ops(7.0)), named([per_s, per_s + 7.0]));

    // A search uses the last probe that confirmed the mark, even if a later probe ran above it.
    let probe = |purpose, at, verdict, per_s_by_op| ProbeRecord {
        per_s_by_op,
        ..fixture::probe(purpose, at, verdict)
    };
    let (passed, failed) = (ProbeVerdict::Passed, ProbeVerdict::Failed);
    let search = SearchRecord {
        outcome: Some(SearchOutcome::Mark(fixture::mark(100.0, 110.0))),
        probes: vec![
            probe(ProbePurpose::Search, 100.0, passed, named([1.0, 2.0])),
            probe(ProbePurpose::Confirm, 100.0, passed, named([60.0, 40.0])),
            probe(ProbePurpose::Confirm, 100.0, failed, named([5.0, 6.0])),
            probe(ProbePurpose::Search, 110.0, failed, named([7.0, 8.0])),
        ],
        ..fixture::search(Vec::new())
    };
    let record = crate::search::conclude(of_two_ops(7.0), search, "found".to_owned());
    assert_eq!(figures_of(&record).per_s_by_op, named([60.0, 40.0]));

    // A tuning uses the best configuration, even if another ran last.
    let mut tune = tuned(TrialVerdict::Counts, 90.0);
    let showed = tune.trials[0].showed.as_mut().unwrap();
    showed.per_s_by_op = named([30.0, 70.0]);
    let record = crate::tuning::conclude(of_two_ops(7.0), tune, "tuned".to_owned());
    assert_eq!(figures_of(&record).per_s_by_op, named([30.0, 70.0]));
}

#[test]
fn a_tuned_size_has_the_figures_of_its_best_configuration() {
    let tune = tuned(TrialVerdict::Counts, 90.0);
    let record = crate::tuning::conclude(fixture::closed(), tune, "tuned".to_owned());
    let found = figures_of(&record);
    assert_eq!((found.p99_ns, found.target_cpu), (Some(1), Some(0.9)));
    assert_eq!((found.client_cpu, found.sessions), (0.2, 4));
    assert_eq!((found.verdict, found.per_s), (SizeVerdict::Counts, 100.0));
}

#[test]
fn a_tuned_size_whose_load_generator_gave_out_beyond_the_best_ends_the_growth() {
    for (second, per_s, verdict) in [
        (TrialVerdict::Invalid, 120.0, SizeVerdict::ClientCeiling),
        (TrialVerdict::Invalid, 80.0, SizeVerdict::Counts),
        (TrialVerdict::Missed, 120.0, SizeVerdict::Counts),
    ] {
        let tune = tuned(second, per_s);
        let record = crate::tuning::conclude(fixture::closed(), tune, "tuned".to_owned());
        let found = figures_of(&record);
        assert_eq!(found.verdict, verdict, "{second:?} {per_s}");
        let of_client = verdict == SizeVerdict::ClientCeiling;
        assert_eq!(found.reasons.contains(&ReasonCode::ClientSaturated), of_client);
    }
    let mut none = tuned(TrialVerdict::Invalid, 80.0);
    none.outcome =
        Some(TuneOutcome::NoBest(NoBest { why: NoBestReason::NoneCounts, best_so_far: None }));
    let record = crate::tuning::conclude(fixture::closed(), none, "tuned".to_owned());
    assert_eq!(figures_of(&record).verdict, SizeVerdict::ClientCeiling);
}

/// A confirmed mark is a figure of its size only if the search completed.
#[test]
fn a_search_stopped_after_a_confirmed_mark_does_not_count() {
    for (stop, verdict) in [
        (None, SizeVerdict::Counts),
        (Some(IncidentKind::Interrupted), SizeVerdict::Interrupted),
        (Some(IncidentKind::TargetLost), SizeVerdict::TargetLost),
    ] {
        let mut last = fixture::closed();
        last.incidents.extend(stop.map(|kind| Incident::new(kind, "stopped")));
        let search = SearchRecord {
            outcome: Some(SearchOutcome::Mark(fixture::mark(100.0, 110.0))),
            ..fixture::search(Vec::new())
        };
        let record = crate::search::conclude(last, search, "found".to_owned());
        let found = figures_of(&record);
        assert_eq!((found.verdict, found.per_s), (verdict, 100.0), "{stop:?}");
    }
}

proptest! {
    /// Whatever the figures: sizes are measured in order, none twice unless its target was lost, the first one is
    /// repeated at most once, and a growth always ends.
    #[test]
    fn every_growth_ends_and_measures_each_size_once(
        sizes in 2_u32..8,
        verdicts in prop::collection::vec(0_usize..7, 40),
        budget in prop::option::of(1_u64..100),
        until in prop::option::of(100.0..900.0),
    ) {
        use SizeVerdict::{ClientCeiling, Counts, Interrupted, Missed, NotMeasured, TargetLost, WrongData};
        let all = [Counts, Missed, NotMeasured, ClientCeiling, TargetLost, WrongData, Interrupted];
        let nodes: Vec<u32> = (1..=sizes).collect();
        let mut scale = growth(&nodes);
        scale.budget_ns = budget;
        scale.until_per_s = until;
        let mut verdicts = verdicts.into_iter().map(|at| all[at]).chain(std::iter::repeat(Counts));
        grow(&mut scale, |nodes| (verdicts.next().unwrap(), linear(nodes).1));
        let made = scale.trials.iter().filter(|t| t.figures.verdict != TargetLost);
        let grown: Vec<u32> = made
            .clone()
            .filter(|t| t.purpose != ScalePurpose::Again)
            .map(|t| t.size.nodes)
            .collect();
        prop_assert!(grown.iter().copied().eq(1..=u32::try_from(grown.len()).unwrap()));
        let again = made.filter(|t| t.purpose == ScalePurpose::Again).count();
        prop_assert!(again <= 1);
        // Replayed from its record, every step is the same.
        for end in 0..scale.trials.len() {
            let mut part = scale.clone();
            part.trials.truncate(end);
            let expected = (scale.trials[end].size.clone(), scale.trials[end].purpose);
            let GrowthStep::Measure { size, purpose } = next(&part) else {
                panic!("it went on at {end}");
            };
            prop_assert_eq!((size, purpose), expected);
        }
    }
}
