//! Client lag of the load generator next to a database on the same host. It is a separate program, because blocking a
//! core would delay other tests.
#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use highwater_model::judgment::{Measurement, ReasonCode};
use highwater_model::record::{RunRecord, SchedulingClass};
use highwater_testing::busy::{BusyCore, cores, is_permitted, pin};
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

/// Time for which the load generator's core is blocked, repeatedly: many times the duration of an insert of ten rows.
const TAKEN: Duration = Duration::from_millis(40);

/// Runs one test at a time.
static CORES: Mutex<()> = Mutex::new(());

/// Runs the server on one core, and the program on another one if there are two.
fn run(server_core: usize, own_core: usize, busy: Option<Duration>, pace: &[&str]) -> RunRecord {
    pin(server_core);
    let server = Postgres::start();
    pin(own_core);
    let directory = tempfile::tempdir().unwrap();
    let _busy = busy.map(|length| BusyCore::start(own_core, length));
    let output = Command::new(env!("CARGO_BIN_EXE_highwater"))
        .args(["run", "cpu", &server.url(SUPERUSER, "postgres")])
        .args(["--set", "hosts=200", "--batch", "10", "--warm-up", "0s", "-d", "2s", "--json"])
        .args(pace)
        .current_dir(directory.path())
        .env("XDG_STATE_HOME", directory.path())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn notes(record: &RunRecord, code: &str) -> usize {
    record.notes.iter().filter(|note| note.code == code).count()
}

#[test]
fn a_load_generator_deprived_of_its_core_is_late_and_reports_it() {
    if skipped() {
        return;
    }
    if !is_permitted() || cores() < 2 {
        eprintln!("left out: the real-time class is not permitted here, or there is one core");
        return;
    }
    let _alone = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    let record = run(1, 0, Some(TAKEN), &["--rate", "1k"]);
    let judgment = &record.judgments.measurement;
    assert_eq!(judgment.value, Measurement::Invalid);
    let mut reasons = judgment.reasons.iter();
    assert!(reasons.any(|reason| reason.code == ReasonCode::ClientLag), "{judgment:?}");
}

#[test]
fn ops_beside_a_local_database_are_sent_in_the_real_time_class_if_permitted() {
    if skipped() {
        return;
    }
    let expected =
        if is_permitted() { SchedulingClass::RealTime } else { SchedulingClass::NotPermitted };
    let _alone = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    let last = cores() - 1;
    let paced = run(last, 0, None, &["--rate", "1k"]);
    assert_eq!(paced.clients[0].scheduling, expected);
    assert_eq!(notes(&paced, "shares_host"), 1, "{:?}", paced.notes);
    // Nothing is scheduled in a closed load.
    let closed = run(last, 0, None, &["-c", "2"]);
    assert_eq!(closed.clients[0].scheduling, SchedulingClass::Normal);
    assert_eq!(notes(&closed, "shares_host"), 1, "{:?}", closed.notes);
}
