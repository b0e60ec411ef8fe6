//! The plotted data of each chart against its record.

use std::fmt::Write as _;

use super::{made, size_plan};
use crate::model::record::RunRecord;
use crate::report::fixture;
use crate::report::html::chart::{Chart, Point, Series};
use crate::report::html::plots;

/// Whole numbers, and three digits of shares.
fn figure(y: f64) -> String {
    if y.abs() < 10.0 {
        ((y * 1e3).round() / 1e3).to_string()
    } else {
        format!("{y:.0}")
    }
}

/// All charts of the page of a record.
fn charts(record: &RunRecord) -> Vec<Chart> {
    [
        plots::search(record),
        plots::over_time(record),
        plots::distributions(record),
        plots::machine(record),
        plots::target(record),
    ]
    .concat()
}

/// What is plotted, a line for each series: `name part shape: x→y …`.
fn plotted(charts: &[Chart]) -> String {
    let mut text = String::new();
    for chart in charts {
        let (x, y) = (&chart.x, &chart.y);
        let _ = writeln!(
            text,
            "{}: {:?} {:.1}..{:.1} against {:?} {:?} {:.1}..{:.1}",
            chart.id, x.quantity, x.from, x.to, y.quantity, y.scale, y.from, y.to
        );
        for span in &chart.spans {
            let _ = writeln!(
                text,
                "  {:?} {} {}..{}",
                span.kind, span.name, span.from, span.to
            );
        }
        for level in &chart.levels {
            let _ = writeln!(text, "  level {} {}", level.name, level.y);
        }
        for series in &chart.series {
            let off = if series.on { "" } else { " (off)" };
            let points = series.points.iter().map(point).collect::<Vec<_>>();
            let shape = format!("{:?}", series.shape).to_lowercase();
            let _ = writeln!(
                text,
                "  {} {} {shape}{off}: {}",
                series.name,
                series.part,
                points.join(" ")
            );
        }
    }
    text
}

fn point(point: &Point) -> String {
    let y = point.y.map_or_else(|| "–".to_owned(), figure);
    match point.low {
        Some(low) => format!("{:.2}→{low:.0}…{y}", point.x),
        None => format!("{:.2}→{y}", point.x),
    }
}

#[test]
fn a_closed_run() {
    insta::assert_snapshot!(plotted(&charts(&fixture::closed())));
}

#[test]
fn an_open_run_in_steps() {
    insta::assert_snapshot!(plotted(&charts(&fixture::open_steps())));
}

#[test]
fn what_the_target_said_of_itself() {
    let mut record = fixture::closed();
    fixture::tell(&mut record);
    insta::assert_snapshot!(plotted(&plots::target(&record)));
}

#[test]
fn a_search() {
    insta::assert_snapshot!(plotted(&plots::search(&made::searched())));
}

#[test]
fn a_size_plan() {
    insta::assert_snapshot!(plotted(&plots::growth(&size_plan())));
}

fn series<'a>(charts: &'a [Chart], id: &str, part: &str) -> Vec<&'a Series> {
    let chart = charts.iter().find(|chart| chart.id == id).expect(id);
    chart.series.iter().filter(|s| s.part == part).collect()
}

#[test]
fn thinning_loses_no_row_no_silence_and_no_peak() {
    let record = made::hour();
    let charts = charts(&record);
    let [rate] = series(&charts, "throughput-rows", "acknowledged")[..] else {
        panic!("one stream")
    };
    assert_eq!(rate.points.len(), 600);
    let plotted: f64 = rate.points.iter().filter_map(|p| p.y).sum::<f64>() * 6.0;
    let counted: u64 = record.intervals.iter().map(|i| i.rows_acknowledged).sum();
    assert!((plotted / fixture::float(counted) - 1.0).abs() < 1e-9);
    let [seconds] = series(&charts, "throughput-rows", "seconds")[..] else {
        panic!("one band")
    };
    let silent: Vec<f64> = seconds
        .points
        .iter()
        .filter(|p| p.low == Some(0.0))
        .map(|p| p.x)
        .collect();
    let silence = fixture::float(made::SILENT);
    assert!(
        silent.len() == 1 && (silent[0] - silence).abs() <= 3.0,
        "{silent:?}"
    );
    let latency = charts.iter().find(|chart| chart.id == "latency").unwrap();
    let p99: Vec<&Series> = latency
        .series
        .iter()
        .filter(|series| series.name.ends_with("p99"))
        .collect();
    assert_eq!(p99.len(), 10);
    for series in p99 {
        let greatest = series.points.iter().filter_map(|p| p.y).fold(0.0, f64::max);
        assert!((greatest - fixture::float(made::SLOW.1)).abs() < 1.0);
    }
}

#[test]
fn every_percentile_of_the_curve_is_that_of_the_record() {
    let record = made::hour();
    let charts = charts(&record);
    let chart = charts
        .iter()
        .find(|chart| chart.id == "percentiles")
        .unwrap();
    for (series, result) in chart.series.iter().zip(&record.results) {
        for (tail, expected) in [
            (std::f64::consts::LOG10_2, result.latency_ns.p50),
            (2.0, result.latency_ns.p99),
            (3.0, result.latency_ns.p999),
        ] {
            let expected = fixture::float(expected.unwrap());
            // The op of this rank, or the next one that is drawn: points are 0.015 nines apart.
            let next = series.points.iter().find(|p| p.x >= tail - 1e-9).unwrap();
            let drawn = next.y.unwrap();
            assert!(
                (drawn / expected - 1.0).abs() < 0.02,
                "{tail}: {drawn} {expected}"
            );
        }
    }
}
