//! Converts rows read by the audit from texts to the values of their columns.
//!
//! Must not know the statements, or the expected rows.

use highwater_model::numbers::{signed_to_f64, truncate_to_i64};
use highwater_model::op::{BoundColumn, BoundTable, ColumnType, Value};
use highwater_model::stored::StoredRow;

/// A row of the response to `audit::reads`; `None` without a key.
pub fn stored(table: &BoundTable, row: Vec<Option<String>>) -> Option<StoredRow> {
    let mut values = row.into_iter();
    let key = values.next()??.parse().ok()?;
    let values = table
        .columns
        .iter()
        .zip(values)
        .map(|(column, text)| text.map_or(Value::Null, |text| value(column, text)));
    Some(StoredRow { key, values: values.collect() })
}

/// The value of a text in its column; the text itself if it does not parse.
fn value(column: &BoundColumn, text: String) -> Value {
    let kind = match column.value {
        Some(_) => ColumnType::Bigint,
        None => column.kind,
    };
    let read = match kind {
        ColumnType::Integer | ColumnType::Bigint => {
            // A decimal always has digits after its point.
            let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
            let is_whole = part.bytes().all(|digit| digit == b'0');
            whole.parse().ok().filter(|_| is_whole).map(Value::Integer)
        }
        ColumnType::Float => text.parse().ok().map(Value::Float),
        ColumnType::Boolean => match text.as_str() {
            "t" | "true" | "1" => Some(Value::Boolean(true)),
            "f" | "false" | "0" => Some(Value::Boolean(false)),
            _ => None,
        },
        ColumnType::Timestamp => {
            let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
            match whole.parse() {
                Ok(ms) if part.bytes().all(|digit| digit == b'0') => Some(Value::TimestampMs(ms)),
                _ => text.parse().ok().map(milliseconds),
            }
        }
        ColumnType::Text | ColumnType::Object => None,
    };
    read.unwrap_or_else(|| Value::Text(text.into()))
}

/// A time that was read as a double, which some servers write with an exponent.
fn milliseconds(ms: f64) -> Value {
    let whole = truncate_to_i64(ms);
    if signed_to_f64(whole).to_bits() == ms.to_bits() {
        Value::TimestampMs(whole)
    } else {
        Value::Float(ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_an_answer_become_values() {
        for (kind, text, expected) in [
            (ColumnType::Bigint, "-5", Value::Integer(-5)),
            (ColumnType::Bigint, "5.5", Value::Text("5.5".into())),
            (ColumnType::Timestamp, "1000.000000", Value::TimestampMs(1_000)),
            (ColumnType::Timestamp, "1000.500000", Value::Float(1_000.5)),
            (ColumnType::Timestamp, "1.451606410123E12", Value::TimestampMs(1_451_606_410_123)),
            (ColumnType::Boolean, "t", Value::Boolean(true)),
            (ColumnType::Boolean, "0", Value::Boolean(false)),
            (ColumnType::Float, "0.1", Value::Float(0.1)),
            (ColumnType::Text, "t", Value::Text("t".into())),
        ] {
            let column = BoundColumn::new("c", kind);
            assert_eq!(value(&column, text.to_owned()), expected);
        }
    }
}
