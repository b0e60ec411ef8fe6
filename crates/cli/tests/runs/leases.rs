//! One run at a time fills a table: a second one is rejected, whatever its flags, and the first one's result is not
//! affected by the attempt.

use std::time::Duration;

use highwater_driver::table_registry::{HEARTBEAT_OVERDUE, WATCH};
use highwater_model::judgment::Data;
use highwater_model::units::Nanos;
use highwater_testing::clickhouse;
use highwater_testing::mariadb;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};
use rustix::process::Signal;

use crate::called::{Called, Place, Running, record, split};

/// A load that fills separate tables until it is stopped.
fn load(place: &Place, url: &str, more: &str) -> Running {
    let mut running = place.start(&split(&long(url, more)));
    running.wait_for("  measure  ");
    running
}

fn long(url: &str, more: &str) -> String {
    format!("run cpu {url} --set hosts=200 --warm-up 0s -d 60s -c 2 --batch 50 --rate 1k {more}")
}

fn again(place: &Place, url: &str, more: &str) -> Called {
    let short = "-d 1s -c 1 --batch 10 --json";
    place.typed(&format!("run cpu {url} --set hosts=200 --warm-up 0s {short} {more}"))
}

/// A directory, and a database in it.
fn with_file() -> (Place, String) {
    let place = Place::new().verbose();
    let url = format!("sqlite:{}", place.path().join("one.db").display());
    (place, url)
}

#[track_caller]
fn expect_clean(called: &Called) {
    let data = record(called).judgments.data;
    assert_eq!(data.value, Data::Clean, "{called:?}");
}

fn refused(called: &Called) {
    assert_eq!(called.code, Some(2), "{called:?}");
    for words in ["table `cpu` is in use by another run", "process ", "heartbeat", "wait until"] {
        assert!(called.stderr.contains(words), "{words}: {called:?}");
    }
}

/// A second run of the same rows, with `--drop`, during a load that is not affected by it.
fn one_at_a_time(url: &str) {
    let (place, other) = (Place::new().verbose(), Place::new().verbose());
    let first = load(&place, url, "--drop");
    refused(&again(&other, url, ""));
    refused(&again(&other, url, "--drop"));
    refused(&again(&other, url, "--drop-foreign cpu"));
    // A run that only reads affects no rows, and another workload has other tables.
    first.signal(Signal::INT);
    let ended = first.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stdout.contains("data           clean"), "{ended:?}");
    expect_clean(&again(&other, url, ""));
}

#[test]
fn a_second_run_on_postgresql_is_refused() {
    if !skipped() {
        one_at_a_time(&Postgres::start().url(SUPERUSER, "postgres"));
    }
}

#[test]
fn a_second_run_on_one_sqlite_file_is_refused() {
    let (_place, url) = with_file();
    one_at_a_time(&url);
}

#[test]
fn between_two_probes_of_a_search_its_tables_are_held() {
    let ((place, url), other) = (with_file(), Place::new());
    let slow = "--batch 50 -c 2 --probe 1s --warm-up 0s --settle 300s";
    let search = place.start(&split(&format!("find cpu {url} --set hosts=200 {slow}")));
    let first_probe_is_over = || {
        let probes = place.runs().pop().map(|run| run.join("probes"));
        let probes = probes.and_then(|probes| std::fs::read_dir(probes).ok());
        let mut probes = probes.into_iter().flatten().flatten();
        probes.any(|probe| probe.path().join("record.json").exists())
    };
    while !first_probe_is_over() {
        crate::called::before_the_next_look();
    }
    // The first probe completes its started ops.
    std::thread::sleep(Duration::from_secs(2));
    refused(&again(&other, &url, "--drop"));
    search.signal(Signal::INT);
    search.end();
    expect_clean(&again(&other, &url, ""));
}

#[test]
fn a_run_that_was_killed_holds_nothing_on_its_own_machine() {
    let (place, url) = with_file();
    let first = load(&place, &url, "--drop");
    first.kill();
    expect_clean(&again(&place, &url, "--drop"));
}

#[test]
fn different_shares_of_one_plan_pass_and_the_same_share_does_not() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let url = server.url(SUPERUSER, "postgres");
    let (one, two) = (Place::new().verbose(), Place::new().verbose());
    // Without a common begin, which would be waited for.
    let first = load(&one, &url, "--share 1/2 --start-at +0s --drop");
    let second = load(&two, &url, "--share 2/2 --start-at +0s");
    refused(&Place::new().typed(&long(&url, "--share 2/2 --start-at +0s")));
    for running in [&first, &second] {
        running.signal(Signal::INT);
    }
    assert!(first.end().code.is_some() && second.end().code.is_some());
}

/// The lease of a run on another machine, with its last heartbeat `silent_s` seconds ago.
fn elsewhere(place: &Place, silent_s: u64) {
    let now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
    place.database(
        "one.db",
        &format!(
            "UPDATE highwater_leases SET machine = 'another', heartbeat_ms = {now} - {silent_s} * 1000"
        ),
    );
}

