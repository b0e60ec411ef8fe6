//! Custom statements on the user's tables, filled tables, and parameters as flags.

use highwater_model::judgment::Data;
use highwater_model::plan::Pace;
use highwater_model::record::RunRecord;

use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::called::{Place, acknowledged, expect_undisturbed, record, split};

/// A file with a table of the user, which contains a thousand rows.
fn place_with_table() -> Place {
    let place = Place::with_books().verbose();
    place.file(
        "get.sql",
        "\\set id random(1, 10 * :scale)\nSELECT title FROM book WHERE id = :id;\n",
    );
    place.file(
        "put.sql",
        "\\set id random(1, 1000)\nUPDATE book SET title = title || '!' WHERE id = :id\n",
    );
    place
}

#[test]
fn a_users_statement_runs_on_the_users_table() {
    let place = place_with_table();
    let load = "-c 2 -d 2s --warm-up 0s --json";
    let called = format!("run -f get.sql --set scale=100 sqlite:own.db {load}");
    let record = record(&place.typed(&called));
    expect_undisturbed(&record);
    let result = &record.results[record.results.len() - 1];
    assert_eq!((result.op.as_str(), result.stream.as_str()), ("get", "get"));
    assert!(result.acknowledged > 100);
    // Every ID exists, so every response has a row.
    assert_eq!(result.response_rows, result.acknowledged);
    // From `title 1` to `title 1000`.
    let bytes = 7 * result.response_rows..=10 * result.response_rows;
    assert!(bytes.contains(&result.response_bytes), "{result:?}");
    assert_eq!(record.judgments.data.value, Data::NotChecked);
    // Nothing was added to the user's database.
    let tables = place.query("own.db", "SELECT group_concat(name) FROM sqlite_master");
    assert_eq!(tables, "book");
}

#[test]
fn a_query_whose_answers_are_empty_is_reported() {
    let place = place_with_table();
    // The table has only one fifth of the IDs; an update has no response that could be empty.
    place.file("few.sql", "\\set id random(1, 5000)\nSELECT title FROM book WHERE id = :id");
    let load = "sqlite:own.db -c 1 -d 3s --warm-up 0s --audit off --json";
    let files = "-f few.sql -f put.sql -f get.sql --set scale=100";
    let record = record(&place.typed(&format!("run {files} {load}")));
    let messages: Vec<&str> = record
        .notes
        .iter()
        .filter(|f| f.code == "empty_answers")
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].starts_with("few: at least "), "{messages:?}");
    assert!(messages[0].contains("the clock's time"), "{messages:?}");
}

/// A statement without result rows for the first 128 executions.
#[test]
fn empty_answers_that_are_few_or_of_a_warm_up_or_of_a_model_are_not_reported() {
    let place = Place::new().verbose();
    place.file(
        "late.toml",
        "format = 1\nname = \"late\"\nversion = 1\nsummary = \"late\"\n[ops.late]\n\
         parameters = [{ name = \"n\", type = \"bigint\", generator = \"sequence\" }]\n\
         sql = { any = \"SELECT 1 WHERE :n >= 128\" }\n",
    );
    for (target, stream, [warm_up, length], messages) in [
        ("sqlite:own.db", "late@30", ["0s", "2s"], 1),
        ("sqlite:own.db", "late@4", ["0s", "2s"], 0),
        ("sqlite:own.db", "late@50", ["3s", "1s"], 0),
        ("sim:", "late@30", ["0s", "2s"], 0),
    ] {
        let load = format!("--stream {stream} -d {length} --warm-up {warm_up} --json");
        let record = record(&place.typed(&format!("run -f late.toml {target} {load}")));
        let notes = &record.notes;
        let found = notes.iter().filter(|f| f.code == "empty_answers").count();
        assert_eq!(found, messages, "{target} {stream}: {notes:?}");
    }
}

