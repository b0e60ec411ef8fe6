//! Creates, keeps or replaces the tables of a workload, and registers them in `highwater_tables`.
//!
//! The rules are in `table_registry`; this is the SQL. Must not change a table that is not
//! registered, unless the user named it.

use highwater_model::op::{BoundTable, BoundWorkload};

use super::admin_connection::AdminConnection;
use super::query::{self, number};
use highwater_driver::contract::TargetError;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql::quoting::{literal, quoted};
use highwater_driver::sql::registry;
use highwater_driver::sql::with_clause::with_settings;
use highwater_driver::table_registry::{REGISTRY_TABLE, RegistryEntry, TableAction, TablePolicy};

/// See [`highwater_driver::contract::TableAdmin::create_tables`]. There are no transactions: every table is
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

/// See [`highwater_driver::contract::TableAdmin::update_registry`]. Adds the rows that it writes to `written`.
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
        .rows(&registry::select(Dialect::CrateDb, name))
        .await?;
    let row = rows.into_iter().next().map(query::texts);
    Ok(row.and_then(|row| registry::entry(&row)))
}

async fn write(connection: &mut AdminConnection, entry: &RegistryEntry) -> Result<(), TargetError> {
    connection
        .run(&registry::upsert(Dialect::CrateDb, entry))
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
