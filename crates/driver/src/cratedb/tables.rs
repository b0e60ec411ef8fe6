//! Creates, keeps or replaces the tables of a workload, and notes them in `highwater_tables`.
//!
//! The rules of that list are in `table_registry`; here is the SQL. A table that is not noted is
//! touched only if the user named it.

use highwater_core::model::op::{BoundTable, BoundWorkload};
use highwater_core::model::units::Seed;
use serde_json::Value;

use super::admin_connection::AdminConnection;
use super::query::number;
use crate::contract::TargetError;
use crate::sql::quoting::{literal, quoted};
use crate::sql::with_clause::with_settings;
use crate::table_registry::{Fate, RegistryEntry, TABLE_LIST, TablePolicy};

/// The columns of the list, in the order of [`read`] and [`write`].
const COLUMNS: &str = "name, fingerprint, seed, \"rows\", next_index, writing";

/// See [`crate::contract::Admin::create_tables`]. There are no transactions: every table is
/// looked at before any is touched.
pub(super) async fn create(
    connection: &mut AdminConnection,
    workload: &BoundWorkload,
    wish: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, TargetError> {
    connection
        .run(&format!(
            "CREATE TABLE IF NOT EXISTS {TABLE_LIST} (name TEXT PRIMARY KEY, \
             fingerprint TEXT NOT NULL, seed TEXT NOT NULL, \"rows\" BIGINT, \
             next_index BIGINT NOT NULL, writing BOOLEAN NOT NULL) \
             CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = '0-1')"
        ))
        .await?;
    connection.refresh(TABLE_LIST).await?;
    let mut steps = Vec::with_capacity(workload.tables.len());
    for table in &workload.tables {
        let there = exists(connection, &table.name).await?;
        let note = read(connection, &table.name).await?;
        let placed = |error: TargetError| TargetError {
            message: format!("{}: {}", connection.place(), error.message),
            ..error
        };
        steps.push((table, wish.fate(&table.name, there, note).map_err(placed)?));
    }
    let mut notes = Vec::with_capacity(steps.len());
    for (table, fate) in steps {
        notes.push(apply(connection, table, fate, wish).await?);
    }
    connection.refresh(TABLE_LIST).await?;
    Ok(notes)
}

/// See [`crate::contract::Admin::note_tables`]. Adds the rows that it writes to `written`.
pub(super) async fn note(
    connection: &mut AdminConnection,
    notes: &[RegistryEntry],
    written: &mut u64,
) -> Result<(), TargetError> {
    for note in notes {
        write(connection, note).await?;
        *written += 1;
    }
    connection.refresh(TABLE_LIST).await
}

async fn exists(connection: &mut AdminConnection, name: &str) -> Result<bool, TargetError> {
    let found = connection
        .rows(&format!(
            "SELECT count(*) FROM information_schema.tables \
             WHERE table_schema = current_schema AND table_name = {}",
            literal(name)
        ))
        .await?;
    Ok(number(&found, 0) != Some(0))
}

async fn read(
    connection: &mut AdminConnection,
    name: &str,
) -> Result<Option<RegistryEntry>, TargetError> {
    let rows = connection
        .rows(&format!(
            "SELECT {COLUMNS} FROM {TABLE_LIST} WHERE name = {}",
            literal(name)
        ))
        .await?;
    Ok(rows.first().and_then(|row| {
        let [name, fingerprint, seed, rows, next_index, writing] = row.as_slice() else {
            return None;
        };
        Some(RegistryEntry {
            name: name.as_str()?.to_owned(),
            fingerprint: fingerprint.as_str()?.to_owned(),
            seed: Seed(
                seed.as_str()
                    .and_then(|seed| seed.parse().ok())
                    .unwrap_or(0),
            ),
            rows: rows.as_u64(),
            next_index: next_index.as_u64().unwrap_or(0),
            writing: *writing != Value::Bool(false),
        })
    }))
}

async fn write(connection: &mut AdminConnection, note: &RegistryEntry) -> Result<(), TargetError> {
    // The columns of the list have 63 bits for a count.
    let bounded = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let rows = note
        .rows
        .map_or("NULL".to_owned(), |rows| bounded(rows).to_string());
    connection
        .run(&format!(
            "INSERT INTO {TABLE_LIST} ({COLUMNS}) VALUES ({}, {}, '{}', {rows}, {}, {}) \
             ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, \
             seed = excluded.seed, \"rows\" = excluded.\"rows\", \
             next_index = excluded.next_index, writing = excluded.writing",
            literal(&note.name),
            literal(&note.fingerprint),
            note.seed.0,
            bounded(note.next_index),
            note.writing
        ))
        .await
}

async fn apply(
    connection: &mut AdminConnection,
    table: &BoundTable,
    fate: Fate,
    wish: &TablePolicy<'_>,
) -> Result<RegistryEntry, TargetError> {
    match fate {
        Fate::Keep(note) => return Ok(note),
        Fate::Create => {}
        Fate::Replace => {
            connection
                .run(&format!("DROP TABLE {}", quoted(&table.name)))
                .await?;
        }
    }
    // Created before it is noted: a note without a table of ours would be a license to drop.
    for statement in &table.create {
        connection
            .run(&with_settings(statement, wish.settings, quoted))
            .await?;
    }
    let note = wish.fresh(&table.name);
    write(connection, &note).await?;
    Ok(note)
}
