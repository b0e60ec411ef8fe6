//! The audit's statements: checksums by key, and rows read back.
//!
//! SQLite runs in this process, so its rows are summed while stepping through them: one pass without a sort, for which
//! GROUP BY would write a temporary tree. Must not know the expected rows.

use std::collections::{BTreeMap, HashMap};

use highwater_model::numbers::signed_to_f64;
use highwater_model::op::{BoundColumn, BoundTable, ColumnType, Value};
use highwater_model::stored;
use highwater_model::stored::{KeyRange, NULL_RESIDUE, StoredRow, is_within};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use highwater_driver::contract::{BucketSums, KeySums};
use highwater_driver::sql::dialect::quoted;
use highwater_model::user_error::UserError;

use super::admin::{rows_of, table_error};

/// Maximum texts of a column whose integers are cached.
const TEXTS_MAX: usize = 16_384;
/// Rows passed on at once.
pub(super) const ROWS_AT_ONCE: usize = 256;

/// Sums the whole table.
pub(super) fn sums_by_key(
    connection: &Connection,
    table: &BoundTable,
    width: u64,
) -> Result<KeySums, UserError> {
    let failed = |error| table_error(connection, table, "checksums of", &error);
    let mut statement = connection.prepare(&select(table)).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let columns = table.columns.len();
    let mut texts = vec![HashMap::new(); columns];
    let mut without_key = 0;
    let mut buckets: BTreeMap<u64, BucketSums> = BTreeMap::new();
    while let Some(row) = rows.next().map_err(failed)? {
        let Some(key) = key_of(row).map_err(failed)? else {
            without_key += 1;
            continue;
        };
        let bucket = key / width.max(1);
        let added = buckets.entry(bucket).or_insert_with(|| BucketSums {
            bucket,
            rows: 0,
            sums: vec![0; columns],
        });
        added.rows += 1;
        let weight = stored::weight(key);
        let sums = added.sums.iter_mut().zip(&table.columns).zip(&mut texts);
        for (position, ((sum, column), texts)) in (1..).zip(sums) {
            let value = row.get_ref(position).map_err(failed)?;
            *sum = sum.wrapping_add(weight * residue(column, value, texts));
        }
    }
    Ok(KeySums {
        buckets: buckets.into_values().collect(),
        covered: vec![true; columns],
        without_key,
    })
}

/// Steps through the rows of the ranges; `hand_over` returns false to stop.
pub(super) fn read_rows(
    connection: &Connection,
    table: &BoundTable,
    ranges: &[KeyRange],
    mut hand_over: impl FnMut(Vec<StoredRow>) -> bool,
) -> Result<(), UserError> {
    let failed = |error| table_error(connection, table, "rows of", &error);
    // The ranges select the rows.
    let all = select(&BoundTable { slice: None, ..table.clone() });
    // With an index, one look-up per range; otherwise, one pass for all of them.
    let (sql, each) = match &table.locate {
        Some(locate) => {
            let condition = locate.replace(":first", "?1").replace(":last", "?2");
            (format!("{all} WHERE {condition}"), 1)
        }
        None => (all, ranges.len().max(1)),
    };
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    for sought in ranges.chunks(each) {
        let mut rows = if table.locate.is_some() {
            statement.query([signed(sought[0].first), signed(sought[0].end - 1)])
        } else {
            statement.query([])
        }
        .map_err(failed)?;
        let mut found = Vec::with_capacity(ROWS_AT_ONCE);
        while let Some(row) = rows.next().map_err(failed)? {
            let key = key_of(row).map_err(failed)?;
            let Some(key) = key.filter(|key| is_within(sought, *key)) else {
                continue;
            };
            let values = (1..).zip(&table.columns);
            let values = values
                .map(|(at, column)| Ok(value_of(column, row.get_ref(at)?)))
                .collect::<rusqlite::Result<_>>()
                .map_err(failed)?;
            found.push(StoredRow { key, values });
            if found.len() == ROWS_AT_ONCE {
                let full = std::mem::replace(&mut found, Vec::with_capacity(ROWS_AT_ONCE));
                if !hand_over(full) {
                    return Ok(());
                }
            }
        }
        if !found.is_empty() && !hand_over(found) {
            return Ok(());
        }
    }
    Ok(())
}

