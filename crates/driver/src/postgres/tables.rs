//! Creates, keeps or replaces the tables of a workload, and notes them in `highwater_tables`.
//!
//! The rules of that list are in `table_registry`; here is the SQL. A table that is not noted is
//! touched only if the user named it.

use highwater_core::model::op::{BoundTable, BoundWorkload};
use highwater_core::model::units::Seed;
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::admin::{WireAdmin, number};
use crate::contract::TargetError;
use crate::table_registry::{Fate, RegistryEntry, TABLE_LIST, TablePolicy};
use crate::with_clause::with_settings;

/// The columns of the list, in the order of [`read`] and [`write`].
const COLUMNS: &str = "name, fingerprint, seed, \"rows\", next_index, writing";

/// See [`crate::contract::Admin::create_tables`].
pub(super) async fn create(
    admin: &mut WireAdmin,
    workload: &BoundWorkload,
    wish: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, TargetError> {
    admin
        .run(&format!(
            "CREATE TABLE IF NOT EXISTS {TABLE_LIST} (name text NOT NULL PRIMARY KEY, \
             fingerprint text NOT NULL, seed text NOT NULL, \"rows\" bigint, \
             next_index bigint NOT NULL, writing boolean NOT NULL)"
        ))
        .await?;
    refresh(admin).await?;
    // All are looked at before any is touched.
    let mut steps = Vec::with_capacity(workload.tables.len());
    for table in &workload.tables {
        let there = exists(admin, &table.name).await?;
        let note = read(admin, &table.name).await?;
        let fate = wish.fate(&table.name, there, note);
        let placed = |error: TargetError| TargetError {
            message: format!("{}: {}", admin.place(), error.message),
            ..error
        };
        steps.push((table, fate.map_err(placed)?));
    }
    begin(admin).await?;
    let applied = apply_all(admin, steps, wish).await;
    end(admin, applied).await
}

/// See [`crate::contract::Admin::note_tables`].
pub(super) async fn note(
    admin: &mut WireAdmin,
    notes: &[RegistryEntry],
) -> Result<(), TargetError> {
    begin(admin).await?;
    let written = write_all(admin, notes).await;
    end(admin, written).await
}

async fn begin(admin: &mut WireAdmin) -> Result<(), TargetError> {
    if admin.dialect().transactional_ddl() {
        admin.run("BEGIN").await?;
    }
    Ok(())
}

/// Commits what went well, where there is a transaction, and makes it visible.
async fn end<T>(admin: &mut WireAdmin, done: Result<T, TargetError>) -> Result<T, TargetError> {
    let in_transaction = admin.dialect().transactional_ddl();
    match done {
        Ok(done) => {
            if in_transaction {
                admin.run("COMMIT").await?;
            }
            refresh(admin).await?;
            Ok(done)
        }
        Err(error) => {
            if in_transaction {
                // The first error is the one to report.
                let _ended = admin.run("ROLLBACK").await;
            }
            Err(error)
        }
    }
}

async fn exists(admin: &mut WireAdmin, name: &str) -> Result<bool, TargetError> {
    let found = admin
        .rows(&format!(
            "SELECT count(*) FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND c.relname = {}",
            escape_literal(name)
        ))
        .await?;
    Ok(number(&found) > 0)
}

async fn read(admin: &mut WireAdmin, name: &str) -> Result<Option<RegistryEntry>, TargetError> {
    let rows = admin
        .rows(&format!(
            "SELECT {COLUMNS} FROM {TABLE_LIST} WHERE name = {}",
            escape_literal(name)
        ))
        .await?;
    Ok(rows.first().and_then(|row| {
        let [
            Some(name),
            Some(fingerprint),
            seed,
            rows,
            next_index,
            writing,
        ] = row.as_slice()
        else {
            return None;
        };
        let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
        Some(RegistryEntry {
            name: name.clone(),
            fingerprint: fingerprint.clone(),
            seed: Seed(number(seed).unwrap_or(0)),
            rows: number(rows),
            next_index: number(next_index).unwrap_or(0),
            writing: writing.as_deref() != Some("f"),
        })
    }))
}

async fn write_all(admin: &mut WireAdmin, notes: &[RegistryEntry]) -> Result<(), TargetError> {
    for note in notes {
        write(admin, note).await?;
    }
    Ok(())
}

async fn write(admin: &mut WireAdmin, note: &RegistryEntry) -> Result<(), TargetError> {
    // The columns of the list have 63 bits for a count.
    let bounded = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let rows = note
        .rows
        .map_or("NULL".to_owned(), |rows| bounded(rows).to_string());
    admin
        .run(&format!(
            "INSERT INTO {TABLE_LIST} ({COLUMNS}) VALUES ({}, {}, '{}', {rows}, {}, {}) \
             ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, \
             seed = excluded.seed, \"rows\" = excluded.\"rows\", \
             next_index = excluded.next_index, writing = excluded.writing",
            escape_literal(&note.name),
            escape_literal(&note.fingerprint),
            note.seed.0,
            bounded(note.next_index),
            note.writing
        ))
        .await
}

async fn apply_all(
    admin: &mut WireAdmin,
    steps: Vec<(&BoundTable, Fate)>,
    wish: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, TargetError> {
    let mut notes = Vec::with_capacity(steps.len());
    for (table, fate) in steps {
        notes.push(apply(admin, table, fate, wish).await?);
    }
    Ok(notes)
}

async fn apply(
    admin: &mut WireAdmin,
    table: &BoundTable,
    fate: Fate,
    wish: &TablePolicy<'_>,
) -> Result<RegistryEntry, TargetError> {
    match fate {
        Fate::Keep(note) => return Ok(note),
        Fate::Create => {}
        Fate::Replace => {
            let name = escape_identifier(&table.name);
            admin.run(&format!("DROP TABLE {name}")).await?;
        }
    }
    // Created before it is noted: a note without a table of ours would be a license to drop.
    for statement in &table.create {
        let quote = |name: &str| admin.dialect().setting(name);
        let statement = with_settings(statement, wish.settings, quote);
        admin.run(&statement).await?;
    }
    let note = wish.fresh(&table.name);
    write(admin, &note).await?;
    Ok(note)
}

/// Makes the notes visible to the next look, where the dialect needs that.
async fn refresh(admin: &mut WireAdmin) -> Result<(), TargetError> {
    match admin.dialect().refresh(TABLE_LIST) {
        None => Ok(()),
        Some(statement) => admin.run(&statement).await,
    }
}
