//! Creates, keeps or replaces the tables of a workload, and registers them in `highwater_tables`.
//!
//! The rules are in `table_registry`; this is the SQL. Must not change a table that is not registered,
//! unless the user named it. DDL is never rolled back here.

use highwater_driver::contract::{TargetError, TargetErrorKind};
use highwater_driver::sql::describe::number;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql::registry;
use highwater_driver::sql::with_clause::with_options;
use highwater_driver::table_registry::{REGISTRY_TABLE, RegistryEntry, TableAction, TablePolicy};
use highwater_model::op::{BoundTable, BoundWorkload};

use super::admin_connection::AdminConnection;

const DIALECT: Dialect = Dialect::MySql;

/// See [`highwater_driver::contract::TableAdmin::create_tables`].
///
/// Shares of a plan begin at one moment: whoever is second with a statement finds the table there; an
/// error that lasts comes again.
pub(super) async fn create(
    connection: &mut AdminConnection,
    workload: &BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, TargetError> {
    connection
        .run(&format!(
            "CREATE TABLE IF NOT EXISTS {REGISTRY_TABLE} (name {} NOT NULL PRIMARY KEY, \
             fingerprint text NOT NULL, seed text NOT NULL, `rows` bigint, \
             next_index bigint NOT NULL, writing boolean NOT NULL)",
            DIALECT.key_text()
        ))
        .await?;
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
    let mut entries = Vec::with_capacity(steps.len());
    for (table, action) in steps {
        entries.push(apply(connection, table, action, policy).await?);
    }
    Ok(entries)
}

/// See [`highwater_driver::contract::TableAdmin::update_registry`].
pub(super) async fn update(
    connection: &mut AdminConnection,
    entries: &[RegistryEntry],
) -> Result<(), TargetError> {
    for entry in entries {
        write(connection, entry).await?;
    }
    Ok(())
}

/// A condition on `information_schema.tables` that leaves those of the workload; none if it has none.
pub(super) fn is_among(workload: &BoundWorkload) -> Option<String> {
    let names = workload.tables.iter();
    let names: Vec<String> = names.map(|table| DIALECT.literal(&table.name)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "table_schema = database() AND table_name IN ({})",
            names.join(", ")
        )
    })
}

fn is_table(name: &str) -> String {
    let name = DIALECT.literal(name);
    format!("table_schema = database() AND table_name = {name}")
}

async fn exists(connection: &mut AdminConnection, name: &str) -> Result<bool, TargetError> {
    let named = is_table(name);
    let sql = format!("SELECT count(*) FROM information_schema.tables WHERE {named}");
    Ok(number(&connection.rows(&sql).await?, 0) > 0)
}

async fn read(
    connection: &mut AdminConnection,
    name: &str,
) -> Result<Option<RegistryEntry>, TargetError> {
    let rows = connection.rows(&registry::select(DIALECT, name)).await?;
    Ok(rows.first().and_then(|row| registry::entry(row)))
}

async fn write(connection: &mut AdminConnection, entry: &RegistryEntry) -> Result<(), TargetError> {
    connection.run(&registry::upsert(DIALECT, entry)).await
}

async fn apply(
    connection: &mut AdminConnection,
    table: &BoundTable,
    action: TableAction,
    policy: &TablePolicy<'_>,
) -> Result<RegistryEntry, TargetError> {
    let drop = format!("DROP TABLE {}", DIALECT.identifier(&table.name));
    match action {
        TableAction::Keep(entry) => {
            check_engine(connection, table).await?;
            return Ok(entry);
        }
        TableAction::Create => {}
        TableAction::Replace => connection.run(&drop).await?,
    }
    // Create the table before registering it: a registry entry without our table would let a later
    // run drop someone else's.
    for statement in &table.create {
        let literal = |text: &str| DIALECT.literal(text);
        let statement = with_options(statement, policy.settings, literal);
        connection.run(&statement).await?;
    }
    if let Err(error) = check_engine(connection, table).await {
        connection.run(&drop).await?;
        return Err(error);
    }
    let entry = policy.new_entry(&table.name);
    write(connection, &entry).await?;
    Ok(entry)
}

/// Refuses a table whose engine has no transactions: there an error leaves a part of its batch behind,
/// and an acknowledged row is lost with the server's process.
async fn check_engine(
    connection: &mut AdminConnection,
    table: &BoundTable,
) -> Result<(), TargetError> {
    let named = is_table(&table.name);
    let sql = format!(
        "SELECT e.engine FROM information_schema.tables AS t \
         JOIN information_schema.engines AS e ON e.engine = t.engine \
         WHERE {named} AND e.transactions = 'NO'"
    );
    let rows = connection.rows(&sql).await?;
    match rows.into_iter().flatten().flatten().next() {
        None => Ok(()),
        Some(engine) => Err(TargetError::usage(format!(
            "{}: table `{}` has the engine {engine}, which has no transactions",
            connection.place(),
            table.name
        ))
        .with_hint(
            "what such an engine holds after an error cannot be audited; `--with ENGINE=InnoDB`, or \
             another engine with transactions",
        )),
    }
}
