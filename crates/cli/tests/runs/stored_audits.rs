//! The acknowledged rows of a run outlive its process, and are compared again later.

use std::fs;
use std::path::Path;

use highwater_model::judgment::Data;
use highwater_model::record::{AuditStatus, RunRecord};
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};
use highwater_testing::{clickhouse, mariadb};
use highwater_workload::builtin;
use rustix::process::Signal;

use crate::called::{Called, Place, Running, record, split};

/// A thousand rows per second, in batches of ten.
const LOAD: &str = "--set hosts=20 --batch 10 --rate 1k --warm-up 0s";

/// The next run on the table.
fn next_run(place: &Place, more: &str) -> (Option<i32>, RunRecord) {
    let called = place.typed(&format!("run cpu sqlite:one.db -d 1s {LOAD} --json {more}"));
    (called.code, record(&called))
}

fn short_run(place: &Place, more: &str) -> RunRecord {
    let (code, run) = next_run(place, more);
    // A second is too short to judge the measurement, and a busy machine has client lag.
    assert!(is_clean(code), "{code:?} {:?}", run.judgments);
    run
}

/// Whether an exit code is that of a run with clean data, whatever its measurement.
fn is_clean(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 3))
}

/// The audit of the newest run, or of the named one.
fn audit(place: &Place, words: &[&str]) -> (Option<i32>, RunRecord) {
    let called = place.call(&[&["audit", "--json"], words].concat());
    (called.code, record(&called))
}

fn ledger(run: &Path) -> String {
    fs::read_to_string(run.join("ledger.jsonl")).unwrap_or_default()
}

/// A run that is still running when its ledger contains an acknowledged op.
fn under_way(place: &Place, first_row: u64) -> Running {
    let words = format!("run cpu sqlite:one.db -d 60s {LOAD}");
    let mut running = place.start(&split(&words));
    running.wait_for("  measure  ");
    let begin = format!("\"acknowledged\":[[{first_row},");
    loop {
        let ledger = ledger(place.runs().last().unwrap());
        assert!(!ledger.contains("\"ended\":true"), "it was written at the end");
        if ledger.contains(&begin) {
            return running;
        }
        crate::called::before_the_next_look();
    }
}

#[test]
fn rows_lost_after_a_run_are_found_by_a_later_audit() {
    let place = Place::new();
    let run = short_run(&place, "");
    let (code, same) = audit(&place, &[]);
    assert!(is_clean(code), "{code:?}");
    assert_eq!(same.judgments.data.value, Data::Clean);
    assert_eq!(same.audit.acknowledged, run.audit.acknowledged);
    assert_eq!(same.audit.found, run.audit.found);
    assert_eq!(same.results, run.results);

    place.database("one.db", "DELETE FROM cpu WHERE rowid IN (100, 101)");
    let (code, lost) = audit(&place, &[]);
    assert_eq!((code, lost.judgments.data.value), (Some(4), Data::Lost));
    assert_eq!(lost.audit.missing, 2);
    assert_eq!(place.call(&["show"]).code, Some(4), "it is stored");
}

#[test]
fn acknowledged_rows_of_a_killed_run_are_certain_and_the_rest_are_searched_for() {
    let place = Place::new();
    under_way(&place, 0).kill();
    let (code, found) = audit(&place, &[]);
    assert_eq!(code, Some(130), "the run itself was cut short");
    assert_eq!(found.judgments.data.value, Data::Clean);
    let rows: u64 = place.query("one.db", "SELECT count(*) FROM cpu").parse().unwrap();
    assert_eq!((found.audit.status, found.audit.found), (AuditStatus::Done, rows));
    let acknowledged = found.audit.acknowledged;
    assert!(0 < acknowledged && acknowledged <= rows, "{acknowledged} of {rows}");

    // The first batch was acknowledged in the first second.
    place.database("one.db", "DELETE FROM cpu WHERE rowid <= 3");
    let (code, lost) = audit(&place, &[]);
    assert_eq!((code, lost.judgments.data.value), (Some(4), Data::Lost));
    assert_eq!((lost.audit.missing, lost.audit.acknowledged), (3, acknowledged));
}

