//! A gap in the record is as long as the database was away, whatever the number of sessions and the
//! rate: the test stops and starts a real server, and asks it on its own when it was there.

use std::ops::RangeInclusive;
use std::time::Duration;

use highwater_core::model::record::RunRecord;
use highwater_runner::clock::RealClock;
use highwater_testing::postgres::{Postgres, SUPERUSER, Setup, skipped};

use crate::called::{Place, record};

/// How long the server is left away.
const AWAY: Duration = Duration::from_millis(1_500);
/// What a gap may differ from the time that the server was away, beside two intervals between
/// arrivals.
const TOLERANCE_S: f64 = 0.3;

/// A run of so many sessions at so many ops a second, and how long its server was away, at
/// least and at most.
fn run_beside_a_restart(sessions: u32, ops_per_s: u32) -> (RunRecord, RangeInclusive<f64>) {
    let mut server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
        settings: vec!["max_connections = 400".to_owned()],
        ..Setup::default()
    });
    let url = server.url(SUPERUSER, "postgres");
    let place = Place::new();
    let (sessions, rate) = (sessions.to_string(), (10 * ops_per_s).to_string());
    let words = [
        "run",
        "cpu",
        &url,
        "--set",
        "hosts=200",
        "--drop",
        "--warm-up",
        "0s",
    ];
    let load = [
        "--rate", &rate, "--batch", "10", "-c", &sessions, "-d", "10s",
    ];
    let mut running = place.start(&[&words[..], &load].concat());
    running.wait_for("  measure  ");
    // Into the middle of the load: the length of the planted fault, nothing is waited for.
    std::thread::sleep(Duration::from_secs(2));
    let clock = RealClock::start();
    server.stop();
    let gone = clock.now();
    std::thread::sleep(AWAY);
    let least = clock.now().saturating_sub(gone).as_secs_f64();
    // Returns when the server answers a query.
    server.start_again();
    let away = least..=clock.now().as_secs_f64();
    let called = running.end();
    let shown = place.call(&["show", "--format", "json"]);
    assert_eq!(shown.code, called.code, "{}", called.stderr);
    (record(&shown), away)
}

fn the_gap_is_the_outage(sessions: u32, ops_per_s: u32) {
    if skipped() {
        return;
    }
    let (record, away) = run_beside_a_restart(sessions, ops_per_s);
    #[expect(clippy::cast_precision_loss, reason = "a few seconds in nanoseconds")]
    let gap = record.availability.longest_gap_ns as f64 / 1e9;
    let tolerance = TOLERANCE_S + 2.0 / f64::from(ops_per_s);
    assert!(
        gap >= away.start() - tolerance && gap <= away.end() + tolerance,
        "{sessions} sessions, {ops_per_s} ops/s: away {away:?} s, gap {gap:.3} s, tolerance {tolerance:.3} s"
    );
}

#[test]
fn the_gap_of_one_session_at_three_ops_a_second_is_the_outage() {
    the_gap_is_the_outage(1, 3);
}

#[test]
fn the_gap_of_many_idle_sessions_at_three_ops_a_second_is_the_outage() {
    the_gap_is_the_outage(256, 3);
}

#[test]
fn the_gap_of_many_sessions_under_load_is_the_outage() {
    the_gap_is_the_outage(256, 500);
}

#[test]
fn the_gap_of_one_busy_session_is_the_outage() {
    the_gap_is_the_outage(1, 200);
}