fn signed(key: u64) -> i64 {
    i64::try_from(key).unwrap_or(i64::MAX)
}

/// The query of all keys, each with the expressions of the columns.
fn select(table: &BoundTable) -> String {
    let columns: String = table
        .columns
        .iter()
        .map(|column| match &column.value {
            Some(expression) => format!(", ({expression})"),
            None => format!(", {}", quoted(&column.name)),
        })
        .collect();
    format!("SELECT ({}){columns} FROM {}", table.key, rows_of(table))
}

/// A key expression that is not an integer is an error.
fn key_of(row: &Row<'_>) -> rusqlite::Result<Option<u64>> {
    let key: Option<i64> = row.get(0)?;
    Ok(key.and_then(|key| u64::try_from(key).ok()))
}

fn residue(column: &BoundColumn, value: ValueRef<'_>, texts: &mut HashMap<Box<[u8]>, u64>) -> u64 {
    match (value, column.kind) {
        (ValueRef::Null, _) => NULL_RESIDUE,
        (ValueRef::Integer(v), ColumnType::Float) if column.value.is_none() => {
            stored::residue(stored::float_value(signed_to_f64(v)))
        }
        (ValueRef::Integer(v), _) => stored::residue(v),
        (ValueRef::Real(v), _) => stored::residue(stored::float_value(v)),
        (ValueRef::Text(bytes) | ValueRef::Blob(bytes), kind) => {
            if let Some(residue) = texts.get(bytes) {
                return *residue;
            }
            let text = String::from_utf8_lossy(bytes);
            let residue = stored::residue(match kind {
                ColumnType::Object => stored::object_value(&text, &column.attributes),
                _ => stored::text_value(&text),
            });
            if texts.len() < TEXTS_MAX {
                texts.insert(bytes.into(), residue);
            }
            residue
        }
    }
}

/// A value in its column's type, or unchanged if it has another type.
fn value_of(column: &BoundColumn, value: ValueRef<'_>) -> Value {
    let plain = column.value.is_none();
    match (value, column.kind) {
        (ValueRef::Null, _) => Value::Null,
        (ValueRef::Integer(v), ColumnType::Timestamp) if plain => Value::TimestampMs(v),
        (ValueRef::Integer(v @ (0 | 1)), ColumnType::Boolean) if plain => Value::Boolean(v == 1),
        (ValueRef::Integer(v), ColumnType::Float) if plain => Value::Float(signed_to_f64(v)),
        (ValueRef::Integer(v), _) => Value::Integer(v),
        (ValueRef::Real(v), _) => Value::Float(v),
        (ValueRef::Text(bytes) | ValueRef::Blob(bytes), _) => {
            Value::Text(String::from_utf8_lossy(bytes).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_substitute_of_a_value_is_an_integer_for_any_column() {
        for (kind, plain) in [
            (ColumnType::Float, Value::Float(1.0)),
            (ColumnType::Timestamp, Value::TimestampMs(1)),
            (ColumnType::Boolean, Value::Boolean(true)),
        ] {
            let column = BoundColumn::new("c", kind);
            assert_eq!(value_of(&column, ValueRef::Integer(1)), plain);
            let expressed = BoundColumn { value: Some("f(c)".to_owned()), ..column };
            let found = value_of(&expressed, ValueRef::Integer(1));
            assert_eq!(found, Value::Integer(1), "{kind:?}");
            let residue = residue(&expressed, ValueRef::Integer(1), &mut HashMap::new());
            assert_eq!(residue, stored::residue(1), "{kind:?}");
        }
    }
}
