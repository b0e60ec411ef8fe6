//! A gap in the record is as long as the database was unavailable, and the offered rate is acknowledged again as soon
//! as it is back, for every database, number of sessions, and rate. The tests stop and restart a database, and measure
//! that time with their own clock.

use std::ops::RangeInclusive;
use std::time::Duration;

use highwater_driver::clock::RealClock;
use highwater_model::numbers::to_f64;
use highwater_model::record::{RecoveryRecord, RunRecord};
use highwater_model::units::Nanos;
use highwater_testing::postgres::{Postgres, SUPERUSER, Setup, skipped};

use crate::called::{Place, record, split};
use crate::proxy::Proxy;
use crate::stage::{Script, Stage};

/// Time for which the database is unavailable.
const AWAY: Duration = Duration::from_millis(1_500);
/// Tolerance of a figure against the measured unavailability, in addition to two intervals between arrivals.
const TOLERANCE_S: f64 = 0.3;

/// The load on a database that becomes unavailable.
struct Load<'a> {
    /// The command without the load.
    words: &'a str,
    sessions: u32,
    ops_per_s: u32,
    /// Rows of an op.
    batch: u32,
}

/// A run during which a database was unavailable.
struct Beside {
    record: RunRecord,
    /// Minimum and maximum duration of the unavailability, in seconds.
    away: RangeInclusive<f64>,
    sessions: u32,
    ops_per_s: u32,
}

/// A run with an outage in its middle; `outage` returns how long the database was unavailable.
fn run_beside(
    place: &Place,
    load: &Load<'_>,
    outage: impl FnOnce() -> RangeInclusive<f64>,
) -> Beside {
    let (batch, sessions) = (load.batch, load.sessions);
    let rate = batch * load.ops_per_s;
    let rest = format!("--drop --warm-up 0s --rate {rate} --batch {batch} -c {sessions} -d 7s");
    let mut running = place.start(&split(&format!("{} {rest}", load.words)));
    running.wait_for("  measure  ");
    // Until the middle of the load: the time of the injected fault, not a wait for a condition.
    std::thread::sleep(Duration::from_secs(2));
    let away = outage();
    let called = running.end();
    let shown = place.call(&["show", "--format", "json"]);
    assert_eq!(shown.code, called.code, "{}", called.stderr);
    Beside { record: record(&shown), away, sessions: load.sessions, ops_per_s: load.ops_per_s }
}

/// Maximum attempts for failures that the machine may have caused: the load generator stalled, so that its figures do
/// not describe the database, or the database did not keep up.
const TRIES: u32 = 3;

/// A run in which neither the load generator stalled nor the database fell behind, unless all attempts failed.
fn run_until_it_counts(run: impl Fn() -> Beside) -> Beside {
    let stood_still = |beside: &Beside| beside.record.clients.iter().any(|c| !c.stalls.is_empty());
    let mut last = run();
    for _ in 1..TRIES {
        if !stood_still(&last) && keeps_up(&last) {
            break;
        }
        last = run();
    }
    last
}

/// Stops something and brings it back.
fn away<T>(
    what: &mut T,
    take: impl FnOnce(&mut T),
    bring: impl FnOnce(&mut T),
) -> RangeInclusive<f64> {
    let clock = RealClock::start();
    take(what);
    let gone = clock.now();
    std::thread::sleep(AWAY);
    let least = clock.now().saturating_sub(gone).as_secs_f64();
    bring(what);
    least..=clock.now().as_secs_f64()
}

fn s(ns: u64) -> f64 {
    Nanos(ns).as_secs_f64()
}

/// The record's report about an outage.
struct Reported {
    /// Whether it is correct.
    right: bool,
    line: String,
}

fn reported(beside: &Beside) -> Reported {
    let (record, away) = (&beside.record, &beside.away);
    let tolerance = TOLERANCE_S + 2.0 / f64::from(beside.ops_per_s);
    // Stalls of the load generator are excluded from a gap.
    let stalls = record.clients.iter().flat_map(|client| &client.stalls);
    let stalled = s(stalls.map(|stall| stall.duration_ns).sum());
    let near = |s: f64| s >= away.start() - tolerance - stalled && s <= away.end() + tolerance;
    let seen = &record.availability;
    let after = |of: fn(&RecoveryRecord) -> Option<u64>| {
        let ns = seen.recovery.as_ref().and_then(of);
        ns.map_or(f64::NAN, s)
    };
    let gap = s(seen.longest_gap_ns);
    let (again, recovered) = (after(|r| r.rate_again_ns), after(|r| r.recovered_ns));
    // A database that did not keep up cannot return to the rate in time.
    let keeps_up = keeps_up(beside);
    Reported {
        right: near(gap) && (!keeps_up || near(again) && recovered >= again),
        line: format!(
            "{} sessions, {} ops/s: away {:.3} to {:.3} s, gap {gap:.3} s, rate again after {again:.3} s, \
             recovered after {recovered:.3} s, tolerance {tolerance:.3} s, stalled {stalled:.3} s, \
             offered and acknowledged {:?}",
            beside.sessions,
            beside.ops_per_s,
            away.start(),
            away.end(),
            ops_of(beside),
        ),
    }
}

/// Ops that were offered in the measured phase, and the acknowledged ones.
fn ops_of(beside: &Beside) -> [u64; 2] {
    let results = || beside.record.results.iter().filter(|result| result.phase == "measure");
    let offered = results().map(|result| result.offered).sum();
    [offered, results().map(|result| result.acknowledged).sum()]
}

