//! An outage of the simulated cluster, with start and length set in its URL: the record's figures, for any number of
//! sessions and any rate.

use highwater_model::numbers::to_f64;
use highwater_model::record::{AvailabilityRecord, RunRecord};
use highwater_model::units::Nanos;

use crate::support::{Job, one_node, open};

const AWAY_FROM_S: f64 = 4.0;
const AWAY_UNTIL_S: f64 = 5.5;
const AWAY: &str = "stall=4s+1500ms";
/// Rows of an op.
const BATCH: u64 = 10;

/// Tolerance of a figure, excluding the queue's effect: 300 ms and two intervals between arrivals.
fn tolerance_s(ops_per_s: u64) -> f64 {
    0.3 + 2.0 / to_f64(ops_per_s)
}

fn run(target: &str, sessions: u32, ops_per_s: u64) -> RunRecord {
    let mut job = Job::new(&one_node(target), &[("insert", open(BATCH * ops_per_s))]);
    job.sessions = sessions;
    job.step = Nanos::from_secs(20);
    job.run().record
}

fn s(ns: u64) -> f64 {
    Nanos(ns).as_secs_f64()
}

/// Compares the gap, and the time of the rate's recovery, with the truth; at `recovered_s` the queue is empty.
fn check(seen: &AvailabilityRecord, tolerance_s: f64, recovered_s: f64, case: &str) {
    let gap = s(seen.longest_gap_ns);
    let away = AWAY_UNTIL_S - AWAY_FROM_S;
    assert!((gap - away).abs() <= tolerance_s, "{case}: {seen:?}");
    let recovery = seen.recovery.unwrap_or_else(|| panic!("{case}: {seen:?}"));
    let start = s(recovery.start_ns);
    assert!((start - AWAY_FROM_S).abs() <= tolerance_s, "{case}: {seen:?}");
    let again = start + s(recovery.rate_again_ns.unwrap());
    assert!((again - AWAY_UNTIL_S).abs() <= tolerance_s, "{case}: {seen:?}");
    let recovered = start + s(recovery.recovered_ns.unwrap());
    assert!((recovered - recovered_s).abs() <= tolerance_s, "{case}: {seen:?}");
}

#[test]
fn an_outage_is_reported_alike_by_any_number_of_sessions_at_any_rate() {
    for sessions in [1, 4, 64, 256] {
        for ops_per_s in [3, 50, 500, 5_000] {
            let target = format!("cores=inf&service=constant&request=20us&{AWAY}");
            let record = run(&target, sessions, ops_per_s);
            let tolerance = tolerance_s(ops_per_s);
            let case = format!("{sessions} sessions, {ops_per_s} ops/s");
            // A single session does 50,000 ops/s: the queue is drained within 0.2 s.
            check(&record.availability, tolerance, AWAY_UNTIL_S, &case);
        }
    }
}

/// One core does 1,000 ops/s, of which 800 are offered: 1,200 ops wait after the outage, and 200 ops/s are left for
/// them, so that the queue is empty after 6 s. Recovered means that at most the ops of 100 ms, plus two, are waiting:
/// 82 of them, 0.41 s earlier.
#[test]
fn a_backlog_delays_the_recovery_and_not_the_return_of_the_rate() {
    let target = format!("cores=1&service=constant&request=1ms&queue=inf&{AWAY}");
    let record = run(&target, 64, 800);
    let recovered = AWAY_UNTIL_S + 6.0 - 0.41;
    check(&record.availability, tolerance_s(800), recovered, "backlog");
}

#[test]
fn a_target_that_stays_down_has_not_recovered() {
    let record = run("cores=inf&service=constant&request=1ms&stall=15s+9s", 4, 50);
    let recovery = record.availability.recovery.unwrap();
    assert_eq!((recovery.rate_again_ns, recovery.recovered_ns), (None, None));
}
