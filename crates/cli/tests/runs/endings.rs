//! Runs that end before their plan does keep and report their measurements.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use highwater_model::group::GroupOutcome;
use highwater_model::judgment::Data;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};
use rustix::process::Signal;

use crate::called::{Called, Place, Running, before_the_next_look, experiment, split};

/// Ctrl-C, once and twice.
const ONCE: &[Signal] = &[Signal::INT];
const TWICE: &[Signal] = &[Signal::INT, Signal::INT];

/// Calls the program and sends it these signals after this line; its output equals that of `show` on its record.
fn interrupted(place: &Place, words: &str, line: &str, signals: &[Signal]) -> Called {
    let mut running = place.start(&split(words));
    running.wait_for(line);
    for signal in signals {
        running.signal(*signal);
    }
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    let shown = place.call(&["show"]);
    assert_eq!((shown.code, &shown.stdout), (called.code, &called.stdout));
    called
}

/// A run on the wall clock that would take long.
const LONG: &str = "run sim:?clock=real --warm-up 0s -d 10m";

#[test]
fn ctrl_c_or_a_polite_request_to_end_drains_audits_and_keeps_the_record() {
    for signals in [ONCE, &[Signal::TERM]] {
        let place = Place::new().verbose();
        let called = interrupted(&place, LONG, "  measure  ", signals);
        called.prints(" [interrupted]\n");
        called.prints("\ndata           clean ");
        assert!(called.stderr.contains("stopping: open ops end, then the audit"), "{called:?}");
    }
}

/// A target on which each op takes an hour.
const HOURS: &str = "sim:?clock=real&service=constant&request=1h";
/// The text for seconds without a response.
const NO_ANSWERS: &str = "no response in this second";

#[test]
fn ctrl_c_twice_ends_at_once_and_checks_nothing() {
    let place = Place::new().verbose();
    // Waiting for responses would take an hour.
    let words = format!("run {HOURS} --warm-up 0s -d 10m --timeout 2h");
    let called = interrupted(&place, &words, NO_ANSWERS, TWICE);
    called.prints("\ndata           UNVERIFIED ");
    called.prints("the run was ended before its audit");
    called.prints(" rows of unknown outcome");
}

/// So many rows to load that no test waits for the end.
const LOADING: &str = "run sim:?clock=real --set rows=1G";

#[test]
fn ctrl_c_during_the_load_keeps_and_audits_the_loaded_rows() {
    let place = Place::new().verbose();
    let called = interrupted(&place, LOADING, "     1  load  ", ONCE);
    let record = place.newest();
    let loaded = &record.results[0];
    assert_eq!((record.results.len(), loaded.phase.as_str()), (1, "load"));
    assert!(loaded.rows.acknowledged > 0);
    assert_eq!(record.audit.found, loaded.rows.acknowledged);
    assert!(called.stdout.contains(" [interrupted]\n"), "{called:?}");
    called.prints("\ndata           clean ");
}

#[test]
fn ctrl_c_twice_during_the_load_ends_at_once() {
    let place = Place::new().verbose();
    let words = format!("run {HOURS} --set rows=1G --timeout 2h");
    let called = interrupted(&place, &words, NO_ANSWERS, TWICE);
    called.prints("\ndata           UNVERIFIED ");
    let unknown = place.newest().audit.unknown;
    assert_eq!(unknown, 16_000, "one batch of each session");
}

/// A run that measures for two seconds; then its target stalls for an hour, with some timed-out ops still running, so
/// that the audit waits for it.
const WAITING: &str =
    "run sim:?clock=real&stall=1500ms+1h --warm-up 0s -d 2s --timeout 200ms --audit-timeout";

#[test]
fn ctrl_c_during_the_audit_lets_it_end_and_keeps_the_measurements() {
    let place = Place::new().verbose();
    let called = interrupted(&place, &format!("{WAITING} 5s"), "audit: ", ONCE);
    assert!(called.stdout.contains(" [not_idle]\n"), "{called:?}");
    called.prints("\nnote           you stopped the run after the measurement was complete\n");
    let record = place.newest();
    assert!(record.results[0].rows.acknowledged > 0);
    assert!(!called.stdout.contains(" [interrupted]\n"), "{called:?}");
}

#[test]
fn ctrl_c_twice_during_the_audit_ends_at_once() {
    let place = Place::new().verbose();
    let called = interrupted(&place, &format!("{WAITING} 1h"), "audit: ", TWICE);
    assert!(called.stdout.contains(" [audit_failed]\n"), "{called:?}");
    let record = place.newest();
    assert!(record.results[0].rows.acknowledged > 0 && record.audit.unknown > 0);
}

