//! Runs that end before their plan does keep and report what was measured.

use highwater_model::record::RunRecord;
use rustix::process::Signal;

use crate::called::{Called, Place};

/// Calls the program and sends it Ctrl-C so many times when it has told of this; what it had to
/// say, which is also what its record says.
fn interrupted(place: &Place, words: &[&str], line: &str, times: u32) -> Called {
    let mut running = place.start(words);
    running.wait_for(line);
    for _ in 0..times {
        running.signal(Signal::INT);
    }
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    let shown = place.call(&["show"]);
    assert_eq!((shown.code, &shown.stdout), (called.code, &called.stdout));
    called
}

/// A run on the wall clock that would go on for long.
const LONG: &[&str] = &["run", "sim:?clock=real", "--warm-up", "0s", "-d", "10m"];

#[test]
fn ctrl_c_once_drains_audits_and_keeps_the_record() {
    let place = Place::new().verbose();
    let called = interrupted(&place, LONG, "  measure  ", 1);
    assert!(called.stdout.contains(" [interrupted]\n"), "{called:?}");
    assert!(
        called.stdout.contains("\ndata           clean "),
        "{called:?}"
    );
}

#[test]
fn a_polite_request_to_end_is_the_same_as_ctrl_c() {
    let place = Place::new().verbose();
    let mut running = place.start(LONG);
    running.wait_for("  measure  ");
    running.signal(Signal::TERM);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    assert!(
        called.stdout.contains("\ndata           clean "),
        "{called:?}"
    );
}

/// What stands for seconds without an answer.
const NO_ANSWERS: &str = "no op was answered";

#[test]
fn ctrl_c_twice_ends_at_once_and_checks_nothing() {
    let place = Place::new().verbose();
    // Each op takes an hour: whoever waited for answers would not end.
    let url = "sim:?clock=real&service=constant&request=1h";
    let words = [
        "run",
        url,
        "--warm-up",
        "0s",
        "-d",
        "10m",
        "--timeout",
        "2h",
    ];
    let called = interrupted(&place, &words, NO_ANSWERS, 2);
    assert!(
        called.stdout.contains("\ndata           UNVERIFIED "),
        "{called:?}"
    );
    assert!(called.stdout.contains("the run was ended before its audit"));
    assert!(
        called.stdout.contains(" rows of unknown outcome"),
        "{called:?}"
    );
}

/// So many rows are to be loaded first that nobody waits for their end.
const LOADING: &[&str] = &["run", "sim:?clock=real", "--set", "rows=1G"];

#[test]
fn ctrl_c_during_the_load_keeps_and_audits_what_was_loaded() {
    let place = Place::new().verbose();
    let called = interrupted(&place, LOADING, "     1  load  ", 1);
    let record = newest(&place);
    let loaded = &record.results[0];
    assert_eq!((record.results.len(), loaded.phase.as_str()), (1, "load"));
    assert!(loaded.rows.acknowledged > 0);
    assert_eq!(record.audit.found, loaded.rows.acknowledged);
    assert!(called.stdout.contains(" [interrupted]\n"), "{called:?}");
    assert!(
        called.stdout.contains("\ndata           clean "),
        "{called:?}"
    );
}

#[test]
fn ctrl_c_twice_during_the_load_ends_at_once() {
    let place = Place::new().verbose();
    let url = "sim:?clock=real&service=constant&request=1h";
    let words = ["run", url, "--set", "rows=1G", "--timeout", "2h"];
    let called = interrupted(&place, &words, NO_ANSWERS, 2);
    assert!(
        called.stdout.contains("\ndata           UNVERIFIED "),
        "{called:?}"
    );
    assert_eq!(
        newest(&place).audit.unknown,
        16_000,
        "one batch of each session"
    );
}

/// A run that measures for two seconds; then its target stands still for an hour, with some ops at
/// work that were given up, so that the audit waits for it.
const WAITING: &[&str] = &[
    "run",
    "sim:?clock=real&stall=1500ms+1h",
    "--warm-up",
    "0s",
    "-d",
    "2s",
    "--timeout",
    "200ms",
];

#[test]
fn ctrl_c_during_the_audit_lets_it_end_and_keeps_what_was_measured() {
    let place = Place::new().verbose();
    let called = interrupted(
        &place,
        &[WAITING, &["--audit-timeout", "1s"]].concat(),
        "audit: ",
        1,
    );
    assert!(called.stdout.contains(" [not_idle]\n"), "{called:?}");
    let note = "\nnote           you stopped the run after the measurement was complete\n";
    assert!(called.stdout.contains(note), "{called:?}");
    let record = newest(&place);
    assert!(record.results[0].rows.acknowledged > 0);
    assert!(!called.stdout.contains(" [interrupted]\n"), "{called:?}");
}

#[test]
fn ctrl_c_twice_during_the_audit_ends_at_once() {
    let place = Place::new().verbose();
    let called = interrupted(
        &place,
        &[WAITING, &["--audit-timeout", "1h"]].concat(),
        "audit: ",
        2,
    );
    assert!(called.stdout.contains(" [audit_failed]\n"), "{called:?}");
    let record = newest(&place);
    assert!(record.results[0].rows.acknowledged > 0 && record.audit.unknown > 0);
}