#[test]
fn several_files_are_a_mix_and_their_rows_are_not_verified() {
    let place = place_with_table();
    let load = "sqlite:own.db --json -c 2 -d 3s --warm-up 0s";
    let mix = format!("run -f get.sql@3 -f put.sql@1 --set scale=100 {load}");
    let called = place.typed(&mix);
    assert_eq!(called.code, Some(3), "{called:?}");
    let record = record(&called);
    assert_eq!(record.judgments.data.value, Data::Unverified);
    let (get, put) = (acknowledged(&record, "get"), acknowledged(&record, "put"));
    assert!(put > 30, "{get} {put}");
    // Three to one, within five deviations of √(n · ¾ · ¼).
    let all = f64::from(u32::try_from(get + put).unwrap());
    let share = f64::from(u32::try_from(get).unwrap()) / all;
    assert!((share - 0.75).abs() < 5.0 * (0.1875 / all).sqrt(), "{get} {put}");
    let off = place.typed(&format!("{mix} --audit off"));
    let record = crate::called::record(&off);
    assert_eq!(record.judgments.data.value, Data::NotChecked);
    expect_undisturbed(&record);
}

#[test]
fn mistakes_in_own_statements_are_shown_at_their_places() {
    let place = place_with_table();
    place.file("wrong.sql", "\\sleep 1\nSELECT :n");
    let called = place.call(&["run", "-f", "wrong.sql", "sqlite:own.db"]);
    assert_eq!(called.code, Some(2));
    for part in [
        "`\\sleep` outside of a transaction",
        "wrong.sql:1:1",
        "`:n` is not set",
        "wrong.sql:2:8",
        "--set n=",
    ] {
        assert!(called.stderr.contains(part), "{part}: {}", called.stderr);
    }
    let called = place.call(&["run", "-f", "get.sql", "sqlite:own.db"]);
    assert!(called.stderr.contains("--set scale="), "{}", called.stderr);
    let both = ["run", "-f", "get.sql", "-f", "mine.toml", "sqlite:own.db"];
    let called = place.call(&both);
    called.reports("one workload file alone");
}

const LOAD: &str = "load loadtest sqlite:kept.db --bytes 20";

/// Fills `loadtest` of `kept.db` up to this number of rows.
fn loaded(place: &Place, rows: &str) -> RunRecord {
    let called = place.typed(&format!("{LOAD} --rows {rows} --json"));
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    let record = record(&called);
    expect_undisturbed(&record);
    assert_eq!(record.judgments.data.value, Data::Clean, "{rows}");
    record
}

#[test]
fn a_table_is_filled_and_filled_further_and_then_recognized() {
    let place = Place::new().verbose();
    let count = || place.query("kept.db", "SELECT count(*) FROM loadtest");
    let first = loaded(&place, "20k").audit.acknowledged;
    assert_eq!((first, count().as_str()), (20_000, "20000"));
    let second = loaded(&place, "50k");
    let acknowledged = second.audit.acknowledged;
    assert_eq!((acknowledged, count().as_str()), (30_000, "50000"));
    assert_eq!(second.target.tables[0].rows_before, Some(20_000));
    // All rows exist, or more: nothing is written, and nothing is wrong.
    for rows in ["50k", "30k"] {
        let called = place.typed(&format!("{LOAD} --rows {rows}"));
        assert_eq!(called.code, Some(0), "{called:?}");
        let thousands = rows.trim_end_matches('k');
        let messages = format!("{thousands},000 of {thousands},000 rows are there");
        assert!(called.stderr.contains(&messages), "{called:?}");
    }
    assert_eq!(count(), "50000");
    let run = record(
        &place.typed("run loadtest sqlite:kept.db --bytes 20 --rows 5k --warm-up 0s --json"),
    );
    assert_eq!(run.target.tables[0].first_index, 50_000);
    assert_eq!(run.judgments.data.value, Data::Clean);
}

