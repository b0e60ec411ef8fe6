//! Creates, keeps, or replaces the tables of a workload, and registers them in `highwater_tables`, on a connection that
//! runs one statement at a time.
//!
//! The rules are in `table_registry`; this is the SQL. Must not change a table that is not registered, unless the user
//! named it.

use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::user_error::{UserError, UserErrorKind};

use super::describe::number;
use super::dialect::Dialect;
use super::registry;
use crate::sql_query::{SqlQuery, first_value};
use crate::table_registry::{
    REGISTRY_TABLE, RegistryEntry, TableAction, TablePolicy, creates_more_than_tables,
};

/// See [`crate::contract::TableAdmin::create_tables`].
///
/// Shares of a plan start at the same moment: the server may reject the second of two simultaneous creations, even with
/// IF NOT EXISTS. A retry then finds the table; a permanent error recurs.
pub async fn create(
    connection: &mut impl SqlQuery,
    dialect: &Dialect,
    workload: &BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, UserError> {
    create_registry(connection, dialect).await?;
    let drops = policy.drop || !policy.drop_foreign.is_empty();
    match create_registered(connection, dialect, workload, policy).await {
        Err(error) if error.kind == UserErrorKind::Statement && !drops => {
            create_registered(connection, dialect, workload, policy).await
        }
        created => created,
    }
}

/// Fails with a table that [`create`] would reject, and changes none. If tables are on several servers, all of them are
/// checked before those of one are changed.
pub async fn check(
    connection: &mut impl SqlQuery,
    dialect: &Dialect,
    workload: &BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<(), UserError> {
    create_registry(connection, dialect).await?;
    steps(connection, dialect, workload, policy).await.map(drop)
}

async fn create_registry(
    connection: &mut impl SqlQuery,
    dialect: &Dialect,
) -> Result<(), UserError> {
    let create = registry::create(dialect);
    if connection.texts(&create).await.is_err() {
        connection.texts(&create).await?;
    }
    refresh(connection, dialect).await
}

async fn create_registered(
    connection: &mut impl SqlQuery,
    dialect: &Dialect,
    workload: &BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, UserError> {
    // Check all before changing any.
    let steps = steps(connection, dialect, workload, policy).await?;
    begin(connection, dialect).await?;
    let applied = apply_all(connection, dialect, steps, policy).await;
    end(connection, dialect, applied).await
}

/// The action for each table.
async fn steps<'w>(
    connection: &mut impl SqlQuery,
    dialect: &Dialect,
    workload: &'w BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<Vec<(&'w BoundTable, TableAction)>, UserError> {
    let mut steps = Vec::with_capacity(workload.tables.len());
    for table in &workload.tables {
        let found = named(dialect, dialect.exists, table);
        let there = number(&connection.quick_texts(&found).await?, 0) > 0;
        let select = registry::select(dialect, &table.name);
        let rows = connection.quick_texts(&select).await?;
        let entry = rows.first().and_then(|row| registry::entry(row));
        steps.push((table, policy.action(&table.name, there, entry)?));
    }
    Ok(steps)
}

/// See [`crate::contract::TableAdmin::update_registry`].
pub async fn update(
    connection: &mut impl SqlQuery,
    dialect: &Dialect,
    entries: &[RegistryEntry],
) -> Result<(), UserError> {
    begin(connection, dialect).await?;
    let written = write_all(connection, dialect, entries).await;
    end(connection, dialect, written).await
}

async fn begin(connection: &mut impl SqlQuery, dialect: &Dialect) -> Result<(), UserError> {
    if dialect.transactional {
        connection.texts("BEGIN").await?;
    }
    Ok(())
}

/// Commits on success, if there is a transaction, and makes the changes visible.
async fn end<T>(
    connection: &mut impl SqlQuery,
    dialect: &Dialect,
    done: Result<T, UserError>,
) -> Result<T, UserError> {
    if dialect.transactional {
        let ended = connection.texts(if done.is_ok() { "COMMIT" } else { "ROLLBACK" });
        // The first error is the one to report.
        let ended = ended.await;
        if done.is_ok() {
            ended?;
        }
    }
    if done.is_ok() {
        refresh(connection, dialect).await?;
    }
    done
}

async fn write_all(
    connection: &mut impl SqlQuery,
    dialect: &Dialect,
    entries: &[RegistryEntry],
) -> Result<(), UserError> {
    for entry in entries {
        let upsert = registry::upsert(dialect, entry);
        connection.texts(&upsert).await?;
    }
    Ok(())
}

async fn apply_all(
    connection: &mut impl SqlQuery,
    dialect: &Dialect,
    steps: Vec<(&BoundTable, TableAction)>,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, UserError> {
    // Reverse order, because a table may refer to an earlier one.
    for (table, action) in steps.iter().rev() {
        let name = dialect.identifier(&table.name);
        match action {
            TableAction::Keep(_) | TableAction::Create => {}
            TableAction::Remake if creates_more_than_tables(&table.create) => {
                if let Some(lock) = dialect.lock {
                    connection.texts(&dialect.about(lock, &table.name)).await?;
                }
                connection.texts(&format!("DELETE FROM {name}")).await?;
            }
            TableAction::Replace | TableAction::Remake => {
                connection.texts(&format!("DROP TABLE {name}")).await?;
            }
        }
    }
    let mut entries = Vec::with_capacity(steps.len());
    for (table, action) in steps {
        let drop = format!("DROP TABLE {}", dialect.identifier(&table.name));
        let is_emptied = action == TableAction::Remake && creates_more_than_tables(&table.create);
        if let TableAction::Keep(entry) = action {
            check_engine(connection, dialect, table).await?;
            entries.push(entry);
            continue;
        }
        // Create the table before registering it: a registry entry without Highwater's table would let a later run drop
        // another user's.
        let create = if is_emptied { &[][..] } else { &table.create };
        for statement in create {
            let statement = (dialect.with_settings)(statement, policy.settings);
            connection.texts(&statement).await?;
        }
        if let Err(error) = check_engine(connection, dialect, table).await {
            connection.texts(&drop).await?;
            return Err(error);
        }
        let entry = policy.new_entry(&table.name);
        write_all(connection, dialect, std::slice::from_ref(&entry)).await?;
        entries.push(entry);
    }
    Ok(entries)
}

/// Rejects a table whose engine has no transactions: an error then leaves part of its batch, and an acknowledged row is
/// lost with the server's process.
async fn check_engine(
    connection: &mut impl SqlQuery,
    dialect: &Dialect,
    table: &BoundTable,
) -> Result<(), UserError> {
    let Some(query) = dialect.without_transactions else {
        return Ok(());
    };
    let query = named(dialect, query, table);
    let rows = connection.quick_texts(&query).await?;
    match first_value(rows) {
        None => Ok(()),
        Some(engine) => Err(UserError::usage(format!(
            "table `{}` has the engine {engine}, which has no transactions",
            table.name
        ))
        .with_hint(
            "what such an engine holds after an error cannot be audited; `--with ENGINE=InnoDB`, or \
             another engine with transactions",
        )),
    }
}

/// A dialect's query about a table.
fn named(dialect: &Dialect, query: &str, table: &BoundTable) -> String {
    dialect.about(query, &table.name)
}

/// Makes the entries visible to the next query, if the dialect needs that.
async fn refresh(connection: &mut impl SqlQuery, dialect: &Dialect) -> Result<(), UserError> {
    match dialect.refresh(REGISTRY_TABLE) {
        None => Ok(()),
        Some(statement) => connection.texts(&statement).await.map(drop),
    }
}
