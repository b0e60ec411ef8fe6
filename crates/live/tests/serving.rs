//! Responses of the page and the metrics over real connections on loopback, and rejected requests.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use highwater_driver::interrupts::{self, Interrupter, Interrupts, StopRequest};
use highwater_live::{Live, LiveSettings, PageSettings};
use highwater_model::event::{
    Event, LoadBounds, ObjectiveSoFar, SecondProgress, StreamCounts, StreamProgress, WarningKind,
};
use highwater_model::judgment::Judgments;
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::{Objective, Unit};
use highwater_model::target_telemetry::{SeriesKind, TelemetryPoint, TelemetryValue};
use highwater_report::LiveRights;
use highwater_runner::control::{self, Controller};
use highwater_runner::request::Observer;

/// Longer than any response takes; a test that waits longer has failed.
const LIMIT: Duration = Duration::from_mins(1);

struct Served {
    live: Live,
    address: SocketAddr,
    interrupts: Interrupts,
}

fn served(rights: LiveRights, at: &str) -> Served {
    served_by(rights, at, |interrupter| control::channel(interrupter).0)
}

fn served_by(
    rights: LiveRights,
    at: &str,
    controller: impl FnOnce(Interrupter) -> Controller,
) -> Served {
    let (interrupter, interrupts) = interrupts::channel();
    let live = Live::start(LiveSettings {
        page: Some(PageSettings {
            address: at.parse().unwrap(),
            may_move: false,
            rights,
            // Only the rights decide.
            controller: Some(controller(interrupter)),
        }),
        metrics: Some("127.0.0.1:0".parse().unwrap()),
        otlp: None,
    })
    .unwrap();
    let address = address_of(live.page_url.as_ref().unwrap());
    Served { live, address, interrupts }
}

