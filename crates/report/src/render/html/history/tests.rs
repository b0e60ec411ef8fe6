//! Tests of the list of runs.

use std::collections::BTreeMap;

use highwater_analysis::fixture;
use highwater_analysis::judge::measured_streams;
use highwater_analysis::search::conclude;
use highwater_model::plan::Unit;
use highwater_model::record::RunRecord;
use highwater_model::search::{Estimate, NoMark, NoMarkReason, SearchOutcome};
use highwater_model::units::{Nanos, Seed};

use super::*;
use crate::kinds::run_answer;
use crate::tests::assert_says;

fn row(id: &str, workload: &str, value: f64) -> HistoryRow {
    HistoryRow {
        id: id.to_owned(),
        started_at: "2026-11-20T18:20:11.123Z".to_owned(),
        kind: HistoryKind::Run,
        workload: workload.to_owned(),
        targets: vec!["postgres://db/bench".to_owned()],
        target: "PostgreSQL 15.8".to_owned(),
        labels: BTreeMap::from([("commit".to_owned(), "<b>abc</b>".to_owned())]),
        answer: Some(HistoryAnswer {
            value,
            interval: Some([value * 0.9, value * 1.1]),
            unit: Some(Unit::Rows),
        }),
        ..HistoryRow::default()
    }
}

#[test]
fn a_filter_selects_entries_with_all_of_its_parts() {
    let run = row("a", "cpu", 1.0);
    let filter = |workload: &str, target: &str, label: &str| {
        let [workload, target, label] = [workload, target, label].map(str::to_owned);
        HistoryFilter { workload, target, label }.takes(&run)
    };
    assert!(filter("", "", "") && filter("cp", "db/", "commit=") && filter("", "15.8", "abc"));
    assert!(!filter("kv", "", "") && !filter("", "mysql", "") && !filter("", "", "commit=x"));
}

#[test]
fn runs_are_listed_and_their_answers_drawn() {
    let rows = [("c", 3_000.0), ("b", 2_000.0), ("a", 1_000.0)];
    let rows = rows.map(|(id, value)| row(id, "cpu", value));
    let page = history_page(&rows, &HistoryFilter::default(), false, &html! {});
    assert_says(&page, &["<b>3,000</b> rows/s", "2026-11-20 18:20:11"]);
    assert!(page.contains("run cpu on PostgreSQL 15.8, over time"), "{page}");
    // Labels are text, and nothing can be removed.
    assert!(page.contains("&lt;b&gt;abc") && !page.contains("<b>abc"));
    assert!(!page.contains("/delete/"));
    assert!(history_page(&rows, &HistoryFilter::default(), true, &html! {}).contains("/delete/c"));
}

#[test]
fn compared_runs_are_named_by_what_tells_them_apart() {
    let first = row("2026-11-20T18-20-11-cpu-aaaaaa", "cpu", 1.0);
    let second = HistoryRow { id: "2026-11-20T18-25-00-cpu-bbbbbb".to_owned(), ..first.clone() };
    let names = |other: &HistoryRow| names_apart(&[first.clone(), other.clone()]);
    assert_eq!(names(&second), ["18:20:11", "18:25:00"]);
    let next_day = HistoryRow { id: "2026-11-21T18-25-00-cpu-cccccc".to_owned(), ..first.clone() };
    assert_eq!(names(&next_day), ["2026-11-20 18:20:11", "2026-11-21 18:25:00"]);
    let target = HistoryRow { target: "PostgreSQL 16.1".to_owned(), ..second.clone() };
    assert_eq!(names(&target), ["18:20:11 PostgreSQL 15.8", "18:25:00 PostgreSQL 16.1"]);
    let plain = HistoryRow { labels: BTreeMap::new(), ..second };
    assert_eq!(names(&plain), ["18:20:11 commit=<b>abc</b>", "18:25:00"]);
    // Two of the same second differ in their IDs alone.
    let same = HistoryRow { id: "2026-11-20T18-20-11-cpu-bbbbbb".to_owned(), ..first.clone() };
    assert_eq!(names(&same), ["18:20:11 aaaaaa", "18:20:11 bbbbbb"]);
}

