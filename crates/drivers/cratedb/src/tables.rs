//! Creates, keeps or replaces the tables of a workload, and registers them in `highwater_tables`.
//!
//! The rules are in `table_registry`; this is the SQL. Must not change a table that is not
//! registered, unless the user named it.

use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::units::Seed;
use serde_json::Value;

use super::admin_connection::AdminConnection;
use super::query::number;
use highwater_driver::contract::TargetError;
use highwater_driver::sql::quoting::{literal, quoted};
use highwater_driver::sql::with_clause::with_settings;
use highwater_driver::table_registry::{REGISTRY_TABLE, RegistryEntry, TableAction, TablePolicy};

/// The columns of the registry, in the order of [`read`] and [`write`].
const COLUMNS: &str = "name, fingerprint, seed, \"rows\", next_index, writing";

/// See [`highwater_driver::contract::Admin::create_tables`]. There are no transactions: every table is
/// checked before any is changed.
pub(super) async fn create(
    connection: &mut AdminConnection,
    workload: &BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, TargetError> {
    connection
        .run(&format!(
            "CREATE TABLE IF NOT EXISTS {REGISTRY_TABLE} (name TEXT PRIMARY KEY, \
             fingerprint TEXT NOT NULL, seed TEXT NOT NULL, \"rows\" BIGINT, \
             next_index BIGINT NOT NULL, writing BOOLEAN NOT NULL) \
             CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = '0-1')"
        ))
        .await?;
    connection.refresh(REGISTRY_TABLE).await?;
    let mut steps = Vec::with_capacity(workload.tables.len());
    for table in &workload.tables {
        let there = exists(connection, &table.name).await?;
        let entry = read(connection, &table.name).await?;
        let placed = |error: TargetError| TargetError {
            message: format!("{}: {}", connection.place(), error.message),
            ..error
        };
        steps.push((
            table,
            policy.action(&table.name, there, entry).map_err(placed)?,
        ));
    }
    let mut entries = Vec::with_capacity(steps.len());
    for (table, action) in steps {
        entries.push(apply(connection, table, action, policy).await?);
    }
    connection.refresh(REGISTRY_TABLE).await?;
    Ok(entries)
}

/// See [`highwater_driver::contract::Admin::update_registry`]. Adds the rows that it writes to `written`.
pub(super) async fn update(
    connection: &mut AdminConnection,
    entries: &[RegistryEntry],
    written: &mut u64,
) -> Result<(), TargetError> {
    for entry in entries {
        write(connection, entry).await?;
        *written += 1;
    }
    connection.refresh(REGISTRY_TABLE).await
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
            "SELECT {COLUMNS} FROM {REGISTRY_TABLE} WHERE name = {}",
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

async fn write(connection: &mut AdminConnection, entry: &RegistryEntry) -> Result<(), TargetError> {
    // The registry's columns have 63 bits for a count.
    let bounded = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let rows = entry
        .rows
        .map_or("NULL".to_owned(), |rows| bounded(rows).to_string());
    connection
        .run(&format!(
            "INSERT INTO {REGISTRY_TABLE} ({COLUMNS}) VALUES ({}, {}, '{}', {rows}, {}, {}) \
             ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, \
             seed = excluded.seed, \"rows\" = excluded.\"rows\", \
             next_index = excluded.next_index, writing = excluded.writing",
            literal(&entry.name),
            literal(&entry.fingerprint),
            entry.seed.0,
            bounded(entry.next_index),
            entry.writing
        ))
        .await
}

async fn apply(
    connection: &mut AdminConnection,
    table: &BoundTable,
    action: TableAction,
    policy: &TablePolicy<'_>,
) -> Result<RegistryEntry, TargetError> {
    match action {
        TableAction::Keep(entry) => return Ok(entry),
        TableAction::Create => {}
        TableAction::Replace => {
            connection
                .run(&format!("DROP TABLE {}", quoted(&table.name)))
                .await?;
        }
    }
    // Create the table before registering it: a registry entry without our table would let a later
    // run drop someone else's.
    for statement in &table.create {
        connection
            .run(&with_settings(statement, policy.settings, quoted))
            .await?;
    }
    let entry = policy.new_entry(&table.name);
    write(connection, &entry).await?;
    Ok(entry)
}
