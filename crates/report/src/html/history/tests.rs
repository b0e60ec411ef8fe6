//! What the list of runs shows.

use std::collections::BTreeMap;

use super::*;
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
        judgments: None,
        progress: None,
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
    let rows = [
        row("c", "cpu", 3_000.0),
        row("b", "cpu", 2_000.0),
        row("a", "cpu", 1_000.0),
    ];
    let page = history_page(&rows, &HistoryFilter::default(), false, &html! {});
    assert!(
        page.contains("3,000 rows/s") && page.contains("2026-11-20 18:20:11"),
        "{page}"
    );
    assert!(page.contains("run cpu, oldest first"), "{page}");
    assert!(
        page.contains("&lt;b&gt;abc") && !page.contains("<b>abc"),
        "labels are text"
    );
    assert!(!page.contains("/delete/"), "nothing may be removed");
    assert!(history_page(&rows, &HistoryFilter::default(), true, &html! {}).contains("/delete/c"));
    let drawn: Vec<Option<f64>> = {
        let rows: Vec<&HistoryRow> = rows.iter().collect();
        let chart = trend(&rows).unwrap();
        let series = chart.series.last().unwrap();
        series.points.iter().map(|point| point.y).collect()
    };
    assert_eq!(
        drawn,
        [Some(1_000.0), Some(2_000.0), Some(3_000.0)],
        "oldest first"
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
    assert!(
        page.contains("running trial 3: measure, 7 of 22 s"),
        "{page}"
    );
    assert!(!page.contains("/delete/"), "{page}");
}

#[test]
fn two_answers_are_no_trend_and_other_questions_are_not_mixed_in() {
    let rows = [
        row("c", "cpu", 3.0),
        row("b", "kv", 2.0),
        row("a", "cpu", 1.0),
    ];
    let rows: Vec<&HistoryRow> = rows.iter().collect();
    assert_eq!(trend(&rows), None);
}