#[test]
fn a_run_in_steps_is_listed_with_the_answer_of_its_page() {
    let mut record = fixture::open_steps();
    let last = measured_streams(&record).last().unwrap().phase.name.clone();
    for stream in record.streams.iter_mut().filter(|of| of.phase == last) {
        stream.throughput.rows_per_s = 1_234.0;
    }
    let listed = HistoryRow::from_record((&record).into()).answer.unwrap();
    assert_eq!(
        (rate(listed.value), listed.unit_beside()),
        ("1,234".to_owned(), "rows/s".to_owned())
    );
    let page = run_answer(&record, &measured_streams(&record));
    assert_eq!((page.figure.as_str(), page.unit.as_str()), ("1,234", "rows/s"));
}

#[test]
fn a_run_that_answers_yes_or_no_is_listed_so() {
    let met = HistoryRow::from_record((&fixture::open_gate()).into());
    let page = history_page(&[met], &HistoryFilter::default(), false, &html! {});
    assert_says(&page, &["Yes: <b>"]);
    let closed = HistoryRow::from_record((&fixture::closed()).into());
    assert_eq!(closed.lead, "", "it was not asked");
}

#[test]
fn a_run_without_an_outcome_is_listed_with_what_it_began_with() {
    let begun = HistoryRow::from_draft("begun".to_owned(), (&fixture::open_gate()).into());
    assert_eq!((begun.judgments.as_ref(), begun.answer, begun.lead), (None, None, ""));
    let page = history_page(&[begun], &HistoryFilter::default(), true, &html! {});
    assert_says(&page, &["run cpu"]);
    assert!(!page.contains("/delete/") && page.contains(r#"href="/run/begun""#), "{page}");
}

#[test]
fn a_running_run_shows_its_progress_and_is_not_removed() {
    let mut running = row("a", "cpu", 1.0);
    running.progress =
        Some(HistoryProgress { trial: Some(3), phase: "measure".to_owned(), second: 7, of_s: 22 });
    let page = history_page(&[running], &HistoryFilter::default(), true, &html! {});
    assert_says(&page, &["running trial 3: measure, 7 of 22 s"]);
    assert!(!page.contains("/delete/"), "{page}");
    assert!(page.contains(r#"href="/run/a""#), "{page}");
}

#[test]
fn a_killed_run_is_opened_only_if_it_left_files() {
    let nothing = HistoryRow::without_record("nothing".to_owned());
    let killed = HistoryRow { has_draft: true, ..HistoryRow::without_record("killed".to_owned()) };
    let rows = [killed, nothing];
    let page = history_page(&rows, &HistoryFilter::default(), true, &html! {});
    assert!(page.contains(r#"href="/run/killed""#), "{page}");
    assert!(!page.contains("/run/nothing"), "{page}");
    assert!(!page.contains(r#"type="checkbox""#), "neither is compared");
}

/// Answers at these hours of a day, the newest last.
fn begun(hours_and_values: &[(u32, f64)]) -> Vec<HistoryRow> {
    hours_and_values
        .iter()
        .rev()
        .map(|(hour, value)| HistoryRow {
            started_at: format!("2026-11-20T{hour:02}:00:00.000Z"),
            definition: "a".to_owned(),
            ..row(&format!("run-{hour}"), "cpu", *value)
        })
        .collect()
}

fn trend_of(rows: &[HistoryRow]) -> Option<chart::Chart> {
    trend_chart(&rows.iter().collect::<Vec<_>>())
}

/// Midnight of that day, in seconds since 1970.
const MIDNIGHT: f64 = 20_777.0 * 86_400.0;

#[test]
fn answers_lie_at_the_times_of_their_runs_and_the_band_is_the_noise_of_those_before() {
    let values = [(1, 90.0), (2, 100.0), (3, 110.0), (9, 100.0), (10, 50.0)];
    let chart = trend_of(&begun(&values)).unwrap();
    let [band, dots] = &chart.series[..] else {
        panic!("{chart:?}");
    };
    let at = |hour: u32| MIDNIGHT + f64::from(hour) * 3_600.0;
    let drawn: Vec<(f64, Option<f64>)> = dots.points.iter().map(|of| (of.x, of.y)).collect();
    assert_eq!(drawn, values.map(|(hour, value)| (at(hour), Some(value))));
    // Three runs show a spread, so the fourth run is the first with a band.
    let places: Vec<f64> = band.points.iter().map(|point| point.x).collect();
    assert_eq!(places, [at(9), at(10)]);
    // 100 ± 4.3027 · 10 · √(4/3), and of the four 100 ± 3.1824 · 8.165 · √(5/4).
    for (point, half) in band.points.iter().zip([49.683, 29.051]) {
        let (low, high) = (point.low.unwrap(), point.y.unwrap());
        assert!((low - (100.0 - half)).abs() < 0.01, "{low}");
        assert!((high - (100.0 + half)).abs() < 0.01, "{high}");
    }
    // The drop of the last run is outside.
    assert!(dots.points[4].y < band.points[1].low);
    let labels: Vec<&str> = chart.x.labels.iter().map(|of| of.name.as_str()).collect();
    let hours = [2, 4, 6, 8, 10].map(|hour| format!("11-20 {hour:02}:00"));
    assert_eq!(labels, hours);
    let page = history_page(&begun(&values), &HistoryFilter::default(), false, &html! {});
    assert_says(&page, &["11-20 04:00", r#"class="band c0""#]);
}

#[test]
fn weeks_are_labeled_with_days() {
    let mut rows = begun(&[(1, 1.0), (2, 1.0), (3, 1.0)]);
    rows[0].started_at = "2026-12-18T12:00:00Z".to_owned();
    let chart = trend_of(&rows).unwrap();
    let days: Vec<&str> = chart.x.labels.iter().map(|label| label.name.as_str()).collect();
    assert!(days.len() > 2 && days.iter().all(|day| day.len() == 10), "{days:?}");
    assert!(days[0].starts_with("2026-11-"), "{days:?}");
}

#[test]
fn two_answers_are_no_trend_and_other_questions_are_not_mixed_in() {
    let mut rows = begun(&[(1, 1.0), (2, 1.0), (3, 1.0)]);
    assert!(trend_of(&rows).is_some());
    // With a single run, only its time is unknown.
    let is_alone = |change: fn(&mut HistoryRow)| {
        let mut rows = rows.clone();
        change(&mut rows[1]);
        trend_of(&rows).is_none()
    };
    assert!(is_alone(|row| row.workload = "kv".to_owned()));
    assert!(is_alone(|row| row.target = "PostgreSQL 16.1".to_owned()));
    assert!(is_alone(|row| row.definition = "b".to_owned()));
    assert!(is_alone(|row| row.kind = HistoryKind::Search));
    assert!(is_alone(|row| row.answer = None));
    // If the newest question has too few answers, an older one with enough is drawn.
    let newest =
        HistoryRow { started_at: "2026-11-20T23:00:00Z".to_owned(), ..row("newest", "kv", 7.0) };
    rows.insert(0, newest);
    let chart = trend_of(&rows).unwrap();
    assert!(chart.title.starts_with("run cpu on"), "{}", chart.title);
}

#[test]
fn runs_that_differ_only_in_their_seed_have_one_definition() {
    let mut record = fixture::open_steps();
    let definition = |record: &RunRecord| HistoryRow::from_record(record.into()).definition;
    let first = definition(&record);
    record.plan.definition.seed = Seed(7);
    assert_eq!(definition(&record), first);
    record.plan.definition.timeout = Nanos(1);
    assert_ne!(definition(&record), first);
}

#[test]
fn a_row_tells_its_load_and_why_a_search_has_no_mark() {
    let run = HistoryRow::from_record((&fixture::open_gate()).into());
    assert!(run.p99.is_some() && run.objectives == "p99 ≤ 10 ms", "{run:?}");
    assert!(run.load.contains("rows/s"), "{run:?}");
    let mut search = fixture::search(Vec::new());
    let estimate = Some(Estimate { value: 30_680.0, low90: 3e4, high90: 31e3 });
    search.outcome = Some(SearchOutcome::NoMark(NoMark {
        why: NoMarkReason::BudgetSpent,
        highest_met: None,
        estimate,
        lowest_failed: None,
        limited_by: Vec::new(),
    }));
    let record = conclude(fixture::open_gate(), search, "find".to_owned());
    let mut row = HistoryRow::from_record((&record).into());
    assert_eq!(row.instead, "no mark, estimate 30,680 rows/s");
    "2026-11-20T18-20-12-find-cpu-6b1178".clone_into(&mut row.id);
    let page = history_page(&[row, run], &HistoryFilter::default(), false, &html! {});
    assert_says(&page, &["no mark, estimate 30,680 rows/s", "<small>p99 ≤ 10 ms</small>"]);
    // The time of the command, not that of its first probe.
    assert_says(&page, &["2026-11-20 18:20:12"]);
}