#[test]
fn gaps_of_a_killed_load_are_filled() {
    let place = Place::new().verbose();
    loaded(&place, "20k");
    // Like the remains of a run on another machine that was killed while batches before its last one were in flight;
    // its ledger would show that these rows were acknowledged.
    for run in place.runs() {
        std::fs::remove_file(run.join("ledger.jsonl")).unwrap();
    }
    place.database(
        "kept.db",
        "DELETE FROM loadtest WHERE rowid > 10000 AND rowid <= 13000; \
         UPDATE highwater_tables SET writing = 1, \"rows\" = NULL, next_index = 0",
    );
    let second = loaded(&place, "30k");
    let rows = place.query("kept.db", "SELECT count(*) FROM loadtest");
    assert_eq!(rows, "30000");
    assert_eq!(second.judgments.data.value, Data::Clean);
    assert_eq!(second.target.tables[0].first_index, 20_000);
    assert_eq!(second.audit.acknowledged, 13_000);
}

#[test]
fn a_killed_run_leaves_the_mark_that_it_writes() {
    let place = Place::new().verbose();
    let load = "sqlite:kept.db --bytes 20 --batch 10 -d 10m --warm-up 0s";
    let mut running = place.start(&split(&format!("run loadtest {load}")));
    running.wait_for("     1  measure  ");
    running.kill();
    let writing = place.query("kept.db", "SELECT writing FROM highwater_tables");
    assert_eq!(writing, "1");
}

#[test]
fn a_load_without_rows_or_of_a_workload_without_any_is_refused() {
    let place = place_with_table();
    let called = place.call(&["load", "loadtest", "sqlite:kept.db"]);
    assert_eq!(called.code, Some(2));
    called.reports("--rows 10M");
    let called = place.call(&["load", "-f", "put.sql", "sqlite:own.db", "--rows", "5"]);
    assert_eq!(called.code, Some(2));
    called.reports("nothing to load");
}

#[test]
fn one_line_has_the_words_of_the_article() {
    let place = Place::new().verbose();
    let urls =
        ["n1", "n2"].map(|host| format!("postgres://root@{host}:26257?sslmode=disable")).join(" ");
    let load = "--read-percent 0 -c 384 -d 2h --plan";
    let called = place.typed(&format!("run kv {load} {urls}"));
    assert_eq!(called.code, Some(0), "{called:?}");
    let plan: highwater_model::plan::Plan = serde_json::from_str(&called.stdout).unwrap();
    assert_eq!(plan.workload.parameters["read_percent"], "0");
    assert_eq!(plan.workload.parameters["max_block_bytes"], "8");
    assert_eq!(plan.streams[0].paces, [Pace::Closed { sessions: 384 }]);
    let measured = plan.phases.last().unwrap();
    assert_eq!(measured.duration.0, 7_200_000_000_000);
    // Every option of the original, none with its default value.
    let options = [
        ("read_percent", "50"),
        ("span_percent", "3"),
        ("del_percent", "2"),
        ("span_limit", "70"),
        ("batch", "10"),
        ("min_block_bytes", "64"),
        ("max_block_bytes", "256"),
        ("target_compression_ratio", "2.5"),
        ("order", "zipfian"),
        ("zipfian_s", "1.3"),
        ("zipfian_v", "2.0"),
        ("cycle_length", "9000"),
        ("insert_count", "800"),
        ("secondary_index", "on"),
        ("splits", "7"),
        ("scatter", "on"),
        ("num_shards", "12"),
        ("replicas", "1"),
    ];
    let flags = options.map(|(name, value)| format!("--{} {value}", name.replace('_', "-")));
    let called = place.typed(&format!("run kv --plan {} {urls}", flags.join(" ")));
    let plan: highwater_model::plan::Plan = serde_json::from_str(&called.stdout).unwrap();
    assert_eq!(plan.workload.parameters.len(), options.len());
    for (name, value) in options {
        assert_eq!(plan.workload.parameters[name], value, "{name}");
    }
    let called = place.call(&["run", "kv", "--read-percnt", "0", "sim:"]);
    called.reports("unknown flag `--read-percnt`");
}

