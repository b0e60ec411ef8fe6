//! Verdicts on sizes, guards against different questions, and how often simulated growths are called different.

use highwater_model::group::Kind;
use highwater_model::plan::{Objective, Unit};
use highwater_model::record::{ExperimentRecord, Question};
use highwater_model::scale::{ClusterStart, ScaleEach, SizeVerdict};
use highwater_model::search::Estimate;

use super::*;
use crate::fixture;
use crate::fixture::growth::grown;
use crate::growth::conclude;
use crate::synthetic::Noise;

const LINEAR: [(u32, f64); 3] = [(1, 100.0), (2, 200.0), (3, 300.0)];

/// A growth of runs; the repeat of the first size has the rate `again`.
fn measured(sizes: &[(u32, f64)], again: f64) -> ExperimentRecord {
    let mut scale = grown(sizes);
    scale.each = ScaleEach::Run;
    scale.trials.last_mut().unwrap().figures.per_s = again;
    conclude(fixture::closed(), scale, "growth".to_owned())
}

fn linear() -> ExperimentRecord {
    measured(&LINEAR, 100.0)
}

fn scale(record: &mut ExperimentRecord) -> &mut ScaleRecord {
    match &mut record.question {
        Question::Scale(scale) => scale,
        _ => panic!("a growth"),
    }
}

fn compared<'a>(
    a: &'a ExperimentRecord,
    b: &'a ExperimentRecord,
    practical: f64,
) -> ComparedGrowths<'a> {
    let [a, b] = [a, b].map(|record| Grown::from_record(record.into()).unwrap());
    compare_growths(a, b, practical, &BTreeSet::new())
}

