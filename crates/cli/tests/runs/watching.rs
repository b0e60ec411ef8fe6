//! `--ui`, `--metrics-listen` and `serve`: runs that are looked at, changed and stopped over HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use highwater_model::record::{Change, RunRecord};

use crate::called::{Place, Running};

/// Where something is served, as the program says it.
fn served(running: &mut Running, what: &str) -> SocketAddr {
    let line = running.wait_for(&format!("{what}: http://"));
    let address = line
        .split("//")
        .nth(1)
        .and_then(|rest| rest.split('/').next());
    address
        .and_then(|address| address.parse().ok())
        .unwrap_or_else(|| panic!("{line}"))
}

/// The response to a request; empty where nobody listens any more.
fn fetched(at: SocketAddr, line: &str, body: &str) -> String {
    let mut response = String::new();
    if let Ok(mut stream) = TcpStream::connect(at) {
        let length = body.len();
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {at}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        );
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.read_to_string(&mut response);
    }
    response
}

/// A counter that was scraped; the last one that is seen until nobody listens any more.
fn counter(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    lines.find_map(|line| {
        line.strip_prefix(name)?
            .strip_prefix("{stream=\"insert\"} ")?
            .parse()
            .ok()
    })
}

fn stored(place: &Place) -> RunRecord {
    let record = highwater_runner::record::read(&place.runs()[0]).unwrap();
    record.into_run().unwrap()
}

#[test]
fn a_run_is_seen_changed_and_stopped_from_a_page() {
    let place = Place::new();
    let words = [
        "run",
        "-R",
        "20k",
        "-d",
        "60s",
        "--ui=0",
        "--ui-control",
        "--metrics-listen",
        "0",
    ];
    let mut running = place.start(&words);
    let page = served(&mut running, "page");
    let metrics = served(&mut running, "metrics");
    running.wait_for("  measure");
    let shown = fetched(page, "GET /", "");
    assert!(
        shown.contains("so far") && shown.contains("id=\"stop\""),
        "{shown}"
    );
    let rate = r#"{"command":"rate","stream":"insert","per_s":10000}"#;
    let changed = fetched(page, "POST /control", rate);
    assert!(changed.contains("as phase measure-2"), "{changed}");
    let refused = fetched(page, "POST /control", &rate.replace("insert", "inserts"));
    assert!(
        refused.starts_with("HTTP/1.1 409") && refused.contains("no such stream"),
        "{refused}"
    );
    running.wait_for("measure-2");
    let scraped = fetched(metrics, "GET /metrics", "");
    let stopped = fetched(page, "POST /control", r#"{"command":"stop"}"#);
    assert!(stopped.starts_with("HTTP/1.1 200"), "{stopped}");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let record = stored(&place);
    let changes: Vec<&Change> = record
        .interventions
        .iter()
        .map(|done| &done.change)
        .collect();
    assert!(
        matches!(changes[..], [Change::Pace { .. }, Change::Stop]),
        "{changes:?}"
    );
    let sums = |of: fn(&highwater_model::record::IntervalRecord) -> u64| -> u64 {
        record.intervals.iter().map(of).sum()
    };
    let seen = counter(&scraped, "highwater_rows_acknowledged_total").expect(&scraped);
    let all = sums(|interval| interval.rows_acknowledged);
    assert!(seen > 0 && seen <= all, "{seen} of {all}");
}

#[test]
fn counters_at_the_end_are_those_of_all_whole_seconds() {
    let place = Place::new();
    // A simulated second takes no time, so all seconds are there when the audit begins.
    let words = [
        "run",
        "sim:",
        "-R",
        "2k",
        "-d",
        "20s",
        "--warm-up",
        "0s",
        "--metrics-listen",
        "0",
        "--events",
        "e",
    ];
    let mut running = place.start(&words);
    let metrics = served(&mut running, "metrics");
    let mut last = None;
    loop {
        let text = fetched(metrics, "GET /metrics", "");
        if text.is_empty() {
            break;
        }
        last = counter(&text, "highwater_ops_acknowledged_total").or(last);
    }
    assert_eq!(running.end().code, Some(0));
    let events = std::fs::read_to_string(place.path().join("e")).unwrap();
    let seconds = events.lines().filter_map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["streams"][0]["counts"]["acknowledged"].as_u64()
    });
    let reported: u64 = seconds.sum();
    let intervals = stored(&place).intervals;
    let all: u64 = intervals.iter().map(|interval| interval.acknowledged).sum();
    // What comes after the last whole second is in the record alone.
    assert!(reported > 0 && reported <= all, "{reported} of {all}");
    assert_eq!(last, Some(reported));
}

