//! Failed work is never silent: targets that fail a part of the ops, each in a different way, and runs without a limit
//! for errors.

use highwater_model::display::{count, percent_of};
use highwater_model::judgment::{Measurement, ObjectiveValue, ReasonCode};
use highwater_model::record::RunRecord;
use highwater_testing::clickhouse;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::called::{Called, Place, measured};

/// Two sessions that insert consecutive batches of twenty rows.
const LOAD: &str = "-c 2 --batch 20 --insert values --warm-up 0s -d 4s --set hosts=20";
/// Fails every second statement with the code of a conflict.
const CONFLICTS: &str = "CREATE SEQUENCE turns; \
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
    IF nextval('turns') % 2 = 0 THEN RAISE EXCEPTION 'not now' USING ERRCODE = '40001'; END IF; \
    RETURN NULL; END $$; \
    CREATE TRIGGER refuse BEFORE INSERT ON cpu FOR EACH STATEMENT EXECUTE FUNCTION refuse()";
/// Does not store about three out of four rows, without an error.
const SKIPS: &str =
    "CREATE RULE skip AS ON INSERT TO cpu WHERE NEW.usage_user::int % 4 > 0 DO INSTEAD NOTHING";

/// A server with the workload's tables and this change, and its URL.
fn server(change: &str) -> (Postgres, String) {
    let server = Postgres::start();
    let url = server.url(SUPERUSER, "postgres");
    let made = Place::new().typed(&format!("load cpu {url} --rows 100 --set hosts=20 -q"));
    // A moment is too short to judge the measurement.
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    server.sql("postgres", change);
    (server, url)
}

fn run(url: &str, more: &str) -> (Called, RunRecord) {
    let place = Place::new();
    let called = place.typed(&format!("run cpu {url} {LOAD} {more}"));
    (called, place.newest())
}

/// A machine that is busy with other tests may invalidate the measurement, or make its load unsteady, which counts where
/// an objective was stated.
#[track_caller]
fn expect_code(called: &Called, run: &RunRecord, code: i32) {
    let measurement = &run.judgments.measurement;
    let is_asked = !run.plan.definition.objectives.is_empty();
    let is_disturbed = measurement.value == Measurement::Invalid
        || (is_asked && measurement.codes().contains(&ReasonCode::NotSteady));
    let code = if is_disturbed { 3 } else { code };
    assert_eq!(called.code, Some(code), "{called:?}");
}

#[track_caller]
fn expect_missed(called: &Called, run: &RunRecord, first: &[&str]) {
    expect_code(called, run, 1);
    let objective = &run.judgments.objective;
    assert_eq!(objective.value, ObjectiveValue::Missed);
    assert_eq!(objective.codes(), [ReasonCode::ObjectiveErrors]);
    assert_eq!(run.plan.definition.objectives, []);
    let line = called.stdout.lines().next().unwrap_or_default();
    for part in first {
        assert!(line.contains(part), "{part}: {called:?}");
    }
}

#[test]
fn half_of_the_ops_that_fail_in_closed_load_are_on_the_first_line_and_in_the_percentiles() {
    if skipped() {
        return;
    }
    let (_server, url) = server(CONFLICTS);
    let (called, one) = run(&url, "");
    let result = measured(&one);
    let failed = result.errors["conflict"];
    assert!(failed.abs_diff(result.acknowledged) <= 2, "{result:?}");
    assert_eq!(result.latency_ns.beyond, failed);
    assert!(result.latency_ns.at_least.contains(&"p95".to_owned()));
    let part = percent_of(failed, result.sent);
    let number = count(failed);
    expect_missed(&called, &one, &["insert: ", &number, &part, "conflict"]);

    let (called, bounded) = run(&url, "--p99 500ms");
    expect_code(&called, &bounded, 1);
    let codes = bounded.judgments.objective.codes();
    assert!(codes.contains(&ReasonCode::ObjectiveLatency), "{codes:?}");

    let (called, all) = run(&url, "--errors 100%");
    expect_code(&called, &all, 0);
    assert_eq!(all.judgments.objective.value, ObjectiveValue::NoneSet);
}

