//! The audit checks its own SQL on known rows before it reports a loss.
//!
//! Only a stored row can show that the SQL is wrong: all of its values are those sent, but its key, its lookup by an
//! index, or its checksum differs. A lost or altered row proves nothing about the SQL, so a loss is never excused.
//! Must not decide which rows should exist.

use std::collections::BTreeSet;

use highwater_analysis::sums::Summer;
use highwater_driver::Admin;
use highwater_model::audit_record::{SqlPart, WrongSql};
use highwater_model::event::TableStep;
use highwater_model::op::{BoundColumn, BoundTable, ColumnType, RowBatch, Value};
use highwater_model::plan::AuditLevel;
use highwater_model::stored::{Difference, KeyRange, StoredRow, difference, value_at};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::patient::{Next, PatientAdmin, Waits};
use super::table::{Figures, Regenerator, TableAudit, TableTimes, push_range};
use crate::time_limits::until;

/// Maximum number of suspect rows.
const SUSPECTS_MAX: usize = 12;
/// Rows sampled from all rows: twice as many, so that a few wrong rows never look like the
/// majority.
const DRAWN_MAX: usize = 24;
/// Maximum number of rows kept from one response: each known row occurs once, or a few times.
const KEPT_MAX: usize = 1_024;

/// A row as it was sent.
struct KnownRow {
    row: u64,
    batch: RowBatch,
    /// The values that its columns should return.
    values: Vec<Value>,
}

/// The SQL of a table, and the rows on which it is checked.
struct OwnSql<'s, 'a, 'p> {
    admin: &'s mut PatientAdmin<'p>,
    /// The table as audited: rows of earlier runs have no key.
    table: &'s BoundTable,
    /// The workload's own key.
    key: &'s str,
    rows: &'s mut Regenerator<'a>,
    known: Vec<KnownRow>,
    level: AuditLevel,
}

