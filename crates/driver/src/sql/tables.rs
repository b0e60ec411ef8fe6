//! Creates, keeps, or replaces the tables of a workload, and registers them in `highwater_tables`, on a connection that
//! runs one statement at a time.
//!
//! The rules are in `table_registry`; this is the SQL. Must not change a table that is not registered, unless the user
//! named it.

use std::collections::BTreeMap;

use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::units::Seed;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::dialect::Dialect;
use super::facts::number;
use crate::contract::TableReader;
use crate::sql::connection::{SqlQuery, first_value};
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
    let create = registry_table(dialect);
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
        let select = select(dialect, &table.name);
        let rows = connection.quick_texts(&select).await?;
        let entry = rows.first().and_then(|row| entry(row));
        steps.push((table, policy.action(&table.name, there, entry)?));
    }
    Ok(steps)
}

/// See [`crate::contract::TableAdmin::listed_tables`].
pub async fn listed_tables(
    admin: &mut dyn TableReader,
    dialect: &Dialect,
    drop: &[String],
) -> Result<Vec<RegistryEntry>, UserError> {
    if !exists(admin, dialect, REGISTRY_TABLE).await? {
        return Ok(Vec::new());
    }
    for name in drop {
        admin.query(&format!("DROP TABLE {}", dialect.identifier(name))).await?;
        if let Some(forget) = dialect.forget {
            admin.query(&dialect.about(forget, name)).await?;
        }
    }
    if let Some(refresh) = dialect.refresh(REGISTRY_TABLE) {
        admin.query(&refresh).await?;
    }
    // If entries can only be added, the newest one of a table counts.
    let order = if dialect.only_appends { " ORDER BY version" } else { "" };
    let rows = admin.query(&(select_all(dialect) + order)).await?;
    let entries = rows.iter().filter_map(|row| entry(row));
    let entries: BTreeMap<String, RegistryEntry> =
        entries.map(|entry| (entry.name.clone(), entry)).collect();
    let mut listed = Vec::new();
    for (name, entry) in entries {
        if exists(admin, dialect, &name).await? {
            listed.push(entry);
        }
    }
    if listed.is_empty() && !drop.is_empty() {
        admin.query(&format!("DROP TABLE {REGISTRY_TABLE}")).await?;
    }
    Ok(listed)
}

