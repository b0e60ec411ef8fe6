//! `highwater check TARGET`, and table properties other than columns.

use highwater_model::judgment::Data;
use highwater_testing::postgres::{Postgres, SUPERUSER, Setup, skipped};
use highwater_testing::{clickhouse, mariadb};

use crate::called::{Place, record};

/// The value of a line in the output of `check`.
fn fact<'a>(text: &'a str, name: &str) -> &'a str {
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no `{name}` in {text}")).trim()
}

const ALL_RIGHTS: &str = "OK · create tables, insert rows, read rows, drop tables (tried on a separate \
                          table)";

#[test]
fn an_embedded_database_is_tried_and_left_as_it_was() {
    let place = Place::new();
    let called = place.call(&["check", "sqlite:mine.db"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert_eq!(fact(&called.stdout, "rights"), ALL_RIGHTS);
    assert_eq!(fact(&called.stdout, "sessions"), "OK · 4 by default, all to one URL");
    assert!(fact(&called.stdout, "disk").contains(" free at "), "{called:?}");
    // A second check finds no leftover tables.
    assert_eq!(place.call(&["check", "sqlite:mine.db"]).code, Some(0));
}

#[test]
fn a_missing_privilege_is_one_message_with_a_hint_and_everything_else_is_reported() {
    if skipped() {
        return;
    }
    let server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
        ..Setup::default()
    });
    server.sql("postgres", "CREATE ROLE guest LOGIN");
    let place = Place::new();
    let check = |user: &str| {
        let url = format!("{}?sslmode=disable", server.url(user, "postgres"));
        // The same host twice: sessions alternate.
        place.call(&["check", &url, &url])
    };
    let called = check("guest");
    assert_eq!(called.code, Some(5), "{called:?}");
    assert!(
        called.stderr.contains("error: may not create tables: ")
            && called.stderr.contains("permission denied for schema public (42501)")
            && called.stderr.contains("hint: grant the user the right"),
        "{called:?}"
    );
    let refused = "STOPS · NOT create tables (tried on a separate table)";
    assert_eq!(fact(&called.stdout, "rights"), refused);
    assert!(fact(&called.stdout, "result").starts_with("a run would stop"), "{called:?}");
    let called = check(SUPERUSER);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert_eq!(fact(&called.stdout, "rights"), ALL_RIGHTS);
    assert_eq!(fact(&called.stdout, "sessions"), "OK · 8 by default, round robin: 4 + 4");
    assert!(fact(&called.stdout, "machine").starts_with("BEWARE"), "{called:?}");
    let relaxed = "BEWARE · fsync=off: a crash loses acknowledged rows";
    assert_eq!(fact(&called.stdout, "durability"), relaxed);
    assert!(fact(&called.stdout, "ceiling").contains("rows/s"), "{called:?}");
    assert!(fact(&called.stdout, "disk").contains(" free at "), "{called:?}");
    let tables =
        server.sql("postgres", "SELECT count(*) FROM pg_class WHERE relname LIKE 'highwater%'");
    assert_eq!(tables.trim(), "0");
}

#[test]
fn settings_of_new_tables_reach_the_database_and_the_record() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let place = Place::new();
    let url = format!("{}?sslmode=disable", server.url(SUPERUSER, "postgres"));
    let words = format!("run cpu {url} --rows 2k --warm-up 0s --json");
    let run = |more: &str| place.typed(&format!("{words} {more}"));
    let called = run("--with fillfactor=70 --with autovacuum_enabled=off");
    called.prints("\"with.fillfactor\": \"70\"");
    called.prints("\"table.fillfactor\": \"70\"");
    let options = server.sql("postgres", "SELECT reloptions FROM pg_class WHERE relname = 'cpu'");
    assert_eq!(options.trim(), "{autovacuum_enabled=off,fillfactor=70}");
    // They apply only to new tables.
    let again = run("--with fillfactor=70");
    assert_eq!(again.code, Some(2), "{again:?}");
    again.reports("--with is for new tables");
    assert!(again.stderr.contains("hint: add --drop"), "{again:?}");
    let continued = run("");
    continued.prints("\"continued\"");
    // An existing table's own settings are known as well.
    continued.prints("\"table.fillfactor\": \"70\"");
    assert!(!continued.stdout.contains("\"with.fillfactor\""), "{continued:?}");
    let sharded = run("--shards 3");
    assert_eq!(sharded.code, Some(2), "{sharded:?}");
    sharded.reports("--shards: tables of PostgreSQL");
}

