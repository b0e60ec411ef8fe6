//! How QuestDB makes tables, and registers and leases them. Must not contain what differs in expressions; see
//! `dialect`.
//!
//! Several sessions can write a table at once if it has a log, and it has one only with a time. A row
//! replaces those with its key, of which the time must be a part: in our own tables it is the same in all rows.

use super::leases::{AppendedWords, LeaseWords};
use super::quoting::literal;
use super::table_words::TableWords;

/// The column of the time in our own tables, and its value; each after a comma.
pub(super) const STAMP: [&str; 2] = [", ts", ", cast(0 AS timestamp)"];

/// How tables are made and registered.
pub(super) const TABLES: TableWords = TableWords {
    // Settings are refused before; see `table_features`.
    with_settings: |create, _| create.to_owned(),
    registry_options: "",
    registry: Some(
        "CREATE TABLE IF NOT EXISTS highwater_tables (name VARCHAR, fingerprint VARCHAR, seed VARCHAR, \
         \"rows\" LONG, next_index LONG, writing BOOLEAN, ts TIMESTAMP) \
         TIMESTAMP(ts) PARTITION BY YEAR WAL DEDUP UPSERT KEYS(ts, name)",
    ),
    exists: "SELECT count(*) FROM information_schema.tables \
             WHERE table_schema = current_schema() AND table_name = {name}",
    without_transactions: None,
    refresh: Some("SELECT wait_wal_table('highwater_tables')"),
    transactional: false,
};

/// How leases are written and read. No key keeps a second row out, so what happens to one is a row.
pub(super) const LEASES: LeaseWords = LeaseWords {
    literal,
    key_text: "VARCHAR",
    or_ignore: "",
    now_ms: "CAST(systimestamp() AS long) / 1000",
    table_options: "",
    refresh: Some("SELECT wait_wal_table('highwater_leases')"),
    lock: None,
    is_locked: "NULL",
    appended: Some(AppendedWords {
        create: "CREATE TABLE IF NOT EXISTS highwater_leases (table_name VARCHAR, share INT, shares INT, \
                 token VARCHAR, plan VARCHAR, owner VARCHAR, machine VARCHAR, process LONG, started LONG, \
                 event VARCHAR, number LONG, at_ms LONG, ts TIMESTAMP) TIMESTAMP(ts) PARTITION BY YEAR WAL \
                 DEDUP UPSERT KEYS(ts, table_name, share, token, number, event)",
        stamp: STAMP,
    }),
};
