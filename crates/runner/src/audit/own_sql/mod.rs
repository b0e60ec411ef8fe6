//! The audit checks itself before it accuses: its own SQL is asked about rows that are known.
//!
//! Only what is there can show that SQL is wrong: a row that is stored with every value that was
//! sent, and for which the key, the look-up by an index or a checksum comes out otherwise. A row
//! that is lost or altered shows nothing, so that no loss is ever excused. What must not be here:
//! which rows should be there.

mod columns;

use std::collections::BTreeSet;

use highwater_model::audit_record::{SqlPart, WrongSql};
use highwater_model::event::TableStep;
use highwater_model::op::{BoundColumn, BoundTable, ColumnType, RowBatch, Value};
use highwater_model::plan::AuditLevel;
use highwater_model::stored::{KeyRange, StoredRow, difference, value_at};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::patient::{Next, PatientAdmin, Waits};
use super::table::{Figures, Regenerator, TableAudit, TableTimes, push_range};
use crate::deadline::until;

pub(crate) use columns::form;

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

/// Rows that are sought by their values, at most: all rows of the table are held against each.
const SOUGHT_MAX: usize = 8;

/// Conditions that find known rows by their values.
struct Conditions(Vec<String>);

impl Conditions {
    /// The table in which the rows are numbered by the condition that they fulfil, with one column
    /// more.
    fn of(&self, table: &BoundTable, column: &str) -> BoundTable {
        let cases =
            self.0.iter().enumerate().map(|(at, condition)| format!(" WHEN {condition} THEN {at}"));
        let mut columns = table.columns.clone();
        columns.push(BoundColumn {
            value: Some(column.to_owned()),
            ..BoundColumn::new("key", ColumnType::Bigint)
        });
        BoundTable {
            key: format!("CASE{} END", cases.collect::<String>()),
            columns,
            locate: None,
            ..table.clone()
        }
    }

    /// An expression that is evaluated for rows that fulfil one of the conditions, and for no others.
    fn only_there(&self, expression: &str) -> String {
        let any = self
            .0
            .iter()
            .map(|condition| format!("({condition})"))
            .collect::<Vec<_>>()
            .join(" OR ");
        format!("CASE WHEN {any} THEN ({expression}) END")
    }
}

impl OwnSql<'_, '_, '_> {
    /// Whether the target takes SQL; a model has none that could be wrong.
    fn has_sql(&self) -> bool {
        let known = self.known.first();
        known.is_some_and(|known| self.condition(known).is_some())
    }

    fn condition(&self, known: &KnownRow) -> Option<String> {
        self.admin.admin.condition(self.table, &known.values)
    }

    /// Conditions for known rows that are not found as they were sent by their key.
    fn conditions(&self, by_key: &[StoredRow]) -> Conditions {
        let sought = self.known.iter().filter(|known| {
            let mut same = by_key.iter().filter(|row| row.key == known.row);
            !same.any(|row| known.is_stored_as(self.table, &row.values))
        });
        let conditions: Vec<String> = sought
            .filter_map(|known| self.condition(known))
            .filter(|text| !text.is_empty())
            .collect();
        let step = conditions.len().div_ceil(SOUGHT_MAX).max(1);
        Conditions(conditions.into_iter().step_by(step).collect())
    }

    async fn wrong_key(&mut self, by_key: &[StoredRow]) -> Result<Option<WrongSql>, UserError> {
        let conditions = self.conditions(by_key);
        if conditions.0.is_empty() {
            return Ok(None);
        }
        let all = [KeyRange { first: 0, end: conditions.0.len() as u64 }];
        let with_key = conditions.of(self.table, &conditions.only_there(self.key));
        let evidence = match self.read(&with_key, &all).await? {
            Ok(rows) => self.other_key(&rows),
            Err(error) => {
                // Refused for the key's sake only if the same rows come back without it.
                let without_key = conditions.of(self.table, "NULL");
                let rows = self.read(&without_key, &all).await?.unwrap_or_default();
                let is_stored = |known: &&KnownRow| {
                    let mut rows = rows.iter();
                    rows.any(|row| known.is_stored_as(self.table, &row.values))
                };
                let known = self.known.iter().find(is_stored);
                known.map(|known| format!("the target refuses it for row {}: {error}", known.row))
            }
        };
        Ok(evidence.map(|evidence| WrongSql {
            table: self.table.name.clone(),
            part: SqlPart::Key,
            column: None,
            expression: self.key.to_owned(),
            evidence,
        }))
    }

    /// A known row whose key is another number wherever the row is found.
    fn other_key(&mut self, rows: &[StoredRow]) -> Option<String> {
        for known in &self.known {
            let same = rows.iter().filter(|row| known.is_stored_as(self.table, &row.values));
            let keys: Vec<&Value> = same.clone().filter_map(|row| row.values.last()).collect();
            let own = i64::try_from(known.row).map_or(Value::Null, Value::Integer);
            if keys.contains(&&own) {
                continue;
            }
            for row in same {
                let Some(key) = row.values.last() else {
                    continue;
                };
                if let Value::Integer(number) = key
                    && let Ok(other) = u64::try_from(*number)
                {
                    // The generators may have made two rows with the same values.
                    let values = row.values.clone();
                    let other = StoredRow { key: other, values };
                    if self.rows.difference(&other).is_none() {
                        continue;
                    }
                }
                let key = match key {
                    Value::Integer(number) => number.to_string(),
                    Value::Null => "null".to_owned(),
                    other => format!("{other:?}"),
                };
                return Some(format!(
                    "row {} is there with every value that was sent, and its key comes out as {key}",
                    known.row
                ));
            }
        }
        None
    }
}