/// Compatible servers lack some of the views of settings, and roles may lack the privilege to read
/// them.
#[test]
fn settings_that_cannot_be_read_end_neither_check_nor_run() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    server.sql("postgres", "CREATE ROLE bench LOGIN");
    server.sql("postgres", "CREATE DATABASE bench OWNER bench");
    let url = server.url("bench", "bench");
    let place = Place::new();
    for hidden in [
        "EXECUTE ON FUNCTION pg_catalog.current_setting(text)",
        "EXECUTE ON FUNCTION pg_catalog.pg_size_bytes(text)",
        "EXECUTE ON FUNCTION pg_catalog.pg_options_to_table(text[])",
        "SELECT ON pg_catalog.pg_settings",
    ] {
        server.sql("bench", &format!("REVOKE {hidden} FROM PUBLIC"));
        let checked = place.call(&["check", &url]);
        assert_eq!(checked.code, Some(0), "{hidden}: {checked:?}");
        let words = "--set hosts=20 -d 1s --warm-up 0s --json";
        let run = place.typed(&format!("run cpu {url} {words}"));
        // A second is too short to judge the measurement.
        assert!(matches!(run.code, Some(0 | 3)), "{hidden}: {run:?}");
        assert_eq!(record(&run).judgments.data.value, Data::Clean, "{hidden}: {run:?}");
    }
}

#[test]
fn own_statements_are_prepared_and_never_executed() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    server.sql("postgres", "CREATE TABLE account (balance bigint); INSERT INTO account VALUES (0)");
    expect_prepared(&server.url(SUPERUSER, "postgres"), &|sql| server.sql("postgres", sql));
}

#[test]
fn own_statements_are_prepared_and_never_executed_on_mariadb() {
    if mariadb::skipped() {
        return;
    }
    let server = mariadb::MariaDb::start();
    server.sql("CREATE TABLE account (balance bigint); INSERT INTO account VALUES (0)");
    expect_prepared(&server.url(mariadb::SUPERUSER), &|sql| server.sql(sql));
}

#[test]
fn own_statements_are_prepared_and_never_executed_on_sqlite() {
    let place = Place::new();
    let made = "CREATE TABLE account (balance bigint); INSERT INTO account VALUES (0)";
    place.database("own.db", made);
    let url = format!("sqlite:{}", place.path().join("own.db").display());
    let accounts = "SELECT count(*) || ' ' || sum(balance) FROM account";
    expect_prepared(&url, &|_| place.query("own.db", accounts));
}

#[test]
fn own_questions_are_read_by_clickhouse() {
    if clickhouse::skipped() {
        return;
    }
    let server = clickhouse::ClickHouse::start();
    server.sql("CREATE TABLE account (balance Int64) ENGINE = Memory");
    let url = server.url(clickhouse::SUPERUSER);
    let place = Place::new();
    place.file("good.sql", "SELECT sum(balance) FROM account;\n");
    place.file("bad.sql", "SELECT sum(balanse) FROM account;\n");
    let good = place.call(&["check", &url, "-f", "good.sql"]);
    assert_eq!(good.code, Some(0), "{good:?}");
    let bad = place.call(&["check", &url, "-f", "bad.sql"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
}

/// Checks statements on a table with one account; `ask` gives the number of accounts and the sum of their balances.
fn expect_prepared(url: &str, ask: &dyn Fn(&str) -> String) {
    let place = Place::new();
    place.file("put.sql", "\\set sum random(1, 9)\nINSERT INTO account VALUES (:sum);\n");
    place.file(
        "transfer.sql",
        "BEGIN;\nUPDATE account SET balance = balance + 1;\nDELETE FROM account;\nEND;\n",
    );
    place.file("typo.sql", "UPDATE account\n  SET balanse = 1;\n");
    place.file("own.toml", &place.typed("workloads new").stdout);
    let check = |files: &str| place.typed(&format!("check {url} {files}"));
    let good = check("-f put.sql -f transfer.sql@2");
    assert_eq!(good.code, Some(0), "{good:?}");
    assert_eq!(fact(&good.stdout, "statements"), "OK · prepared those of 2 ops, executed none");
    assert!(!good.stdout.contains("\nworkloads "), "it is not about the built-in ones: {good:?}");
    let accounts = ask("SELECT concat(count(*), ' ', sum(balance)) FROM account");
    assert_eq!(accounts.trim(), "1 0");
    // As `run` refuses it, at the same place.
    let bad = check("-f put.sql -f typo.sql");
    let run = place.typed(&format!("run {url} -f put.sql -f typo.sql -d 3s"));
    assert_eq!((bad.code, run.code), (Some(2), Some(2)), "{bad:?} {run:?}");
    bad.prints("NOT taken: ");
    assert!(bad.stderr.contains("--> typo.sql:") && bad.stderr == run.stderr, "{bad:?} {run:?}");
    let own = check("-f own.toml");
    if url.starts_with("mysql:") {
        assert_eq!(own.code, Some(2), "it has no statements for this target: {own:?}");
    } else {
        assert_eq!(own.code, Some(0), "{own:?}");
        let why = "OK · not prepared: a run creates table `readings` first";
        assert_eq!(fact(&own.stdout, "statements"), why);
    }
    let alone = place.typed("check own.toml -f put.sql");
    assert_eq!(alone.code, Some(2), "{alone:?}");
    alone.reports("--file: is for a target");
}
