//! Tables: created, noted in `highwater_tables`, and dropped only if they are noted there.
//!
//! SQLite's DDL is transactional, so a workload's tables are there with their notes, or nothing is.

use highwater_core::model::op::{BoundTable, BoundWorkload};
use rusqlite::{Connection, OptionalExtension, params};

use crate::contract::{KeyCounts, TargetError, TargetErrorKind};

use super::error::statement_error;

/// Highwater's own table: which tables it created.
const NOTES: &str = "highwater_tables";

/// An identifier in SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Creates and notes the workload's tables in one transaction. The caller has its turn to write.
pub(super) fn create(
    connection: &Connection,
    workload: &BoundWorkload,
    fingerprint: &str,
    drop: bool,
) -> Result<(), TargetError> {
    let failed = |error: rusqlite::Error| statement_error("cannot create tables", &error);
    connection
        .execute_batch("BEGIN IMMEDIATE")
        .map_err(failed)?;
    let created = create_all(connection, workload, fingerprint, drop)
        .and_then(|()| connection.execute_batch("COMMIT").map_err(failed));
    if created.is_err() && !connection.is_autocommit() {
        // The first error is the one to tell; closing the connection undoes the rest anyway.
        std::mem::drop(connection.execute_batch("ROLLBACK"));
    }
    created
}

fn create_all(
    connection: &Connection,
    workload: &BoundWorkload,
    fingerprint: &str,
    drop: bool,
) -> Result<(), TargetError> {
    let failed = |error: rusqlite::Error| statement_error(&format!("table `{NOTES}`"), &error);
    connection
        .execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS {NOTES} (name TEXT PRIMARY KEY COLLATE NOCASE, \
             fingerprint TEXT NOT NULL, created INTEGER NOT NULL)"
        ))
        .map_err(failed)?;
    for table in &workload.tables {
        make_room(connection, table, drop)?;
        let what = format!("table `{}`", table.name);
        for sql in &table.create {
            connection
                .execute_batch(sql)
                .map_err(|error| statement_error(&what, &error))?;
        }
        if !exists(connection, &table.name)? {
            return Err(refused(
                TargetErrorKind::Statement,
                format!("{what} is not there after the workload's statements created it"),
                "the name in the workload's CREATE TABLE must be the table's",
            ));
        }
        connection
            .execute(
                &format!(
                    "INSERT OR REPLACE INTO {NOTES} (name, fingerprint, created) \
                     VALUES (?1, ?2, CAST(unixepoch('subsec') * 1000 AS INTEGER))"
                ),
                params![table.name, fingerprint],
            )
            .map_err(failed)?;
    }
    Ok(())
}

/// Sees to it that no table of this name exists, or says why one must stay.
fn make_room(connection: &Connection, table: &BoundTable, drop: bool) -> Result<(), TargetError> {
    let name = &table.name;
    if name.eq_ignore_ascii_case(NOTES) {
        return Err(refused(
            TargetErrorKind::ForeignTable,
            format!("a workload's table must not be named `{NOTES}`"),
            "Highwater notes its tables under that name; choose another one",
        ));
    }
    if !exists(connection, name)? {
        return Ok(());
    }
    let noted: Option<String> = connection
        .query_row(
            &format!("SELECT fingerprint FROM {NOTES} WHERE name = ?1"),
            [name],
            |row| row.get(0),
        )
        .optional()
        .map_err(|error| statement_error(&format!("table `{NOTES}`"), &error))?;
    match noted {
        None => Err(refused(
            TargetErrorKind::ForeignTable,
            format!("table `{name}` exists and was not created by Highwater"),
            "name another database, or give the table up with --drop-foreign",
        )),
        Some(fingerprint) if !drop => Err(refused(
            TargetErrorKind::ForeignTable,
            format!("table `{name}` exists; it holds the workload {fingerprint}"),
            "give --drop to drop it and start anew",
        )),
        Some(_) => connection
            .execute_batch(&format!("DROP TABLE {}", quoted(name)))
            .map_err(|error| statement_error(&format!("table `{name}`"), &error)),
    }
}

fn exists(connection: &Connection, name: &str) -> Result<bool, TargetError> {
    connection
        .query_row(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type IN ('table', 'view') \
             AND name = ?1 COLLATE NOCASE)",
            [name],
            |row| row.get(0),
        )
        .map_err(|error| statement_error("the list of tables", &error))
}

/// Counts rows by key div `width`.
pub(super) fn count_by_key(
    connection: &Connection,
    table: &BoundTable,
    width: u64,
) -> Result<KeyCounts, TargetError> {
    if width == 0 {
        return Err(TargetError::usage(
            "keys cannot be counted in buckets of width 0",
        ));
    }
    let key = &table.key;
    // Keys are below 2^63: a wider bucket holds them all. SQLite truncates a quotient of integers,
    // which for keys from 0 is its floor.
    let bucket = match i64::try_from(width) {
        Ok(width) => format!("({key}) / {width}"),
        Err(_) => "0".to_owned(),
    };
    let sql = format!(
        "SELECT CASE WHEN ({key}) >= 0 THEN {bucket} END, count(*) FROM {} GROUP BY 1 ORDER BY 1",
        quoted(&table.name)
    );
    let failed = |error: rusqlite::Error| {
        statement_error(&format!("keys of table `{}`", table.name), &error)
    };
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut counts = KeyCounts::default();
    while let Some(row) = rows.next().map_err(failed)? {
        // A key expression that is not an integer fails here.
        let bucket: Option<u64> = row.get(0).map_err(failed)?;
        let count: u64 = row.get(1).map_err(failed)?;
        match bucket {
            Some(bucket) => counts.buckets.push((bucket, count)),
            None => counts.without_key = count,
        }
    }
    Ok(counts)
}

fn refused(kind: TargetErrorKind, message: String, hint: &str) -> TargetError {
    TargetError {
        kind,
        message,
        hint: Some(hint.to_owned()),
    }
}
