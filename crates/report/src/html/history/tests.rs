//! What the list of runs shows.

use std::collections::BTreeMap;

use super::*;
use crate::answer::answer;
use crate::tests::assert_says;
use highwater_analysis::fixture;
use highwater_analysis::judge::measured_streams;
use highwater_model::plan::Unit;

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
fn a_filter_takes_what_has_all_of_its_parts() {
    let run = row("a", "cpu", 1.0);
    let filter = |workload: &str, target: &str, label: &str| {
        let [workload, target, label] = [workload, target, label].map(str::to_owned);
        HistoryFilter {
            workload,
            target,
            label,
        }
        .takes(&run)
    };
    assert!(filter("", "", "") && filter("cp", "db/", "commit=") && filter("", "15.8", "abc"));
    assert!(!filter("kv", "", "") && !filter("", "mysql", "") && !filter("", "", "commit=x"));
}

#[test]
fn runs_are_listed_and_their_answers_drawn() {
    let rows = [("c", 3_000.0), ("b", 2_000.0), ("a", 1_000.0)];
    let rows = rows.map(|(id, value)| row(id, "cpu", value));
    let page = history_page(&rows, &HistoryFilter::default(), false, &html! {});
    assert_says(&page, &["3,000 rows/s", "2026-11-20 18:20:11"]);
    assert!(page.contains("run cpu, oldest first"), "{page}");
    // Labels are text, and nothing may be removed.
    assert!(page.contains("&lt;b&gt;abc") && !page.contains("<b>abc"));
    assert!(!page.contains("/delete/"));
    assert!(history_page(&rows, &HistoryFilter::default(), true, &html! {}).contains("/delete/c"));
    let chart = trend(&rows.iter().collect::<Vec<_>>()).unwrap();
    let drawn = chart.series.last().unwrap().points.iter();
    let drawn: Vec<Option<f64>> = drawn.map(|point| point.y).collect();
    // The oldest first.
    assert_eq!(drawn, [1_000.0, 2_000.0, 3_000.0].map(Some));
}

#[test]
fn a_run_in_steps_is_listed_with_the_answer_of_its_page() {
    let mut record = fixture::open_steps();
    let last = measured_streams(&record).last().unwrap().phase.name.clone();
    for stream in record.streams.iter_mut().filter(|of| of.phase == last) {
        stream.throughput.rows_per_s = 1_234.0;
    }
    let listed = HistoryRow::of((&record).into()).answer.unwrap();
    assert_eq!(figure(listed), "1,234 rows/s");
    let page = answer((&record).into(), &measured_streams(&record));
    assert_eq!(
        (page.figure.as_str(), page.unit.as_str()),
        ("1,234", "rows/s")
    );
}

#[test]
fn a_run_that_goes_on_shows_how_far_it_is_and_is_not_removed() {
    let mut running = row("a", "cpu", 1.0);
    running.progress = Some(HistoryProgress {
        trial: Some(3),
        phase: "measure".to_owned(),
        second: 7,
        of_s: 22,
    });
    let page = history_page(&[running], &HistoryFilter::default(), true, &html! {});
    assert_says(&page, &["running trial 3: measure, 7 of 22 s"]);
    assert!(!page.contains("/delete/"), "{page}");
}

#[test]
fn two_answers_are_no_trend_and_other_questions_are_not_mixed_in() {
    let rows = [("c", "cpu"), ("b", "kv"), ("a", "cpu")];
    let rows = rows.map(|(id, workload)| row(id, workload, 1.0));
    let rows: Vec<&HistoryRow> = rows.iter().collect();
    assert_eq!(trend(&rows), None);
}