#[test]
fn rows_of_later_runs_are_not_looked_at() {
    let place = Place::new();
    let first = short_run(&place, "");
    let second = short_run(&place, "");
    assert!(second.target.tables[0].first_index >= first.audit.acknowledged);
    place.database("one.db", "DELETE FROM cpu WHERE rowid = (SELECT max(rowid) FROM cpu)");
    let (code, of_first) = audit(&place, &[&first.header.id]);
    assert!(is_clean(code), "{code:?}");
    assert_eq!(of_first.judgments.data.value, Data::Clean);
    assert_eq!(of_first.audit.found, first.audit.acknowledged);
    let (code, of_second) = audit(&place, &[&second.header.id]);
    assert_eq!((code, of_second.audit.missing), (Some(4), 1));
}

#[track_caller]
fn refused(called: &Called, words: &str) {
    assert_eq!(called.code, Some(2), "{called:?}");
    assert!(called.stderr.contains(words), "{words}: {called:?}");
}

#[test]
fn runs_that_cannot_be_audited_later_are_rejected_with_a_reason() {
    let place = Place::new();
    let running = under_way(&place, 0);
    refused(&place.call(&["audit"]), "this run is still running");
    running.signal(Signal::INT);
    assert_eq!(running.end().code, Some(130));
    let without = short_run(&place, "--audit off");
    refused(&place.call(&["audit", &without.header.id]), "it kept no ledger");
    let simulated = place.call(&["run", "sim:", "-d", "2s", "--json"]);
    let id = record(&simulated).header.id;
    refused(&place.call(&["audit", &id]), "gone with its process");
    refused(&place.call(&["audit", &id, "somewhere"]), "is no database URL");
    refused(&place.call(&["audit", "2001"]), "no such run");

    let text = builtin("cpu").unwrap().text;
    place.file("own.toml", text);
    let own = format!("run -f own.toml sqlite:one.db -d 1s --drop {LOAD} --json");
    let of_file = record(&place.typed(&own));
    assert!(is_clean(audit(&place, &[&of_file.header.id]).0));
    place.file("own.toml", &text.replace("host_", "node_"));
    refused(&place.call(&["audit", &of_file.header.id]), "not the one of this name any more");
}

/// The missing rows of each earlier run, the first run first.
fn missing_of(record: &RunRecord) -> Vec<(String, u64)> {
    let earlier = record.audit.earlier.as_ref().unwrap();
    assert_eq!((earlier.from_row, &earlier.error), (0, &None), "{earlier:?}");
    earlier.runs.iter().map(|run| (run.run.clone(), run.missing)).collect()
}

#[test]
fn a_continuing_run_finds_faults_in_earlier_rows_even_if_their_number_is_right() {
    let place = Place::new();
    let (first, second) = (short_run(&place, ""), short_run(&place, ""));
    let (code, third) = next_run(&place, "");
    assert!(is_clean(code), "{code:?}");
    assert_eq!(third.judgments.data.value, Data::Clean);
    let runs = [(first.header.id.clone(), 0), (second.header.id.clone(), 0)];
    assert_eq!(missing_of(&third), runs);

    // One row is missing, and another one exists twice.
    place.database(
        "one.db",
        "DELETE FROM cpu WHERE rowid = 100; INSERT INTO cpu SELECT * FROM cpu WHERE rowid = 200",
    );
    let (code, fourth) = next_run(&place, "");
    assert_eq!((code, fourth.judgments.data.value), (Some(4), Data::Lost));
    assert_eq!((fourth.audit.missing, fourth.audit.duplicated), (1, 1));
    let missing: Vec<u64> = missing_of(&fourth).iter().map(|run| run.1).collect();
    assert_eq!(missing, [1, 0, 0]);
    let shown = place.call(&["show", &fourth.header.id]).stdout;
    let says = format!("1 rows of earlier runs are missing (1 of {})", first.header.id);
    assert!(shown.contains(&says), "{shown}");
}