async fn exists(
    admin: &mut dyn TableReader,
    dialect: &Dialect,
    name: &str,
) -> Result<bool, UserError> {
    let found = admin.query(&dialect.about(dialect.exists, name)).await?;
    Ok(number(&found, 0) > 0)
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
        let upsert = upsert(dialect, entry);
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

/// The key, and the other columns in the order of [`entry`] and [`upsert`].
fn columns(dialect: &Dialect) -> (&'static str, [String; 5]) {
    let rows = dialect.identifier("rows");
    let plain = ["fingerprint", "seed", &rows, "next_index", "writing"];
    ("name", plain.map(str::to_owned))
}

/// The statement that creates the registry, if it does not exist.
pub fn registry_table(dialect: &Dialect) -> String {
    let rows = dialect.identifier("rows");
    if let Some(create) = dialect.registry {
        return create.to_owned();
    }
    format!(
        "CREATE TABLE IF NOT EXISTS {REGISTRY_TABLE} (name {} PRIMARY KEY, \
         fingerprint TEXT NOT NULL, seed TEXT NOT NULL, {rows} BIGINT, \
         next_index BIGINT NOT NULL, writing BOOLEAN NOT NULL){}",
        dialect.key_text, dialect.registry_options
    )
}

/// Selects the entry of a table; on append-only servers, the newest one.
pub fn select(dialect: &Dialect, name: &str) -> String {
    let newest = if dialect.only_appends { " ORDER BY version DESC LIMIT 1" } else { "" };
    let key = columns(dialect).0;
    format!("{} WHERE {key} = {}{newest}", select_all(dialect), dialect.literal(name))
}

/// Selects all entries; on append-only servers, also those that a newer one replaced.
fn select_all(dialect: &Dialect) -> String {
    let (key, columns) = columns(dialect);
    format!("SELECT {key}, {} FROM {REGISTRY_TABLE}", columns.join(", "))
}

/// The entry in a row of [`select`].
pub fn entry(row: &[Option<String>]) -> Option<RegistryEntry> {
    let [Some(name), Some(fingerprint), seed, rows, next_index, writing] = row else {
        return None;
    };
    let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
    Some(RegistryEntry {
        name: name.clone(),
        fingerprint: fingerprint.clone(),
        seed: Seed(number(seed).unwrap_or(0)),
        rows: number(rows),
        next_index: number(next_index).unwrap_or(0),
        // An unreadable value may mean that a run is writing.
        writing: !matches!(writing.as_deref(), Some("f" | "false" | "0")),
    })
}

/// Inserts or replaces an entry; on append-only servers, adds a newer one.
pub fn upsert(dialect: &Dialect, entry: &RegistryEntry) -> String {
    // The registry's columns store 63 bits of a count.
    let bounded = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let rows = entry.rows.map_or("NULL".to_owned(), |rows| bounded(rows).to_string());
    let (key, columns) = columns(dialect);
    let name = dialect.literal(&entry.name);
    let values = format!(
        "{name}, {}, '{}', {rows}, {}",
        dialect.literal(&entry.fingerprint),
        entry.seed.0,
        bounded(entry.next_index)
    );
    let (names, writing) = (columns.join(", "), entry.writing);
    if dialect.only_appends {
        let writing = u8::from(writing);
        return format!(
            "INSERT INTO {REGISTRY_TABLE} ({key}, {names}, version) \
             SELECT {values}, {writing}, max(version) + 1 FROM {REGISTRY_TABLE} WHERE {key} = {name}"
        );
    }
    let [stamp, time] = dialect.stamp;
    let replaces = (dialect.on_duplicate)(key, &columns);
    format!(
        "INSERT INTO {REGISTRY_TABLE} ({key}, {names}{stamp}) VALUES ({values}, {writing}{time}) {replaces}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::STANDARD;

    fn row(writing: Option<&str>) -> Vec<Option<String>> {
        let texts = [Some("cpu"), Some("abc"), Some("18446744073709551615"), None];
        let texts = texts.into_iter().chain([Some("7"), writing]);
        texts.map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn a_row_is_an_entry_and_what_is_not_known_may_be_writing() {
        let read = entry(&row(Some("f"))).unwrap();
        assert_eq!((read.seed, read.rows), (Seed(u64::MAX), None));
        assert_eq!((read.next_index, read.writing), (7, false));
        for (text, writing) in
            [(Some("false"), false), (Some("0"), false), (Some("t"), true), (None, true)]
        {
            assert_eq!(entry(&row(text)).unwrap().writing, writing, "{text:?}");
        }
        assert_eq!(entry(&[]), None);
    }

    #[test]
    fn an_entry_is_written_whole_and_within_63_bits() {
        let entry = RegistryEntry { next_index: u64::MAX, ..entry(&row(Some("t"))).unwrap() };
        let values =
            "VALUES ('cpu', 'abc', '18446744073709551615', NULL, 9223372036854775807, true)";
        let sql = upsert(&STANDARD, &entry);
        let replaces = "ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.";
        assert!(sql.contains(values) && sql.contains(replaces), "{sql}");
        let stamped = Dialect {
            stamp: [", ts", ", cast(0 AS timestamp)"],
            on_duplicate: |_, _| String::new(),
            ..STANDARD
        };
        let sql = upsert(&stamped, &entry);
        let values = "next_index, writing, ts) VALUES ('cpu', 'abc', '18446744073709551615', NULL, \
                      9223372036854775807, true, cast(0 AS timestamp)) ";
        assert!(sql.ends_with(values), "{sql}");
        let appending = Dialect { only_appends: true, ..STANDARD };
        let sql = upsert(&appending, &entry);
        let values = "SELECT 'cpu', 'abc', '18446744073709551615', NULL, 9223372036854775807, 1, \
                      max(version) + 1 FROM highwater_tables WHERE name = 'cpu'";
        assert!(sql.contains(values), "{sql}");
        let newest = select(&appending, "cpu");
        assert!(newest.ends_with("ORDER BY version DESC LIMIT 1"), "{newest}");
    }
}
