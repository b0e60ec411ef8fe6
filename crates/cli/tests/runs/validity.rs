//! Cases that must not pass as a valid measurement of the database, and faults that must be detected nevertheless.

use std::time::Duration;

use highwater_model::judgment::{Measurement, ReasonCode};
use highwater_model::limit::Resource;
use highwater_model::record::{RunRecord, StallKind};
use highwater_testing::postgres::{Postgres, SUPERUSER, Setup, skipped};
use rustix::process::Signal;

use crate::called::{Place, measured, record, split};

/// One server with a capacity of 50 requests per second with 5 rows each, whatever the queue length.
const SLOW: &str =
    "sim:?nodes=1&cores=1&request=20ms&row=0ns&shards=1&service=constant&replicas=0&queue=inf";

fn has(record: &RunRecord, code: ReasonCode) -> bool {
    let mut reasons = record.judgments.measurement.reasons.iter();
    reasons.any(|reason| reason.code == code)
}

#[test]
fn throughput_counts_answers_even_if_every_op_was_due_before_the_phase() {
    let place = Place::new().verbose();
    let words = ["run", "cpu", SLOW, "--batch", "5", "-c", "3000", "-d", "15s"];
    let called = place.call(&[&words[..], &["--audit", "off", "--json"]].concat());
    let record = record(&called);
    let stream = &record.streams[0];
    assert!((stream.throughput.rows_per_s - 250.0).abs() < 0.5, "{stream:?}");
    let [low, high] = stream.throughput.ci95.unwrap();
    assert!(low > 240.0 && high < 260.0, "{stream:?}");
    // No op of the phase completed, so its latency is at least the waiting time.
    let result = measured(&record);
    assert_eq!(result.acknowledged, 0);
    assert_eq!(result.answered.ops, 750);
    assert!(result.latency_ns.p50 >= Some(29_000_000_000), "{:?}", result.latency_ns);
    assert_eq!(record.judgments.measurement.value, Measurement::Inconclusive);
    assert!(
        has(&record, ReasonCode::LatencyUnknown) && !has(&record, ReasonCode::NothingAcknowledged)
    );
}

#[test]
fn a_search_finds_the_same_mark_however_many_sessions_estimate_it() {
    let mark = |sessions: &str| {
        let place = Place::new().verbose();
        let words = ["find", "cpu", SLOW, "--batch", "5", "--p99", "500ms", "-c", sessions];
        let called = place.call(&[&words[..], &["--audit", "off", "--json"]].concat());
        let record = highwater_model::json::parse(&called.stdout).unwrap();
        let record = record.into_experiment().unwrap();
        let outcome = record.search().unwrap().outcome.clone().unwrap();
        let highwater_model::search::SearchOutcome::Mark(mark) = outcome else {
            panic!("{sessions}: {outcome:?}");
        };
        mark.confirmed
    };
    let (few, many) = (mark("500"), mark("3000"));
    assert!((240.0..=255.0).contains(&few), "{few}");
    assert!((few / many - 1.0).abs() < 0.05, "{few} and {many}");
}

/// The record of a run on the wall clock whose process is stopped for `stall` in its measured phase.
fn stopped_for(stall: Duration, more: &[&str]) -> RunRecord {
    let place = Place::new().verbose();
    let url = "sim:?clock=real&service=constant&request=5ms";
    let words = ["run", "cpu", url, "--warm-up", "0s", "-d", "5s"];
    let mut running = place.start(&[&words[..], &["--audit", "off"], more].concat());
    running.wait_for("  measure  ");
    running.signal(Signal::STOP);
    // The length of the injected fault, not a wait for a condition.
    std::thread::sleep(stall);
    running.signal(Signal::CONT);
    let called = running.end();
    let shown = place.call(&["show", "--format", "json"]);
    assert_eq!(shown.code, called.code);
    record(&shown)
}

