//! `highwater check TARGET`, and what a table may have besides columns.

use highwater_testing::postgres::{Postgres, SUPERUSER, Setup, skipped};

use crate::called::Place;

/// The value of a line of what `check` prints.
fn fact<'a>(text: &'a str, name: &str) -> &'a str {
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no `{name}` in {text}")).trim()
}

const ALL_RIGHTS: &str = "create tables, insert rows, read rows, drop tables (tried on a separate \
                          table)";

#[test]
fn an_embedded_database_is_tried_and_left_as_it_was() {
    let place = Place::new();
    let called = place.call(&["check", "sqlite:mine.db"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert_eq!(fact(&called.stdout, "rights"), ALL_RIGHTS);
    assert_eq!(fact(&called.stdout, "spread"), "all 4 sessions to one URL");
    assert!(fact(&called.stdout, "disk").contains(" free at "), "{called:?}");
    // Another look finds no table in the way.
    assert_eq!(place.call(&["check", "sqlite:mine.db"]).code, Some(0));
}

#[test]
fn a_missing_right_is_one_message_with_a_hint_and_everything_else_is_reported() {
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
        // Twice the same host: sessions go round.
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
    assert_eq!(fact(&called.stdout, "rights"), "NOT create tables (tried on a separate table)");
    assert_eq!(fact(&called.stdout, "tls"), "off");
    let called = check(SUPERUSER);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert_eq!(fact(&called.stdout, "rights"), ALL_RIGHTS);
    assert_eq!(fact(&called.stdout, "spread"), "8 sessions round robin: 4 + 4");
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
    let options = server.sql("postgres", "SELECT reloptions FROM pg_class WHERE relname = 'cpu'");
    assert_eq!(options.trim(), "{autovacuum_enabled=off,fillfactor=70}");
    // They are for new tables only.
    let again = run("--with fillfactor=70");
    assert_eq!(again.code, Some(2), "{again:?}");
    again.reports("--with is for new tables");
    assert!(again.stderr.contains("hint: add --drop"), "{again:?}");
    assert!(run("").stdout.contains("\"continued\""));
    let sharded = run("--shards 3");
    assert_eq!(sharded.code, Some(2), "{sharded:?}");
    sharded.reports("--shards: tables of PostgreSQL");
}
