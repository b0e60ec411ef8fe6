//! Comparisons, as readers see them.

use std::collections::BTreeSet;

use highwater_analysis::comparison::{Criteria, compare};
use highwater_analysis::fixture;
use highwater_analysis::growth::{Grown, compare_growths};
use highwater_analysis::search::conclude;
use highwater_model::plan::Pace;
use highwater_model::record::{ExperimentRecord, Question, RecordRef, RunRecord};
use highwater_model::search::{Estimate, NoMark, NoMarkReason, SearchOutcome};
use highwater_model::units::Nanos;
use highwater_sizing::growth::fixture::grown;

use super::*;
use crate::kinds::comparison::{Group, GrowthsReport, NamedGrowth};
use crate::render::without_color;
use crate::tests::assert_says;
use crate::{
    compare_html, compare_markdown, compare_summary, compare_text, growths_html, growths_markdown,
    growths_text,
};

fn runs(factors: &[f64]) -> Vec<RunRecord> {
    let run = |factor: &f64| {
        let mut record = fixture::closed();
        record.streams[0].throughput.rows_per_s *= factor;
        record
    };
    factors.iter().map(run).collect()
}

fn with_report<T>(b: &mut [RunRecord], of: impl Fn(&CompareReport<'_>) -> T) -> T {
    with_report_named("main", &runs(&[1.0, 1.01, 0.99]), b, of)
}

fn with_report_named<T>(
    name: &str,
    a: &[RunRecord],
    b: &[RunRecord],
    of: impl Fn(&CompareReport<'_>) -> T,
) -> T {
    let a: Vec<RecordRef<'_>> = a.iter().map(Into::into).collect();
    let b: Vec<RecordRef<'_>> = b.iter().map(Into::into).collect();
    let comparison = compare(&a, &b, Criteria::default());
    let group = |name: &str, runs| Group { name: name.to_owned(), runs };
    of(&CompareReport {
        baseline: group(name, a),
        others: vec![(group("<script>alert(1)</script>", b), comparison)],
    })
}

#[test]
fn a_worse_group_is_reported_with_its_interval_and_all_that_differs() {
    let mut b = runs(&[0.8, 0.81, 0.79]);
    for record in &mut b {
        record.target.version = "SQLite 4".to_owned();
    }
    insta::assert_snapshot!(with_report(&mut b, compare_text));
}

/// Failures and an outage that only B has, in percentage points.
#[test]
fn fractions_are_reported_in_points_with_the_threshold_and_the_runs_needed() {
    let mut b = runs(&[1.0, 1.01, 0.99]);
    for (record, failed) in b.iter_mut().zip([420, 400, 410]) {
        let errors = &mut record.results[0].errors;
        errors.insert("rejected".to_owned(), failed);
        record.availability.seconds_below_half = 1;
    }
    insta::assert_snapshot!(with_report(&mut b, compare_text));
}

/// A geometric mean would be 0 as soon as one run has no failure.
#[test]
fn the_share_of_several_runs_is_their_arithmetic_mean() {
    let mut b = runs(&[1.0, 1.01, 0.99]);
    let failed = 840_u32;
    let of = b[1].results[0].offered;
    let errors = &mut b[1].results[0].errors;
    errors.insert("rejected".to_owned(), failed.into());
    assert_eq!(of, 4_212);
    let text = with_report(&mut b, compare_text);
    // 840 of 4,212, a third of that.
    assert!(text.contains("6.65%"), "{text}");
}

#[test]
fn one_run_is_reported_with_the_number_needed() {
    let text = with_report(&mut runs(&[0.8]), compare_text);
    assert_says(&text, &["inconclusive", "--repeat "]);
}

/// Every figure has its interval next to it.
#[test]
fn the_page_answers_by_how_much_the_groups_differ() {
    let page = with_report(&mut runs(&[0.8, 0.81, 0.79]), compare_html);
    assert_says(&page, &[" is worse than main: insert throughput<"]);
    assert!(page.contains("<span class=\"whole\">-20.0</span></span><span class=\"unit\">%<"));
    assert!(page.contains("<h2>Figures</h2><p>worse: insert throughput</p>"));

    let page = with_report(&mut runs(&[0.8]), compare_html);
    assert!(page.contains("class=\"answer weak\"") && page.contains("Inconclusive: these runs"));
    // The verdict, a key figure, and ten figures drawn and in the table.
    assert_eq!(page.matches(">inconclusive<").count(), 1 + 1 + 10 + 10);
}

/// Also if the value of the setting is part of a date in a name.
#[test]
fn the_title_of_the_page_names_the_setting_that_differs_and_both_of_its_values() {
    let nodes = |record: &mut RunRecord, value: &str| {
        let settings = &mut record.target.settings;
        settings.insert("nodes".to_owned(), value.to_owned());
    };
    let batch = |record: &mut RunRecord, value: &str| {
        let parameters = &mut record.workload.parameters;
        parameters.insert("batch".to_owned(), value.to_owned());
    };
    let titles = |name: &str, values: [&str; 2], set: &dyn Fn(&mut RunRecord, &str)| {
        let [a, b] = values.map(|value| {
            let mut runs = runs(&[1.0, 1.01, 0.99]);
            for record in &mut runs {
                set(record, value);
            }
            runs
        });
        let page = with_report_named(name, &a, &b, compare_html);
        let text_of = |element: &str| {
            let (_, text) = page.split_once(&format!("<{element}>")).unwrap();
            // A figure must not be separated from its unit.
            text.split('<').next().unwrap().replace('\u{a0}', " ")
        };
        let title = text_of("title");
        let question = title.strip_suffix(" · Highwater").unwrap().to_owned();
        assert_eq!(text_of("h1"), question);
        question
    };
    let b = "&lt;script&gt;alert(1)&lt;/script&gt;";
    for (name, said) in [
        ("main", "main (nodes 3)"),
        ("2026-11-03T18-20-11-cpu", "2026-11-03T18-20-11-cpu (nodes 3)"),
        ("sim:?nodes=3", "sim:?nodes=3"),
    ] {
        let expected = format!("Is B, {b} (nodes 2), better than A, {said}?");
        assert_eq!(titles(name, ["3", "2"], &nodes), expected);
    }
    let expected = format!("Is B, {b} (batch 4000), better than A, main (batch 1000)?");
    assert_eq!(titles("main", ["1000", "4000"], &batch), expected);
    let sessions = |record: &mut RunRecord, value: &str| {
        let sessions = value.parse().unwrap();
        record.plan.definition.streams[0].paces = vec![Pace::Closed { sessions }];
        record.plan.hash = record.plan.definition.hash();
    };
    let a = "main (insert 4 sessions)";
    let expected = format!("Is B, {b} (insert 8 sessions), better than A, {a}?");
    assert_eq!(titles("main", ["4", "8"], &sessions), expected);
    let length = |record: &mut RunRecord, value: &str| {
        let plan = &mut record.plan.definition;
        plan.phases[1].duration = Nanos::from_secs(value.parse().unwrap());
        record.plan.hash = plan.hash();
    };
    let expected = format!("Is B, {b} (length 60 s), better than A, main (length 30 s)?");
    assert_eq!(titles("main", ["30", "60"], &length), expected);
}

/// Two runs that differ only in their plans.
#[test]
fn runs_of_different_plans_have_no_verdict_and_are_distinguished_by_plan() {
    let [a, b] = [4, 8].map(|sessions| {
        let mut runs = runs(&[1.0, 1.01, 0.99]);
        for record in &mut runs {
            record.plan.definition.streams[0].paces = vec![Pace::Closed { sessions }];
            record.plan.hash = record.plan.definition.hash();
        }
        runs
    });
    let text = with_report_named("main", &a, &b, |report| {
        compare_summary(report).short(200, &without_color)
    });
    let verdict = "A and B are not comparable   no verdict: the groups answer different questions";
    assert_says(&text, &[verdict, "OTHER QUESTION: pace insert: 4 sessions against 8 sessions"]);
    // A difference of different things would be read as one.
    assert!(!text.contains("difference"), "{text}");
}

#[test]
fn markdown_and_page_say_the_same_and_no_name_is_markup() {
    let mut b = runs(&[0.8, 0.81, 0.79]);
    let text = with_report(&mut b, compare_markdown);
    let verdict = "## WORSE · worse: insert throughput\n";
    assert!(text.starts_with(verdict), "{text}");
    let page = with_report(&mut b, compare_html);
    for text in [&text, &page] {
        assert!(!text.contains("<script>alert"), "{text}");
    }
    assert!(page.contains("<td class=\"verdict bad\"") && page.contains("id=\"overlaid-rows\""));
}

fn named<'a>(name: &str, record: &'a ExperimentRecord) -> NamedGrowth<'a> {
    NamedGrowth { name: name.to_owned(), growth: Grown::from_record(record.into()).unwrap() }
}

