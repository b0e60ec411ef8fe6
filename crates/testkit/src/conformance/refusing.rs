//! Rules about rejections, which must not change anything.

use highwater_model::op::{BoundWorkload, ColumnData, OpId, RowBatch};
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};

use highwater_driver::contract::Admin;
use highwater_driver::table_registry::{RegistryEntry, TablePolicy};
use highwater_model::user_error::UserErrorKind;

use super::broken::{Broken, require, same};
use super::sample;
use super::subject::{Client, POLICY, SEED, Subject};

/// A table that Highwater created for another workload is kept without `drop`, and recreated with it.
pub(super) async fn tables_are_registered(subject: &Subject) -> Result<(), Broken> {
    let (target, workload, mut admin) = subject.filled("noted").await?;
    let table = &workload.tables[0];
    // Another fingerprint is rejected, without any change.
    let other = TablePolicy::new("another", SEED);
    expect_foreign(admin.as_mut(), &workload, other).await?;
    let what = "rows after a refusal";
    subject.expect_rows(admin.as_mut(), table, 10, what).await?;
    // With `drop`, another admin, as in a later run, recreates it.
    let mut later = subject.admin(target.as_ref()).await?;
    let recreated = later.create_tables(&workload, &other.dropping(true)).await?;
    let new_entry = other.new_entry(&table.name);
    same(&recreated, &[new_entry], "the entry of a recreated table")?;
    let what = "rows in a recreated table";
    subject.expect_rows(later.as_mut(), table, 0, what).await
}

/// A table of the same workload is kept, and its registry entry is returned unchanged.
pub(super) async fn tables_are_continued(subject: &Subject) -> Result<(), Broken> {
    let (target, workload, mut admin) = subject.filled("continued").await?;
    let table = &workload.tables[0];
    let written = RegistryEntry {
        rows: None,
        next_index: 1 << 40,
        writing: true,
        ..POLICY.new_entry(&table.name)
    };
    let counted =
        RegistryEntry { rows: Some(u64::from(u32::MAX)), writing: false, ..written.clone() };
    for note in [written, counted] {
        admin.update_registry(std::slice::from_ref(&note)).await?;
        // As a later run of the same workload does.
        let mut later = subject.admin(target.as_ref()).await?;
        let found = later.create_tables(&workload, &POLICY).await?;
        same(&found, &[note], "what was noted")?;
        let what = "rows of a table that was kept";
        subject.expect_rows(later.as_mut(), table, 10, what).await?;
    }
    Ok(())
}

/// A table that Highwater did not create is rejected, even with `drop`, and keeps its rows until the user names it.
pub(super) async fn foreign_tables_are_left_alone(subject: &Subject) -> Result<(), Broken> {
    let target = subject.open(None)?;
    let workload = sample::insert_only("foreign", subject.sql);
    let table = &workload.tables[0];
    let target = target.as_ref();
    subject.drop_table(target, &table.name).await?;
    // As the user would create it: not through the admin.
    subject.statement(target, &table.create[0]).await?;
    let mut client = subject.connect(target, &workload).await?;
    client.adds(0, 10).await?;
    drop(client);
    let mut admin = subject.admin(target).await?;
    for drop in [false, true] {
        expect_foreign(admin.as_mut(), &workload, POLICY.dropping(drop)).await?;
        let what = format!("drop={drop}: the user's rows");
        subject.expect_rows(admin.as_mut(), table, 10, &what).await?;
    }
    // Unless the user named it.
    let foreign = [table.name.clone()];
    let policy = TablePolicy { drop_foreign: &foreign, ..POLICY };
    admin.create_tables(&workload, &policy).await?;
    let what = "rows in a table that was dropped";
    subject.expect_rows(admin.as_mut(), table, 0, what).await
}

async fn expect_foreign(
    admin: &mut dyn Admin,
    workload: &BoundWorkload,
    policy: TablePolicy<'_>,
) -> Result<(), Broken> {
    let drop = policy.drop;
    let Err(error) = admin.create_tables(workload, &policy).await else {
        let cause = format!("drop={drop}: a table that exists was accepted");
        return Err(Broken(cause));
    };
    let what = format!("drop={drop}: the kind of refusal");
    same(&error.kind, &UserErrorKind::ForeignTable, &what)?;
    require!(
        error.message.contains(&workload.tables[0].name) && error.hint.is_some(),
        "drop={drop}: the error names no table or has no hint: {error}"
    );
    Ok(())
}