#[test]
fn acknowledged_rows_of_a_killed_run_are_never_inferred_from_the_table() {
    let place = Place::new();
    under_way(&place, 0).kill();
    let killed = place.runs()[0].file_name().unwrap().to_string_lossy().into_owned();
    place.database("one.db", "DELETE FROM cpu WHERE rowid <= 3");
    for _ in 0..2 {
        let (code, next) = next_run(&place, "");
        assert_eq!((code, next.judgments.data.value), (Some(4), Data::Lost));
        assert_eq!((next.audit.missing, next.audit.missing_before), (3, 3));
        assert_eq!(missing_of(&next)[0], (killed.clone(), 3));
    }
    // The table's registry knows it, too: without a ledger, the rows are not known, but counted.
    let (code, apart) = next_run(&place, "-o apart");
    assert_eq!(code, Some(4), "{:?}", apart.judgments);
    assert_eq!((apart.audit.missing, apart.audit.earlier), (3, None));
}

#[test]
fn rows_of_runs_with_ledgers_elsewhere_are_counted_and_noted() {
    let place = Place::new();
    short_run(&place, "-o elsewhere");
    let second = short_run(&place, "");
    assert_eq!(second.audit.earlier, None);
    let third = short_run(&place, "");
    let earlier = third.audit.earlier.as_ref().unwrap();
    assert_eq!(earlier.from_row, second.target.tables[0].first_index);
    let note = third.notes.iter().find(|note| note.code == "continued").unwrap();
    let says = format!("those from index {} on were compared", earlier.from_row);
    assert!(note.message.contains(&says), "{note:?}");

    // The rows of a run in between are unknown here, so nothing after them is compared either.
    short_run(&place, "-o elsewhere");
    let after = short_run(&place, "");
    assert_eq!(after.audit.earlier, None);
    assert_eq!(after.judgments.data.value, Data::Clean);
}

/// Rows that a server acknowledged and lost later are found by a later audit, and by the next run, which names the run
/// that wrote the missing rows.
#[test]
fn rows_lost_by_a_server_after_a_run_are_named_by_the_audit_and_by_the_next_run() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let url = server.url(SUPERUSER, "postgres");
    let place = Place::new();
    let words = format!("run cpu {url} -d 1s {LOAD} --json --insert unnest");
    let run = || place.typed(&words);
    let first = record(&run());
    assert_eq!(first.judgments.data.value, Data::Clean);

    server.sql("postgres", "DELETE FROM cpu WHERE ctid IN (SELECT ctid FROM cpu LIMIT 3)");
    let (code, lost) = audit(&place, &[]);
    assert_eq!((code, lost.judgments.data.value), (Some(4), Data::Lost));
    assert_eq!(lost.audit.missing, 3);

    let next = run();
    assert_eq!(next.code, Some(4), "{}", next.stderr);
    let next = record(&next);
    assert_eq!(next.judgments.data.value, Data::Lost);
    let earlier = next.audit.earlier.as_ref().unwrap();
    let missing: Vec<_> = earlier.runs.iter().map(|run| run.missing).collect();
    assert_eq!(missing, [3], "{earlier:?}");
}

/// Loads rows, leaves the server less room than their audit takes as a whole, and audits them.
#[track_caller]
fn expect_smaller_statements(url: &str, limit: impl FnOnce(), words: &str) {
    let place = Place::new();
    let load = "--set hosts=200 --rows 40k --batch 1k --warm-up 0s --json";
    let run = record(&place.typed(&format!("run cpu {url} {load}")));
    assert_eq!(run.judgments.data.value, Data::Clean);
    assert_eq!(run.audit.exhausted, None);
    limit();
    let (code, again) = audit(&place, &[]);
    assert!(is_clean(code), "{code:?} {:?}", again.audit);
    assert_eq!((again.judgments.data.value, again.audit.found), (Data::Clean, 40_000));
    let exhausted = again.audit.exhausted.unwrap();
    assert!(exhausted.statements > 0 && !exhausted.ended, "{exhausted:?}");
    assert!(exhausted.error.contains(words), "{exhausted:?}");
    // Each statement that had no room is a line, also without a terminal.
    let lines = place.call(&["audit"]).stderr;
    assert!(lines.contains("no room: ") && lines.contains(words), "{lines}");
}