/// `1~ 2< 3>`: numbers of nodes with their verdicts.
fn said(compared: &ComparedGrowths<'_>) -> String {
    let sizes = compared.sizes.iter().map(|size| {
        let sign = match size.verdict {
            Some(SizeChange::Worse) => '<',
            Some(SizeChange::NotDistinguished) => '~',
            Some(SizeChange::Equal) => '=',
            Some(SizeChange::Better) => '>',
            None => '!',
        };
        format!("{}{sign}", size.a.size.nodes)
    });
    sizes.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(b: &ExperimentRecord, practical: f64, expected: &str) {
    let a = linear();
    assert_eq!(said(&compared(&a, b, practical)), expected);
}

#[test]
fn a_change_inside_the_noise_is_not_distinguished() {
    let of = |third| measured(&[(1, 100.0), (2, 204.0), (3, third)], 100.0);
    check(&of(340.0), 0.05, "1~ 2~ 3>");
    check(&of(250.0), 0.05, "1~ 2~ 3<");
    // Pairs of one cluster: exp(1.96 × √2 × 0.03) = 1.0867.
    check(&of(300.0 * 1.086), 0.05, "1~ 2~ 3~");
    check(&of(300.0 * 1.088), 0.05, "1~ 2~ 3>");
    check(&of(300.0 / 1.086), 0.05, "1~ 2~ 3~");
    check(&of(300.0 / 1.088), 0.05, "1~ 2~ 3<");
}

#[test]
fn a_machine_that_drifts_and_a_wide_interval_widen_the_noise() {
    check(&measured(&[(3, 340.0)], 340.0 * 1.2), 0.05, "3~");
    check(&measured(&[(3, 370.0)], 370.0 * 1.2), 0.05, "3>");
    let mut wide = measured(&[(1, 100.0), (3, 340.0)], 100.0);
    scale(&mut wide).trials[1].figures.interval = Some([300.0, 385.0]);
    check(&wide, 0.05, "1~ 3~");
}

#[test]
fn a_size_is_equal_if_even_the_noise_is_below_the_threshold() {
    check(&linear(), 0.05, "1~ 2~ 3~");
    check(&linear(), 0.1, "1= 2= 3=");
    check(&measured(&[(2, 203.0)], 203.0), 0.1, "2~");
}

#[test]
fn without_the_first_size_again_runs_are_taken_to_differ_as_runs_of_a_day() {
    let mut once = linear();
    scale(&mut once).trials.pop();
    let a = linear();
    let compared = compared(&a, &once, 0.05);
    let [repeated, assumed] = compared.noise;
    assert!(repeated.is_repeated && !assumed.is_repeated);
    assert!((repeated.part - assumed.part).abs() < 1e-9, "{repeated:?}");
}

#[test]
fn sizes_that_one_growth_alone_has_are_listed_with_the_reason() {
    use LoneReason::{NoFigure, NotMeasured, OtherSettings};
    let a = linear();
    let mut b = measured(&[(1, 100.0), (2, 200.0), (3, 300.0), (4, 400.0)], 100.0);
    let of_b = scale(&mut b);
    let settings = &mut of_b.trials[1].size.settings;
    settings.insert("sessions".to_owned(), "32".to_owned());
    of_b.trials[2].figures.verdict = SizeVerdict::NotMeasured;
    let compared = compared(&a, &b, 0.05);
    assert_eq!(said(&compared), "1~");
    let reasons = |side: usize| {
        let sizes = compared.lone[side].iter().map(|size| (size.trial.size.nodes, size.why));
        sizes.collect::<Vec<_>>()
    };
    assert_eq!(reasons(0), [(2, OtherSettings), (3, NoFigure)]);
    assert_eq!(reasons(1), [(2, OtherSettings), (4, NotMeasured)]);
}

#[test]
fn the_verdict_of_the_whole_is_that_of_the_worst_size() {
    let of = |sizes: &[(u32, f64)]| measured(sizes, sizes[0].1);
    for (b, practical, verdict) in [
        (of(&[(1, 80.0), (2, 240.0)]), 0.05, Some(SizeChange::Worse)),
        (of(&[(1, 100.0), (2, 240.0)]), 0.05, Some(SizeChange::NotDistinguished)),
        (of(&[(1, 100.0), (2, 240.0)]), 0.1, Some(SizeChange::Better)),
        (of(&[(1, 100.0), (2, 200.0)]), 0.1, Some(SizeChange::Equal)),
        (of(&[(8, 800.0)]), 0.05, None),
    ] {
        let a = linear();
        assert_eq!(compared(&a, &b, practical).verdict(), verdict);
    }
    // A size that both measured, but one without a figure, is inconclusive.
    let (a, mut b) = (linear(), measured(&LINEAR, 100.0));
    scale(&mut b).trials[2].figures.verdict = SizeVerdict::NotMeasured;
    let verdict = compared(&a, &b, 0.1).verdict();
    assert_eq!(verdict, Some(SizeChange::NotDistinguished));
}

#[test]
fn different_questions_have_no_verdict() {
    type Change = fn(&mut ExperimentRecord);
    let changes: [(&str, Change); 9] = [
        ("each size", |of| scale(of).each = ScaleEach::Find),
        ("stream", |of| "queries".clone_into(&mut scale(of).stream)),
        ("unit", |of| scale(of).unit = Unit::Queries),
        ("start", |of| scale(of).start = ClusterStart::Grow),
        ("axes", |of| scale(of).over.push("batch=1,2".to_owned())),
        ("workload", |of| {
            "kv".clone_into(&mut of.last_run.workload.name);
        }),
        ("workload fingerprint", |of| {
            let workload = &mut of.last_run.workload;
            workload.unseeded = None;
            "other".clone_into(&mut workload.fingerprint);
        }),
        ("parameter size", |of| {
            let parameters = &mut of.last_run.workload.parameters;
            parameters.insert("size".to_owned(), "7".to_owned());
        }),
        ("objective", |of| {
            let errors = Objective::Errors { max_ppm: 7 };
            of.last_run.plan.definition.objectives.push(errors);
        }),
    ];
    for (name, change) in changes {
        let (a, mut b) = (linear(), linear());
        change(&mut b);
        let compared = compared(&a, &b, 0.05);
        let first = &compared.differences[0];
        assert_eq!((first.kind, first.name.as_str()), (Kind::Question, name));
        assert_eq!(said(&compared), "1! 2! 3!");
        assert_eq!(compared.verdict(), None);
    }
    let (a, mut b) = (linear(), linear());
    scale(&mut b).targets = vec!["sim:?nodes={nodes}&row=1ms".to_owned()];
    let other = compared(&a, &b, 0.05);
    assert_eq!(said(&other), "1~ 2~ 3~");
    assert!(!other.is_guarded());
    assert_eq!(other.differences[0].name, "target");
}

/// The hash adds nothing to the parameter, and is named only if nothing else shows the difference.
#[test]
fn a_parameter_that_differs_is_named_and_one_that_was_declared_is_no_other_question() {
    let (mut a, mut b) = (linear(), linear());
    for (record, batch, sessions) in [(&mut a, "250", 8), (&mut b, "1000", 16)] {
        let workload = &mut record.last_run.workload;
        workload.parameters.insert("batch".to_owned(), batch.to_owned());
        batch.clone_into(&mut workload.fingerprint);
        workload.unseeded = None;
        for stream in &mut record.last_run.plan.definition.streams {
            stream.sessions = sessions;
        }
    }
    let with = |of: &ExperimentRecord, b: &ExperimentRecord, declared: &[&str]| {
        let [a, b] = [of, b].map(|record| Grown::from_record(record.into()).unwrap());
        let declared = declared.iter().map(|name| (*name).to_owned()).collect();
        let compared = compare_growths(a, b, 0.05, &declared);
        let questions = compared.differences.iter().filter(|of| of.kind == Kind::Question);
        questions.map(|of| format!("{}: {} {}", of.name, of.a, of.b)).collect::<Vec<_>>()
    };
    let by_hand = with(&a, &b, &[]);
    assert_eq!(by_hand[0], "parameter batch: 250 1000");
    assert!(!by_hand.iter().any(|of| of.contains("fingerprint") || of.starts_with("plan")));
    assert_eq!(with(&a, &b, &["batch"]), [""; 0]);
    // Any other difference still makes it a different question.
    let parameters = &mut b.last_run.workload.parameters;
    parameters.insert("size".to_owned(), "7".to_owned());
    assert_eq!(with(&a, &b, &["batch"]), ["parameter size:  7"]);
    scale(&mut b).start = ClusterStart::Grow;
    assert_eq!(with(&a, &b, &["batch", "size"]), ["start: fresh grow"]);
    // An objective, and a setting that depends on the size.
    let errors = Objective::Errors { max_ppm: 7 };
    let mut c = linear();
    c.last_run.plan.definition.objectives.push(errors);
    assert_eq!(with(&linear(), &c, &["objective"]), [""; 0]);
    for size in scale(&mut c).trials.iter_mut().map(|trial| &mut trial.size) {
        size.settings.insert("shards".to_owned(), "9".to_owned());
    }
    let a = linear();
    let [one, other] = [&a, &c].map(|record| Grown::from_record(record.into()).unwrap());
    let declared = ["objective", "shards"].map(str::to_owned).into();
    assert_eq!(compare_growths(one, other, 0.05, &declared).sizes.len(), 3);
}

/// An estimate errs equally to both sides; the confirmed rate of each growth is shown.
#[test]
fn searches_are_compared_by_their_estimates_if_both_have_one() {
    let estimated = |confirmed: f64, value: f64| {
        let mut record = measured(&[(1, 100.0), (3, confirmed)], 100.0);
        let of = scale(&mut record);
        of.each = ScaleEach::Find;
        // The interval is not symmetric, so its middle is not the estimate.
        let found = Estimate { value, low90: value * 0.9, high90: value * 1.01 };
        of.trials[1].figures.estimate = Some(found);
        of.trials[1].figures.failed = Some(confirmed * 1.02);
        record
    };
    let (a, b) = (estimated(300.0, 310.0), estimated(300.0, 372.0));
    let compared_with = compared(&a, &b, 0.05);
    let of_three = &compared_with.sizes[1];
    let [of_a, of_b] = of_three.estimates.unwrap();
    assert!((of_a - 310.0).abs() < 1e-9 && (of_b - 372.0).abs() < 1e-9, "{of_a} {of_b}");
    assert!((of_three.change - 0.2).abs() < 1e-9, "{}", of_three.change);
    assert_eq!(compared_with.sizes[0].estimates, None);
    // An estimate is not compared with a confirmed value.
    let mut without = estimated(300.0, 372.0);
    scale(&mut without).trials[1].figures.estimate = None;
    let of_three = &compared(&a, &without, 0.05).sizes[1];
    assert_eq!((of_three.estimates, of_three.change), (None, 0.0));
}

/// The growths ended at different sizes, and rows depend on the size.
#[test]
fn settings_that_depend_on_the_size_do_not_change_the_question() {
    let (mut a, mut b) = (linear(), linear());
    for (record, rows) in [(&mut a, "10"), (&mut b, "30")] {
        let parameters = &mut record.last_run.workload.parameters;
        parameters.insert("rows".to_owned(), rows.to_owned());
        let of = scale(record);
        for size in &mut of.sizes {
            let rows = (10 * size.nodes).to_string();
            size.settings.insert("rows".to_owned(), rows);
        }
        for trial in &mut of.trials {
            let rows = (10 * trial.size.nodes).to_string();
            trial.size.settings.insert("rows".to_owned(), rows);
        }
    }
    "other".clone_into(&mut b.last_run.workload.fingerprint);
    b.last_run.workload.unseeded = None;
    assert!(compared(&a, &b, 0.05).is_guarded());
    scale(&mut b).trials.pop();
    assert!(!compared(&a, &b, 0.05).is_guarded());
}

/// 400 pairs of growths whose measurements have a standard deviation of 3%, like runs of one day. At two sizes nothing
/// changed: at most 5 of 100 are called different: of 800, that is 40 ± 6.2, so at most 59 (3 standard deviations). At
/// the third, B is faster by a fifth, 4.3 standard deviations of a difference, of which 1.96 are noise: 99 of 100 are
/// found if no drift widens the noise, and 95 of 100 in any case.
#[test]
fn seeded_growths_are_called_different_where_they_are() {
    let (mut wrong, mut found) = (0, 0);
    for seed in 0..400 {
        let mut noise = Noise::new(seed);
        let mut grow = |third: f64| {
            let mut near = |truth: f64| truth * (REPEAT_ERROR * noise.normal()).exp();
            let sizes = [(1, near(100.0)), (2, near(190.0)), (3, near(third))];
            measured(&sizes, near(100.0))
        };
        let (a, b) = (grow(270.0), grow(270.0 * 1.2));
        for size in compared(&a, &b, 0.05).sizes {
            let is_other = size.verdict != Some(SizeChange::NotDistinguished);
            match size.a.size.nodes {
                3 => found += u32::from(size.verdict == Some(SizeChange::Better)),
                _ => wrong += u32::from(is_other),
            }
        }
    }
    assert!(wrong <= 59, "{wrong} of 800");
    assert!(found >= 380, "{found} of 400");
}