#[test]
fn rows_that_a_rule_of_the_table_leaves_out_are_named_although_no_op_failed() {
    if skipped() {
        return;
    }
    let (_server, url) = server(SKIPS);
    let (called, run) = run(&url, "");
    let result = measured(&run);
    let rows = result.rows;
    assert_eq!(rows.acknowledged + rows.refused, rows.sent);
    let partial = result.partial["constraint"];
    assert!(rows.acknowledged > 0 && 2 * partial > result.sent, "{result:?}");
    assert_eq!(result.acknowledged + result.failed_ops(), result.sent);
    let counted: u64 = run.intervals.iter().map(|second| second.rows_acknowledged).sum();
    assert_eq!(counted, rows.acknowledged);
    let refused = percent_of(rows.refused, rows.sent);
    expect_missed(&called, &run, &["insert: ", " rows (", &refused, "constraint"]);
    called.prints(" in part: ");
}

#[test]
fn a_standby_among_the_hosts_that_refuses_every_write_is_named() {
    if skipped() {
        return;
    }
    let (server, url) = server("SELECT 1");
    let standby = server.standby();
    let host = format!("127.0.0.1:{}", standby.port());
    let primary = url.strip_suffix("/postgres").unwrap();
    let both = format!("{primary},{host}/postgres");
    let (called, run) = run(&both, "");
    assert!(measured(&run).acknowledged > 0, "{run:?}");
    expect_missed(&called, &run, &["insert: ", " ops (", &host]);
}

#[test]
fn inserts_that_clickhouse_refuses_for_too_many_parts_are_named() {
    if clickhouse::skipped() {
        return;
    }
    let server = clickhouse::ClickHouse::start();
    let url = server.url(clickhouse::SUPERUSER);
    let place = Place::new();
    let own = "--with parts_to_throw_insert=20";
    let made = place.typed(&format!("load cpu {url} --rows 100 --set hosts=20 -q {own}"));
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    server.sql("SYSTEM STOP MERGES");
    let load = "-c 4 --batch 20 --warm-up 0s -d 4s --set hosts=20";
    let called = place.typed(&format!("run cpu {url} {load}"));
    let run = place.newest();
    let result = measured(&run);
    assert!(result.acknowledged > 0, "{result:?}");
    let refused: Vec<&str> = result.failures.iter().filter_map(|of| of.code.as_deref()).collect();
    assert_eq!(refused, ["252"], "{result:?}");
    expect_missed(&called, &run, &["insert: ", " ops (", "rejected"]);
}

#[test]
fn a_group_of_runs_begins_with_what_failed_of_them() {
    if skipped() {
        return;
    }
    let (_server, url) = server(CONFLICTS);
    let place = Place::new();
    let called = place.typed(&format!("run cpu {url} {LOAD} --repeat 2 --settle 10ms"));
    let line = called.stdout.lines().next().unwrap_or_default();
    for part in ["too much failed in 2 of 2 runs: insert: ", "conflict"] {
        assert!(line.contains(part), "{part}: {called:?}");
    }
}

#[test]
fn a_percentile_that_the_allowed_errors_make_impossible_is_refused_at_the_start() {
    let place = Place::new();
    for (words, is_refused) in [
        ("--p99 50ms --errors 1%", true),
        ("--p99 50ms --errors 0.9%", false),
        ("--p50 50ms --p999 1s --errors 0.1%", true),
        ("--rate 1k --row-p99 1s --errors 100%", true),
        ("--p99 insert<50ms --errors 2%", true),
        ("--p99 50ms --rejected 1%", true),
        ("--p95 50ms --errors 4.9%", false),
        ("--errors 100%", false),
    ] {
        let called = place.typed(&format!("run cpu sim: --dry-run {words}"));
        let code = if is_refused { 2 } else { 0 };
        assert_eq!(called.code, Some(code), "{words}: {called:?}");
        if is_refused {
            called.reports("may fail");
        }
    }
}
