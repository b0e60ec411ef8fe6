//! A killed process leaves its journal, from which the record is made.

use std::path::Path;

use highwater_model::histogram::LatencySummary;
use highwater_model::json;
use highwater_model::judgment::{Data, Measurement, ReasonCode};
use highwater_model::record::{IntervalRecord, RunRecord};
use highwater_runner::record;

use crate::support::{Job, closed, measured, one_node, open};

/// Runs, then removes what a killed process would not have written.
fn killed(root: &Path) -> RunRecord {
    let target = one_node("cores=1&service=exp&request=12ms&query=1ms");
    let streams = [("insert", open(1_000)), ("latest-metrics", closed(1))];
    let record = Job::new(&target, &streams).run_in(root).record;
    for file in ["record.json", "latency.hlog"] {
        std::fs::remove_file(root.join("test").join(file)).unwrap();
    }
    record
}

fn within_two_digits(recovered: &LatencySummary, whole: &LatencySummary) {
    assert_eq!((recovered.count, recovered.beyond), (whole.count, whole.beyond));
    assert_eq!(recovered.at_least, whole.at_least);
    for (coarse, fine) in [(recovered.p50, whole.p50), (recovered.p90, whole.p90)] {
        let (coarse, fine) = (coarse.unwrap(), fine.unwrap());
        assert!(coarse.abs_diff(fine) <= fine / 50, "{coarse} ns recovered, {fine} ns measured");
    }
}

/// The run killed in this directory.
fn read(root: &Path) -> RunRecord {
    let record = record::read(&root.join("test")).unwrap();
    record.into_run().unwrap()
}

#[test]
fn a_killed_run_is_read_from_its_journal() {
    let root = tempfile::tempdir().unwrap();
    let whole = killed(root.path());
    let found = read(root.path());
    assert_eq!(found.plan, whole.plan);
    for op in ["insert", "latest-metrics"] {
        let (found, whole) = (measured(&found, op), measured(&whole, op));
        assert!(whole.offered > 30);
        assert_eq!(
            (found.offered, found.sent, found.acknowledged, found.dropped),
            (whole.offered, whole.sent, whole.acknowledged, whole.dropped)
        );
        assert_eq!(found.rows.acknowledged, whole.rows.acknowledged);
        assert_eq!(found.rows.sent, whole.rows.sent);
        let (found_per_s, per_s) = (found.throughput.ops_per_s, whole.throughput.ops_per_s);
        assert!((found_per_s / per_s - 1.0).abs() < 0.2, "{found_per_s} {per_s}");
        within_two_digits(&found.latency_ns, &whole.latency_ns);
    }
    assert_eq!(found.intervals, whole.intervals);
    assert_eq!(found.judgments.measurement.value, Measurement::Invalid);
    let reasons = &found.judgments.measurement.reasons;
    assert!(reasons.iter().any(|r| r.code == ReasonCode::Interrupted));
    assert_eq!(found.judgments.data.value, Data::Unverified);
    let again = json::parse(&json::print(&found)).unwrap();
    assert_eq!(again.into_run(), Some(found));
}

#[test]
fn a_journal_cut_in_mid_line_returns_the_lines_before() {
    let root = tempfile::tempdir().unwrap();
    let whole = killed(root.path());
    let journal = root.path().join("test").join("intervals.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let half = &text[..text.len() / 2];
    std::fs::write(&journal, half).unwrap();
    let found = read(root.path());
    let offered = |intervals: &[IntervalRecord]| intervals.iter().map(|i| i.offered).sum::<u64>();
    let results: u64 = found.results.iter().map(|r| r.offered).sum();
    assert_eq!(results, offered(&found.intervals));
    assert!(results > 0 && results < offered(&whole.intervals));
    assert_eq!(found.judgments.data.value, Data::Unverified);
}
