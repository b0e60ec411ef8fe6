//! The audit checks itself before it accuses: its own SQL is asked about rows that are known.
//!
//! Only what is there can show that SQL is wrong: a row that is stored with every value that was
//! sent, and for which the key, the look-up by an index or a checksum comes out otherwise. A row
//! that is lost or altered shows nothing, so that no loss is ever excused. What must not be here:
//! which rows should be there.

mod columns;
mod key;

pub(crate) use columns::form;

use std::collections::BTreeSet;

use highwater_model::audit_record::{SqlPart, WrongSql};
use highwater_model::event::TableStep;
use highwater_model::op::{BoundTable, RowBatch, Value};
use highwater_model::plan::AuditLevel;
use highwater_model::stored::{KeyRange, StoredRow, difference, value_at};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::input::TableTimes;
use super::patient::{Next, PatientAdmin, Waits};
use super::rows::{Regenerator, push_range};
use super::table::{Figures, TableAudit};
use crate::deadline::until;

/// Rows that seem to be wrong, at most.
const SUSPECTS_MAX: usize = 12;
/// Rows drawn from all: twice as many, so that some wrong rows never look like most of them.
const DRAWN_MAX: usize = 24;
/// Rows that are kept of one answer: known ones are there once, or a few times.
const KEPT_MAX: usize = 1_024;

/// A row as it was sent.
struct KnownRow {
    row: u64,
    batch: RowBatch,
    /// What its columns should give back.
    values: Vec<Value>,
}

/// The SQL of a table, and the rows that it is tried on.
struct OwnSql<'s, 'a, 'p> {
    admin: &'s mut PatientAdmin<'p>,
    /// As it is audited: rows of earlier runs have no key.
    table: &'s BoundTable,
    /// The workload's own key.
    key: &'s str,
    rows: &'s mut Regenerator<'a>,
    known: Vec<KnownRow>,
    level: AuditLevel,
}

impl TableAudit<'_, '_> {
    /// Whether the SQL of this table is wrong; if so that is all that is said of the table. It takes
    /// half of the time that is left at most; what is not shown then is not known.
    pub(super) async fn distrusts_own_sql(
        &mut self,
        suspects: &BTreeSet<u64>,
        times: TableTimes<'_>,
    ) -> Result<bool, UserError> {
        self.begin_stage(TableStep::OwnSql, 0);
        // Half of the time is for the rows that are wrong.
        let now = times.timeline.now();
        let left = times.narrow_until.saturating_sub(now);
        let end = now.saturating_add(Nanos(left.0 / 2));
        let finding = self.find_wrong_sql(suspects);
        let found = until(end, times.timeline.as_ref(), std::pin::pin!(finding)).await;
        let found = found.transpose()?.flatten();
        let is_wrong = found.is_some();
        if is_wrong {
            self.figures = Figures { wrong_sql: found, ..Figures::default() };
        }
        Ok(is_wrong)
    }

    async fn find_wrong_sql(
        &mut self,
        suspects: &BTreeSet<u64>,
    ) -> Result<Option<WrongSql>, UserError> {
        let table = self.table;
        let drawn = self.sampled_rows();
        let mut known: BTreeSet<u64> = spread(suspects, SUSPECTS_MAX).collect();
        known.extend(spread(&drawn, DRAWN_MAX));
        let known = known.into_iter().map(|row| {
            let batch = self.rows.batch(row..row + 1);
            let values = table
                .columns
                .iter()
                .zip(&batch.columns)
                .map(|(column, data)| value_at(column, data, 0));
            let values = values.collect();
            KnownRow { row, batch, values }
        });
        let known: Vec<KnownRow> = known.collect();
        let workload_table = self.input.whole.tables.get(self.position);
        OwnSql {
            admin: &mut *self.admin,
            table,
            key: workload_table.map_or(&table.key, |table| &table.key),
            rows: &mut self.rows,
            known,
            level: self.input.level,
        }
        .find_wrong()
        .await
    }
}

/// At most so many of some rows, far apart.
fn spread(rows: &BTreeSet<u64>, most: usize) -> impl Iterator<Item = u64> {
    let step = rows.len().div_ceil(most).max(1);
    rows.iter().step_by(step).copied()
}

impl OwnSql<'_, '_, '_> {
    async fn find_wrong(&mut self) -> Result<Option<WrongSql>, UserError> {
        if !self.has_sql() {
            return Ok(None);
        }
        let plain = BoundTable { locate: None, ..self.table.clone() };
        let ranges = self.ranges();
        let rows = self.read(&plain, &ranges).await?.ok();
        // First, because under a wrong key there is another row.
        let by_key = rows.as_deref().unwrap_or_default();
        if let Some(wrong) = self.wrong_key(by_key).await? {
            return Ok(Some(wrong));
        }
        let Some(rows) = rows else {
            return self.refused_column(&plain, &ranges).await;
        };
        if let Some(wrong) = self.wrong_locate(&plain, &ranges, &rows).await? {
            return Ok(Some(wrong));
        }
        self.wrong_column(&plain, &rows).await
    }

    /// The keys of the known rows.
    fn ranges(&self) -> Vec<KeyRange> {
        let mut ranges = Vec::new();
        for known in &self.known {
            push_range(&mut ranges, known.row..known.row + 1);
        }
        ranges
    }

    /// Reads rows; what the target refuses for good is the inner error.
    async fn read(
        &mut self,
        table: &BoundTable,
        ranges: &[KeyRange],
    ) -> Result<Result<Vec<StoredRow>, UserError>, UserError> {
        let mut waits = Waits::default();
        loop {
            let mut rows = Vec::new();
            let mut take = |row| {
                if rows.len() < KEPT_MAX {
                    rows.push(row);
                }
            };
            match self.admin.read_rows(table, ranges, &mut take).await {
                Ok(()) => return Ok(Ok(rows)),
                Err(error) if error.kind == UserErrorKind::Statement => return Ok(Err(error)),
                Err(error) => self.admin.recover(error, &mut waits, Next::Nothing).await?,
            }
        }
    }

    /// Fails unless an index finds what a pass over the whole table finds.
    async fn wrong_locate(
        &mut self,
        plain: &BoundTable,
        ranges: &[KeyRange],
        rows: &[StoredRow],
    ) -> Result<Option<WrongSql>, UserError> {
        let Some(locate) = &self.table.locate else {
            return Ok(None);
        };
        let wrong = |evidence| WrongSql {
            table: plain.name.clone(),
            part: SqlPart::Locate,
            column: None,
            expression: locate.clone(),
            evidence,
        };
        let located = match self.read(self.table, ranges).await? {
            Ok(located) => located,
            Err(error) => return Ok(Some(wrong(format!("the target refuses it: {error}")))),
        };
        let keys = |rows: &[StoredRow]| rows.iter().map(|row| row.key).collect::<BTreeSet<u64>>();
        let unlocated = &keys(rows) - &keys(&located);
        if unlocated.is_empty() {
            return Ok(None);
        }
        // Somebody may have deleted it between the two.
        let Ok(again) = self.read(plain, ranges).await? else {
            return Ok(None);
        };
        let unlocated = unlocated.intersection(&keys(&again)).next().copied();
        Ok(unlocated.map(|row| {
            wrong(format!("it does not find row {row}, which a pass over the table finds"))
        }))
    }
}

impl KnownRow {
    /// Whether these values are the row's.
    fn is_stored_as(&self, table: &BoundTable, values: &[Value]) -> bool {
        difference(&table.columns, &self.batch, 0, values).is_none()
    }
}