/// The message for a run of this file that the target rejects.
fn refused(target: &str, file: &str, sql: &str) -> String {
    let place = Place::with_books().verbose();
    place.file(file, sql);
    let called = place.call(&["run", "-f", file, target, "-d", "60s", "-q"]);
    assert_eq!(called.code, Some(2), "{called:?}");
    assert_eq!(place.runs().len(), 0, "{called:?}");
    called.stderr
}

#[test]
fn a_search_and_a_tuning_show_the_place_of_a_refused_statement_too() {
    let sql = "\\set id random(1, 1000)\nSELECT title\nFROM book WHERE nope = :id\n";
    for command in ["find", "tune --over sessions=1,2"] {
        let place = Place::with_books().verbose();
        place.file("get.sql", sql);
        let called = place.typed(&format!("{command} -f get.sql sqlite:own.db -q"));
        assert_eq!(called.code, Some(2), "{called:?}");
        called.reports("  --> get.sql:3:17\n");
    }
}

#[test]
fn a_statement_that_the_target_refuses_is_shown_with_its_place() {
    let sqlite = "sqlite:own.db";
    let sql = "\\set id random(1, 1000)\nSELECT title\nFROM book WHERE nope = :id\n";
    insta::assert_snapshot!(refused(sqlite, "get.sql", sql), @"
    error: op `get`: no such column: nope
      --> get.sql:3:17
       |
     3 | FROM book WHERE nope = :id
       |                 ^^^^
    ");
    let workload = "format = 1\nname = \"own\"\nversion = 1\nsummary = \"own\"\n[ops.get]\n\
                    sql = { any = \"SELECT nope FROM book\" }\n\
                    [streams.get]\nunit = \"queries\"\narrivals = \"constant\"\nops = { get = 1 }\n";
    for (file, sql, words, place) in [
        ("get.sql", "SELECT 1\nFROM nowhere;\n", "no such table: nowhere", "get.sql:"),
        ("get.sql", "-- é\nSELEKT 1\n", "syntax error", "get.sql:2:1\n"),
        ("get.sql", "SELECT title FROM book WHERE id = ?1\n", "as `:name`", "get.sql:1:1\n"),
        ("own.toml", workload, "no such column: nope", "own.toml:6:23\n"),
    ] {
        let text = refused(sqlite, file, sql);
        assert!(text.contains(words) && text.contains(place), "{text}");
    }
}

#[test]
fn a_statement_that_postgres_refuses_is_shown_with_its_place() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let url = server.url(SUPERUSER, "postgres");
    server.sql("postgres", "CREATE TABLE book (id bigint, title text)");
    for (sql, words, line) in [
        ("SELECT title\nFROM nowhere\n", "(42P01)", "get.sql:2:6\n"),
        ("SELECT title\nFROM book WHERE nope = :id\n", "(42703)", "get.sql:2:17\n"),
        ("SELEKT 1\n", "(42601)", "get.sql:1:1\n"),
        ("SELECT title FROM book WHERE id = $1\n", "as `:name`, not as `$1`", "get.sql:1:1\n"),
    ] {
        let text = refused(&url, "get.sql", &sql.replace(":id", "7"));
        assert!(text.contains(words) && text.contains(line), "{text}");
    }
}

#[test]
fn a_statement_that_cannot_be_repeated_ends_the_run_early() {
    let place = Place::with_books().verbose();
    place.file("ddl.sql", "DROP TABLE book\n");
    // Prepared while the table exists; every later op finds none.
    let called = place.typed("run -f ddl.sql sqlite:own.db -c 1 -d 10m -q");
    assert_eq!(called.code, Some(2), "{called:?}");
    called.reports("100 times in a row: no such table");
    assert!(called.stderr.contains("that can be repeated"), "{called:?}");
}
