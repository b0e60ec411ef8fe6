//! Whether what stands for a column's value is right for known rows, which are found by their key.

use highwater_analysis::sums::Summer;
use highwater_driver::Admin;
use highwater_model::audit_record::{SqlPart, WrongSql};
use highwater_model::op::{BoundColumn, BoundTable, RowBatch, Value};
use highwater_model::plan::AuditLevel;
use highwater_model::stored::{Difference, KeyRange, StoredRow, difference, value_at};
use highwater_model::user_error::UserError;

use super::{KnownRow, OwnSql};

/// Fewer known rows that all come out wrong may be a coincidence.
const ALL_WRONG_MIN: usize = 4;

/// A known row that is there, once.
struct SeenRow<'k> {
    known: &'k KnownRow,
    stored: StoredRow,
}

impl SeenRow<'_> {
    /// What one column has otherwise, read as `column`.
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

/// Known rows that came back exactly once.
fn seen<'k>(known: &'k [KnownRow], rows: &[StoredRow]) -> Vec<SeenRow<'k>> {
    let once = known.iter().filter_map(|known| {
        let mut same = rows.iter().filter(|row| row.key == known.row);
        let stored = same.next()?.clone();
        same.next().is_none().then_some(SeenRow { known, stored })
    });
    once.collect()
}

impl OwnSql<'_, '_, '_> {
    /// The column without whose expression the target gives the known rows.
    pub(super) async fn refused_column(
        &mut self,
        plain: &BoundTable,
        ranges: &[KeyRange],
    ) -> Result<Option<WrongSql>, UserError> {
        let only = |columns| BoundTable { columns, ..plain.clone() };
        if self.read(&only(Vec::new()), ranges).await?.is_err() {
            return Ok(None);
        }
        for column in plain.columns.iter().filter(|c| c.value.is_some()) {
            // Rows of others may hold what it cannot be made of.
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

    /// A column whose stored values stand for others than they are.
    pub(super) async fn wrong_column(
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

    /// Whether an expression is wrong for a value that is stored as it was sent; or, where the table
    /// holds it in another type, for all known rows.
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

    /// A column whose checksum of one row is not that of the row's values, which are those sent.
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
        // What changed meanwhile shows nothing.
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

/// An expression that has a value for these rows alone.
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

/// Evidence that the table's column has another type than the workload's: what most known rows hold
/// is the value that was sent in another form, and no row holds anything else.
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

/// Whether two values that differ are one value in two types.
fn is_same_otherwise(sent: &Value, found: &Value) -> bool {
    match (sent, found) {
        (Value::Float(sent), Value::Float(found)) => single(*sent) == single(*found),
        (Value::Text(sent), Value::Text(found)) => padded(sent) == padded(found),
        _ => !is_one_type(sent, found) && digits(sent) == digits(found),
    }
}

/// A column of a fixed width fills up with spaces.
fn padded(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// The bits of the nearest number of single precision.
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
            // `5.0` and `5` are one number.
            Ok(number) if text.parse::<i64>().is_err() => number.to_string(),
            _ => padded(text).to_owned(),
        },
    }
}

/// A value with its type, for people.
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