#[test]
fn a_client_that_was_stopped_is_never_valid_and_its_pause_is_not_the_databases() {
    for pace in [["-c", "4"], ["--rate", "2k"]] {
        // Whenever it begins, it contains a whole second.
        let record = stopped_for(Duration::from_millis(2_100), &pace);
        assert_eq!(
            record.judgments.measurement.value,
            Measurement::Invalid,
            "{:?}",
            record.judgments
        );
        assert!(has(&record, ReasonCode::ClientStalled), "{:?}", record.judgments);
        let stalls = &record.clients[0].stalls;
        let longest = stalls.iter().max_by_key(|stall| stall.duration_ns).unwrap();
        assert_eq!(longest.kind, StallKind::NotRunning);
        assert!(longest.duration_ns > 2_000_000_000, "{stalls:?}");
        // The remainder of the gap is the op in flight, not the pause.
        assert!(record.availability.longest_gap_ns < 2_000_000_000, "{:?}", record.availability);
        assert_eq!(record.availability.dips, 0, "{:?}", record.availability);
    }
}

/// A load with more sessions than the server allows.
fn sixty_sessions(url: &str) -> String {
    format!("run cpu {url} --set hosts=200 --drop --warm-up 0s -c 60 -d 2s --batch 50")
}

#[test]
fn sessions_that_a_full_server_refuses_are_counted_and_their_cause_is_named() {
    if skipped() {
        return;
    }
    let server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
        settings: vec!["max_connections = 20".to_owned()],
        ..Setup::default()
    });
    let url = server.url(SUPERUSER, "postgres");
    let place = Place::new().verbose();
    let called = place.typed(&sixty_sessions(&url));
    for said in [" of 60 sessions", "[sessions_missing]", "too many clients"] {
        called.prints(said);
    }
    called.prints("measurement    INVALID");
}

#[test]
fn sessions_for_which_this_process_has_no_file_are_counted_too() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let url = server.url(SUPERUSER, "postgres");
    let place = Place::new().verbose();
    let called = place.after("ulimit -n 40", &split(&sixty_sessions(&url)));
    for said in [" of 60 sessions", "[sessions_missing]", "open files"] {
        called.prints(said);
    }
}

#[test]
#[ignore = "ten minutes; twenty whole runs"]
fn long_the_readmes_first_command_succeeds_with_an_interval_or_a_reason() {
    // A machine whose speed changes within ten seconds leaves too few independent windows.
    const WITHOUT_MOST: usize = 2;
    let mut without = Vec::new();
    for number in 1..=20 {
        let called = Place::new().verbose().call(&["run", "--json"]);
        assert_eq!(called.code, Some(0), "run {number}: {called:?}");
        let record = record(&called);
        let mut streams = record.streams.iter();
        if streams.any(|stream| stream.throughput.ci95.is_some()) {
            continue;
        }
        let says_why = has(&record, ReasonCode::SteadinessNotShown);
        assert!(says_why, "run {number}: {:?}", record.judgments);
        without.push((number, record.streams));
    }
    println!("{} of 20 runs have no interval", without.len());
    assert!(without.len() <= WITHOUT_MOST, "{without:?}");
}

/// A cluster with ten times the capacity of its load generator.
const BOUNDED: &str =
    "sim:?nodes=2&cores=4&shards=8&replicas=0&row=1ms&query=1ms&queue=inf&client=400";

#[test]
fn a_simulated_load_generator_is_the_limit_however_many_sessions_there_are() {
    let words = ["--audit", "off", "-d", "20s", "--batch", "10", "--json"];
    for load in ["-c 21", "-c 84", "-c 84 --rate 500", "-c 42 --stream dashboards"] {
        let place = Place::new().verbose();
        let words = [&["run", "cpu", BOUNDED], &split(load)[..], &words].concat();
        let called = place.call(&words);
        let record = record(&called);
        let by = record.limit.as_ref().and_then(|limit| limit.by.as_ref());
        let by = by.unwrap_or_else(|| panic!("{load:?}: {:?}", record.limit));
        assert_eq!(by.resource, Resource::LoadGenerator, "{load:?}");
        assert!(has(&record, ReasonCode::ClientSaturated), "{load:?}: {:?}", record.judgments);
    }
    // Far below the load generator's capacity, there is no complaint.
    let place = Place::new().verbose();
    let below = ["run", "cpu", BOUNDED, "-c", "84", "--rate", "200"];
    let record = record(&place.call(&[&below[..], &words].concat()));
    assert!(!has(&record, ReasonCode::ClientSaturated), "{:?}", record.judgments);
}
