//! One run at a time fills a table: the second one is refused, whatever it asks, and the first one's
//! result does not show that it tried.

use std::time::Duration;

use highwater_driver::lease::{HEARTBEAT_OVERDUE, WATCH};
use highwater_model::judgment::Data;
use highwater_model::units::Nanos;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};
use rustix::process::Signal;

use crate::called::{Called, Place, Running, record};

/// A load of its own tables that goes on until it is stopped.
fn load(place: &Place, url: &str, more: &[&str]) -> Running {
    let words = [
        "run",
        "cpu",
        url,
        "--set",
        "hosts=200",
        "--warm-up",
        "0s",
        "-d",
        "60s",
    ];
    let mut running = place.start(&[&words[..], &["-c", "2", "--batch", "50"], more].concat());
    running.wait_for("  measure  ");
    running
}

fn again(place: &Place, url: &str, more: &[&str]) -> Called {
    let words = [
        "run",
        "cpu",
        url,
        "--set",
        "hosts=200",
        "--warm-up",
        "0s",
        "-d",
        "1s",
    ];
    let short = ["-c", "1", "--batch", "10", "--json"];
    place.call(&[&words[..], &short, more].concat())
}

fn refused(called: &Called) {
    assert_eq!(called.code, Some(2), "{called:?}");
    for words in [
        "table `cpu` is in use by another run",
        "process ",
        "heartbeat",
        "wait until",
    ] {
        assert!(called.stderr.contains(words), "{words}: {called:?}");
    }
}

/// A second run, of the same rows and with `--drop`, beside a load that is undisturbed by it.
fn one_at_a_time(url: &str) {
    let (place, other) = (Place::new().verbose(), Place::new().verbose());
    let first = load(&place, url, &["--drop"]);
    refused(&again(&other, url, &[]));
    refused(&again(&other, url, &["--drop"]));
    refused(&again(&other, url, &["--drop-foreign", "cpu"]));
    // Whoever only reads disturbs nobody's rows, and another workload has other tables.
    first.signal(Signal::INT);
    let ended = first.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stdout.contains("data           clean"), "{ended:?}");
    let after = again(&other, url, &[]);
    assert_eq!(
        record(&after).judgments.data.value,
        Data::Clean,
        "{after:?}"
    );
}

#[test]
fn a_second_run_on_postgresql_is_refused() {
    if !skipped() {
        one_at_a_time(&Postgres::start().url(SUPERUSER, "postgres"));
    }
}

#[test]
fn a_second_run_on_one_sqlite_file_is_refused() {
    let place = Place::new().verbose();
    one_at_a_time(&format!("sqlite:{}", place.path().join("one.db").display()));
}

#[test]
fn between_two_probes_of_a_search_its_tables_are_held() {
    let (place, other) = (Place::new().verbose(), Place::new().verbose());
    let url = format!("sqlite:{}", place.path().join("one.db").display());
    let words = ["find", "cpu", &url, "--set", "hosts=200", "--batch", "50"];
    let slow = [
        "-c",
        "2",
        "--probe",
        "1s",
        "--warm-up",
        "0s",
        "--settle",
        "300s",
    ];
    let search = place.start(&[&words[..], &slow].concat());
    let first_probe_is_over = || {
        let probes = place.runs().pop().map(|run| run.join("probes"));
        let probes = probes.and_then(|probes| std::fs::read_dir(probes).ok());
        let mut probes = probes.into_iter().flatten().flatten();
        probes.any(|probe| probe.path().join("record.json").exists())
    };
    while !first_probe_is_over() {
        std::thread::yield_now();
    }
    // The first probe ends what it has begun.
    std::thread::sleep(Duration::from_secs(2));
    refused(&again(&other, &url, &["--drop"]));
    search.signal(Signal::INT);
    search.end();
    let after = again(&other, &url, &[]);
    assert_eq!(
        record(&after).judgments.data.value,
        Data::Clean,
        "{after:?}"
    );
}

#[test]
fn a_run_that_was_killed_holds_nothing_on_its_own_machine() {
    let place = Place::new().verbose();
    let url = format!("sqlite:{}", place.path().join("one.db").display());
    let first = load(&place, &url, &["--drop"]);
    first.kill();
    let after = again(&place, &url, &["--drop"]);
    assert_eq!(
        record(&after).judgments.data.value,
        Data::Clean,
        "{after:?}"
    );
}

#[test]
fn different_shares_of_one_plan_pass_and_the_same_share_does_not() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let url = server.url(SUPERUSER, "postgres");
    let (one, two) = (Place::new().verbose(), Place::new().verbose());
    let first = load(&one, &url, &["--share", "1/2", "--drop"]);
    let second = load(&two, &url, &["--share", "2/2"]);
    let words = [
        "run",
        "cpu",
        &url,
        "--set",
        "hosts=200",
        "--warm-up",
        "0s",
        "-d",
        "60s",
    ];
    let more = ["-c", "2", "--batch", "50", "--share", "2/2"];
    refused(&Place::new().verbose().call(&[&words[..], &more].concat()));
    for running in [&first, &second] {
        running.signal(Signal::INT);
    }
    assert!(first.end().code.is_some() && second.end().code.is_some());
}

/// The lease of a run on another machine that was last heard of so many seconds ago.
fn elsewhere(place: &Place, silent_s: u64) {
    let now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
    place.database(
        "one.db",
        &format!(
            "UPDATE highwater_leases SET machine = 'another', heartbeat_ms = {now} - {silent_s} * 1000"
        ),
    );
}

#[test]
fn a_run_elsewhere_keeps_its_tables_for_half_a_minute() {
    let place = Place::new().verbose();
    let url = format!("sqlite:{}", place.path().join("one.db").display());
    let first = load(&place, &url, &["--drop"]);
    first.kill();
    let half = HEARTBEAT_OVERDUE.saturating_add(WATCH);
    assert_eq!(half, Nanos::from_secs(30));
    elsewhere(&place, 15);
    refused(&again(&place, &url, &["--drop"]));
    elsewhere(&place, 21);
    let after = again(&place, &url, &["--drop"]);
    assert_eq!(
        record(&after).judgments.data.value,
        Data::Clean,
        "{after:?}"
    );
}

#[test]
fn a_run_that_lives_and_could_not_write_its_heartbeat_keeps_its_tables() {
    let place = Place::new().verbose();
    let url = format!("sqlite:{}", place.path().join("one.db").display());
    let first = load(&place, &url, &["--drop"]);
    // As after an outage: the heartbeat is overdue, and comes while the other one watches.
    elsewhere(&place, 100);
    refused(&again(&place, &url, &["--drop"]));
    first.signal(Signal::INT);
    assert!(first.end().stdout.contains("data           clean"));
}