/// A duplicate key is a constraint error, and only acknowledged rows are stored.
pub(super) async fn duplicate_keys_are_refused(subject: &Subject) -> Result<(), Broken> {
    for mode in subject.insert_modes().await? {
        let staged = subject.stage(Some(mode), "duplicates").await?;
        let (_target, workload, mut admin, mut client) = staged;
        let table = &workload.tables[0];
        client.applies(sample::batch(0, 100), mode).await?;
        subject.quiesce(admin.as_mut()).await?;
        let atomic = admin.facts().await?.atomic_batches;
        let mut expected = 100;
        // First a batch with one existing row, then batches in which only the last row exists.
        for batch in [sample::batch(50, 1), ending_in(0, 1_000, 1_000)] {
            let rows = batch.rows as u64;
            let outcome = refuse(&mut client, batch, mode).await?;
            let whole = outcome.certainty == Certainty::NotApplied && outcome.rows_applied == 0;
            require!(
                whole || !atomic,
                "insert mode {mode}: atomic, yet {rows} rows with a duplicate: {outcome:?}"
            );
            expected += outcome.rows_applied;
            let what = format!("insert mode {mode}: rows acknowledged");
            let admin = admin.as_mut();
            subject.expect_rows(admin, table, expected, &what).await?;
        }
        client.applies(sample::batch(5_000, 3), mode).await?;
    }
    Ok(())
}

async fn refuse(client: &mut Client, batch: RowBatch, mode: &str) -> Result<Outcome, Broken> {
    let rows = batch.rows as u64;
    let outcome = client.insert(batch).await;
    let class = outcome.error.as_ref().map(|error| error.class);
    require!(
        class == Some(ErrorClass::Constraint)
            && outcome.certainty != Certainty::Unknown
            && outcome.rows_refused > 0
            && outcome.rows_applied + outcome.rows_refused == rows
            && outcome.session_usable,
        "insert mode {mode}: a duplicate key among {rows} rows: {outcome:?}"
    );
    Ok(outcome)
}

/// `rows` rows from `first_row`, and one more with the key `duplicate`.
fn ending_in(duplicate: u64, first_row: u64, rows: usize) -> RowBatch {
    let mut batch = sample::batch(first_row, rows + 1);
    if let Some(ColumnData::Integer(keys)) = batch.columns.first_mut()
        && let Some(last) = keys.last_mut()
    {
        *last = i64::try_from(duplicate).unwrap_or(0);
    }
    batch
}

/// A statement about a missing table is a statement error, when prepared or when executed.
pub(super) async fn wrong_statements_are_refused(subject: &Subject) -> Result<(), Broken> {
    let target = subject.open(None)?;
    let target = target.as_ref();
    let absent = BoundWorkload {
        ops: vec![sample::query(
            "absent",
            "SELECT k FROM highwater_conformance_absent".to_owned(),
            &[],
        )],
        ..BoundWorkload::default()
    };
    // A driver that prepares on connecting reports it there; others report it with the op.
    match subject.connect(target, &absent).await {
        Err(error) => require!(
            matches!(
                error.kind,
                UserErrorKind::Statement
                    | UserErrorKind::MissingTable
                    | UserErrorKind::Preparation(_)
            ),
            "a missing table is {:?} on connecting: {error}",
            error.kind
        ),
        Ok(mut client) => expect_statement_error(&client.send(OpId(0), &[]).await)?,
    }
    // A table that is dropped after a statement was prepared.
    let mut workload = sample::insert_only("going", subject.sql);
    let name = workload.tables[0].name.clone();
    let read = sample::query("read", format!("SELECT k FROM {name}"), &[]);
    let one = sample::query("one", "SELECT 1".to_owned(), &[]);
    workload.ops.extend([read, one]);
    drop(subject.create(target, &workload).await?);
    let mut client = subject.connect(target, &workload).await?;
    subject.drop_table(target, &name).await?;
    expect_statement_error(&client.send(OpId(1), &[]).await)?;
    expect_statement_error(&client.insert(sample::batch(0, 3)).await)?;
    let outcome = client.send(OpId(2), &[]).await;
    require!(
        outcome.is_success() && outcome.response_rows == 1,
        "the session cannot go on after refused statements: {outcome:?}"
    );
    Ok(())
}

fn expect_statement_error(outcome: &Outcome) -> Result<(), Broken> {
    let class = outcome.error.as_ref().map(|error| error.class);
    require!(
        class == Some(ErrorClass::Statement)
            && outcome.certainty == Certainty::NotApplied
            && outcome.session_usable,
        "a statement about a missing table: {outcome:?}"
    );
    Ok(())
}
