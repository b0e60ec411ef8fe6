//! Creates the tables of a workload, and notes them in `highwater_tables`.
//!
//! A table that is not noted there is never touched: it is somebody else's.

use highwater_core::model::op::{BoundTable, BoundWorkload};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::admin::{WireAdmin, number};
use crate::contract::{TargetError, TargetErrorKind};

/// Where the tables that we created are noted.
const NOTES: &str = "highwater_tables";

/// What has to be done for one table.
struct Step<'a> {
    table: &'a BoundTable,
    drop: bool,
}

/// See [`crate::contract::Admin::create_tables`].
pub(super) async fn create(
    admin: &mut WireAdmin,
    workload: &BoundWorkload,
    fingerprint: &str,
    drop: bool,
) -> Result<(), TargetError> {
    admin
        .run(&format!(
            "CREATE TABLE IF NOT EXISTS {NOTES} \
             (name text NOT NULL PRIMARY KEY, fingerprint text NOT NULL)"
        ))
        .await?;
    refresh(admin).await?;
    // All are looked at before any is touched.
    let mut steps = Vec::with_capacity(workload.tables.len());
    for table in &workload.tables {
        steps.push(look_at(admin, table, drop).await?);
    }
    if !admin.dialect().transactional_ddl() {
        for step in &steps {
            apply(admin, step, fingerprint).await?;
        }
        return refresh(admin).await;
    }
    admin.run("BEGIN").await?;
    let mut applied = Ok(());
    for step in &steps {
        applied = apply(admin, step, fingerprint).await;
        if applied.is_err() {
            break;
        }
    }
    match applied {
        Ok(()) => admin.run("COMMIT").await,
        Err(error) => {
            // The first error is the one to report.
            let _ended = admin.run("ROLLBACK").await;
            Err(error)
        }
    }
}

async fn look_at<'a>(
    admin: &mut WireAdmin,
    table: &'a BoundTable,
    drop: bool,
) -> Result<Step<'a>, TargetError> {
    let name = escape_literal(&table.name);
    let exists = admin
        .rows(&format!(
            "SELECT count(*) FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND c.relname = {name}"
        ))
        .await?;
    if number(&exists) == 0 {
        return Ok(Step { table, drop: false });
    }
    let noted = admin
        .rows(&format!("SELECT count(*) FROM {NOTES} WHERE name = {name}"))
        .await?;
    match (number(&noted) > 0, drop) {
        (true, true) => Ok(Step { table, drop: true }),
        (true, false) => Err(foreign(
            format!("{}: table `{}` exists already", admin.place(), table.name),
            "`--drop` drops and creates the tables that Highwater made",
        )),
        (false, _) => Err(foreign(
            format!(
                "{}: table `{}` exists and was not created by Highwater",
                admin.place(),
                table.name
            ),
            "choose another database or schema (`?options=-csearch_path%3DNAME`), or name the \
             table with `--drop-foreign`",
        )),
    }
}

fn foreign(message: String, hint: &str) -> TargetError {
    TargetError {
        kind: TargetErrorKind::ForeignTable,
        message,
        hint: Some(hint.to_owned()),
    }
}

async fn apply(
    admin: &mut WireAdmin,
    step: &Step<'_>,
    fingerprint: &str,
) -> Result<(), TargetError> {
    let name = &step.table.name;
    if step.drop {
        admin
            .run(&format!("DROP TABLE {}", escape_identifier(name)))
            .await?;
    }
    let literal = escape_literal(name);
    admin
        .run(&format!("DELETE FROM {NOTES} WHERE name = {literal}"))
        .await?;
    // Created before it is noted: a note without a table of ours would be a licence to drop.
    for statement in &step.table.create {
        admin.run(statement).await?;
    }
    let fingerprint = escape_literal(fingerprint);
    admin
        .run(&format!(
            "INSERT INTO {NOTES} (name, fingerprint) VALUES ({literal}, {fingerprint})"
        ))
        .await
}

/// Makes the notes visible to the next look, where the dialect needs that.
async fn refresh(admin: &mut WireAdmin) -> Result<(), TargetError> {
    match admin.dialect().refresh(NOTES) {
        None => Ok(()),
        Some(statement) => admin.run(&statement).await,
    }
}