#[test]
fn an_audit_makes_its_statements_smaller_if_postgresql_limits_temporary_files() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let limit = || {
        for setting in ["work_mem = '64kB'", "temp_file_limit = '500kB'"] {
            server.sql("postgres", &format!("ALTER SYSTEM SET {setting}"));
        }
        server.sql("postgres", "SELECT pg_reload_conf()");
    };
    expect_smaller_statements(&server.url(SUPERUSER, "postgres"), limit, "53400");
}

#[test]
fn an_audit_makes_its_statements_smaller_if_mariadb_limits_temporary_tables() {
    if mariadb::skipped() {
        return;
    }
    let server = mariadb::MariaDb::start();
    let limit = || {
        server
            .sql("SET GLOBAL tmp_memory_table_size = 1024; SET GLOBAL tmp_disk_table_size = 20000");
    };
    expect_smaller_statements(&server.url(mariadb::SUPERUSER), limit, "1114");
}

#[test]
fn an_audit_makes_its_statements_smaller_if_clickhouse_limits_memory() {
    if clickhouse::skipped() {
        return;
    }
    let mut server = clickhouse::ClickHouse::start();
    let url = server.url(clickhouse::SUPERUSER);
    let limit = || server.restart_with("<max_memory_usage>25000000</max_memory_usage>");
    expect_smaller_statements(&url, limit, "Code: 241");
}

/// A profile may end a query at a limit and answer from the rows read until then, without an error. No row is missing
/// because of it.
#[test]
fn a_limit_at_which_clickhouse_answers_from_a_part_of_the_rows_hides_none() {
    if clickhouse::skipped() {
        return;
    }
    let mut server = clickhouse::ClickHouse::start();
    let url = server.url(clickhouse::SUPERUSER);
    let place = Place::new();
    let load = "--set hosts=200 --rows 40k --batch 1k --warm-up 0s --json";
    let run = record(&place.typed(&format!("run cpu {url} {load}")));
    assert_eq!(run.judgments.data.value, Data::Clean);
    for (limit, mode) in [
        ("max_rows_to_read>9000</max_rows_to_read", "read_overflow_mode"),
        ("max_rows_to_group_by>100</max_rows_to_group_by", "group_by_overflow_mode"),
        ("max_result_rows>150</max_result_rows", "result_overflow_mode"),
    ] {
        let answers = if mode.starts_with("group") { "any" } else { "break" };
        server.restart_with(&format!("<{limit}><{mode}>{answers}</{mode}>"));
        let (code, again) = audit(&place, &["--audit-timeout", "60s"]);
        let data = &again.judgments.data;
        assert!(matches!(data.value, Data::Clean | Data::Unverified), "{mode}: {code:?} {data:?}");
        if data.value == Data::Unverified {
            let why = format!("{data:?} {:?}", again.audit);
            assert!(why.contains("Code: "), "{mode}: {why}");
        }
    }
}

/// Nothing of it can be there, and nothing was lost.
#[test]
fn a_run_whose_tables_were_created_anew_since_is_not_called_lost() {
    let place = Place::new();
    let run = |more: &str| {
        let called =
            place.typed(&format!("run cpu sqlite:kept.db --rate 1k --batch 10 -q -d {more}"));
        assert!(is_clean(called.code), "{called:?}");
    };
    run("5s");
    run("5s");
    let mut runs = place.runs();
    runs.sort();
    let ids = runs.iter().map(|run| run.file_name().unwrap().to_string_lossy().into_owned());
    let ids: Vec<String> = ids.collect();
    for id in &ids {
        assert!(is_clean(place.call(&["audit", id]).code));
    }
    // Fewer rows than the second run began with, and than the first one wrote.
    run("3s --drop");
    for id in &ids {
        let refused = place.call(&["audit", id]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        refused.reports("table `cpu` was created anew since: its rows end at ");
    }
}
