//! `serve --allow-start`: runs that are started and stopped from a page, and rejected requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::called::{Place, experiment, split};
use crate::pages::{cookie, expect, fetched, listed, sent, served, serving, serving_knowing, stop};
use crate::stored_runs::with_runs;

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
    // With `no-referrer`, a browser sends `null` as the form's origin, which is rejected.
    let policy = "referrer-policy: same-origin";
    expect(&form, 200, &["name=\"target\"", policy]);
    let shown = sent(page, "/start", &FORM);
    let command =
        "highwater run --out=highwater-runs --quiet cpu sim: --duration=20s --label=from=page";
    expect(&shown, 200, &[command, "1 run of insert: about 22.0 s"]);
    let unit = [&FORM[..], &[("p99", "200")]].concat();
    let refused = sent(page, "/start", &unit);
    expect(
        &refused,
        422,
        &["--p99: `200` has no unit; hint: a duration has a unit", "value=\"from=page\""],
    );
    assert!(place.runs().is_empty(), "nothing is started before it is confirmed");
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
    // On the wall clock, until it is stopped.
    let own = [("command", "run"), ("workload", "cpu"), ("duration", "10m"), ("step", "start")];
    expect(&sent(page, "/start", &own), 303, &[]);
    listed(page, "running: ");
    expect(&sent(page, "/start", &own), 422, &["is still running"]);
    stop(first);
    let (other, page) = serving(&place, "--allow-start");
    let beside = sent(page, "/start", &own);
    expect(&beside, 422, &["started elsewhere, is still running"]);
    stop(other);
    let (next, page) = serving(&place, "--allow-delete");
    listed(page, "running: ");
    let id = place.runs()[0].file_name().unwrap().to_string_lossy().into_owned();
    let removed = fetched(page, "POST /delete", &format!("id={id}"));
    expect(&removed, 409, &[]);
    // This server must not start anything.
    expect(&fetched(page, "GET /start", ""), 404, &[]);
    stop(next);
    stop_what_runs(&place);
    assert!(place.runs()[0].join("record.json").exists());
}

/// Interrupts the only running process in this directory, and waits for its record.
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
fn clients_without_permission_cannot_start_runs_and_no_password_is_returned() {
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
    let secret = [("command", "run"), ("target", "postgres://me:geheim@db/x"), ("step", "start")];
    let refused = sent(page, "/start", &secret);
    assert!(refused.contains("takes no password") && !refused.contains("geheim"), "{refused}");
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
        ("more", "--quick --audit count"),
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
    let own = format!("Host: {page}\r\n{}", cookie(page));
    let (evil, origin) = ("Host: evil.example\r\n", "Origin: http://evil.example\r\n");
    let form = |head: &str, path: &str, body: &str| {
        let length = body.len();
        let line = format!("POST {path} HTTP/1.1");
        attacked(page, &format!("{line}\r\n{head}Content-Length: {length}\r\n"), body)
    };
    let removal = format!("id={first}");
    for (path, body) in [
        ("/delete", removal.as_str()),
        ("/stop", "number=1"),
        ("/start", "command=run&target=sim%3A&step=start"),
    ] {
        for head in [format!("{own}{origin}"), format!("{own}Origin: null\r\n"), evil.to_owned()] {
            expect(&form(&head, path, body), 403, &[]);
        }
        let large = format!("{body}&x={}", "x".repeat(10 << 20));
        // A server that rejects early may close the connection before everything is sent.
        let refused = form(&own, path, &large);
        assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 413"), "{refused}");
    }
    for path in ["/", "/start", "/live.js", "/compare", &format!("/run/{first}")] {
        let refused = attacked(page, &format!("GET {path} HTTP/1.1\r\n{evil}"), "");
        expect(&refused, 403, &[]);
        let shown = attacked(page, &format!("GET {path} HTTP/1.1\r\n{own}"), "");
        let (head, _) = shown.split_once("\r\n\r\n").unwrap();
        assert!(!head.to_lowercase().contains("access-control-"), "{head}");
    }
    assert_eq!(place.runs().len(), 3, "nothing was removed, and nothing started");
    stop(running);
}