#[test]
fn ctrl_c_ends_the_wait_for_the_start() {
    let place = Place::new().verbose();
    let called = interrupted(
        &place,
        &[LONG, &["--start-at", "+1h"]].concat(),
        "start: in ",
        1,
    );
    assert!(called.stdout.contains(" [interrupted]\n"), "{called:?}");
    assert!(newest(&place).results.is_empty());
}

/// The record of the newest run.
fn newest(place: &Place) -> RunRecord {
    let json = place.call(&["show", "--format", "json"]).stdout;
    highwater_report::parse(&json).unwrap().into_run().unwrap()
}

#[test]
fn a_killed_run_is_shown_from_what_it_had_written() {
    let place = Place::new().verbose();
    let mut running = place.start(LONG);
    // A second is in the journal when the next one is told of.
    running.wait_for("     1  measure  ");
    running.wait_for("     2  measure  ");
    running.kill();
    let shown = place.call(&["show"]);
    assert_eq!(shown.code, Some(130), "{shown:?}");
    assert!(
        shown
            .stdout
            .contains("the program ended without writing its record")
    );
    assert!(shown.stdout.contains("\ndata           UNVERIFIED "));
    let record = newest(&place);
    let result = &record.results[0];
    assert!(result.acknowledged > 0 && result.rows.sent >= result.rows.acknowledged);
    assert!(result.throughput.rows_per_s > 0.0);
    assert!(result.latency_ns.p50.is_some());
}

#[test]
fn a_run_that_was_killed_at_its_start_says_how_far_it_came() {
    let place = Place::new().verbose();
    let directory = place
        .path()
        .join("highwater-runs/2026-01-01T00-00-00-cpu-000000");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("plan.json"), "{}\n").unwrap();
    let shown = place.call(&["show"]);
    assert_eq!(shown.code, Some(2));
    assert!(
        shown
            .stderr
            .contains("ended before its target had answered")
    );
}

#[test]
fn a_target_that_is_not_there_is_named_and_leaves_no_run() {
    let place = Place::new().verbose();
    for url in ["postgres://127.0.0.1:1/none", "sim:?die=0s"] {
        let called = place.call(&["run", url]);
        assert_eq!((called.code, called.stdout.as_str()), (Some(5), ""));
        assert_eq!(called.stderr.matches("error: ").count(), 1, "{called:?}");
        assert!(called.stderr.contains("\nhint: "), "{called:?}");
        assert_eq!(place.runs(), [""; 0].map(std::path::PathBuf::from), "{url}");
    }
}

#[test]
fn a_full_disk_ends_the_record_and_not_the_run() {
    let place = Place::new().verbose();
    // No file may grow beyond 8 or 16 KiB, by the shell's unit; a write beyond fails as on a
    // full disk.
    let limit = "trap '' XFSZ; ulimit -f 16";
    let called = place.after(limit, &["run", "-q", "sim:", "-d", "300s"]);
    assert_eq!(called.code, Some(3), "{called:?}");
    assert_eq!(called.stderr.matches("warning: ").count(), 2, "{called:?}");
    assert!(
        called.stdout.contains(" [record_incomplete]\n"),
        "{called:?}"
    );
    for file in ["intervals.jsonl: ", "record.json: "] {
        assert!(called.stdout.contains(file), "{called:?}");
    }
    assert!(
        called.stdout.contains("\ndata           clean "),
        "{called:?}"
    );
    // What had been written before is a run that ended early.
    let shown = place.call(&["show"]);
    assert_eq!(shown.code, Some(130), "{shown:?}");
}

#[test]
fn without_room_for_the_plan_nothing_is_run_and_nothing_is_left() {
    let place = Place::new().verbose();
    let called = place.after("trap '' XFSZ; ulimit -f 0", &["run", "-q", "sim:"]);
    assert_eq!(called.code, Some(2), "{called:?}");
    assert!(called.stderr.contains("plan.json: File too large"));
    assert_eq!(place.runs().len(), 0);
}

#[test]
fn a_store_that_cannot_be_written_ends_the_run_before_it_begins() {
    let place = Place::new().verbose();
    place.file("taken", "");
    for store in ["taken", "taken/runs", "/proc/none"] {
        let called = place.call(&["run", "sim:", "-o", store]);
        assert_eq!(called.code, Some(2), "{called:?}");
        assert!(
            called.stderr.contains("cannot keep runs here"),
            "{called:?}"
        );
        assert!(called.stderr.contains("\nhint: -o DIR "), "{called:?}");
    }
}

#[test]
fn a_reader_that_went_away_does_not_change_the_verdict() {
    let place = Place::new().verbose();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = place.command(&["run", "sim:", "-d", "3s", "--min-rate", "10M"]);
    let other = writer.try_clone().unwrap();
    let status = command.stdout(other).stderr(writer).status().unwrap();
    assert!(matches!(status.code(), Some(1 | 3)), "{status:?}");
    assert_eq!(place.runs().len(), 1);
}

#[test]
fn a_stdout_without_room_is_said_and_the_record_is_kept() {
    let place = Place::new().verbose();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = place.command(&["run", "-q", "sim:", "-d", "3s"]);
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.starts_with("error: cannot write to standard output: "),
        "{stderr}"
    );
    assert!(place.runs()[0].join("record.json").exists());
}