#[test]
fn an_address_that_is_taken_is_said_and_the_usual_one_moves() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let called = place.call(&["run", "sim:", &format!("--ui={address}")]);
    assert_eq!(called.code, Some(2), "{called:?}");
    assert!(
        called
            .stderr
            .contains(&format!("cannot listen on {address}")),
        "{called:?}"
    );
    // Whether the usual port is free or not, a page is there.
    let usual = place.call(&["run", "sim:", "-d", "5s", "--ui"]);
    assert_eq!(usual.code, Some(0), "{usual:?}");
    assert!(
        usual.stderr.contains("page: http://127.0.0.1:"),
        "{usual:?}"
    );
    let nothing = place.call(&["run", "sim:", "--ui-control"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    let no_address = place.call(&["run", "sim:", "--metrics-listen", "here"]);
    assert!(no_address.stderr.contains("give a port"), "{no_address:?}");
}

#[test]
fn a_search_is_seen_with_its_trials() {
    let place = Place::new();
    let words = [
        "find", "sim:", "--quick", "--p99", "100ms", "--ui=0", "--events", "e",
    ];
    let mut running = place.start(&words);
    let page = served(&mut running, "page");
    let mut seen = String::new();
    loop {
        let shown = fetched(page, "GET /", "");
        if shown.is_empty() {
            break;
        }
        seen = shown;
    }
    assert_eq!(running.end().code, Some(0));
    assert!(seen.contains("<h2>Trials</h2>"), "{seen}");
    assert!(!seen.contains("id=\"stop\""), "nobody said that it may");
}

/// Three stored runs: one that was killed, and two of which each has a label.
fn with_runs() -> (Place, [String; 3]) {
    let place = Place::new();
    for label in ["version=<i>1", "version=2"] {
        let called = place.call(&["run", "sim:", "-d", "20s", "--label", label, "-q"]);
        assert_eq!(called.code, Some(0), "{called:?}");
    }
    let killed = "highwater-runs/2020-01-01T00-00-00-killed";
    std::fs::create_dir(place.path().join(killed)).unwrap();
    place.file(&format!("{killed}/plan.json"), "{}");
    let ids: Vec<String> = place
        .runs()
        .iter()
        .map(|run| run.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    (place, ids.try_into().unwrap())
}

#[test]
fn stored_runs_are_listed_opened_and_compared() {
    let (place, [killed, first, second]) = with_runs();
    let (killed, first, second) = (&killed, &first, &second);
    let mut running = place.start(&["serve", "--listen", "0"]);
    let page = served(&mut running, "page");
    let listed = fetched(page, "GET /", "");
    for said in [
        first.as_str(),
        second,
        killed,
        "no record yet",
        "version=&lt;i&gt;1",
        "rows/s",
    ] {
        assert!(listed.contains(said), "{said}: {listed}");
    }
    let filtered = fetched(page, "GET /?label=version%3D2", "");
    assert!(
        filtered.contains(second) && !filtered.contains(first),
        "{filtered}"
    );
    let opened = fetched(page, &format!("GET /run/{first}"), "");
    assert!(
        opened.starts_with("HTTP/1.1 200") && opened.contains("<svg"),
        "{opened}"
    );
    let compared = fetched(page, &format!("GET /compare?run={second}&run={first}"), "");
    assert!(
        compared.starts_with("HTTP/1.1 200") && compared.contains(first),
        "{compared}"
    );
    for nothing in [
        "GET /run/..%2F..%2Fetc",
        "GET /run/nosuch",
        "GET /delete/nosuch",
    ] {
        assert!(
            fetched(page, nothing, "").starts_with("HTTP/1.1 404"),
            "{nothing}"
        );
    }
    assert!(fetched(page, &format!("GET /compare?run={first}"), "").starts_with("HTTP/1.1 400"));
    let refused = fetched(page, "POST /delete", &format!("id={first}"));
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.end().code, Some(0));
}

#[test]
fn a_stored_run_is_removed_when_that_is_allowed_and_confirmed() {
    let (place, [killed, first, _]) = with_runs();
    let mut running = place.start(&["serve", "--listen", "0", "--allow-delete"]);
    let page = served(&mut running, "page");
    let confirm = fetched(page, &format!("GET /delete/{first}"), "");
    assert!(confirm.contains("cannot be brought back"), "{confirm}");
    assert_eq!(
        place.runs().len(),
        3,
        "nothing is removed before it is confirmed"
    );
    let outside = fetched(page, "POST /delete", "id=..");
    assert!(outside.starts_with("HTTP/1.1 409"), "{outside}");
    let going_on = fetched(page, "POST /delete", &format!("id={killed}"));
    assert!(going_on.starts_with("HTTP/1.1 409"), "{going_on}");
    let removed = fetched(page, "POST /delete", &format!("id={first}"));
    assert!(removed.starts_with("HTTP/1.1 303"), "{removed}");
    assert_eq!(place.runs().len(), 2);
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.end().code, Some(0));
}