#[test]
fn growths_are_compared_in_one_sentence_and_no_name_is_markup() {
    let (a, mut b) = (grown(), grown());
    let Question::Scale(scale) = &mut b.question else {
        panic!("a growth");
    };
    let last = &mut scale.trials[3].figures;
    last.per_s *= 1.3;
    last.estimate = last.estimate.map(|found| Estimate { value: found.value * 1.29, ..found });
    let baseline = named("main", &a);
    let other = named("<script>alert(1)</script>", &b);
    let compared = compare_growths(baseline.growth, other.growth, 0.05, &BTreeSet::new());
    let report = GrowthsReport { baseline, others: vec![(other, compared)] };
    let said = "B makes 29% more than A at 4 nodes, and no more or less than the noise explains at 1, 2 \
                and 3 nodes";
    let text = growths_text(&report);
    assert!(text.starts_with(&format!("{said}\n")), "{text}");
    assert!(text.contains("main · find at 1, 2, 3, 4 nodes"), "{text}");
    // The figures are those of both growths, and the estimates are named as such.
    let row = text.lines().find(|line| line.trim_start().starts_with("4 ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[1..6], ["856,460", "1,113,398", "863,312", "1,113,672", "+29.0%"], "{row}");
    assert_says(&text, &["A estimate", "changes of searches are those of their estimates"]);
    let summary = crate::growths_summary(&report);
    assert_eq!(summary.answer(), said);
    let markdown = growths_markdown(&report);
    assert!(markdown.starts_with(&format!("## {said}\n")), "{markdown}");
    let page = growths_html(&report);
    assert!(page.contains("nodes, better<"), "{page}");
    for text in [&markdown, &page] {
        assert!(!text.contains("<script>alert"), "{text}");
    }
}

/// A search that ended without a mark, with or without an estimate.
fn unmarked(estimate: Option<f64>) -> ExperimentRecord {
    let mut search = fixture::search(Vec::new());
    search.outcome = Some(SearchOutcome::NoMark(NoMark {
        why: NoMarkReason::BudgetSpent,
        highest_met: None,
        estimate: estimate.map(|value| Estimate { value, low90: value * 0.9, high90: value * 1.1 }),
        lowest_failed: None,
        limited_by: Vec::new(),
    }));
    conclude(fixture::open_gate(), search, "find".to_owned())
}

#[test]
fn searches_without_a_mark_are_compared_by_their_estimates_and_this_is_noted() {
    let compared = |a: &ExperimentRecord, b: &ExperimentRecord| {
        let [a, b] = [
            ("2026-11-29T14-32-46-find-cpu-89580b", a),
            ("2026-11-29T14-37-54-find-cpu-89580c", b),
        ]
        .map(|(name, of)| Group { name: name.to_owned(), runs: vec![of.into()] });
        let report = CompareReport::from_groups(vec![a, b], Criteria::default()).unwrap();
        (compare_html(&report), compare_text(&report))
    };
    let (a, b) = (unmarked(Some(30_680.0)), unmarked(Some(28_000.0)));
    let (page, text) = compared(&a, &b);
    // The question has the names, and the answer does not repeat them.
    let said = [
        "B against A, inconclusive: insert estimate",
        "Not all of these searches have a mark: their estimates are compared.",
        "30,680",
        "28,000",
    ];
    assert_says(&page, &said);
    assert!(!text.contains("(insert –"), "{text}");
    let (page, _) = compared(&a, &unmarked(None));
    assert_says(&page, &["at least one has neither the figure nor an estimate of it"]);
    assert!(!page.contains("Right of the grey zone"), "an empty table");
}