#[test]
fn ctrl_c_ends_the_wait_for_the_start() {
    let place = Place::new().verbose();
    let words = format!("{LONG} --start-at +1h");
    let called = interrupted(&place, &words, "start: in ", ONCE);
    assert!(called.stdout.contains(" [interrupted]\n"), "{called:?}");
    assert!(place.newest().results.is_empty());
}

/// Holds a lock in a transaction, until it is dropped.
struct Locked(Child);

impl Locked {
    /// The workload's table, locked so that no other client can even read it.
    fn new(server: &Postgres) -> Self {
        Self::by(server, "LOCK TABLE cpu IN ACCESS EXCLUSIVE MODE")
    }

    fn by(server: &Postgres, lock: &str) -> Self {
        let mut psql = Command::new(server.client_program("psql"))
            .args(["-XAtq", "-U", SUPERUSER, "-d", "postgres", "-h"])
            .arg(server.socket_directory())
            .args(["-p", &server.port().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lock = format!("BEGIN; {lock}; SELECT 'held';\n");
        psql.stdin.as_mut().unwrap().write_all(lock.as_bytes()).unwrap();
        let stdout = psql.stdout.as_mut().unwrap();
        let held = |read: &[u8]| read.ends_with(b"held\n");
        let mut read = Vec::new();
        while !held(&read) {
            let mut byte = [0];
            stdout.read_exact(&mut byte).unwrap();
            read.extend(byte);
        }
        Self(psql)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // psql ends at the end of its input, and its transaction ends with it.
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// Waits until this number of statements waits for a lock.
fn until_waiting(server: &Postgres, statements: u64) {
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    while server.sql("postgres", waiting) != statements.to_string() {
        before_the_next_look();
    }
}

/// Stops a call once, as soon as it waits for the table.
#[track_caller]
fn stopped_in_preparation(running: Running, server: &Postgres) -> Called {
    until_waiting(server, 1);
    running.signal(Signal::INT);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    called
}

#[test]
fn ctrl_c_while_tables_are_prepared_ends_the_run_and_gives_them_back() {
    if skipped() {
        return;
    }
    let (place, server) = (Place::new().verbose(), Postgres::start());
    let url = server.url(SUPERUSER, "postgres");
    let words = format!("run cpu {url} --set hosts=200 --warm-up 0s -d 1s -c 1 --drop");
    let first = place.typed(&words);
    assert!(matches!(first.code, Some(0 | 3)), "{first:?}");
    let locked = Locked::new(&server);
    let called = stopped_in_preparation(place.start(&split(&words)), &server);
    called.reports("stopped by the user before the load began");
    assert_eq!((called.stdout.as_str(), place.runs().len()), ("", 1));
    drop(locked);
    let next = place.typed(&words);
    assert!(matches!(next.code, Some(0 | 3)), "{next:?}");
}

#[test]
fn ctrl_c_while_the_tables_of_a_second_run_are_prepared_keeps_the_first() {
    if skipped() {
        return;
    }
    let (place, server) = (Place::new().verbose(), Postgres::start());
    let url = server.url(SUPERUSER, "postgres");
    // Before the second run of this variant, it waits until the table is locked.
    let waits =
        "test ! -e made || { touch now; until test -e locked; do sleep 0.1; done; }; touch made";
    let (one, two) = ("one=true".to_owned(), format!("two={waits}"));
    let words = format!("run cpu {url} --set hosts=200 --warm-up 0s -d 1s -c 1 --settle 10ms");
    let repeated = ["--repeat", "2", "--variant", &one, "--variant", &two];
    let running = place.start(&[&split(&words)[..], &repeated].concat());
    while !place.path().join("now").exists() {
        before_the_next_look();
    }
    let _locked = Locked::new(&server);
    place.file("locked", "");
    let called = stopped_in_preparation(running, &server);
    assert!(!called.stderr.contains("warning: stopped"), "{called:?}");
    let group = experiment(&place.runs().pop().unwrap());
    let group = group.group().unwrap();
    assert!((2..=3).contains(&group.trials.len()), "{group:?}");
    assert_eq!(group.outcome, Some(GroupOutcome::Interrupted));
}

/// Rows whose inserts wait for as long as the lock 77 is held.
const TRIED: &str = r#"format = 1
name = "tried"
version = 1
summary = "inserts that wait"
[[tables.tried.columns]]
name = "id"
type = "bigint"
generator = "sequence"
[tables.tried.create]
postgresql = [
    "CREATE TABLE IF NOT EXISTS tried (id bigint PRIMARY KEY)",
    "CREATE OR REPLACE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(77); RETURN NEW; END'",
    "CREATE OR REPLACE TRIGGER waits BEFORE INSERT ON tried FOR EACH ROW EXECUTE FUNCTION waits()",
]
[tables.tried.key]
postgresql = "id"
[ops.insert]
insert = "tried"
batch = 20
[streams.insert]
unit = "rows"
arrivals = "constant"
ops = { insert = 1 }
"#;

/// A place and a server on which the audit tries itself, and waits for the lock that is held.
fn trying(server: &Postgres) -> (Place, String, Locked) {
    let place = Place::new().verbose();
    place.file("tried.toml", TRIED);
    let url = server.url(SUPERUSER, "postgres");
    let locked = Locked::by(server, "SELECT pg_advisory_xact_lock(77)");
    (place, format!("run -f tried.toml {url} --warm-up 0s --rows 4000 -c 1"), locked)
}

/// Nothing of a canary is left: neither its rows nor its mark.
fn nothing_is_left(server: &Postgres) {
    let left = "SELECT (SELECT count(*) FROM tried) || ' ' || \
                (SELECT count(*) FROM highwater_tables WHERE fingerprint LIKE 'canary%')";
    assert_eq!(server.sql("postgres", left), "0 0");
}

#[test]
fn ctrl_c_while_the_audit_tries_itself_ends_the_run_and_leaves_nothing_of_it() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let (place, words, locked) = trying(&server);
    let running = place.start(&split(&words));
    until_waiting(&server, 1);
    let tried = "SELECT fingerprint LIKE 'canary%' FROM highwater_tables";
    assert_eq!(server.sql("postgres", tried), "t");
    running.signal(Signal::INT);
    drop(locked);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    called.reports("stopped by the user before the load began");
    nothing_is_left(&server);
    assert_eq!(place.runs().len(), 0);
}

#[test]
fn a_canary_of_a_killed_run_is_removed_by_the_next_run_even_if_its_statement_still_runs() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let (place, words, locked) = trying(&server);
    let running = place.start(&split(&words));
    until_waiting(&server, 1);
    running.kill();
    let next = place.start(&split(&words));
    // The statement that the killed run left running, and the next run waiting for it.
    until_waiting(&server, 2);
    drop(locked);
    let called = next.end();
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    let record = place.newest();
    assert_eq!(record.judgments.data.value, Data::Clean, "{:?}", record.audit);
    assert_eq!(server.sql("postgres", "SELECT count(*) FROM tried"), "4000");
}

#[test]
fn a_killed_run_is_shown_from_its_written_files() {
    let place = Place::new().verbose();
    let mut running = place.start(&split(LONG));
    // A second is in the journal when the next one is reported.
    running.wait_for("     1  measure  ");
    running.wait_for("     2  measure  ");
    running.kill();
    let shown = place.call(&["show"]);
    assert_eq!(shown.code, Some(130), "{shown:?}");
    shown.prints("the program ended without writing its record");
    assert!(!shown.stdout.contains("you stopped"), "{shown:?}");
    shown.prints("\ndata           UNVERIFIED ");
    let record = place.newest();
    let result = &record.results[0];
    assert!(result.acknowledged > 0 && result.rows.sent >= result.rows.acknowledged);
    assert!(result.throughput.rows_per_s > 0.0);
    assert!(result.latency_ns.p50.is_some());
}

#[test]
fn a_run_killed_at_its_start_shows_how_far_it_came() {
    let place = Place::new().verbose();
    let directory = place.path().join("highwater-runs/2026-01-01T00-00-00-cpu-000000");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("plan.json"), "{}\n").unwrap();
    let shown = place.call(&["show"]);
    assert_eq!(shown.code, Some(2));
    shown.reports("ended before its target had answered");
}

#[test]
fn an_unreachable_target_is_named_and_leaves_no_run() {
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
    // No file may grow beyond 8 or 16 KiB, depending on the shell's unit; a larger write fails as on a full disk.
    let limit = "trap '' XFSZ; ulimit -f 16";
    let run = ["run", "-q", "sim:", "-d", "300s", "--batch", "5", "--rate", "1k"];
    let called = place.after(limit, &run);
    assert_eq!(called.code, Some(3), "{called:?}");
    assert_eq!(called.stderr.matches("warning: ").count(), 2, "{called:?}");
    called.prints(" [record_incomplete]\n");
    for file in ["intervals.jsonl: ", "record.json: "] {
        assert!(called.stdout.contains(file), "{called:?}");
    }
    called.prints("\ndata           clean ");
    // The data written before the failure form a run that ended early.
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
        called.reports("cannot keep runs here");
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
fn a_full_stdout_is_reported_and_the_record_is_kept() {
    let place = Place::new().verbose();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = place.command(&["run", "-q", "sim:", "-d", "3s"]);
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: cannot write to standard output: "), "{stderr}");
    assert!(place.runs()[0].join("record.json").exists());
}