/// The response to a request with this head; empty if the connection ends first.
fn attacked(at: SocketAddr, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    let request = format!("{head}Connection: close\r\n\r\n{body}");
    let _ = stream.write_all(request.as_bytes());
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    String::from_utf8_lossy(&response).into_owned()
}

#[test]
fn a_page_that_starts_commands_needs_its_token_on_loopback_too() {
    for more in ["--allow-start", "--allow-start --allow-commands"] {
        let place = Place::new();
        let mut running = place.start(&split(&format!("serve --listen 0 {more}")));
        let line = running.wait_for("page: http://127.0.0.1:");
        let (url, token) = line.trim_end().split_once("/#token=").expect(&line);
        let page: SocketAddr = url.split("//").nth(1).unwrap().parse().unwrap();
        for path in ["/start", "/stop"] {
            expect(&sent(page, path, &FORM), 403, &["the token is missing"]);
        }
        let line = format!("GET /start HTTP/1.1\r\nCookie: highwater={token}\r\nX: y");
        expect(&fetched(page, &line, ""), 200, &["name=\"target\""]);
        stop(running);
    }
}

#[test]
fn a_password_from_the_environment_is_sent_only_to_named_targets() {
    let place = Place::new();
    // A server that accepts connections and never responds.
    let strangers = TcpListener::bind("127.0.0.1:0").unwrap();
    strangers.set_nonblocking(true).unwrap();
    let own = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = |of: &TcpListener| format!("postgres://me@{}/x", of.local_addr().unwrap());
    let (running, page) = serving(&place, &format!("--allow-start --allow-target {}", url(&own)));
    let start = |target: &str| {
        let form = [("command", "run"), ("target", target), ("step", "start")];
        sent(page, "/start", &form)
    };
    let refused = start(&url(&strangers));
    expect(&refused, 422, &["--allow-target"]);
    expect(&start(&url(&own)), 303, &[]);
    own.accept().unwrap();
    assert!(strangers.accept().is_err(), "nobody came");
    expect(&sent(page, "/stop", &[("number", "1")]), 303, &[]);
    stop(running);
    let alone = place.typed("serve --allow-target sim:");
    assert_eq!(alone.code, Some(2));
    alone.reports("the page may start nothing");
    let secret = place.typed("serve --allow-start --allow-target postgres://me:geheim@h/x");
    assert_eq!(secret.code, Some(2));
    assert!(!secret.stderr.contains("geheim"), "{secret:?}");
}

#[test]
fn a_process_for_an_unnamed_target_has_no_password_from_the_environment() {
    let place = Place::new();
    let allowed = "--allow-start --allow-target sqlite:own.db";
    let (running, page) = serving_knowing(&place, allowed, &[("PGPASSWORD", "geheim")]);
    for (number, target, has_password) in [("1", "sqlite:own.db", true), ("2", "sqlite:", false)] {
        let form = [("command", "run"), ("target", target), ("duration", "10m"), ("step", "start")];
        expect(&sent(page, "/start", &form), 303, &[]);
        listed(page, "running: measure");
        let environment = environment_of_what_runs(&place);
        assert_eq!(environment.contains("PGPASSWORD=geheim"), has_password, "{target}");
        expect(&sent(page, "/stop", &[("number", number)]), 303, &[]);
        listed(page, "ended with exit code 130");
    }
    stop(running);
}

/// Environment of the only run in progress in this directory.
fn environment_of_what_runs(place: &Place) -> String {
    let here = place.path().canonicalize().unwrap();
    let read = |process: &Path, name: &str| {
        let bytes = std::fs::read(process.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let mut here = processes.filter(|process| {
        std::fs::read_link(process.join("cwd")).is_ok_and(|directory| directory == here)
    });
    let run = here.find(|process| read(process, "cmdline").contains("\0run\0"));
    read(&run.unwrap(), "environ")
}