impl TableAudit<'_, '_> {
    /// Whether the SQL of this table is wrong; if it is, nothing else is reported about the table.
    /// Takes at most half of the remaining time; faults not found by then stay unknown.
    pub(super) async fn distrusts_own_sql(
        &mut self,
        suspects: &BTreeSet<u64>,
        times: TableTimes<'_>,
    ) -> Result<bool, UserError> {
        self.begin_stage(TableStep::OwnSql, 0);
        // The other half of the time is for narrowing wrong rows.
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

/// At most this number of the rows, spread over all of them.
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
        // The key comes first, because a wrong key finds another row.
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

    /// Reads rows; a permanent rejection by the target is the inner error.
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

    /// Fails unless an index finds the same rows as a scan of the whole table.
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
        // Another client may have deleted it between the two reads.
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
    /// Whether these are the row's values.
    fn is_stored_as(&self, table: &BoundTable, values: &[Value]) -> bool {
        difference(&table.columns, &self.batch, 0, values).is_none()
    }
}

/// Maximum number of rows searched for by value: each is compared with all rows of the table.
const SOUGHT_MAX: usize = 8;

/// Conditions that find known rows by their values.
struct Conditions(Vec<String>);

impl Conditions {
    /// The table with one more column: the number of the condition that a row matches.
    fn with_numbers(&self, table: &BoundTable, column: &str) -> BoundTable {
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

    /// An expression that is evaluated only for rows that match one of the conditions.
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
    /// Whether the target uses SQL; a model has none that could be wrong.
    fn has_sql(&self) -> bool {
        let known = self.known.first();
        known.is_some_and(|known| self.condition(known).is_some())
    }

    fn condition(&self, known: &KnownRow) -> Option<String> {
        self.admin.admin.condition(self.table, &known.values)
    }

    /// Conditions for known rows that their key does not find unchanged.
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
        let with_key = conditions.with_numbers(self.table, &conditions.only_there(self.key));
        let evidence = match self.read(&with_key, &all).await? {
            Ok(rows) => self.other_key(&rows),
            Err(error) => {
                // The key is the cause of the rejection only if the same rows can be read without
                // it.
                let without_key = conditions.with_numbers(self.table, "NULL");
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

    /// A known row that is always found with another key.
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
                    // The generators may have produced two rows with the same values.
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

/// With fewer known rows, it may be a coincidence that all of them are wrong.
const ALL_WRONG_MIN: usize = 4;

/// A known row that exists exactly once.
struct SeenRow<'k> {
    known: &'k KnownRow,
    stored: StoredRow,
}

impl SeenRow<'_> {
    /// How the values of one column differ, read as `column`.
    fn difference(&self, at: usize, column: &BoundColumn, found: &Value) -> Option<Difference> {
        let data = self.known.batch.columns.get(at)?;
        let batch = RowBatch { columns: vec![data.clone()], ..self.known.batch.clone() };
        let found = std::slice::from_ref(found);
        difference(std::slice::from_ref(column), &batch, 0, found)
    }

    fn value(&self, at: usize) -> &Value {
        self.stored.values.get(at).unwrap_or(&Value::Null)
    }
}

/// Known rows that were returned exactly once.
fn seen<'k>(known: &'k [KnownRow], rows: &[StoredRow]) -> Vec<SeenRow<'k>> {
    let once = known.iter().filter_map(|known| {
        let mut same = rows.iter().filter(|row| row.key == known.row);
        let stored = same.next()?.clone();
        same.next().is_none().then_some(SeenRow { known, stored })
    });
    once.collect()
}

impl OwnSql<'_, '_, '_> {
    /// The column whose expression prevents the target from returning the known rows.
    async fn refused_column(
        &mut self,
        plain: &BoundTable,
        ranges: &[KeyRange],
    ) -> Result<Option<WrongSql>, UserError> {
        let only = |columns| BoundTable { columns, ..plain.clone() };
        if self.read(&only(Vec::new()), ranges).await?.is_err() {
            return Ok(None);
        }
        for column in plain.columns.iter().filter(|c| c.value.is_some()) {
            // Other rows may hold values that the expression cannot convert.
            let expression = column.value.as_deref().unwrap_or_default();
            let known = self.known.iter().map(|known| known.row);
            let guarded = BoundColumn {
                value: Some(of_rows(&plain.key, known, expression)),
                ..column.clone()
            };
            if let Err(error) = self.read(&only(vec![guarded]), ranges).await? {
                let evidence = format!("the target refuses it: {error}");
                return Ok(Some(wrong(plain, column, SqlPart::Value, evidence)));
            }
        }
        Ok(None)
    }

