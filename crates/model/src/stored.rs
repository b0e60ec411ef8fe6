//! A row read back from a target, and its comparison with the row sent. Must not decide which rows should exist; the
//! audit does.

use std::cmp::Ordering;

use super::checksum;
use super::op::{BoundColumn, ColumnData, RowBatch, Value};
use super::stored_form::{StoredForm, is_same_json};
pub use super::value::KeyRange;

/// A row that was read back.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRow {
    /// Its key; never null or negative.
    pub key: u64,
    /// In the order of the table's columns. Objects are JSON text; a timestamp that is not a whole number of
    /// milliseconds is a [`Value::Float`]; for a column with an expression ([`BoundColumn::value`]) it is the resulting
    /// integer.
    pub values: Vec<Value>,
}

/// Whether a key is in one of the ranges, which are ascending and disjoint.
pub fn is_within(ranges: &[KeyRange], key: u64) -> bool {
    let behind = ranges.partition_point(|range| range.end <= key);
    ranges.get(behind).is_some_and(|range| range.contains(key))
}

/// A value that differs from the one sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Position of the column.
    pub column: usize,
    /// The value sent.
    pub expected: String,
    /// The value found.
    pub found: String,
}

/// The first column in which a stored row differs from row `at` of a batch.
pub fn difference(
    columns: &[BoundColumn],
    batch: &RowBatch,
    at: usize,
    stored: &[Value],
) -> Option<Difference> {
    (0..columns.len()).find_map(|column| {
        let (data, form) = (batch.columns.get(column)?, columns[column].form());
        if form == StoredForm::Uncompared {
            return None;
        }
        let expected = value_at(&columns[column], data, at);
        let found = stored.get(column).unwrap_or(&Value::Null);
        let is_object = matches!(data, ColumnData::ObjectDictionary(_));
        let same = match (&expected, found) {
            (Value::Text(sent), Value::Text(found)) if is_object => is_same_json(sent, found),
            (Value::Text(sent), Value::Text(found)) => form.is_same_text(sent, found),
            // Databases treat -0.0 and 0.0 as equal.
            (Value::Float(sent), Value::Float(found)) => {
                sent.to_bits() == found.to_bits()
                    || sent.partial_cmp(found) == Some(Ordering::Equal)
            }
            (sent, found) => sent == found,
        };
        (!same).then(|| Difference { column, expected: shown(&expected), found: shown(found) })
    })
}

/// The value that a column should return for row `at`, in the precision of its declared type: objects as JSON text, or
/// the integer of the workload's expression if there is one.
pub fn value_at(column: &BoundColumn, data: &ColumnData, at: usize) -> Value {
    let value = data.value(at);
    if column.value.is_none() {
        return column.form().value(value);
    }
    match value {
        Value::Null => Value::Null,
        Value::Integer(v) | Value::TimestampMs(v) => Value::Integer(v),
        Value::Boolean(v) => Value::Integer(i64::from(v)),
        Value::Float(v) => Value::Integer(checksum::float_value(v)),
        Value::Text(v) if matches!(data, ColumnData::ObjectDictionary(_)) => {
            Value::Integer(checksum::object_value(&v, &column.attributes))
        }
        Value::Text(v) => Value::Integer(checksum::text_value(&v)),
    }
}

/// A value for display.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Boolean(v) => v.to_string(),
        Value::TimestampMs(v) => format!("{v} ms"),
        Value::Text(v) => shortened(v),
    }
}

/// Maximum number of characters of a value in an example.
const SHOWN_MAX: usize = 120;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::op::{ColumnType, Dictionary};
    use super::*;

    fn check(kind: ColumnType, data: ColumnData, stored: &Value, expected: Option<(&str, &str)>) {
        let batch = RowBatch { first_row: 7, rows: 1, columns: vec![data] };
        let columns = [BoundColumn::new("c", kind)];
        let found = difference(&columns, &batch, 0, std::slice::from_ref(stored));
        let found = found.as_ref().map(|d| (&*d.expected, &*d.found));
        assert_eq!(found, expected, "{stored:?}");
    }

    fn object(json: &str) -> ColumnData {
        ColumnData::ObjectDictionary(Dictionary {
            values: vec![Box::from(json)].into(),
            codes: vec![0],
        })
    }

    #[test]
    fn a_value_that_differs_is_named_with_what_was_sent() {
        use ColumnType::{Bigint, Boolean, Float, Object, Text, Timestamp};
        let integers = || ColumnData::Integer(vec![5]);
        check(Bigint, integers(), &Value::Integer(5), None);
        check(Bigint, integers(), &Value::Integer(6), Some(("5", "6")));
        check(Bigint, integers(), &Value::Null, Some(("5", "null")));
        let text = || ColumnData::Text(vec!["abc".into()]);
        let other = Value::Text("abd".into());
        check(Text, text(), &other, Some(("abc", "abd")));
        check(Text, text(), &Value::Text("abc".into()), None);
        let time = || ColumnData::TimestampMs(vec![1_000]);
        check(Timestamp, time(), &Value::TimestampMs(1_000), None);
        let half = Some(("1000 ms", "1000.5"));
        check(Timestamp, time(), &Value::Float(1_000.5), half);
        for (sent, stored) in [(0.1, 0.1), (0.0, -0.0)] {
            let sent = ColumnData::Float(vec![sent]);
            check(Float, sent, &Value::Float(stored), None);
        }
        let sent = ColumnData::Boolean(vec![true]);
        let differs = Some(("true", "false"));
        check(Boolean, sent, &Value::Boolean(false), differs);
        let json = r#"{"a":"x","b":"y"}"#;
        let turned = Value::Text(r#"{"b": "y", "a": "x"}"#.into());
        check(Object, object(json), &turned, None);
        let more = r#"{"a":"x","b":"y","c":1}"#;
        let stored = Value::Text(more.into());
        check(Object, object(json), &stored, Some((json, more)));
    }

    #[test]
    fn a_column_with_an_expression_is_compared_as_its_integer() {
        let column = BoundColumn {
            value: Some("f(c)".to_owned()),
            ..BoundColumn::new("c", ColumnType::Text)
        };
        let batch =
            RowBatch { first_row: 0, rows: 1, columns: vec![ColumnData::Text(vec!["abc".into()])] };
        let hash = checksum::text_value("abc");
        let compared =
            |value| difference(std::slice::from_ref(&column), &batch, 0, &[Value::Integer(value)]);
        assert_eq!(compared(hash), None);
        assert!(compared(hash + 1).is_some());
    }
}
