//! Ops that were dropped, timed out, or never sent rank as infinite: a percentile among them is printed as `≥ x`, and
//! no other is.

use highwater_model::histogram::LatencySummary;
use highwater_model::judgment::Data;
use highwater_model::record::{ResultRecord, RunRecord};
use highwater_model::units::Nanos;
use highwater_report as report;

use crate::support::{Job, measured, one_node, open};

/// Name, quantile in millionths, fewest samples.
const PERCENTILES: [(&str, u64, u64); 7] = [
    ("p50", 500_000, 10),
    ("p90", 900_000, 10),
    ("p95", 950_000, 20),
    ("p99", 990_000, 100),
    ("p999", 999_000, 1_000),
    ("p9999", 999_900, 10_000),
    ("max", 1_000_000, 1),
];

/// The percentiles whose rank ⌈q n⌉ is among the last `beyond` of n.
fn lower_bounds(summary: &LatencySummary) -> Vec<&'static str> {
    let n = summary.count;
    PERCENTILES
        .iter()
        .filter(|(_, ppm, fewest)| {
            let rank = (n * ppm).div_ceil(1_000_000);
            n >= *fewest && rank > n - summary.beyond
        })
        .map(|(name, ..)| *name)
        .collect()
}

/// The counts are consistent, and `≥` appears exactly where it must.
fn check(record: &RunRecord, case: &str) -> ResultRecord {
    let result = measured(record, "insert").clone();
    let timed_out = result.errors.get("timeout").copied().unwrap_or(0);
    let other: u64 = result.errors.values().sum::<u64>() - timed_out;
    assert_eq!(result.offered, result.sent + result.dropped, "{case}");
    assert_eq!(result.sent, result.acknowledged + timed_out + other, "{case}");
    let rows = result.row_latency_ns.as_ref().unwrap();
    for (summary, weight) in [(&result.latency_ns, 1), (rows, 10)] {
        assert_eq!(
            summary.count,
            weight * (result.acknowledged + timed_out + result.dropped),
            "{case}"
        );
        assert_eq!(summary.beyond, weight * (timed_out + result.dropped), "{case}");
        assert_eq!(summary.at_least, lower_bounds(summary), "{case}");
    }
    let text = report::text(record);
    let line = |label: &str| {
        let found = text.lines().find(|l| l.trim_start().starts_with(label));
        found.unwrap().to_owned()
    };
    for (label, summary) in [("insert ", &result.latency_ns), ("row latency ", rows)] {
        let shown = ["p50", "p95", "p99", "p999", "max"];
        let expected =
            shown.iter().filter(|name| summary.at_least.iter().any(|found| found == *name));
        assert_eq!(line(label).matches('≥').count(), expected.count(), "{case}: {}", line(label));
    }
    let by_second = |of: fn(&highwater_model::record::IntervalRecord) -> u64| {
        record.intervals.iter().map(of).sum::<u64>()
    };
    assert_eq!(by_second(|i| i.offered), result.offered, "{case}");
    assert_eq!(by_second(|i| i.dropped), result.dropped, "{case}");
    result
}

/// 1,000 ops in ten seconds, one every 10 ms, the first at 9 ms.
fn thousand_ops(parameters: &str) -> Job {
    Job::new(&one_node(&format!("service=constant&{parameters}")), &[("insert", open(1_000))])
}

#[test]
fn without_such_ops_no_percentile_is_a_lower_bound() {
    let result = check(&thousand_ops("cores=inf&request=1ms").run().record, "no trouble");
    assert_eq!(result.latency_ns.beyond, 0);
    assert!(result.latency_ns.at_least.is_empty());
}

/// One core takes 20 ms per op, two sessions: of 1,000 ops, the 499 that it completes in time and the two in flight are
/// sent; the others are dropped at the end. So the median is a value, and all higher percentiles are lower bounds.
#[test]
fn an_overloaded_run_drops_ops_that_its_target_cannot_take() {
    let mut job = thousand_ops("cores=1&request=20ms");
    job.sessions = 2;
    let result = check(&job.run().record, "twice the capacity");
    assert_eq!((result.offered, result.sent), (1_000, 501));
    assert_eq!(result.latency_ns.at_least, ["p90", "p95", "p99", "p999", "max"]);
    assert!(result.backlog);
}

/// A stall before the end blocks the only session; later ops are never sent. Each additional 10 ms of stall drop one
/// more op, across the ranks of p99.9 (1) and p99 (10) of 1,000.
#[test]
fn one_op_unsent_at_the_end_more_or_less_decides_at_the_rank() {
    let mut dropped = Vec::new();
    for stall_ms in [2, 12, 22, 92, 102, 112, 502, 512] {
        let stall = format!("cores=1&request=1ms&stall={}ms+5s", 10_000 - stall_ms);
        let mut job = thousand_ops(&stall);
        job.sessions = 1;
        let result = check(&job.run().record, &stall);
        let is_bound = |name: &str| result.latency_ns.at_least.iter().any(|n| n == name);
        assert_eq!(is_bound("p99"), result.dropped > 10, "{stall}");
        assert_eq!(is_bound("p999"), result.dropped > 1, "{stall}");
        assert_eq!(is_bound("p95"), result.dropped > 50, "{stall}");
        dropped.push(result.dropped);
    }
    assert_eq!(dropped, [0, 1, 2, 9, 10, 11, 50, 51]);
}

/// Timeouts of a second are checked every 50 ms, so ops of a stall up to 6.07 s that are intended by 5.05 s time out.
/// Each 10 ms earlier start adds one timeout.
#[test]
fn one_timed_out_op_more_or_less_decides_at_the_rank() {
    let mut seen = Vec::new();
    for begin_ms in (4_900..5_000).rev().step_by(10) {
        let length_ms = 6_070 - begin_ms;
        let stall = format!("cores=inf&request=1us&stall={begin_ms}ms+{length_ms}ms");
        let mut job = thousand_ops(&stall);
        job.sessions = 200;
        job.timeout = Nanos::SECOND;
        let record = job.run().record;
        assert_eq!(record.judgments.data.value, Data::Clean, "applied later, as it may be");
        let result = check(&record, &stall);
        let timed_out = result.errors.get("timeout").copied().unwrap_or(0);
        assert_eq!(result.dropped, 0);
        assert_eq!(result.rows.unknown, 10 * timed_out);
        let is_bound = result.latency_ns.at_least.iter().any(|name| name == "p99");
        assert_eq!(is_bound, timed_out > 10, "{stall}: {timed_out} timed out");
        seen.push(timed_out);
    }
    assert_eq!(seen, (6..=15).collect::<Vec<u64>>());
}
