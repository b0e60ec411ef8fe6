//! Creates, keeps or replaces the tables of a workload, and registers them in `highwater_tables`.
//!
//! The rules are in `table_registry`; this is the SQL. Must not change a table that is not
//! registered, unless the user named it.

use highwater_model::op::{BoundTable, BoundWorkload};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::admin_connection::{AdminConnection, number};
use highwater_driver::contract::{TargetError, TargetErrorKind};
use highwater_driver::sql::registry;
use highwater_driver::sql::with_clause::with_settings;
use highwater_driver::table_registry::{REGISTRY_TABLE, RegistryEntry, TableAction, TablePolicy};

/// See [`highwater_driver::contract::TableAdmin::create_tables`].
///
/// Shares of a plan begin at one moment: the server may refuse what two of them create at once, although
/// it is created only if it is not there. Whoever was second finds it there; an error that lasts comes again.
pub(super) async fn create(
    connection: &mut AdminConnection,
    workload: &BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, TargetError> {
    let create = format!(
        "CREATE TABLE IF NOT EXISTS {REGISTRY_TABLE} (name text NOT NULL PRIMARY KEY, \
         fingerprint text NOT NULL, seed text NOT NULL, \"rows\" bigint, \
         next_index bigint NOT NULL, writing boolean NOT NULL)"
    );
    if connection.run(&create).await.is_err() {
        connection.run(&create).await?;
    }
    refresh(connection).await?;
    let drops = policy.drop || !policy.drop_foreign.is_empty();
    match create_registered(connection, workload, policy).await {
        Err(error) if error.kind == TargetErrorKind::Statement && !drops => {
            create_registered(connection, workload, policy).await
        }
        created => created,
    }
}

async fn create_registered(
    connection: &mut AdminConnection,
    workload: &BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, TargetError> {
    // Check all before changing any.
    let mut steps = Vec::with_capacity(workload.tables.len());
    for table in &workload.tables {
        let there = exists(connection, &table.name).await?;
        let entry = read(connection, &table.name).await?;
        let action = policy.action(&table.name, there, entry);
        let placed = |error: TargetError| TargetError {
            message: format!("{}: {}", connection.place(), error.message),
            ..error
        };
        steps.push((table, action.map_err(placed)?));
    }
    begin(connection).await?;
    let applied = apply_all(connection, steps, policy).await;
    end(connection, applied).await
}

/// See [`highwater_driver::contract::TableAdmin::update_registry`].
pub(super) async fn update(
    connection: &mut AdminConnection,
    entries: &[RegistryEntry],
) -> Result<(), TargetError> {
    begin(connection).await?;
    let written = write_all(connection, entries).await;
    end(connection, written).await
}

async fn begin(connection: &mut AdminConnection) -> Result<(), TargetError> {
    if connection.dialect().transactional_ddl() {
        connection.run("BEGIN").await?;
    }
    Ok(())
}

/// Commits what went well, where there is a transaction, and makes it visible.
async fn end<T>(
    connection: &mut AdminConnection,
    done: Result<T, TargetError>,
) -> Result<T, TargetError> {
    let in_transaction = connection.dialect().transactional_ddl();
    match done {
        Ok(done) => {
            if in_transaction {
                connection.run("COMMIT").await?;
            }
            refresh(connection).await?;
            Ok(done)
        }
        Err(error) => {
            if in_transaction {
                // The first error is the one to report.
                let _ended = connection.run("ROLLBACK").await;
            }
            Err(error)
        }
    }
}

async fn exists(connection: &mut AdminConnection, name: &str) -> Result<bool, TargetError> {
    let found = connection
        .rows(&format!(
            "SELECT count(*) FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND c.relname = {}",
            escape_literal(name)
        ))
        .await?;
    Ok(number(&found) > 0)
}

async fn read(
    connection: &mut AdminConnection,
    name: &str,
) -> Result<Option<RegistryEntry>, TargetError> {
    let select = registry::select(connection.dialect(), name);
    let rows = connection.rows(&select).await?;
    Ok(rows.first().and_then(|row| registry::entry(row)))
}

async fn write_all(
    connection: &mut AdminConnection,
    entries: &[RegistryEntry],
) -> Result<(), TargetError> {
    for entry in entries {
        write(connection, entry).await?;
    }
    Ok(())
}

async fn write(connection: &mut AdminConnection, entry: &RegistryEntry) -> Result<(), TargetError> {
    let upsert = registry::upsert(connection.dialect(), entry);
    connection.run(&upsert).await
}

async fn apply_all(
    connection: &mut AdminConnection,
    steps: Vec<(&BoundTable, TableAction)>,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, TargetError> {
    let mut entries = Vec::with_capacity(steps.len());
    for (table, action) in steps {
        entries.push(apply(connection, table, action, policy).await?);
    }
    Ok(entries)
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
            let name = escape_identifier(&table.name);
            connection.run(&format!("DROP TABLE {name}")).await?;
        }
    }
    // Create the table before registering it: a registry entry without our table would let a later
    // run drop someone else's.
    for statement in &table.create {
        let quote = |name: &str| connection.dialect().setting(name);
        let statement = with_settings(statement, policy.settings, quote);
        connection.run(&statement).await?;
    }
    let entry = policy.new_entry(&table.name);
    write(connection, &entry).await?;
    Ok(entry)
}

/// Makes the entries visible to the next query, if the dialect needs that.
async fn refresh(connection: &mut AdminConnection) -> Result<(), TargetError> {
    match connection.dialect().refresh(REGISTRY_TABLE) {
        None => Ok(()),
        Some(statement) => connection.run(&statement).await,
    }
}
