//! One value in the server's binary format, or as text where its column has another type.
//!
//! An encoder cannot fail. A value that does not fit is written in a width that the server
//! refuses (SQLSTATE 22P03), so that the refusal is the target's own word.

use std::io::Write;

use highwater_model::numbers::{signed_to_f64, to_f32};
use highwater_model::op::{ColumnData, ColumnType, Value};

use crate::message::finish_field;

/// Milliseconds from 1970-01-01 to 2000-01-01, where PostgreSQL's time begins.
const EPOCH_MS: i64 = 946_684_800_000;
const DAY_MS: i64 = 86_400_000;

/// How a column or parameter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// 16-bit integer.
    Int2,
    /// 32-bit integer.
    Int4,
    /// 64-bit integer.
    Int8,
    /// Single precision.
    Float4,
    /// Double precision.
    Float8,
    /// Boolean.
    Bool,
    /// Microseconds since 2000-01-01 UTC.
    Timestamp,
    /// Bytes of the text.
    Text,
    /// Version byte 1, then text.
    Jsonb,
    /// The type's text format: any other type.
    AsText,
}

/// A form, and the server's type that it was chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) form: Form,
    /// Type of the server (`pg_type.oid`).
    pub(crate) oid: u32,
}

/// One value of a batch or of a query's parameters.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    Null,
    Integer(i64),
    Float(f64),
    Boolean(bool),
    TimestampMs(i64),
    Text(&'a str),
}

impl Field {
    /// The best form for values of `kind` in a column or parameter of the type `oid`.
    pub(crate) fn new(kind: ColumnType, oid: u32) -> Self {
        let form = match oid {
            21 => Form::Int2,
            23 => Form::Int4,
            20 => Form::Int8,
            700 => Form::Float4,
            701 => Form::Float8,
            16 => Form::Bool,
            1114 | 1184 => Form::Timestamp,
            // text, varchar, char(n), name, json; bytea takes the bytes of the text.
            25 | 1043 | 1042 | 19 | 114 | 17 => Form::Text,
            3802 => Form::Jsonb,
            _ => Form::AsText,
        };
        let fits = match kind {
            ColumnType::Integer | ColumnType::Bigint => matches!(
                form,
                Form::Int2 | Form::Int4 | Form::Int8 | Form::Float4 | Form::Float8
            ),
            ColumnType::Float => matches!(form, Form::Float4 | Form::Float8),
            ColumnType::Boolean => form == Form::Bool,
            ColumnType::Timestamp => matches!(form, Form::Timestamp | Form::Int8),
            ColumnType::Text | ColumnType::Object => matches!(form, Form::Text | Form::Jsonb),
        };
        Self {
            form: if fits { form } else { Form::AsText },
            oid,
        }
    }

    /// Format code of the protocol: 0 text, 1 binary.
    pub(super) fn format(self) -> i16 {
        i16::from(self.form != Form::AsText)
    }

    /// Type of an array of this field's type, where it can be written in binary.
    pub(crate) fn array(self) -> Option<u32> {
        if self.form == Form::AsText {
            return None;
        }
        Some(match self.oid {
            16 => 1000,
            17 => 1001,
            19 => 1003,
            20 => 1016,
            21 => 1005,
            23 => 1007,
            25 => 1009,
            114 => 199,
            700 => 1021,
            701 => 1022,
            1042 => 1014,
            1043 => 1015,
            1114 => 1115,
            1184 => 1185,
            3802 => 3807,
            _ => return None,
        })
    }
}

/// The value of a row; a row that is not there is null.
pub(super) fn cell(column: &ColumnData, row: usize) -> Cell<'_> {
    let found = match column {
        ColumnData::Integer(values) => values.get(row).map(|v| Cell::Integer(*v)),
        ColumnData::Float(values) => values.get(row).map(|v| Cell::Float(*v)),
        ColumnData::Boolean(values) => values.get(row).map(|v| Cell::Boolean(*v)),
        ColumnData::TimestampMs(values) => values.get(row).map(|v| Cell::TimestampMs(*v)),
        ColumnData::Text(values) => values.get(row).map(|v| Cell::Text(v)),
        ColumnData::TextDictionary(coded) | ColumnData::ObjectDictionary(coded) => coded
            .codes
            .get(row)
            .and_then(|code| coded.values.get(usize::try_from(*code).ok()?))
            .map(|v| Cell::Text(v)),
    };
    found.unwrap_or(Cell::Null)
}

