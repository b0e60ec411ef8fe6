//! SQLite keeps every rule of the conformance suite.

#[path = "../../../driver/tests/support/mod.rs"]
mod support;

use highwater_driver::conformance::{SqlWords, Subject, broken_rules};
use highwater_driver_sqlite::SqliteDriver;
use highwater_model::op::ColumnType;

fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer | ColumnType::Bigint | ColumnType::Timestamp | ColumnType::Boolean => {
            "INTEGER"
        }
        ColumnType::Float => "REAL",
        ColumnType::Text | ColumnType::Object => "TEXT",
    }
}

#[expect(clippy::unwrap_used, reason = "a test that cannot start has failed")]
fn check(parameters: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bench.db");
    let subject = Subject {
        driver: &SqliteDriver,
        urls: vec![format!("sqlite:{}{parameters}", path.display())],
        options: support::options(),
        timeline: support::WallTimeline::start(),
        sql: SqlWords::new(type_name, |_, column, parameter| {
            format!("{column} = {parameter}")
        }),
        cut: None,
    };
    let broken = support::block_on(broken_rules(&subject)).unwrap();
    let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_file_with_a_write_ahead_log_keeps_every_rule() {
    check("");
}

#[test]
fn a_file_with_a_rollback_journal_keeps_every_rule() {
    check("?journal_mode=truncate&synchronous=off&page_size=8192&cache_size=-4096");
}