fn address_of(url: &str) -> SocketAddr {
    let address = url.split('/').nth(2).unwrap();
    let address: SocketAddr = address.parse().unwrap();
    SocketAddr::from(([127, 0, 0, 1], address.port()))
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Status and full response to a request with these additional headers.
fn fetched(address: SocketAddr, line: &str, headers: &[&str], body: &str) -> (u16, String) {
    let mut stream = connected(address);
    let host = if headers.iter().any(|header| header.starts_with("Host:")) {
        String::new()
    } else {
        format!("Host: {address}\r\n")
    };
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    // A server that rejects early may close the connection before everything is sent.
    let _ = stream.write_all(request.as_bytes());
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    let response = String::from_utf8_lossy(&response).into_owned();
    let status = response.split(' ').nth(1).unwrap_or("0").parse().unwrap();
    (status, response)
}

const JSON: &str = "Content-Type: application/json";

/// Status and response to a command.
fn commanded(address: SocketAddr, command: &str) -> (u16, String) {
    fetched(address, "POST /control", &[JSON], command)
}

fn begin(live: &Live) {
    live.event(&Event::Begun {
        directory: "runs/1".to_owned(),
        workload: "cpu".to_owned(),
        urls: vec!["sim:".to_owned()],
        target: "simulated \"cluster\"".to_owned(),
        simulated: true,
        phases: Vec::new(),
        objectives: vec![Objective::Errors { max_ppm: 500_000 }],
        settings_file: None,
    });
    live.event(&Event::Load(LoadBounds::default()));
}

fn second(live: &Live, second: u64, units_per_s: f64) {
    let stream = StreamProgress {
        stream: "insert".to_owned(),
        unit: Unit::Rows,
        offered_per_s: None,
        units_per_s,
        p50_ns: Some(1_000_000),
        p99_ns: Some(2_000_000),
        p99_at_least: false,
        max_ns: None,
        recent: None,
        errors: 3,
        rejected: 2,
        counts: StreamCounts {
            offered: 10,
            sent: 10,
            acknowledged: 7,
            rows_acknowledged: 700,
            latency_up_to: (0..19).map(|bound| bound.min(9)).chain([]).collect(),
            latency_sum_ns: 2_500_000_000,
            service_up_to: (0..19).map(|bound: u64| bound.min(7)).collect(),
            service_sum_ns: 1_500_000_000,
            lag_up_to: vec![10; 19],
            lag_sum_ns: 1_000,
            failed: BTreeMap::from([(ErrorClass::Rejected, 2)]),
            ..StreamCounts::default()
        },
    };
    live.event(&Event::Second(SecondProgress {
        second,
        phase: "measure".to_owned(),
        streams: vec![stream],
        errors: 3,
        dropped: 0,
        sessions: 8,
        objectives: vec![ObjectiveSoFar::Part { missed: 3, counted: 12 }],
        ..SecondProgress::default()
    }));
}

/// Repeats a request until the response contains a text: events are processed by another thread.
fn until(address: SocketAddr, path: &str, said: &str) -> String {
    loop {
        let (status, response) = fetched(address, &format!("GET {path}"), &[], "");
        assert_eq!(status, 200, "{response}");
        if response.contains(said) {
            return response;
        }
    }
}

#[test]
fn the_page_shows_the_reports_and_their_end() {
    let served = served(LiveRights::View, "127.0.0.1:0");
    begin(&served.live);
    second(&served.live, 1, 1_234.0);
    second(&served.live, 2, 4_321.0);
    let page = until(served.address, "/", "1,234");
    // A second is shown when the next one is reported, because its record is complete only then.
    assert!(page.contains("at 1 s") && !page.contains("4,321"), "{page}");
    let policy = "content-security-policy: default-src 'none'";
    assert!(page.contains(policy), "{page}");
    let mut lines = listened(served.address);
    let mut wait_for = |said: &str| {
        let found = lines.find(|line| line.contains(said));
        found.unwrap_or_else(|| panic!("`{said}` never came"))
    };
    // A new client gets the current state instead of an empty page until the next second.
    wait_for("event: parts");
    let first = wait_for("data:");
    assert!(first.contains("1,234"), "{first}");
    second(&served.live, 3, 1_000.0);
    wait_for("4,321");
    drop(served.live);
    wait_for("Finished");
    wait_for("event: over");
}

#[test]
fn others_are_refused() {
    let served = served(LiveRights::Control, "127.0.0.1:0");
    let at = served.address;
    let own = format!("Origin: http://{at}");
    let stop = r#"{"command":"stop"}"#;
    let (host, origin) = ("Host: evil.example", "Origin: http://evil.example");
    let (drop, plain) = (r#"{"command":"drop"}"#, "Content-Type: text/plain");
    for (line, headers, body, expected) in [
        ("GET /", vec![host], "", 403),
        ("GET /live", vec![host], "", 403),
        ("GET /metrics", vec![host], "", 403),
        ("POST /control", vec![JSON, origin], stop, 403),
        ("POST /control", vec![JSON, "Origin: null"], stop, 403),
        ("POST /control", vec![plain, &own], stop, 415),
        ("POST /control", vec![JSON, &own], "{", 400),
        ("POST /control", vec![JSON, &own], drop, 400),
        ("GET /control", vec![], "", 405),
        ("GET /../../etc/passwd", vec![], "", 404),
        ("GET /%2e%2e/%2e%2e/etc/passwd", vec![], "", 404),
    ] {
        let (status, response) = fetched(at, line, &headers, body);
        assert_eq!(status, expected, "{line} {headers:?}: {response}");
    }
    let form = "x".repeat(10 << 20);
    let (status, response) = fetched(at, "POST /control", &[JSON, &own], &form);
    assert!(status == 413 || status == 0, "{response}");
    // None of them stopped anything.
    assert_eq!(served.interrupts.requested(), None);
    let (status, response) = fetched(at, "POST /control", &[JSON, &own], stop);
    assert_eq!(status, 200, "{response}");
    assert_eq!(served.interrupts.requested(), Some(StopRequest::Stop));
    // A second stop ends the run immediately.
    let (status, response) = fetched(at, "POST /control", &[JSON, &own], stop);
    assert_eq!(status, 200, "{response}");
    let requested = served.interrupts.requested();
    assert_eq!(requested, Some(StopRequest::StopAtOnce));
}

#[test]
fn no_other_site_may_read_a_response() {
    let served = served(LiveRights::Control, "127.0.0.1:0");
    let at = served.address;
    let own = format!("Origin: http://{at}");
    let preflight = ["Access-Control-Request-Method: POST", &own];
    for (line, headers) in [
        ("GET /", vec![own.as_str()]),
        ("GET /metrics", vec![&own]),
        ("OPTIONS /control", preflight.to_vec()),
        ("OPTIONS /control", vec!["Origin: http://evil.example"]),
    ] {
        let (_, response) = fetched(at, line, &headers, "");
        let (head, _) = response.split_once("\r\n\r\n").unwrap();
        let allows = head.to_lowercase().contains("access-control-");
        assert!(!allows, "{line}: {head}");
    }
}

#[test]
fn viewers_cannot_stop_a_run_and_clients_that_may_stop_it_cannot_change_it() {
    let stop = r#"{"command":"stop"}"#;
    let note = r#"{"command":"note","text":"x"}"#;
    let look = served(LiveRights::View, "127.0.0.1:0");
    assert_eq!(commanded(look.address, stop).0, 403);
    assert_eq!(look.interrupts.requested(), None);
    let may_stop = served(LiveRights::Trials, "127.0.0.1:0");
    assert_eq!(commanded(may_stop.address, note).0, 403);
    assert_eq!(commanded(may_stop.address, stop).0, 200);
}

#[test]
fn an_experiment_is_paused_and_resumed_and_a_run_is_not() {
    let pause = r#"{"command":"pause"}"#;
    let resume = r#"{"command":"resume"}"#;
    let look = served(LiveRights::View, "127.0.0.1:0");
    assert_eq!(commanded(look.address, pause).0, 403);
    // The controller of a run has no trials.
    let run = served(LiveRights::Control, "127.0.0.1:0");
    let (status, why) = commanded(run.address, pause);
    assert!(status == 409 && why.contains("no trials"), "{why}");
    let trials = served_by(LiveRights::Trials, "127.0.0.1:0", control::of_trials);
    let at = trials.address;
    let (status, said) = commanded(at, pause);
    assert!(status == 200 && said.contains("pauses when"), "{said}");
    assert!(trials.interrupts.is_held());
    until(at, "/", r#"data-held="true""#);
    assert_eq!(commanded(at, resume).0, 200);
    assert!(!trials.interrupts.is_held());
    until(at, "/", r#"data-held="false""#);
    let elsewhere = [JSON, "Origin: http://evil.example"];
    assert_eq!(fetched(at, "POST /control", &elsewhere, pause).0, 403);
    assert!(!trials.interrupts.is_held());
}

/// The lines of the event stream, until it ends.
fn listened(address: SocketAddr) -> impl Iterator<Item = String> {
    let mut stream = connected(address);
    let request = format!("GET /live HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream).lines().map_while(Result::ok)
}

/// The first parts that a reader of the event stream receives.
fn first_parts(address: SocketAddr) -> String {
    let mut lines = listened(address);
    lines.find(|line| line == "event: parts").unwrap();
    lines
        .map_while(|line| line.strip_prefix("data: ").map(str::to_owned))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn late_and_returning_clients_see_everything_that_they_missed() {
    let served = served(LiveRights::View, "127.0.0.1:0");
    begin(&served.live);
    second(&served.live, 1, 1_234.0);
    second(&served.live, 2, 1_002.0);
    until(served.address, "/", "1,234");
    let before = first_parts(served.address);
    // Nothing is connected during this time.
    for number in 3..51_u32 {
        second(&served.live, number.into(), 1_000.0 + f64::from(number));
    }
    served.live.event(&Event::Warning {
        kind: WarningKind::FileNotWritten,
        message: "the disk is full".to_owned(),
    });
    let page = until(served.address, "/", "the disk is full");
    let [back, second_browser] = [(); 2].map(|()| first_parts(served.address));
    assert_ne!(before, back);
    assert_eq!(back, second_browser, "both see the same");
    assert!(back.lines().all(|region| page.contains(region)), "and so does who has no script");
    let said = ["the disk is full", "1,049", "at 49 s simulated"];
    assert!(said.iter().all(|said| back.contains(said)), "{back}");
}

#[test]
fn elsewhere_than_on_loopback_nothing_is_given_without_the_token() {
    let served = served(LiveRights::View, "0.0.0.0:0");
    begin(&served.live);
    let url = served.live.page_url.clone().unwrap();
    let token = url.split_once("#token=").unwrap().1;
    let at = served.address;
    let (status, page) = fetched(at, "GET /", &[], "");
    assert_eq!(status, 200);
    let is_empty = page.contains("needs its token") && !page.contains("cpu");
    assert!(is_empty, "{page}");
    for path in ["GET /live", "GET /metrics", "GET /live.js"] {
        assert_eq!(fetched(at, path, &[], "").0, 403, "{path}");
    }
    assert_eq!(fetched(at, "POST /login", &[], "0").0, 403);
    let other = "Origin: http://evil.example";
    assert_eq!(fetched(at, "POST /login", &[other], token).0, 403);
    let (status, response) = fetched(at, "POST /login", &[], token);
    assert_eq!(status, 200, "{response}");
    let mut lines = response.lines();
    let cookie = lines.find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.unwrap();
    let is_safe = cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict");
    assert!(is_safe, "{cookie}");
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    let (status, page) = fetched(at, "GET /", &[&cookie], "");
    assert!(status == 200 && page.contains("id=\"parts\""), "{page}");
    assert!(!page.contains(token), "the page does not repeat it");
}

#[test]
fn two_hundred_silent_connections_block_no_other() {
    let served = served(LiveRights::View, "127.0.0.1:0");
    begin(&served.live);
    let silent: Vec<TcpStream> = (0..200).map(|_| connected(served.address)).collect();
    until(served.address, "/", "simulated");
    drop(silent);
    // Connections above the limit are closed, and the limit recovers.
    let crowd: Vec<TcpStream> = (0..400).map(|_| connected(served.address)).collect();
    drop(crowd);
    while fetched(served.address, "GET /", &[], "").0 != 200 {}
}

/// The ports of clients with an open server end of their connection, from the system's table, which does not affect the
/// connection.
fn open_clients(server: SocketAddr) -> BTreeSet<u16> {
    const ESTABLISHED: &str = "01";
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let own = format!("0100007F:{:04X}", server.port());
    let clients = table.lines().filter_map(|line| {
        let [_, local, remote, state, ..] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return None;
        };
        let (_, port) = remote.split_once(':')?;
        let is_open = local == own && state == ESTABLISHED;
        is_open.then(|| u16::from_str_radix(port, 16).unwrap())
    });
    clients.collect()
}

/// Time between two checks of the system's table.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

#[test]
#[ignore = "long: until the server waits no longer for a reader, half a minute"]
fn long_a_stalled_reader_is_dropped_and_sees_the_latest_when_it_returns() {
    let served = served(LiveRights::View, "127.0.0.1:0");
    begin(&served.live);
    let at = served.address;
    let mut slow = connected(at);
    let request = format!("GET /live HTTP/1.1\r\nHost: {at}\r\n\r\n");
    slow.write_all(request.as_bytes()).unwrap();
    let own = slow.local_addr().unwrap().port();
    let warn = |message: String| {
        served.live.event(&Event::Warning { kind: WarningKind::RecordNotWritten, message });
    };
    let large = "x".repeat(20_000);
    let mut looks = 0_u32;
    // More per second than the system buffers for a connection.
    while open_clients(at).contains(&own) || looks == 0 {
        looks += 1;
        assert!(looks < 3_000, "it keeps its place for ever");
        for number in 0..20 {
            warn(format!("{looks}-{number} {large}"));
        }
        // Other clients are served in the meantime.
        assert_eq!(fetched(at, "GET /live.js", &[], "").0, 200);
        std::thread::sleep(BETWEEN_LOOKS);
    }
    warn("the last of all".to_owned());
    until(at, "/", "the last of all");
    let back = first_parts(at);
    assert!(back.contains("the last of all"));
    // It only receives the data that was in flight when it was dropped, and then the end.
    let mut rest = Vec::new();
    let ended = slow.read_to_end(&mut rest);
    let is_reset = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
    assert!(ended.map_err(is_reset) != Err(false), "no end came");
    assert!(!String::from_utf8_lossy(&rest).contains("the last of all"));
}

#[test]
#[ignore = "long: until requests that never end are no longer waited for, ten seconds"]
fn long_two_hundred_slow_connections_block_no_other() {
    let served = served(LiveRights::View, "127.0.0.1:0");
    begin(&served.live);
    let at = served.address;
    let slow = (0..200).map(|_| {
        let mut stream = connected(at);
        stream.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
        stream
    });
    let mut slow: Vec<TcpStream> = slow.collect();
    let mut looks = 0_u32;
    while !slow.is_empty() {
        looks += 1;
        assert!(looks < 600, "{} keep their places for ever", slow.len());
        until(at, "/", "simulated");
        let open = open_clients(at);
        slow.retain_mut(|stream| {
            let own = stream.local_addr().unwrap().port();
            open.contains(&own) && stream.write_all(b"x").is_ok()
        });
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

#[test]
#[ignore = "long: until bodies that never come are no longer waited for, ten seconds"]
fn long_missing_bodies_block_no_other_connection() {
    let served = served(LiveRights::View, "127.0.0.1:0");
    begin(&served.live);
    let at = served.address;
    let silent = (0..256).map(|_| {
        let mut stream = connected(at);
        let head = format!("POST /control HTTP/1.1\r\nHost: {at}\r\nContent-Length: 9\r\n\r\n{{");
        stream.write_all(head.as_bytes()).unwrap();
        stream
    });
    let silent: Vec<TcpStream> = silent.collect();
    let mut looks = 0_u32;
    while fetched(at, "GET /", &[], "").0 != 200 {
        looks += 1;
        assert!(looks < 600, "they keep their places for ever");
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let mut response = String::new();
    let mut first = &silent[0];
    first.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 408"), "{response}");
}

#[test]
fn metrics_are_the_sums_of_the_reports() {
    let served = served(LiveRights::View, "127.0.0.1:0");
    begin(&served.live);
    second(&served.live, 1, 700.0);
    second(&served.live, 2, 700.0);
    let at = address_of(served.live.metrics_url.as_ref().unwrap());
    let text = until(at, "/metrics", "highwater_elapsed 2.0");
    for line in [
        r#"highwater_ops_offered_total{stream="insert"} 20"#,
        r#"highwater_ops_acknowledged_total{stream="insert"} 14"#,
        r#"highwater_rows_acknowledged_total{stream="insert"} 1400"#,
        r#"highwater_ops_failed_total{stream="insert",class="rejected"} 4"#,
        r#"highwater_ops_failed_total{stream="insert",class="other"} 2"#,
        r#"highwater_ops_failed_total{stream="insert",class="timeout"} 0"#,
        r#"highwater_service_time_seconds_count{stream="insert"} 14"#,
        r#"highwater_service_time_seconds_sum{stream="insert"} 3.0"#,
        r#"highwater_client_lag_seconds_bucket{le="0.0001",stream="insert"} 20"#,
        r#"highwater_latency_seconds_bucket{le="0.00025",stream="insert"} 2"#,
        r#"highwater_latency_seconds_count{stream="insert"} 18"#,
        r#"highwater_latency_seconds_sum{stream="insert"} 5.0"#,
        r#"highwater_phase{phase="measure"} 1.0"#,
        "highwater_sessions 8.0",
        r#"highwater_objective_allowed{objective="errors ≤ 50%",kind="errors"} 0.5"#,
        r#"highwater_objective_measured{objective="errors ≤ 50%",kind="errors"} 0.25"#,
        r#"highwater_objective_used{objective="errors ≤ 50%",kind="errors"} 0.5"#,
        r#"target="simulated \"cluster\"""#,
        "# EOF",
    ] {
        assert!(text.contains(line), "`{line}` is not in:\n{text}");
    }
    assert_eq!(fetched(at, "GET /", &[], "").0, 404, "metrics alone");
}

/// The end of a run or an experiment, with the rows found by its audit.
fn end(live: &Live, rows_found: Option<u64>) {
    live.event(&Event::Ended {
        directory: "runs/1".to_owned(),
        judgments: Judgments::default(),
        rows_found,
    });
}

#[test]
fn audit_results_are_summed_over_trials_and_the_end_of_the_experiment_adds_nothing() {
    let served = served(LiveRights::View, "127.0.0.1:0");
    begin(&served.live);
    let at = address_of(served.live.metrics_url.as_ref().unwrap());
    until(at, "/metrics", "\nhighwater_rows_found_total 0\n");
    end(&served.live, Some(1_390));
    until(at, "/metrics", "\nhighwater_rows_found_total 1390\n");
    begin(&served.live);
    end(&served.live, Some(10));
    end(&served.live, None);
    second(&served.live, 9, 700.0);
    let text = until(at, "/metrics", "highwater_elapsed 9.0");
    assert!(text.contains("\nhighwater_rows_found_total 1400\n"), "{text}");
}

/// Telemetry of the target this many seconds after the start; without `node`, no level is reported.
fn said(live: &Live, seconds: u64, node: Option<&str>) {
    let value = |name: &str, kind, node: Option<&str>, value| TelemetryValue {
        source: "target".to_owned(),
        name: name.to_owned(),
        unit: "bytes".to_owned(),
        node: node.map(str::to_owned),
        kind,
        value,
    };
    let mut values = vec![value("log_written", SeriesKind::Count, None, 500.0)];
    values.extend(node.map(|node| value("disk_free", SeriesKind::Level, Some(node), 7.0)));
    let time_ns = seconds * 1_000_000_000;
    live.telemetry(&|| TelemetryPoint { time_ns, values: values.clone() });
}

#[test]
fn telemetry_is_the_latest_value_and_counts_are_per_second() {
    let served = served(LiveRights::View, "127.0.0.1:0");
    begin(&served.live);
    said(&served.live, 1, Some("n1"));
    said(&served.live, 3, Some("n1"));
    second(&served.live, 3, 700.0);
    let at = address_of(served.live.metrics_url.as_ref().unwrap());
    let text = until(at, "/metrics", "highwater_elapsed 3.0");
    let level =
        r#"highwater_telemetry{source="target",name="disk_free",unit="bytes",node="n1"} 7.0"#;
    let count =
        r#"highwater_telemetry{source="target",name="log_written",unit="bytes/s",node=""} 250.0"#;
    assert!(text.contains(level) && text.contains(count), "{text}");
    // A node that has left must not keep its last value.
    for seconds in 4..30 {
        said(&served.live, seconds, None);
    }
    second(&served.live, 30, 700.0);
    let text = until(at, "/metrics", "highwater_elapsed 30.0");
    assert!(!text.contains("disk_free"), "{text}");
    assert!(text.contains("log_written"), "{text}");
}
