//! SQLite passes every rule of the conformance suite.

use highwater_driver_sqlite::SqliteDriver;
use highwater_testkit::{rules, words};
use words::words;

#[expect(clippy::unwrap_used, reason = "a test that cannot start has failed")]
fn check(parameters: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bench.db");
    let url = format!("sqlite:{}{parameters}", path.display());
    let broken = rules::broken(&SqliteDriver, &url, words("sqlite").unwrap(), None);
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
