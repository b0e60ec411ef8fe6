//! `--ui` and `--metrics-listen`: runs that are watched, changed, and stopped over HTTP.

use std::net::TcpListener;

use highwater_model::record::{AuditStatus, Change, RunRecord};

use crate::called::{Place, before_the_next_look, split};
use crate::pages::{expect, fetched, listed, served, shown};

/// A scraped counter; the last value until nothing listens any more.
fn counter(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    lines.find_map(|line| {
        line.strip_prefix(name)?.strip_prefix("{stream=\"insert\"} ")?.parse().ok()
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
    assert!(matches!(changes[..], [Change::Pace { .. }, Change::Stop]), "{changes:?}");
    let seen = counter(&scraped, "highwater_rows_acknowledged_total").expect(&scraped);
    let served = counter(&scraped, "highwater_service_time_seconds_count");
    assert_eq!(served, counter(&scraped, "highwater_ops_acknowledged_total"));
    assert!(counter(&scraped, "highwater_client_lag_seconds_count") >= served, "{scraped}");
    let all: u64 = record.intervals.iter().map(|of| of.rows_acknowledged).sum();
    assert!(seen > 0 && seen <= all, "{seen} of {all}");
}

#[test]
fn a_run_is_stopped_twice_from_its_page_while_it_is_audited() {
    let place = Place::new();
    // Its audit waits for an hour for a stalled target.
    let words =
        "run sim:?clock=real&stall=1500ms+1h --warm-up 0s -d 2s --timeout 200ms --audit-timeout 1h";
    let mut running = place.start(&split(&format!("{words} --ui=0 --ui-control")));
    let page = served(&mut running, "page");
    running.wait_for("audit: ");
    let stop = r#"{"command":"stop"}"#;
    let once = fetched(page, "POST /control", stop);
    expect(&once, 200, &["stopped by a command"]);
    // A single interrupt lets the audit end; its status begins with a capital once it has rows to count.
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
    // A simulated second takes no time, so all seconds exist when the audit begins.
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
    // Ops after the last whole second are only in the record.
    assert!(reported > 0 && reported <= all, "{reported} of {all}");
    assert_eq!(last, Some(reported));
}

#[test]
fn audit_results_of_a_trial_are_exposed_while_the_next_one_runs() {
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
            0 => before_the_next_look(),
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
fn a_used_address_is_reported_and_the_default_one_moves() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let called = place.call(&["run", "sim:", &format!("--ui={address}")]);
    assert_eq!(called.code, Some(2), "{called:?}");
    called.reports(&format!("cannot listen on {address}"));
    // Whether the default port is free or not, there is a page.
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
        std::fs::read_to_string(runs.find(|path| path.exists()).unwrap()).unwrap().contains(SECRET)
    };
    assert!(!holds("record.json") && !holds("report.html"));

    // An invalid format is an error before anything runs, and the message shows none of it.
    let (code, stderr, _) = called(&format!("api-key: {SECRET}"), &pushing);
    assert_eq!(code, Some(2), "{stderr}");
    let cause = "error: OTEL_EXPORTER_OTLP_HEADERS: header 1 has no `=`\n";
    assert!(stderr.contains(cause) && stderr.contains("hint: "), "{stderr}");
    // Without pushing, variables for other programs are not validated.
    let (code, stderr, _) = called(SECRET, &["run", "sim:", "-d", "20s"]);
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn a_search_is_seen_with_its_trials() {
    let place = Place::new();
    let words = split("find sim: --quick --p99 100ms --ui=0 --events e");
    let mut running = place.start(&words);
    let page = served(&mut running, "page");
    let (mut seen, mut last) = (String::new(), String::new());
    loop {
        let shown = fetched(page, "GET /", "");
        if shown.is_empty() {
            break;
        }
        if shown.contains("id=\"parts\"") {
            seen.clone_from(&shown);
        }
        last = shown;
        before_the_next_look();
    }
    assert_eq!(running.end().code, Some(0));
    assert!(seen.contains("<h2>Trials</h2>"), "{seen}");
    assert!(last.contains("<h2>Probes</h2>"), "{last}");
    assert!(!seen.contains("id=\"stop\""), "nobody said that it may");
    // The report is served at the same address.
    assert!(last.contains("confirmed") && !last.contains("id=\"parts\""), "{last}");
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
