//! Creates, keeps or replaces tables, and registers them in `highwater_tables`.
//!
//! SQLite's DDL is transactional, so a workload's tables exist with their entries, or not at all.
//! Must not acquire the writer lock: the caller holds it.

use highwater_model::op::{BoundTable, BoundWorkload};
use rusqlite::{Connection, params};

use highwater_driver::contract::KeyCounts;
use highwater_driver::sql::dialect::{literal, quoted};
use highwater_driver::sql::tables::entry;
use highwater_driver::table_registry::{
    REGISTRY_TABLE, RegistryEntry, TableAction, TablePolicy, creates_more_than_tables,
};
use highwater_model::user_error::{UserError, UserErrorKind};

use super::describe;
use super::error::statement_error;

/// Creates, keeps or replaces the workload's tables and registers them, in one transaction. The
/// caller holds the writer lock.
pub(super) fn create(
    connection: &Connection,
    workload: &BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, UserError> {
    in_transaction(connection, "cannot create tables", || {
        let create = format!(
            "CREATE TABLE IF NOT EXISTS {REGISTRY_TABLE} \
             (name TEXT PRIMARY KEY COLLATE NOCASE, \
             fingerprint TEXT NOT NULL, seed TEXT NOT NULL, \"rows\" INTEGER, \
             next_index INTEGER NOT NULL, writing INTEGER NOT NULL)"
        );
        run(connection, &registry_name(), &create)?;
        let actions = workload.tables.iter().map(|table| {
            let there = exists(connection, &table.name)?;
            policy.action(&table.name, there, registered(connection, &table.name)?)
        });
        // Check all before changing the first one.
        let actions: Vec<TableAction> = actions.collect::<Result<_, _>>()?;
        workload
            .tables
            .iter()
            .zip(actions)
            .map(|(table, action)| apply(connection, table, action, policy))
            .collect()
    })
}

/// Replaces the entries of tables. The caller holds the writer lock.
pub(super) fn update(connection: &Connection, entries: &[RegistryEntry]) -> Result<(), UserError> {
    in_transaction(connection, "cannot note tables", || {
        entries.iter().try_for_each(|entry| write(connection, entry))
    })
}

fn in_transaction<T>(
    connection: &Connection,
    what: &str,
    act: impl FnOnce() -> Result<T, UserError>,
) -> Result<T, UserError> {
    run(connection, what, "BEGIN IMMEDIATE")?;
    let done = act().and_then(|done| run(connection, what, "COMMIT").map(|()| done));
    if done.is_err() && !connection.is_autocommit() {
        // The first error is the one to report; closing the connection undoes the rest anyway.
        std::mem::drop(connection.execute_batch("ROLLBACK"));
    }
    done
}

/// Runs statements without rows; `what` names their subject, for errors.
fn run(connection: &Connection, what: &str, sql: &str) -> Result<(), UserError> {
    let done = connection.execute_batch(sql);
    done.map_err(|error| statement_error(what, &error))
}

fn apply(
    connection: &Connection,
    table: &BoundTable,
    action: TableAction,
    policy: &TablePolicy<'_>,
) -> Result<RegistryEntry, UserError> {
    let what = format!("table `{}`", table.name);
    let change = |sql: &str| run(connection, &what, sql);
    let mut is_emptied = false;
    match action {
        TableAction::Keep(entry) => return Ok(entry),
        TableAction::Create => {}
        TableAction::Remake if creates_more_than_tables(&table.create) => {
            change(&format!("DELETE FROM {}", quoted(&table.name)))?;
            is_emptied = true;
        }
        TableAction::Replace | TableAction::Remake => {
            change(&format!("DROP TABLE {}", quoted(&table.name)))?;
        }
    }
    let create = if is_emptied { &[][..] } else { &table.create };
    for sql in create {
        change(sql)?;
    }
    if !exists(connection, &table.name)? {
        return Err(UserError::statement(format!(
            "{what} is not there after the workload's statements created it"
        ))
        .with_hint("the name in the workload's CREATE TABLE must be the table's"));
    }
    let entry = policy.new_entry(&table.name);
    write(connection, &entry)?;
    Ok(entry)
}

fn registered(connection: &Connection, name: &str) -> Result<Option<RegistryEntry>, UserError> {
    let sql = format!(
        "SELECT name, fingerprint, seed, \"rows\", next_index, writing FROM {REGISTRY_TABLE} \
         WHERE name = {}",
        literal(name)
    );
    let rows = describe::rows(connection, &registry_name(), &sql)?;
    Ok(rows.first().and_then(|row| entry(row)))
}

fn write(connection: &Connection, entry: &RegistryEntry) -> Result<(), UserError> {
    let sql = format!(
        "INSERT OR REPLACE INTO {REGISTRY_TABLE} \
         (name, fingerprint, seed, \"rows\", next_index, writing) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    );
    let values = params![
        entry.name,
        entry.fingerprint,
        entry.seed.0.to_string(),
        entry.rows,
        entry.next_index,
        entry.writing
    ];
    let written = connection.execute(&sql, values);
    written.map_err(|error| statement_error(&registry_name(), &error))?;
    Ok(())
}

/// The registry in errors.
fn registry_name() -> String {
    format!("table `{REGISTRY_TABLE}`")
}

fn exists(connection: &Connection, name: &str) -> Result<bool, UserError> {
    let sql = format!(
        "SELECT 1 FROM sqlite_schema WHERE type IN ('table', 'view') AND name = {} COLLATE NOCASE",
        literal(name)
    );
    Ok(!describe::rows(connection, "the table registry", &sql)?.is_empty())
}

/// The error of a statement on a table, with a separate kind if the table does not exist.
pub(super) fn table_error(
    connection: &Connection,
    table: &BoundTable,
    what: &str,
    error: &rusqlite::Error,
) -> UserError {
    let mut error = statement_error(&format!("{what} `{}`", table.name), error);
    if matches!(exists(connection, &table.name), Ok(false)) {
        error.kind = UserErrorKind::MissingTable;
    }
    error
}

/// The table, or the rows of its slice.
pub(super) fn rows_of(table: &BoundTable) -> String {
    let slice = table.slice_condition();
    let slice = slice.map_or(String::new(), |slice| format!(" WHERE {slice}"));
    format!("{}{slice}", quoted(&table.name))
}

/// Counts rows by key div `width`.
pub(super) fn count_by_key(
    connection: &Connection,
    table: &BoundTable,
    width: u64,
) -> Result<KeyCounts, UserError> {
    if width == 0 {
        return Err(UserError::usage("keys cannot be counted in buckets of width 0"));
    }
    let key = &table.key;
    // Keys are below 2^63: a wider bucket contains them all. SQLite truncates an integer quotient, which for
    // nonnegative keys is its floor.
    let bucket = match i64::try_from(width) {
        Ok(width) => format!("({key}) / {width}"),
        Err(_) => "0".to_owned(),
    };
    let sql = format!(
        "SELECT CASE WHEN ({key}) >= 0 THEN {bucket} END, count(*) FROM {} GROUP BY 1 ORDER BY 1",
        rows_of(table)
    );
    let failed = |error| table_error(connection, table, "keys of table", &error);
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