/// A parameter of a query.
pub(super) fn value(value: &Value) -> Cell<'_> {
    match value {
        Value::Null => Cell::Null,
        Value::Integer(v) => Cell::Integer(*v),
        Value::Float(v) => Cell::Float(*v),
        Value::Boolean(v) => Cell::Boolean(*v),
        Value::TimestampMs(v) => Cell::TimestampMs(*v),
        Value::Text(v) => Cell::Text(v),
    }
}

fn put<const N: usize>(out: &mut Vec<u8>, bytes: [u8; N]) {
    out.extend_from_slice(&u32::try_from(N).unwrap_or(0).to_be_bytes());
    out.extend_from_slice(&bytes);
}

/// Writes length and value.
pub(super) fn put_cell(out: &mut Vec<u8>, form: Form, cell: Cell<'_>) {
    match (form, cell) {
        (_, Cell::Null) => out.extend_from_slice(&(-1i32).to_be_bytes()),
        (Form::Int2, Cell::Integer(v)) => match i16::try_from(v) {
            Ok(v) => put(out, v.to_be_bytes()),
            Err(_) => put(out, v.to_be_bytes()),
        },
        (Form::Int4, Cell::Integer(v)) => match i32::try_from(v) {
            Ok(v) => put(out, v.to_be_bytes()),
            Err(_) => put(out, v.to_be_bytes()),
        },
        (Form::Int8, Cell::Integer(v) | Cell::TimestampMs(v)) => put(out, v.to_be_bytes()),
        (Form::Float8, Cell::Float(v)) => put(out, v.to_be_bytes()),
        (Form::Float8, Cell::Integer(v)) => put(out, signed_to_f64(v).to_be_bytes()),
        (Form::Float4, Cell::Float(v)) => put(out, to_f32(v).to_be_bytes()),
        (Form::Float4, Cell::Integer(v)) => put(out, to_f32(signed_to_f64(v)).to_be_bytes()),
        (Form::Bool, Cell::Boolean(v)) => put(out, [u8::from(v)]),
        (Form::Timestamp, Cell::TimestampMs(v)) => {
            put(
                out,
                v.saturating_sub(EPOCH_MS)
                    .saturating_mul(1000)
                    .to_be_bytes(),
            );
        }
        (Form::Jsonb, Cell::Text(v)) => {
            out.extend_from_slice(&u32::try_from(v.len() + 1).unwrap_or(u32::MAX).to_be_bytes());
            out.push(1);
            out.extend_from_slice(v.as_bytes());
        }
        (_, Cell::Text(v)) => {
            out.extend_from_slice(&u32::try_from(v.len()).unwrap_or(u32::MAX).to_be_bytes());
            out.extend_from_slice(v.as_bytes());
        }
        (_, cell) => {
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            put_text(out, cell);
            finish_field(out, at);
        }
    }
}

/// Writes the text format of a value; null writes nothing.
pub(super) fn put_text(out: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::Null => {}
        Cell::Text(v) => out.extend_from_slice(v.as_bytes()),
        Cell::Boolean(v) => out.extend_from_slice(if v { b"true" } else { b"false" }),
        // Writing to a vector cannot fail.
        Cell::Integer(v) => drop(write!(out, "{v}")),
        Cell::Float(v) if v.is_finite() => drop(write!(out, "{v:?}")),
        Cell::Float(v) if v.is_nan() => out.extend_from_slice(b"NaN"),
        Cell::Float(v) => {
            out.extend_from_slice(if v > 0.0 { b"Infinity" } else { b"-Infinity" });
        }
        Cell::TimestampMs(v) => put_timestamp(out, v),
    }
}

/// `2026-01-31 23:59:59.123+00`, by the civil calendar (Hinnant, "chrono-compatible low-level
/// date algorithms"). Years before 1 are written as year 1 at the earliest.
fn put_timestamp(out: &mut Vec<u8>, ms: i64) {
    let (days, rest) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = (year_of_era + era * 400 + i64::from(month <= 2)).max(1);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    drop(write!(
        out,
        "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{milli:03}+00"
    ));
}
