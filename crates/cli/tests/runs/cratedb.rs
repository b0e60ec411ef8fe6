//! The pitfalls of a common load tool for CrateDB: it counts requests that a blocked table, a full write pool, or a
//! dead server rejected as done, and returns 0. These tests expect correct counts, judgments, and exit codes, for
//! responses recorded from a real CrateDB 6.4.3; to record them again, see `tapes/README.md`.

use highwater_driver::clock::wall_clock;
use highwater_model::judgment::{Data, ObjectiveValue, ReasonCode};
use highwater_model::quantity::print_instant;
use highwater_model::record::{AuditStatus, IntervalRecord, RunRecord};
use highwater_model::units::Nanos;

use crate::called::{Called, Place, Running, expect_undisturbed, measured, split};
use crate::stage::{Script, Stage};

/// Consecutive batches of ten rows, 100 ms each, so that they fill more than the minimum of three seconds of a measured
/// phase.
const LOAD: &str = "--batch 10 --warm-up 0s -d 60s --json --errors 0% --rejected 0%";
const BLOCK: &str = "ALTER TABLE SCHEMA.gauges SET (\"blocks.write\" = true)";

fn place() -> Place {
    let place = Place::new();
    place.file("gauges.toml", include_str!("gauges.toml"));
    place
}

fn load(url: &str, more: &str) -> String {
    // Telemetry is polled at arbitrary times, so it is not on a tape.
    format!("run -f gauges.toml {url} --no-telemetry {LOAD} {more}")
}

/// Runs against a tape, to the end of both.
fn run(tape: &str, script: Script, more: &str) -> (Called, RunRecord, u64) {
    let stage = Stage::start(tape, script);
    let called = place().typed(&load(&stage.url(), &format!("--drop -c 1 {more}")));
    let inserts = stage.inserts();
    stage.finish();
    let record = crate::called::record(&called);
    (called, record, inserts)
}

/// Rows sent, acknowledged, refused, unknown; and those that the audit found.
fn rows(record: &RunRecord) -> ([u64; 4], u64) {
    let rows = &measured(record).rows;
    let noted = [rows.sent, rows.acknowledged, rows.refused, rows.unknown];
    (noted, record.audit.found)
}

fn reasons(record: &RunRecord) -> Vec<ReasonCode> {
    let judgments = &record.judgments;
    let measurement = judgments.measurement.reasons.iter();
    let data = judgments.data.reasons.iter();
    let objective = judgments.objective.reasons.iter();
    let all = measurement.chain(data).chain(objective);
    let codes = all.map(|reason| reason.code);
    // What else runs on this machine.
    codes.filter(|code| *code != ReasonCode::SharedHost).collect()
}

#[test]
fn a_run_that_meets_no_trap_is_clean_and_met() {
    let (called, record, _) = run("plain", Script::default(), "--rows 350");
    assert_eq!(rows(&record), ([350, 350, 0, 0], 350));
    assert_eq!(record.judgments.data.value, Data::Clean, "{record:?}");
    assert_eq!(record.audit.server_counter, Some(350));
    expect_undisturbed(&record);
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
}

#[test]
fn no_row_of_a_table_that_is_blocked_for_writes_counts() {
    let script = Script { before_insert: Some((1, BLOCK)), ..Script::default() };
    let (called, record, _) = run("blocked", script, "--rows 100");
    assert_eq!(rows(&record), ([100, 0, 100, 0], 0));
    assert_eq!(measured(&record).errors["statement"], 10);
    assert!(reasons(&record).contains(&ReasonCode::NothingAcknowledged));
    assert_eq!(record.judgments.objective.value, ObjectiveValue::Missed);
    assert_eq!(called.code, Some(3), "{:?}", record.judgments);
}

#[test]
fn a_table_blocked_in_mid_run_has_exactly_the_acknowledged_rows() {
    let script = Script { before_insert: Some((21, BLOCK)), ..Script::default() };
    let (called, record, _) = run("blocked-in-mid-run", script, "--rows 400");
    assert_eq!(rows(&record), ([400, 200, 200, 0], 200));
    assert_eq!(measured(&record).errors["statement"], 20);
    assert_eq!(record.judgments.data.value, Data::Clean, "{record:?}");
    assert_eq!(record.judgments.objective.value, ObjectiveValue::Missed);
    assert_ne!(called.code, Some(0), "{:?}", record.judgments);
}

