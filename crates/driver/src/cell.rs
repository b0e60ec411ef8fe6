//! One value of an op, as passed to encoders: borrowed from a batch or from parameters. Must not know a wire.

use highwater_model::op::{ColumnData, Value};

/// One value of a batch or of a query's parameters.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    /// SQL's null.
    Null,
    /// An integer.
    Integer(i64),
    /// Double precision.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// Milliseconds since 1970, UTC.
    TimestampMs(i64),
    /// Text, or JSON.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// The value in a row; null if the row does not exist.
    #[inline]
    pub fn of_row(column: &'a ColumnData, row: usize) -> Self {
        let found = match column {
            ColumnData::Integer(values) => values.get(row).map(|v| Self::Integer(*v)),
            ColumnData::Float(values) => values.get(row).map(|v| Self::Float(*v)),
            ColumnData::Boolean(values) => values.get(row).map(|v| Self::Boolean(*v)),
            ColumnData::TimestampMs(values) => values.get(row).map(|v| Self::TimestampMs(*v)),
            ColumnData::Text(values) => values.get(row).map(|v| Self::Text(v)),
            ColumnData::TextDictionary(coded) | ColumnData::ObjectDictionary(coded) => coded
                .codes
                .get(row)
                .and_then(|code| coded.values.get(usize::try_from(*code).ok()?))
                .map(|v| Self::Text(v)),
        };
        found.unwrap_or(Self::Null)
    }

    /// A parameter of a query.
    #[inline]
    pub fn of_value(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(v) => Self::Integer(*v),
            Value::Float(v) => Self::Float(*v),
            Value::Boolean(v) => Self::Boolean(*v),
            Value::TimestampMs(v) => Self::TimestampMs(*v),
            Value::Text(v) => Self::Text(v),
        }
    }
}
