//! `--ui`, `--metrics-listen` and `serve`: runs that are looked at, changed and stopped over HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use highwater_model::record::{Change, RunRecord};

use crate::called::{Place, Running};
use crate::comparing_growths::grow;

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
    let pause = fetched(page, "POST /control", r#"{"command":"pause"}"#);
    assert!(
        pause.starts_with("HTTP/1.1 409") && pause.contains("no trials"),
        "{pause}"
    );
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
    let served = counter(&scraped, "highwater_service_time_seconds_count");
    assert_eq!(
        served,
        counter(&scraped, "highwater_ops_acknowledged_total")
    );
    assert!(
        counter(&scraped, "highwater_client_lag_seconds_count") >= served,
        "{scraped}"
    );
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
    assert!(seen.contains("<h2>Probes</h2>"), "the table so far: {seen}");
    assert!(!seen.contains("id=\"stop\""), "nobody said that it may");
}

#[test]
fn a_group_is_paused_between_two_runs_from_its_page_and_resumed() {
    let place = Place::new();
    let words = [
        "run",
        "-R",
        "2k",
        "-d",
        "3s",
        "--warm-up",
        "0s",
        "--repeat",
        "2",
        "--settle",
        "0s",
        "--ui=0",
        "--ui-control",
    ];
    let mut running = place.start(&words);
    let page = served(&mut running, "page");
    running.wait_for("run 1:");
    let command =
        |what: &str| fetched(page, "POST /control", &format!(r#"{{"command":"{what}"}}"#));
    let paused = command("pause");
    assert!(
        paused.contains("pauses when this trial is over"),
        "{paused}"
    );
    let noted = command(r#"note","text":"x"#);
    assert!(
        noted.starts_with("HTTP/1.1 403"),
        "trials take no notes: {noted}"
    );
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
    let changes: Vec<&Change> = record
        .interventions
        .iter()
        .map(|done| &done.change)
        .collect();
    assert!(matches!(changes[..], [Change::Pause { .. }]), "{changes:?}");
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
fn stored_growths_are_compared_size_by_size() {
    let place = Place::new();
    for row_ms in [7, 5] {
        let sizes = ["--nodes", "1,2", "-d", "20s"];
        grow(&place, "highwater-runs", row_ms, &sizes);
    }
    let runs = place.runs().into_iter();
    let ids = runs.map(|run| format!("run={}", run.file_name().unwrap().to_string_lossy()));
    let ids: Vec<String> = ids.collect();
    let mut running = place.start(&["serve", "--listen", "0"]);
    let page = served(&mut running, "page");
    let compared = fetched(page, &format!("GET /compare?{}", ids.join("&")), "");
    // 12 rows of 5 ms instead of 7 ms are 40 % more.
    for said in [
        "<h2>Sizes</h2>",
        "B makes 4",
        "more than A at 1 and 2\u{a0}nodes",
    ] {
        assert!(compared.contains(said), "{said}: {compared}");
    }
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
    let mut page = String::new();
    for _ in 0..LOOKS_MAX {
        page = fetched(at, "GET /", "");
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
    let mut running = place.start(&[
        "serve",
        "--listen",
        "0",
        "--allow-start",
        "--metrics-listen",
        "0",
    ]);
    let page = served(&mut running, "page");
    let metrics = served(&mut running, "metrics");
    let form = fetched(page, "GET /start", "");
    assert!(form.contains("name=\"target\""), "{form}");
    // With `no-referrer` a browser says `null` for the form's origin, which is refused.
    assert!(form.contains("referrer-policy: same-origin"), "{form}");
    let shown = sent(page, "/start", &FORM);
    let command =
        "highwater run --out=highwater-runs --quiet cpu sim: --duration=20s --label=from=page";
    assert!(shown.contains(command), "{shown}");
    assert!(
        place.runs().is_empty(),
        "nothing is started before it is confirmed"
    );
    let start = [&FORM[..], &[("step", "start")]].concat();
    let started = sent(page, "/start", &start);
    assert!(started.starts_with("HTTP/1.1 303"), "{started}");
    let page_of = listed(page, "ended with exit code 0");
    assert!(
        page_of.contains(command) && page_of.contains("from=page"),
        "{page_of}"
    );
    let scraped = fetched(metrics, "GET /metrics", "");
    let counted = r#"highwater_stored_runs{kind="run",workload="cpu""#;
    assert!(
        scraped.contains(counted) && scraped.contains("highwater_stored_answer{"),
        "{scraped}"
    );
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.end().code, Some(0));
}

#[test]
fn a_started_run_outlives_the_server_and_another_server_shows_it() {
    let place = Place::new();
    let mut first = place.start(&["serve", "--listen", "0", "--allow-start"]);
    let page = served(&mut first, "page");
    // On the wall's clock, until it is stopped.
    let own = [
        ("command", "run"),
        ("workload", "cpu"),
        ("duration", "10m"),
        ("step", "start"),
    ];
    let started = sent(page, "/start", &own);
    assert!(started.starts_with("HTTP/1.1 303"), "{started}");
    listed(page, "running: ");
    let second = sent(page, "/start", &own);
    assert!(
        second.starts_with("HTTP/1.1 422") && second.contains("goes on"),
        "{second}"
    );
    first.signal(rustix::process::Signal::INT);
    assert_eq!(first.end().code, Some(0));
    let mut other = place.start(&["serve", "--listen", "0", "--allow-start"]);
    let page = served(&mut other, "page");
    let beside = sent(page, "/start", &own);
    assert!(
        beside.starts_with("HTTP/1.1 422") && beside.contains("started elsewhere, goes on"),
        "{beside}"
    );
    other.signal(rustix::process::Signal::INT);
    assert_eq!(other.end().code, Some(0));
    let mut next = place.start(&["serve", "--listen", "0", "--allow-delete"]);
    let page = served(&mut next, "page");
    listed(page, "running: ");
    let id = place.runs()[0]
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let removed = fetched(page, "POST /delete", &format!("id={id}"));
    assert!(removed.starts_with("HTTP/1.1 409"), "{removed}");
    assert!(
        fetched(page, "GET /start", "").starts_with("HTTP/1.1 404"),
        "it may start nothing"
    );
    next.signal(rustix::process::Signal::INT);
    assert_eq!(next.end().code, Some(0));
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
    let pid = rustix::process::Pid::from_raw(number).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    while !place.runs()[0].join("record.json").exists() {
        assert!(process.path().exists(), "it ended without a record");
    }
}

#[test]
fn a_run_is_stopped_from_the_page_and_keeps_its_record() {
    let place = Place::new();
    let mut running = place.start(&["serve", "--listen", "0", "--allow-start"]);
    let page = served(&mut running, "page");
    let start = [("command", "run"), ("duration", "10m"), ("step", "start")];
    sent(page, "/start", &start);
    listed(page, "running: measure");
    let stopped = sent(page, "/stop", &[("number", "1")]);
    assert!(stopped.starts_with("HTTP/1.1 303"), "{stopped}");
    listed(page, "ended with exit code 130");
    assert!(place.runs()[0].join("record.json").exists());
    let again = sent(page, "/stop", &[("number", "1")]);
    assert!(again.starts_with("HTTP/1.1 409"), "{again}");
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.end().code, Some(0));
}

#[test]
fn who_is_not_let_start_cannot_and_no_password_comes_back() {
    let place = Place::new();
    let mut looking = place.start(&["serve", "--listen", "0"]);
    let page = served(&mut looking, "page");
    assert!(!fetched(page, "GET /", "").contains("/start"));
    assert!(sent(page, "/start", &FORM).starts_with("HTTP/1.1 404"));
    looking.signal(rustix::process::Signal::INT);
    assert_eq!(looking.end().code, Some(0));
    let mut starting = place.start(&["serve", "--listen", "0", "--allow-start"]);
    let page = served(&mut starting, "page");
    for (more, why) in [
        ("--variant a=touch --variant b=touch", "--allow-commands"),
        ("-f /etc/passwd", "--allow-commands"),
        ("--out /tmp", "set by the page"),
    ] {
        let refused = sent(
            page,
            "/start",
            &[&FORM[..], &[("more", more), ("step", "start")]].concat(),
        );
        assert!(
            refused.starts_with("HTTP/1.1 422") && refused.contains(why),
            "{refused}"
        );
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
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert!(place.runs().is_empty(), "none of them started anything");
    starting.signal(rustix::process::Signal::INT);
    assert_eq!(starting.end().code, Some(0));
    let alone = place.call(&["serve", "--allow-commands"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
}

#[test]
fn a_page_that_runs_commands_needs_its_token_on_loopback_too() {
    let place = Place::new();
    let mut running = place.start(&[
        "serve",
        "--listen",
        "0",
        "--allow-start",
        "--allow-commands",
    ]);
    let line = running.wait_for("page: http://127.0.0.1:");
    let (url, token) = line.trim_end().split_once("/#token=").expect(&line);
    let page: SocketAddr = url.split("//").nth(1).unwrap().parse().unwrap();
    let without = sent(page, "/start", &FORM);
    assert!(without.starts_with("HTTP/1.1 403"), "{without}");
    let line = format!("GET /start HTTP/1.1\r\nCookie: highwater={token}\r\nX: y");
    let form = fetched(page, &line, "");
    assert!(form.contains("value=\"scale\""), "{form}");
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.end().code, Some(0));
}