/// A scheduler starts all shares again at once, on other machines.
#[test]
fn a_share_that_is_started_again_waits_until_the_killed_one_elsewhere_is_gone() {
    let (place, url) = with_file();
    let share = "--share 1/2 --start-at +0s --drop";
    for _ in 0..2 {
        load(&place, &url, share).kill();
        elsewhere(&place, 15);
    }
    // Another plan is not this share.
    refused(&again(&place, &url, "--drop"));
}

#[test]
fn a_run_elsewhere_keeps_its_tables_for_half_a_minute() {
    let (place, url) = with_file();
    let first = load(&place, &url, "--drop");
    first.kill();
    let half = HEARTBEAT_OVERDUE.saturating_add(WATCH);
    assert_eq!(half, Nanos::from_secs(30));
    elsewhere(&place, 15);
    refused(&again(&place, &url, "--drop"));
    elsewhere(&place, 21);
    expect_clean(&again(&place, &url, "--drop"));
}

#[test]
fn a_live_run_that_could_not_write_its_heartbeat_keeps_its_tables() {
    let (place, url) = with_file();
    let first = load(&place, &url, "--drop");
    // As after an outage: the heartbeat is overdue, and arrives while the other run watches.
    elsewhere(&place, 100);
    refused(&again(&place, &url, "--drop"));
    first.signal(Signal::INT);
    assert!(first.end().stdout.contains("data           clean"));
}

/// Lists only the tables that Highwater created there; drops those that no run holds, and leaves nothing behind.
/// `sql` runs a statement there.
fn listed_and_dropped(url: &str, sql: &dyn Fn(&str) -> String) {
    let place = Place::new().verbose();
    let tables = |more: &str| place.typed(&format!("tables {url} {more}"));
    let expect = |called: &Called, code: i32, words: &[&str]| {
        assert_eq!(called.code, Some(code), "{called:?}");
        let said = format!("{}{}", called.stdout, called.stderr);
        assert!(words.iter().all(|words| said.contains(words)), "{words:?}: {called:?}");
        assert!(!called.stdout.contains("mine"), "{called:?}");
    };
    sql("CREATE TABLE mine (n INTEGER)");
    expect(&tables(""), 0, &["Highwater created no tables there"]);
    let first = load(&place, url, "--drop");
    expect(&tables(""), 0, &["cpu", "in use by ", ", process ", "last heartbeat"]);
    refused(&tables("--drop cpu --yes"));
    expect(&tables("--drop mine --yes"), 2, &["created no table `mine`", "it created cpu"]);
    first.signal(Signal::INT);
    expect_clean_end(first);
    expect(&tables(""), 0, &[" rows, workload ", "seed 42; free"]);
    expect(&tables("--drop cpu"), 2, &["no terminal to ask on", "add --yes"]);
    expect(&tables("--drop cpu --yes"), 0, &["dropped cpu"]);
    expect(&tables(""), 0, &["Highwater created no tables there"]);
    assert_eq!(sql("SELECT count(*) FROM mine").trim(), "0");
}

fn expect_clean_end(running: Running) {
    let ended = running.end();
    assert!(ended.stdout.contains("data           clean"), "{ended:?}");
}

#[test]
fn tables_of_a_sqlite_file_are_listed_and_dropped_when_no_run_holds_them() {
    let (place, url) = with_file();
    listed_and_dropped(&url, &|sql| {
        if sql.starts_with("SELECT") {
            return place.query("one.db", sql);
        }
        place.database("one.db", sql);
        String::new()
    });
    let left = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'highwater%'";
    assert_eq!(place.query("one.db", left), "0");
}

#[test]
fn tables_of_postgresql_are_listed_and_dropped_when_no_run_holds_them() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    listed_and_dropped(&server.url(SUPERUSER, "postgres"), &|sql| server.sql("postgres", sql));
    let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'highwater%'";
    assert_eq!(server.sql("postgres", left).trim(), "0");
}

#[test]
fn tables_of_mariadb_are_listed_and_dropped_when_no_run_holds_them() {
    if mariadb::skipped() {
        return;
    }
    let server = mariadb::MariaDb::start();
    listed_and_dropped(&server.url(mariadb::SUPERUSER), &|sql| server.sql(sql));
    let left = "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'highwater%'";
    assert_eq!(server.sql(left).trim(), "0");
}

/// There, an entry of the registry is not removed at once.
#[test]
fn tables_of_clickhouse_are_listed_and_dropped_when_no_run_holds_them() {
    if clickhouse::skipped() {
        return;
    }
    let server = clickhouse::ClickHouse::start();
    listed_and_dropped(&server.url(clickhouse::SUPERUSER), &|sql| {
        let engine = if sql.starts_with("CREATE") { " ENGINE = Memory" } else { "" };
        server.sql(&format!("{sql}{engine}"))
    });
    let left = "SELECT count(*) FROM system.tables WHERE name LIKE 'highwater%'";
    assert_eq!(server.sql(left).trim(), "0");
}