#[test]
fn rows_that_a_full_write_pool_rejects_are_refused_one_by_one() {
    let more = "--rows 350 --set shards=12";
    let (called, record, _) = run("full-write-pool", Script::default(), more);
    let ([sent, acknowledged, refused, unknown], found) = rows(&record);
    assert_eq!((sent, unknown), (350, 0));
    assert!(refused > 0 && acknowledged > 0, "{record:?}");
    assert_eq!(acknowledged + refused, sent);
    assert_eq!(found, acknowledged);
    let result = measured(&record);
    let (failed, partial) = (result.failed_ops(), result.partial["rejected"]);
    assert!(partial > 0 && result.errors["rejected"] >= partial);
    // Every op with at least one stored row is an acknowledgment, with these rows.
    assert_eq!(result.acknowledged + failed, result.sent);
    assert_eq!(result.latency_ns.beyond, failed);
    let counted = |of: fn(&IntervalRecord) -> u64| -> u64 { record.intervals.iter().map(of).sum() };
    assert_eq!(counted(|second| second.rows_acknowledged), acknowledged);
    assert_eq!(counted(|second| second.acknowledged), result.acknowledged);
    assert!(record.streams[0].throughput.rows_per_s > 0.0);
    assert_eq!(record.judgments.data.value, Data::Clean, "{record:?}");
    assert_eq!(record.judgments.objective.value, ObjectiveValue::Missed);
    assert!(reasons(&record).contains(&ReasonCode::ObjectiveRejected));
    let noted = |code: &str| record.notes.iter().any(|finding| finding.code == code);
    assert!(noted("target"), "requests that the pools rejected: {record:?}");
    assert!(matches!(called.code, Some(1 | 3)), "{:?}", record.judgments);
}

#[test]
fn a_server_that_dies_leaves_one_batch_unknown_and_ends_the_run() {
    let script = Script { dies_at_insert: Some(11), ..Script::default() };
    let (called, record, inserts_sent) = run("plain", script, "--rows 350 --audit-timeout 2s");
    assert_eq!(inserts_sent, 11);
    let ([_, acknowledged, _, unknown], _) = rows(&record);
    assert_eq!((acknowledged, unknown), (100, 10));
    assert_eq!(record.judgments.data.value, Data::Unverified, "{record:?}");
    assert!(reasons(&record).contains(&ReasonCode::TargetLost));
    assert_eq!(called.code, Some(5), "{:?}", record.judgments);
}

#[test]
fn an_unreachable_server_is_one_message() {
    let called = place().typed(&load("crate://127.0.0.1:1/traps", ""));
    assert_eq!(called.code, Some(5));
    assert!(called.stderr.contains("127.0.0.1:1"), "{called:?}");
    assert!(called.stderr.lines().count() < 8, "{called:?}");
}

#[test]
fn several_processes_fill_one_table_and_none_drops_rows_of_the_others() {
    let place = place();
    let now = wall_clock();
    let start = Nanos(now.0 - now.0 % 1_000_000).saturating_add(Nanos::from_secs(4));
    let at = print_instant(start);
    let stages = ["share-1", "share-2"].map(|tape| Stage::start(tape, Script::default()));
    let running: Vec<Running> = [("1/2", "one"), ("2/2", "two")]
        .iter()
        .zip(&stages)
        .map(|((share, store), stage)| {
            let url = stage.url();
            let more = format!("--rows 700 -c 2 --drop --share {share} --start-at {at} -o {store}");
            place.start(&split(&load(&url, &more)))
        })
        .collect();
    for called in running.into_iter().map(Running::end) {
        assert_eq!(called.code, Some(3), "one share is not verified: {called:?}");
        let record = crate::called::record(&called);
        assert_eq!(rows(&record).0, [350, 350, 0, 0], "{called:?}");
    }
    for stage in stages {
        stage.finish();
    }
    let runs = ["one", "two"].map(|store| place.only_run(store));
    let shown = place.call(&["show", &runs[0], &runs[1], "--format", "json"]);
    let merged = crate::called::record(&shown);
    assert_eq!(rows(&merged), ([700, 700, 0, 0], 700));
    assert_eq!(merged.judgments.data.value, Data::Clean, "{shown:?}");
    assert_eq!(merged.audit.status, AuditStatus::Done);
    expect_undisturbed(&merged);
    assert!(matches!(shown.code, Some(0 | 3)), "{shown:?}");
}
