//! Creates the tables of a workload, and notes them in `highwater_tables`.
//!
//! A table that is not noted there is never touched: it is somebody else's.

use highwater_core::model::op::{BoundTable, BoundWorkload};

use super::admin::{HttpAdmin, number};
use super::statements::{literal, quoted};
use crate::contract::{TargetError, TargetErrorKind};

/// Where the tables that we created are noted.
const NOTES: &str = "highwater_tables";

/// What has to be done for one table.
struct Step<'a> {
    table: &'a BoundTable,
    drop: bool,
}

/// See [`crate::contract::Admin::create_tables`]. There are no transactions: every table is
/// looked at before any is touched.
pub(super) async fn create(
    admin: &mut HttpAdmin,
    workload: &BoundWorkload,
    fingerprint: &str,
    drop: bool,
) -> Result<(), TargetError> {
    admin
        .run(&format!(
            "CREATE TABLE IF NOT EXISTS {NOTES} \
             (name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL) \
             CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = '0-1')"
        ))
        .await?;
    admin.refresh(NOTES).await?;
    let mut steps = Vec::with_capacity(workload.tables.len());
    for table in &workload.tables {
        steps.push(look_at(admin, table, drop).await?);
    }
    for step in &steps {
        apply(admin, step, fingerprint).await?;
    }
    admin.refresh(NOTES).await?;
    let names: Vec<String> = workload.tables.iter().map(|t| t.name.clone()).collect();
    admin.settle(&names).await
}

async fn look_at<'a>(
    admin: &mut HttpAdmin,
    table: &'a BoundTable,
    drop: bool,
) -> Result<Step<'a>, TargetError> {
    let name = literal(&table.name);
    let exists = admin
        .rows(&format!(
            "SELECT count(*) FROM information_schema.tables \
             WHERE table_schema = current_schema AND table_name = {name}"
        ))
        .await?;
    if number(&exists, 0) == Some(0) {
        return Ok(Step { table, drop: false });
    }
    let noted = admin
        .rows(&format!("SELECT count(*) FROM {NOTES} WHERE name = {name}"))
        .await?;
    let is_noted = number(&noted, 0).is_some_and(|noted| noted > 0);
    match (is_noted, drop) {
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
            "choose another schema (`crate://host/SCHEMA`), or name the table with \
             `--drop-foreign`",
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
    admin: &mut HttpAdmin,
    step: &Step<'_>,
    fingerprint: &str,
) -> Result<(), TargetError> {
    let name = &step.table.name;
    if step.drop {
        admin.run(&format!("DROP TABLE {}", quoted(name))).await?;
    }
    let literal_name = literal(name);
    admin
        .run(&format!("DELETE FROM {NOTES} WHERE name = {literal_name}"))
        .await?;
    // Created before it is noted: a note without a table of ours would be a licence to drop.
    for statement in &step.table.create {
        admin.run(statement).await?;
    }
    admin
        .run(&format!(
            "INSERT INTO {NOTES} (name, fingerprint) VALUES ({literal_name}, {})",
            literal(fingerprint)
        ))
        .await
}