    /// A column whose expression returns values other than the stored ones.
    async fn wrong_column(
        &mut self,
        plain: &BoundTable,
        rows: &[StoredRow],
    ) -> Result<Option<WrongSql>, UserError> {
        for (at, column) in plain.columns.iter().enumerate() {
            let found = if column.value.is_some() {
                self.wrong_expression(plain, at, rows).await?
            } else {
                let seen = seen(&self.known, rows);
                wrong_type(column, at, &seen)
                    .map(|evidence| wrong(plain, column, SqlPart::Type, evidence))
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        if self.level == AuditLevel::Sums {
            return self.wrong_sum(plain, rows).await;
        }
        Ok(None)
    }

    /// Whether an expression is wrong for a value that is stored as it was sent; or for all known
    /// rows, if the table stores it in another type.
    async fn wrong_expression(
        &mut self,
        plain: &BoundTable,
        at: usize,
        rows: &[StoredRow],
    ) -> Result<Option<WrongSql>, UserError> {
        let column = &plain.columns[at];
        let differs = |seen: &SeenRow<'_>| seen.difference(at, column, seen.value(at));
        if seen(&self.known, rows).iter().all(|s| differs(s).is_none()) {
            return Ok(None);
        }
        let itself = BoundColumn { value: None, ..column.clone() };
        let of_itself = BoundTable { columns: vec![itself.clone()], ..plain.clone() };
        let ranges = self.ranges();
        // A column of another type may not be readable as this one.
        let stored = self.read(&of_itself, &ranges).await?.unwrap_or_default();
        let seen = seen(&self.known, rows);
        let mut another_type = 0;
        for row in &seen {
            let found = stored.iter().find(|stored| stored.key == row.known.row);
            let found = found.and_then(|stored| stored.values.first());
            let sent = value_at(&itself, &row.known.batch.columns[at], 0);
            another_type += usize::from(found.is_none_or(|found| is_of_another_type(found, &sent)));
            let is_right = found.is_some_and(|f| row.difference(at, &itself, f).is_none());
            if let Some(difference) = differs(row).filter(|_| is_right) {
                let evidence = format!(
                    "row {} holds what was sent, and {} comes out in place of {}",
                    row.known.row, difference.found, difference.expected
                );
                return Ok(Some(wrong(plain, column, SqlPart::Value, evidence)));
            }
        }
        let all = seen.len() >= ALL_WRONG_MIN && seen.iter().all(|row| differs(row).is_some());
        let first = seen.first().and_then(|row| Some((row, differs(row)?)));
        let first = first.filter(|_| all && another_type == seen.len());
        Ok(first.map(|(row, difference)| {
            let evidence = format!(
                "{} comes out in place of {} for row {}, and another number for all of {} rows",
                difference.found,
                difference.expected,
                row.known.row,
                seen.len()
            );
            wrong(plain, column, SqlPart::Value, evidence)
        }))
    }

    /// A column whose checksum of one row differs from that of the row's values, which are those
    /// sent.
    async fn wrong_sum(
        &mut self,
        plain: &BoundTable,
        rows: &[StoredRow],
    ) -> Result<Option<WrongSql>, UserError> {
        let right = |seen: &SeenRow<'_>| seen.known.is_stored_as(plain, &seen.stored.values);
        let keys: Vec<u64> = {
            let seen = seen(&self.known, rows);
            seen.iter().filter(|row| right(row)).map(|row| row.known.row).collect()
        };
        if keys.is_empty() {
            return Ok(None);
        }
        let alone = BoundTable {
            key: of_rows(&plain.key, keys.iter().copied(), &plain.key),
            ..plain.clone()
        };
        let sums = async |admin: &mut dyn Admin| admin.sums_by_key(&alone, 1).await;
        let sums = self.admin.ask(sums).await?;
        let ranges = self.ranges();
        // A row that changed meanwhile proves nothing.
        let again = self.read(plain, &ranges).await?.unwrap_or_default();
        let seen = seen(&self.known, &again);
        let mut summer = Summer::new(&plain.columns);
        for row in seen.iter().filter(|row| right(row)) {
            let bucket = sums.buckets.iter().find(|b| b.bucket == row.known.row);
            let Some(bucket) = bucket.filter(|bucket| bucket.rows == 1) else {
                continue;
            };
            let mut expected = vec![0; plain.columns.len()];
            summer.add(&row.known.batch, 0..1, &mut expected);
            let columns = plain.columns.iter().zip(&sums.covered);
            let sides = bucket.sums.iter().zip(&expected);
            for ((column, covered), (found, expected)) in columns.zip(sides) {
                if *covered && found != expected {
                    let evidence = format!(
                        "row {} holds what was sent, and its checksum comes out as {found} in \
                         place of {expected}",
                        row.known.row
                    );
                    return Ok(Some(wrong(plain, column, SqlPart::Type, evidence)));
                }
            }
        }
        Ok(None)
    }
}

/// An expression that has a value for these rows only.
fn of_rows(key: &str, rows: impl Iterator<Item = u64>, expression: &str) -> String {
    let rows: Vec<String> = rows.map(|row| row.to_string()).collect();
    let rows = rows.join(", ");
    format!("CASE WHEN ({key}) IN ({rows}) THEN ({expression}) END")
}

fn wrong(table: &BoundTable, column: &BoundColumn, part: SqlPart, evidence: String) -> WrongSql {
    WrongSql {
        table: table.name.clone(),
        part,
        column: Some(column.name.clone()),
        expression: match (&column.value, part) {
            (Some(expression), SqlPart::Value) => expression.clone(),
            _ => column.kind.name().to_owned(),
        },
        evidence,
    }
}

/// Evidence that the table's column has another type than the workload's: most known rows hold the
/// sent value in another form, and none holds a different value.
fn wrong_type(column: &BoundColumn, at: usize, seen: &[SeenRow<'_>]) -> Option<String> {
    let sent = |row: &SeenRow<'_>| value_at(column, &row.known.batch.columns[at], 0);
    let different: Vec<&SeenRow<'_>> =
        seen.iter().filter(|row| row.difference(at, column, row.value(at)).is_some()).collect();
    let most = different.len() >= ALL_WRONG_MIN && different.len() * 2 >= seen.len();
    let same = different.iter().all(|row| is_same_otherwise(&sent(row), row.value(at)));
    let single = seen.iter().all(|row| match row.value(at) {
        Value::Float(found) => is_single(*found),
        _ => true,
    });
    let first = different.first().filter(|_| most && same && single)?;
    Some(format!(
        "row {} holds {} where {} was sent",
        first.known.row,
        form(first.value(at)),
        form(&sent(first))
    ))
}

fn is_one_type(one: &Value, other: &Value) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// Whether a column of the sent value's type could not hold the other; any can hold null.
fn is_of_another_type(found: &Value, sent: &Value) -> bool {
    *found != Value::Null && !is_one_type(found, sent)
}

/// Whether two different values represent the same value in two types.
fn is_same_otherwise(sent: &Value, found: &Value) -> bool {
    match (sent, found) {
        (Value::Float(sent), Value::Float(found)) => single(*sent) == single(*found),
        (Value::Text(sent), Value::Text(found)) => padded(sent) == padded(found),
        _ => !is_one_type(sent, found) && digits(sent) == digits(found),
    }
}

/// A column of fixed width pads values with spaces.
fn padded(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// The bits of the nearest single-precision number.
fn single(value: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what a column of single precision does to it"
    )]
    let single = value as f32;
    single.to_bits()
}

fn is_single(value: f64) -> bool {
    f64::from(f32::from_bits(single(value))).to_bits() == value.to_bits()
}

fn digits(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(number) | Value::TimestampMs(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(is) => is.to_string(),
        Value::Text(text) => match text.parse::<f64>() {
            // `5.0` and `5` are the same number.
            Ok(number) if text.parse::<i64>().is_err() => number.to_string(),
            _ => padded(text).to_owned(),
        },
    }
}

/// A value with its type, for display.
pub(crate) fn form(value: &Value) -> String {
    let name = match value {
        Value::Null => return "null".to_owned(),
        Value::Integer(_) => "the integer",
        Value::Float(_) => "the float",
        Value::Boolean(_) => "the boolean",
        Value::TimestampMs(_) => "the timestamp",
        Value::Text(text) => {
            return format!("the text '{}'", text.chars().take(60).collect::<String>());
        }
    };
    format!("{name} {}", digits(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_in_two_types_is_distinguished_from_another_value() {
        let text = |text: &str| Value::Text(text.into());
        for (sent, found, same) in [
            (Value::Integer(91), text("91"), true),
            (Value::Integer(91), text("92"), false),
            (Value::Integer(5), Value::Float(5.0), true),
            (Value::Integer(5), Value::Float(5.5), false),
            (Value::Integer(5), Value::Integer(6), false),
            (Value::Float(2.5), text("2.50"), true),
            (Value::Float(0.1), Value::Float(f64::from(0.1_f32)), true),
            (Value::Float(0.1), Value::Float(0.2), false),
            (text("ab"), text("ab  "), true),
            (text("ab"), text("ac"), false),
            (text("007"), Value::Integer(7), false),
            (Value::Integer(5), Value::Null, false),
        ] {
            assert_eq!(is_same_otherwise(&sent, &found), same, "{sent:?} {found:?}");
        }
        assert!(is_single(0.5) && is_single(f64::from(0.1_f32)) && !is_single(0.1));
    }
}