/// Whether at least 99% of the offered ops were acknowledged, apart from one op per session, which was in flight.
fn keeps_up(beside: &Beside) -> bool {
    let [offered, acknowledged] = ops_of(beside);
    to_f64(acknowledged + u64::from(beside.sessions)) >= 0.99 * to_f64(offered)
}

/// For loads that are low enough for the database to keep up.
fn expect_right(beside: &Beside) {
    let reported = reported(beside);
    assert!(reported.right, "{}", reported.line);
    assert!(keeps_up(beside), "{}", reported.line);
}

/// A run during a restart of PostgreSQL.
fn run_beside_a_restart([sessions, ops_per_s, batch]: [u32; 3]) -> Beside {
    let mut server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
        settings: vec![
            "max_connections = 400".to_owned(),
            // Otherwise commits would wait for the disk.
            "synchronous_commit = off".to_owned(),
        ],
        ..Setup::default()
    });
    let url = server.url(SUPERUSER, "postgres");
    let load =
        Load { words: &format!("run cpu {url} --set hosts=200"), sessions, ops_per_s, batch };
    run_beside(&Place::new(), &load, || {
        // Returns when the server answers a query.
        away(&mut server, Postgres::stop, Postgres::start_again)
    })
}

fn the_outage_of_postgres_is_reported(sessions: u32, ops_per_s: u32) {
    if skipped() {
        return;
    }
    expect_right(&run_until_it_counts(|| run_beside_a_restart([sessions, ops_per_s, 10])));
}

#[test]
fn the_outage_is_reported_by_one_session_at_three_ops_a_second() {
    the_outage_of_postgres_is_reported(1, 3);
}

#[test]
fn the_outage_is_reported_by_many_sessions_under_load() {
    the_outage_of_postgres_is_reported(256, 500);
}

#[test]
#[ignore = "four minutes: 16 runs of a quarter of a minute"]
fn long_the_outage_is_reported_on_a_grid_of_sessions_and_rates() {
    if skipped() {
        return;
    }
    let mut wrong = Vec::new();
    for sessions in [1, 4, 64, 256] {
        for [ops_per_s, batch] in [[3, 10], [50, 10], [500, 10], [5_000, 1]] {
            let run = || run_beside_a_restart([sessions, ops_per_s, batch]);
            let reported = reported(&run_until_it_counts(run));
            println!("{}", reported.line);
            if !reported.right {
                wrong.push(reported.line);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A run against a recording of CrateDB's HTTP interface, through a proxy that is closed.
fn run_beside_a_closed_way(sessions: u32, ops_per_s: u32) -> Beside {
    let script = Script { stores_all: true, ..Script::default() };
    let stage = Stage::start("plain", script);
    let mut proxy = Proxy::to(stage.port());
    let direct = format!(":{}/", stage.port());
    let url = stage.url().replace(&direct, &format!(":{}/", proxy.port()));
    let place = Place::new();
    place.file("gauges.toml", include_str!("gauges.toml"));
    let load = Load {
        // The recording stores no rows.
        words: &format!("run -f gauges.toml {url} --no-telemetry --audit off"),
        sessions,
        ops_per_s,
        batch: 10,
    };
    let beside = run_beside(&place, &load, || away(&mut proxy, Proxy::close, Proxy::open));
    stage.finish();
    beside
}

fn the_outage_of_cratedb_is_reported(sessions: u32, ops_per_s: u32) {
    let beside = run_until_it_counts(|| run_beside_a_closed_way(sessions, ops_per_s));
    expect_right(&beside);
}

#[test]
fn the_outage_of_an_http_target_is_reported_under_load() {
    the_outage_of_cratedb_is_reported(8, 200);
}

#[test]
#[ignore = "long: the same with few and with idle sessions"]
fn long_the_outage_of_an_http_target_is_reported_by_idle_sessions() {
    the_outage_of_cratedb_is_reported(1, 3);
    the_outage_of_cratedb_is_reported(256, 3);
}

/// A run while another program holds SQLite's file.
fn run_beside_a_lock(sessions: u32, ops_per_s: u32) -> Beside {
    let place = Place::new();
    let file = place.path().join("locked.db");
    let load = Load {
        words: "run cpu sqlite:locked.db?synchronous=off --set hosts=200",
        sessions,
        ops_per_s,
        batch: 10,
    };
    run_beside(&place, &load, || {
        let mut other = rusqlite::Connection::open(&file).unwrap();
        away(
            &mut other,
            |other| other.execute_batch("BEGIN IMMEDIATE").unwrap(),
            |other| other.execute_batch("ROLLBACK").unwrap(),
        )
    })
}

fn the_lock_of_sqlite_is_reported(sessions: u32, ops_per_s: u32) {
    let beside = run_until_it_counts(|| run_beside_a_lock(sessions, ops_per_s));
    expect_right(&beside);
}

#[test]
fn a_locked_file_is_reported_under_load() {
    the_lock_of_sqlite_is_reported(8, 200);
}

#[test]
#[ignore = "long: the same with few and with idle sessions"]
fn long_a_locked_file_is_reported_by_idle_sessions() {
    the_lock_of_sqlite_is_reported(1, 3);
    the_lock_of_sqlite_is_reported(256, 3);
}
