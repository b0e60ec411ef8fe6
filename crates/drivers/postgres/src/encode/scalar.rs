//! One value in the server's binary format, or as text if its column has another type.
//!
//! An encoder cannot fail. A value that does not fit is written in a width that the server rejects (SQLSTATE 22P03), so
//! that the target itself refuses it.

use std::io::Write;

use highwater_driver::cell::Cell;
use highwater_driver::cell::CivilTime;
use highwater_model::numbers::{signed_to_f64, to_f32};
use highwater_model::op::ColumnType;

use crate::message::finish_field;

/// Milliseconds from 1970-01-01 to 2000-01-01, where PostgreSQL's time begins.
const EPOCH_MS: i64 = 946_684_800_000;

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

/// A format, and the server type that it was chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) form: Form,
    /// Server type (`pg_type.oid`).
    pub(crate) oid: u32,
}

impl Field {
    /// The best format for values of `kind` in a column or parameter of type `oid`.
    pub(crate) fn new(kind: ColumnType, oid: u32) -> Self {
        let (form, _) = form_and_array(oid).unwrap_or((Form::AsText, 0));
        let fits = match kind {
            ColumnType::Integer | ColumnType::Bigint => {
                matches!(form, Form::Int2 | Form::Int4 | Form::Int8 | Form::Float4 | Form::Float8)
            }
            ColumnType::Float => matches!(form, Form::Float4 | Form::Float8),
            ColumnType::Boolean => form == Form::Bool,
            ColumnType::Timestamp => matches!(form, Form::Timestamp | Form::Int8),
            ColumnType::Text | ColumnType::Object => matches!(form, Form::Text | Form::Jsonb),
        };
        Self { form: if fits { form } else { Form::AsText }, oid }
    }

    /// Format code of the protocol: 0 text, 1 binary.
    pub(super) fn format(self) -> i16 {
        i16::from(self.form != Form::AsText)
    }

    /// Array type of this field's type, if it has a binary format.
    pub(crate) fn array(self) -> Option<u32> {
        let (_, array) = form_and_array(self.oid).filter(|_| self.form != Form::AsText)?;
        Some(array)
    }
}

/// The binary format of a server type, and its array type.
fn form_and_array(oid: u32) -> Option<(Form, u32)> {
    Some(match oid {
        16 => (Form::Bool, 1000),
        // bytea takes the text's bytes; then name.
        17 => (Form::Text, 1001),
        19 => (Form::Text, 1003),
        20 => (Form::Int8, 1016),
        21 => (Form::Int2, 1005),
        23 => (Form::Int4, 1007),
        // text, json
        25 => (Form::Text, 1009),
        114 => (Form::Text, 199),
        700 => (Form::Float4, 1021),
        701 => (Form::Float8, 1022),
        // char(n), varchar
        1042 => (Form::Text, 1014),
        1043 => (Form::Text, 1015),
        1114 => (Form::Timestamp, 1115),
        1184 => (Form::Timestamp, 1185),
        3802 => (Form::Jsonb, 3807),
        _ => return None,
    })
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
            put(out, v.saturating_sub(EPOCH_MS).saturating_mul(1000).to_be_bytes());
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

/// `2026-01-31 23:59:59.123+00`. Years before 1 are written as year 1.
fn put_timestamp(out: &mut Vec<u8>, ms: i64) {
    let CivilTime { year, month, day, hour, minute, second, milli } = CivilTime::of_ms(ms);
    let year = year.max(1);
    drop(write!(
        out,
        "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{milli:03}+00"
    ));
}
