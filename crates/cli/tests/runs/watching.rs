//! `--ui`, `--metrics-listen` and `serve`: runs that are looked at, changed and stopped over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use highwater_model::record::{AuditStatus, Change, RunRecord};
use rustix::process::{Pid, Signal, kill_process};

use crate::called::{Place, Running, experiment, split};
use crate::comparing_growths::grow;

/// Where something is served, as the program says it.
pub(crate) fn served(running: &mut Running, what: &str) -> SocketAddr {
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
pub(crate) fn fetched(at: SocketAddr, line: &str, body: &str) -> String {
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

/// Fails where a response has not this status, or says not all of these.
#[track_caller]
fn expect(response: &str, status: u16, all: &[&str]) {
    let begin = format!("HTTP/1.1 {status}");
    let says = all.iter().all(|said| response.contains(said));
    assert!(response.starts_with(&begin) && says, "{all:?}: {response}");
}

/// Starts a server, and returns where its page is.
fn serving(place: &Place, more: &str) -> (Running, SocketAddr) {
    let mut running = place.start(&split(&format!("serve --listen 0 {more}")));
    let page = served(&mut running, "page");
    (running, page)
}

/// Ctrl-C ends a server in order.
#[track_caller]
fn stop(server: Running) {
    server.signal(Signal::INT);
    assert_eq!(server.end().code, Some(0));
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
    let words = split("run -R 20k -d 60s --ui=0 --ui-control --metrics-listen 0");
    let mut running = place.start(&words);
    let page = served(&mut running, "page");
    let metrics = served(&mut running, "metrics");
    running.wait_for("  measure");
    let shown = fetched(page, "GET /", "");
    expect(&shown, 200, &["so far", "id=\"stop\""]);
    let rate = r#"{"command":"rate","stream":"insert","per_s":10000}"#;
    let changed = fetched(page, "POST /control", rate);
    expect(&changed, 200, &["as phase measure-2"]);
    let pause = fetched(page, "POST /control", r#"{"command":"pause"}"#);
    expect(&pause, 409, &["no trials"]);
    let refused = fetched(page, "POST /control", &rate.replace("insert", "inserts"));
    expect(&refused, 409, &["no such stream"]);
    running.wait_for("measure-2");
    let scraped = fetched(metrics, "GET /metrics", "");
    let stopped = fetched(page, "POST /control", r#"{"command":"stop"}"#);
    expect(&stopped, 200, &[]);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let record = stored(&place);
    let done = record.interventions.iter();
    let changes: Vec<&Change> = done.map(|done| &done.change).collect();
    assert!(
        matches!(changes[..], [Change::Pace { .. }, Change::Stop]),
        "{changes:?}"
    );
    let seen = counter(&scraped, "highwater_rows_acknowledged_total").expect(&scraped);
    let served = counter(&scraped, "highwater_service_time_seconds_count");
    assert_eq!(
        served,
        counter(&scraped, "highwater_ops_acknowledged_total")
    );
    assert!(
        counter(&scraped, "highwater_client_lag_seconds_count") >= served,
        "{scraped}"
    );
    let all: u64 = record.intervals.iter().map(|of| of.rows_acknowledged).sum();
    assert!(seen > 0 && seen <= all, "{seen} of {all}");
}

#[test]
fn a_run_is_stopped_twice_from_its_page_while_it_is_audited() {
    let place = Place::new();
    // Its audit waits for an hour for a target that stands still.
    let words =
        "run sim:?clock=real&stall=1500ms+1h --warm-up 0s -d 2s --timeout 200ms --audit-timeout 1h";
    let mut running = place.start(&split(&format!("{words} --ui=0 --ui-control")));
    let page = served(&mut running, "page");
    running.wait_for("audit: ");
    let stop = r#"{"command":"stop"}"#;
    let once = fetched(page, "POST /control", stop);
    expect(&once, 200, &["stopped by a command"]);
    // Once lets the audit end; its status begins with a capital as soon as it has rows to count.
    shown(page, "/", "udit: ");
    let twice = fetched(page, "POST /control", stop);
    expect(&twice, 200, &[]);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let record = stored(&place);
    assert_eq!(record.audit.status, AuditStatus::Failed);
    assert!(record.results[0].rows.acknowledged > 0 && record.audit.unknown > 0);
    let done = record.interventions.iter();
    let stops = done.filter(|done| done.change == Change::Stop);
    assert_eq!(stops.count(), 2, "{:?}", record.interventions);
}

#[test]
fn counters_at_the_end_are_those_of_all_whole_seconds() {
    let place = Place::new();
    // A simulated second takes no time, so all seconds are there when the audit begins.
    let words = split("run sim: -R 2k -d 20s --warm-up 0s --metrics-listen 0 --events e");
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
fn what_the_audit_of_a_trial_found_is_scraped_while_the_next_one_runs() {
    let place = Place::new();
    let words = split("run -R 2k -d 3s --warm-up 0s --repeat 2 --settle 0s --metrics-listen 0");
    let mut running = place.start(&words);
    let metrics = served(&mut running, "metrics");
    running.wait_for("run 2:");
    let seen = loop {
        let text = fetched(metrics, "GET /metrics", "");
        assert!(!text.is_empty(), "nothing was found before the end");
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix("highwater_rows_found_total "));
        match line.expect(&text).parse::<u64>().unwrap() {
            0 => {}
            found => break found,
        }
    };
    let ended = running.end();
    assert!(ended.code.is_some_and(|code| code < 4), "{ended:?}");
    let trials = place.runs()[0].join("probes");
    let trials = std::fs::read_dir(trials).unwrap();
    let mut trials: Vec<_> = trials.map(|trial| trial.unwrap().path()).collect();
    trials.sort();
    let first = highwater_runner::record::read(&trials[0]).unwrap();
    let found = first.into_run().unwrap().audit.found;
    assert!(found > 0);
    assert_eq!(seen, found);
}

#[test]
fn an_address_that_is_taken_is_said_and_the_usual_one_moves() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let called = place.call(&["run", "sim:", &format!("--ui={address}")]);
    assert_eq!(called.code, Some(2), "{called:?}");
    called.reports(&format!("cannot listen on {address}"));
    // Whether the usual port is free or not, a page is there.
    let usual = place.call(&["run", "sim:", "-d", "5s", "--ui"]);
    assert_eq!(usual.code, Some(0), "{usual:?}");
    usual.reports("page: http://127.0.0.1:");
    let nothing = place.call(&["run", "sim:", "--ui-control"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    let no_address = place.call(&["run", "sim:", "--metrics-listen", "here"]);
    assert!(no_address.stderr.contains("give a port"), "{no_address:?}");
}

#[test]
fn a_collector_that_is_away_is_one_warning_and_not_the_end_of_a_run() {
    let place = Place::new();
    let away = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let url = format!("http://{away}");
    let called = place.call(&["run", "sim:", "-d", "20s", "-q", "--otlp", &url]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert_eq!(called.stderr.matches("--otlp: ").count(), 1, "{called:?}");
    let wrong = place.call(&["run", "sim:", "--otlp", "http://me:geheim@host"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(!wrong.stderr.contains("geheim"), "{wrong:?}");
}

#[test]
fn headers_of_a_collector_are_checked_and_in_no_text_and_no_file() {
    const SECRET: &str = "s3cr3t-Geheim";
    let called = |headers: &str, words: &[&str]| {
        let place = Place::new().verbose();
        let mut command = place.command(words);
        command.env("OTEL_EXPORTER_OTLP_HEADERS", headers);
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert!(!stdout.contains(SECRET), "{stdout}");
        assert!(!stderr.contains(SECRET), "{stderr}");
        (output.status.code(), stderr, place)
    };
    let away = "http://127.0.0.1:1";
    let pushing = ["run", "sim:", "-d", "20s", "--otlp", away];
    let (code, stderr, place) = called(&format!("api-key={SECRET}"), &pushing);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("--otlp: "), "{stderr}");
    let holds = |name: &str| {
        let runs = std::fs::read_dir(place.path().join("highwater-runs")).unwrap();
        let mut runs = runs.map(|run| run.unwrap().path().join(name));
        std::fs::read_to_string(runs.find(|path| path.exists()).unwrap())
            .unwrap()
            .contains(SECRET)
    };
    assert!(!holds("record.json") && !holds("report.html"));

    // Another's way to write them is an error before anything runs, which shows nothing of it.
    let (code, stderr, _) = called(&format!("api-key: {SECRET}"), &pushing);
    assert_eq!(code, Some(2), "{stderr}");
    let cause = "error: OTEL_EXPORTER_OTLP_HEADERS: header 1 has no `=`\n";
    assert!(
        stderr.contains(cause) && stderr.contains("hint: "),
        "{stderr}"
    );
    // Who pushes nothing is not held up by what other programs read.
    let (code, stderr, _) = called(SECRET, &["run", "sim:", "-d", "20s"]);
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn a_search_is_seen_with_its_trials() {
    let place = Place::new();
    let words = split("find sim: --quick --p99 100ms --ui=0 --events e");
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
    assert!(seen.contains("<h2>Probes</h2>"), "the table so far: {seen}");
    assert!(!seen.contains("id=\"stop\""), "nobody said that it may");
}

#[test]
fn a_group_is_paused_between_two_runs_from_its_page_and_resumed() {
    let place = Place::new();
    let words = split("run -R 2k -d 3s --warm-up 0s --repeat 2 --settle 0s --ui=0 --ui-control");
    let mut running = place.start(&words);
    let page = served(&mut running, "page");
    running.wait_for("run 1:");
    let command =
        |what: &str| fetched(page, "POST /control", &format!(r#"{{"command":"{what}"}}"#));
    let paused = command("pause");
    expect(&paused, 200, &["pauses when this trial is over"]);
    let noted = command(r#"note","text":"x"#);
    // Trials take no notes.
    expect(&noted, 403, &[]);
    running.wait_for("paused between two trials");
    let shown = listed(page, "paused between two trials");
    assert!(shown.contains(r#"data-held="true""#), "{shown}");
    listed(page, "1 run of 1 variant");
    assert!(command("resume").contains("continues"));
    running.wait_for("run 2:");
    let ended = running.end();
    assert!(ended.code.is_some_and(|code| code < 4), "{ended:?}");
    let record = highwater_runner::record::read(&place.runs()[0]).unwrap();
    let record = record.into_experiment().unwrap();
    let [done] = &record.interventions[..] else {
        panic!("{:?}", record.interventions);
    };
    assert!(matches!(done.change, Change::Pause { .. }), "{done:?}");
    assert_eq!(record.group().unwrap().trials.len(), 2);
    let shown = place.call(&["show"]).stdout;
    assert!(shown.contains("paused for"), "{shown}");
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
    let (killed, first, second) = (killed.as_str(), first.as_str(), second.as_str());
    let (running, page) = serving(&place, "");
    let listed = fetched(page, "GET /", "");
    expect(&listed, 200, &[first, second, killed]);
    expect(
        &listed,
        200,
        &["no record yet", "version=&lt;i&gt;1", "rows/s"],
    );
    let filtered = fetched(page, "GET /?label=version%3D2", "");
    // Two runs of one second differ by a number behind their names.
    let lists = |run: &str| filtered.contains(&format!("\"/run/{run}\""));
    assert!(lists(second) && !lists(first), "{filtered}");
    let opened = fetched(page, &format!("GET /run/{first}"), "");
    expect(&opened, 200, &["<svg"]);
    let compared = fetched(page, &format!("GET /compare?run={second}&run={first}"), "");
    expect(&compared, 200, &[first]);
    for nothing in ["run/..%2F..%2Fetc", "run/nosuch", "delete/nosuch"] {
        expect(&fetched(page, &format!("GET /{nothing}"), ""), 404, &[]);
    }
    let alone = fetched(page, &format!("GET /compare?run={first}"), "");
    expect(&alone, 400, &[]);
    let refused = fetched(page, "POST /delete", &format!("id={first}"));
    expect(&refused, 403, &[]);
    stop(running);
}

/// The name of the only run's directory, as soon as there is one.
fn only_id(place: &Place) -> String {
    let runs = place.runs();
    let [run] = &runs[..] else {
        panic!("{runs:?}");
    };
    run.file_name().unwrap().to_string_lossy().into_owned()
}

/// What the record of a run says whose process is gone.
const KILLED: &str = "the program ended without writing its record";

#[test]
fn a_run_that_goes_on_is_opened_beside_it_and_its_address_has_the_result_in_the_end() {
    let place = Place::new();
    let mut run = place.start(&split("run -R 20k -d 60s"));
    run.wait_for("  measure");
    let (server, page) = serving(&place, "");
    let id = only_id(&place);
    let address = format!("/run/{id}");
    let list = listed(page, "running: measure");
    assert!(list.contains(&format!("href=\"{address}\"")), "{list}");
    let opened = shown(page, &address, "Running: measure, ");
    expect(&opened, 200, &["cpu on", "id=\"so-far\"", "/live.js"]);
    assert!(!opened.contains(KILLED), "{opened}");
    assert!(!opened.contains("id=\"stop\""), "it is not its command");
    expect(&fetched(page, "GET /live.js", ""), 200, &["EventSource"]);

    // Its events are below it; the last one lets the page be loaded again.
    let live = format!("{address}/live");
    let mut events = events_of(page, &live);
    let mut wait_for = |said: &str| {
        let found = events.find(|line| line.contains(said));
        found.unwrap_or_else(|| panic!("`{said}` never came"))
    };
    wait_for("event: parts");
    wait_for("so far");
    run.signal(Signal::INT);
    wait_for("event: ended");
    assert_eq!(run.end().code, Some(130));
    let result = fetched(page, &format!("GET {address}"), "");
    expect(&result, 200, &["<svg", "you stopped the run"]);
    assert!(!result.contains(KILLED) && !result.contains("/live.js"));
    assert!(!listed(page, &address).contains("running: "));
    stop(server);
}

#[test]
fn a_run_that_was_killed_is_opened_as_such() {
    let place = Place::new();
    let mut run = place.start(&split("run -R 20k -d 60s"));
    run.wait_for("  measure");
    run.kill();
    let (server, page) = serving(&place, "");
    let address = format!("/run/{}", only_id(&place));
    let list = fetched(page, "GET /", "");
    let link = format!("href=\"{address}\"");
    expect(&list, 200, &["no record yet", &link]);
    let opened = fetched(page, &format!("GET {address}"), "");
    expect(&opened, 200, &[KILLED]);
    stop(server);
}

#[test]
fn a_search_that_goes_on_is_opened_with_its_trials() {
    let place = Place::new();
    let probes = "--start 20k --max 20k --probe 3s --confirm 3s --warm-up 0s --settle 0s";
    let words = format!("find cpu sim:?clock=real --p50 5s --budget 2m {probes}");
    let mut search = place.start(&split(&words));
    search.wait_for("probe 2: ");
    let (server, page) = serving(&place, "");
    let address = format!("/run/{}", only_id(&place));
    // The second probe runs, and the first one is in the table so far.
    let opened = shown(page, &address, "id=\"probes\"");
    expect(&opened, 200, &["<h2>Probes</h2>", "/live.js"]);
    search.signal(Signal::INT);
    search.end();
    let result = fetched(page, &format!("GET {address}"), "");
    expect(&result, 200, &["<h2>Probes</h2>"]);
    assert!(!result.contains("/live.js"), "{result}");
    stop(server);
}

#[test]
fn stored_growths_are_compared_size_by_size() {
    let place = Place::new();
    for row_ms in [7, 5] {
        grow(&place, "highwater-runs", row_ms, "--nodes 1,2 -d 20s");
    }
    let runs = place.runs().into_iter();
    let ids = runs.map(|run| format!("run={}", run.file_name().unwrap().to_string_lossy()));
    let ids: Vec<String> = ids.collect();
    let (running, page) = serving(&place, "");
    let compared = fetched(page, &format!("GET /compare?{}", ids.join("&")), "");
    // 12 rows of 5 ms instead of 7 ms are 40% more.
    let more = ["B makes 4", "more than A at 1 and 2\u{a0}nodes"];
    expect(&compared, 200, &["<h2>Sizes</h2>", more[0], more[1]]);
    stop(running);
}

#[test]
fn a_stored_run_is_removed_when_that_is_allowed_and_confirmed() {
    let (place, [killed, first, _]) = with_runs();
    let (running, page) = serving(&place, "--allow-delete");
    let confirm = fetched(page, &format!("GET /delete/{first}"), "");
    expect(&confirm, 200, &["cannot be brought back"]);
    assert_eq!(
        place.runs().len(),
        3,
        "nothing is removed before it is confirmed"
    );
    let outside = fetched(page, "POST /delete", "id=..");
    expect(&outside, 409, &[]);
    let going_on = fetched(page, "POST /delete", &format!("id={killed}"));
    expect(&going_on, 409, &[]);
    let removed = fetched(page, "POST /delete", &format!("id={first}"));
    expect(&removed, 303, &[]);
    assert_eq!(place.runs().len(), 2);
    stop(running);
}

/// What a browser sends for a form.
fn sent(at: SocketAddr, path: &str, fields: &[(&str, &str)]) -> String {
    let escaped =
        |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let pairs = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", escaped(value)));
    fetched(
        at,
        &format!("POST {path}"),
        &pairs.collect::<Vec<_>>().join("&"),
    )
}

/// A test that looks so often at a page has failed: a minute at least.
const LOOKS_MAX: u32 = 3_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A list of runs that says this, waited for.
fn listed(at: SocketAddr, said: &str) -> String {
    shown(at, "/", said)
}

/// The lines of an event stream, until it ends.
pub(crate) fn events_of(at: SocketAddr, path: &str) -> impl Iterator<Item = String> {
    let mut stream = TcpStream::connect(at).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream).lines().map_while(Result::ok)
}

/// A page that says this, waited for.
fn shown(at: SocketAddr, path: &str, said: &str) -> String {
    let mut page = String::new();
    for _ in 0..LOOKS_MAX {
        page = fetched(at, &format!("GET {path}"), "");
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        if page.contains(said) {
            return page;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    panic!("never `{said}`: {page}");
}

const FORM: [(&str, &str); 5] = [
    ("command", "run"),
    ("workload", "cpu"),
    ("target", "sim:"),
    ("duration", "20s"),
    ("label", "from=page"),
];

#[test]
fn a_run_is_started_from_the_form_shows_its_command_and_is_listed() {
    let place = Place::new();
    let (mut running, page) = serving(&place, "--allow-start --metrics-listen 0");
    let metrics = served(&mut running, "metrics");
    let form = fetched(page, "GET /start", "");
    // With `no-referrer` a browser says `null` for the form's origin, which is refused.
    let policy = "referrer-policy: same-origin";
    expect(&form, 200, &["name=\"target\"", policy]);
    let shown = sent(page, "/start", &FORM);
    let command =
        "highwater run --out=highwater-runs --quiet cpu sim: --duration=20s --label=from=page";
    expect(&shown, 200, &[command]);
    assert!(
        place.runs().is_empty(),
        "nothing is started before it is confirmed"
    );
    let start = [&FORM[..], &[("step", "start")]].concat();
    let started = sent(page, "/start", &start);
    expect(&started, 303, &[]);
    let page_of = listed(page, "ended with exit code 0");
    expect(&page_of, 200, &[command, "from=page"]);
    let scraped = fetched(metrics, "GET /metrics", "");
    let counted = r#"highwater_stored_runs{kind="run",workload="cpu""#;
    expect(&scraped, 200, &[counted, "highwater_stored_answer{"]);
    stop(running);
}

#[test]
fn a_started_run_outlives_the_server_and_another_server_shows_it() {
    let place = Place::new();
    let (first, page) = serving(&place, "--allow-start");
    // On the wall's clock, until it is stopped.
    let own = [
        ("command", "run"),
        ("workload", "cpu"),
        ("duration", "10m"),
        ("step", "start"),
    ];
    expect(&sent(page, "/start", &own), 303, &[]);
    listed(page, "running: ");
    expect(&sent(page, "/start", &own), 422, &["goes on"]);
    stop(first);
    let (other, page) = serving(&place, "--allow-start");
    let beside = sent(page, "/start", &own);
    expect(&beside, 422, &["started elsewhere, goes on"]);
    stop(other);
    let (next, page) = serving(&place, "--allow-delete");
    listed(page, "running: ");
    let id = place.runs()[0]
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let removed = fetched(page, "POST /delete", &format!("id={id}"));
    expect(&removed, 409, &[]);
    // It may start nothing.
    expect(&fetched(page, "GET /start", ""), 404, &[]);
    stop(next);
    stop_what_runs(&place);
    assert!(place.runs()[0].join("record.json").exists());
}

/// Interrupts the only process that works in this place, and waits for its record.
fn stop_what_runs(place: &Place) {
    let here = place.path().canonicalize().unwrap();
    let mut all = std::fs::read_dir("/proc").unwrap().flatten();
    let process = all.find(|process| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|directory| directory == here)
    });
    let process = process.unwrap();
    let number = process.file_name().to_string_lossy().parse().unwrap();
    kill_process(Pid::from_raw(number).unwrap(), Signal::INT).unwrap();
    loop {
        let is_alive = process.path().exists();
        if place.runs()[0].join("record.json").exists() {
            return;
        }
        assert!(is_alive, "it ended without a record");
    }
}

#[test]
fn a_run_is_stopped_from_the_page_and_keeps_its_record() {
    let place = Place::new();
    let (running, page) = serving(&place, "--allow-start");
    let start = [("command", "run"), ("duration", "10m"), ("step", "start")];
    sent(page, "/start", &start);
    listed(page, "running: measure");
    let stopped = sent(page, "/stop", &[("number", "1")]);
    expect(&stopped, 303, &[]);
    listed(page, "ended with exit code 130");
    assert!(place.runs()[0].join("record.json").exists());
    let again = sent(page, "/stop", &[("number", "1")]);
    expect(&again, 409, &[]);
    stop(running);
}

#[test]
fn who_is_not_let_start_cannot_and_no_password_comes_back() {
    let place = Place::new();
    let (looking, page) = serving(&place, "");
    assert!(!fetched(page, "GET /", "").contains("/start"));
    expect(&sent(page, "/start", &FORM), 404, &[]);
    stop(looking);
    let (starting, page) = serving(&place, "--allow-start");
    for (more, why) in [
        ("--variant a=touch --variant b=touch", "--allow-commands"),
        ("-f /etc/passwd", "--allow-commands"),
        ("--out /tmp", "set by the page"),
    ] {
        let form = [&FORM[..], &[("more", more), ("step", "start")]].concat();
        expect(&sent(page, "/start", &form), 422, &[why]);
    }
    let secret = [
        ("command", "run"),
        ("target", "postgres://me:geheim@db/x"),
        ("step", "start"),
    ];
    let refused = sent(page, "/start", &secret);
    assert!(
        refused.contains("takes no password") && !refused.contains("geheim"),
        "{refused}"
    );
    let of_another_site = "POST /start HTTP/1.1\r\nOrigin: http://evil.example\r\nX: y";
    let refused = fetched(page, of_another_site, "command=run&step=start");
    expect(&refused, 403, &[]);
    assert!(place.runs().is_empty(), "none of them started anything");
    stop(starting);
    let alone = place.call(&["serve", "--allow-commands"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
}

#[test]
fn a_search_is_started_from_the_form() {
    let place = Place::new();
    let (running, page) = serving(&place, "--allow-start");
    let form = [
        ("command", "find"),
        ("workload", "cpu"),
        ("target", "sim:"),
        ("p99", "100ms"),
        ("more", "--quick"),
        ("step", "start"),
    ];
    expect(&sent(page, "/start", &form), 303, &[]);
    let list = listed(page, "ended with exit code");
    expect(&list, 200, &["highwater find ", "rows/s"]);
    let [run] = &place.runs()[..] else {
        panic!("{:?}", place.runs());
    };
    assert!(experiment(run).search().is_some());
    stop(running);
}

#[test]
fn another_site_another_name_and_too_much_change_nothing_in_a_store() {
    let (place, [_, first, _]) = with_runs();
    let (running, page) = serving(&place, "--allow-delete --allow-start");
    let own = format!("Host: {page}\r\n");
    let (evil, origin) = ("Host: evil.example\r\n", "Origin: http://evil.example\r\n");
    let form = |head: &str, path: &str, body: &str| {
        let length = body.len();
        let line = format!("POST {path} HTTP/1.1");
        attacked(
            page,
            &format!("{line}\r\n{head}Content-Length: {length}\r\n"),
            body,
        )
    };
    let removal = format!("id={first}");
    for (path, body) in [
        ("/delete", removal.as_str()),
        ("/stop", "number=1"),
        ("/start", "command=run&target=sim%3A&step=start"),
    ] {
        for head in [
            format!("{own}{origin}"),
            format!("{own}Origin: null\r\n"),
            evil.to_owned(),
        ] {
            expect(&form(&head, path, body), 403, &[]);
        }
        let large = format!("{body}&x={}", "x".repeat(10 << 20));
        // A server that refuses early may close before all is sent.
        let refused = form(&own, path, &large);
        assert!(
            refused.is_empty() || refused.starts_with("HTTP/1.1 413"),
            "{refused}"
        );
    }
    for path in [
        "/",
        "/start",
        "/live.js",
        "/compare",
        &format!("/run/{first}"),
    ] {
        let refused = attacked(page, &format!("GET {path} HTTP/1.1\r\n{evil}"), "");
        expect(&refused, 403, &[]);
        let shown = attacked(page, &format!("GET {path} HTTP/1.1\r\n{own}"), "");
        let (head, _) = shown.split_once("\r\n\r\n").unwrap();
        assert!(!head.to_lowercase().contains("access-control-"), "{head}");
    }
    assert_eq!(
        place.runs().len(),
        3,
        "nothing was removed, and nothing started"
    );
    stop(running);
}

/// The response to a request with this head; empty where the connection ends first.
fn attacked(at: SocketAddr, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    let request = format!("{head}Connection: close\r\n\r\n{body}");
    let _ = stream.write_all(request.as_bytes());
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    String::from_utf8_lossy(&response).into_owned()
}

#[test]
fn a_page_that_runs_commands_needs_its_token_on_loopback_too() {
    let place = Place::new();
    let mut running = place.start(&split("serve --listen 0 --allow-start --allow-commands"));
    let line = running.wait_for("page: http://127.0.0.1:");
    let (url, token) = line.trim_end().split_once("/#token=").expect(&line);
    let page: SocketAddr = url.split("//").nth(1).unwrap().parse().unwrap();
    expect(&sent(page, "/start", &FORM), 403, &[]);
    let line = format!("GET /start HTTP/1.1\r\nCookie: highwater={token}\r\nX: y");
    let form = fetched(page, &line, "");
    expect(&form, 200, &["value=\"scale\""]);
    stop(running);
}
