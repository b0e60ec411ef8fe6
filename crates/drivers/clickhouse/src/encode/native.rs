//! Columns of a block in Native format: name, type, then the values.
//!
//! Must not know an op.

use highwater_model::op::{ColumnData, RowBatch};

use super::native_type::{NativeColumn, NativeType};
use super::words::Words;

/// Writes a number in a variable length, seven bits per byte.
pub(super) fn put_length(out: &mut Vec<u8>, length: usize) {
    let mut rest = length;
    while rest >= 0x80 {
        out.push(u8::try_from(rest & 0x7f).unwrap_or(0) | 0x80);
        rest >>= 7;
    }
    out.push(u8::try_from(rest).unwrap_or(0));
}

/// Writes a text: its length, then its bytes.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_length(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// Writes a column; `None` if a value does not fit, or is missing.
pub(super) fn put_column(
    out: &mut Vec<u8>,
    column: &NativeColumn,
    batch: &RowBatch,
    words: &mut Words,
) -> Option<()> {
    put_text(out, &column.name);
    put_text(out, &column.declared);
    if column.nullable {
        out.resize(out.len() + batch.rows, 0);
    }
    let (position, attribute) = column.source.place();
    match batch.columns.get(position)? {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => {
            put_integers(out, column.native, values.get(..batch.rows)?)
        }
        ColumnData::Float(values) => {
            for value in values.get(..batch.rows)? {
                out.extend_from_slice(&value.to_le_bytes());
            }
            Some(())
        }
        ColumnData::Boolean(values) => {
            for value in values.get(..batch.rows)? {
                put_boolean(out, column.native, *value)?;
            }
            Some(())
        }
        ColumnData::Text(values) => {
            for text in values.get(..batch.rows)? {
                put_text(out, text);
            }
            Some(())
        }
        ColumnData::TextDictionary(coded) | ColumnData::ObjectDictionary(coded) => {
            let entries = words.find(coded, attribute);
            words.put_all(out, &entries, batch.rows)
        }
    }
}

/// Writes a boolean in the width of its column.
pub(super) fn put_boolean(out: &mut Vec<u8>, native: NativeType, value: bool) -> Option<()> {
    let (NativeType::Signed(bytes) | NativeType::Unsigned(bytes)) = native else {
        return None;
    };
    out.push(u8::from(value));
    out.resize(out.len() + usize::from(bytes) - 1, 0);
    Some(())
}

/// Writes integers in the width of their column.
pub(super) fn put_integers(out: &mut Vec<u8>, native: NativeType, values: &[i64]) -> Option<()> {
    /// Integers of one type; `None` if one does not fit.
    fn put<T: TryFrom<i64>, const N: usize>(
        out: &mut Vec<u8>,
        values: &[i64],
        bytes: impl Fn(T) -> [u8; N],
    ) -> Option<()> {
        out.reserve(values.len() * N);
        for value in values {
            out.extend_from_slice(&bytes(T::try_from(*value).ok()?));
        }
        Some(())
    }
    match native {
        NativeType::Signed(1) => put(out, values, i8::to_le_bytes),
        NativeType::Signed(2) => put(out, values, i16::to_le_bytes),
        NativeType::Signed(4) => put(out, values, i32::to_le_bytes),
        NativeType::Signed(_) => put(out, values, i64::to_le_bytes),
        NativeType::Unsigned(1) => put(out, values, u8::to_le_bytes),
        NativeType::Unsigned(2) => put(out, values, u16::to_le_bytes),
        NativeType::Unsigned(4) => put(out, values, u32::to_le_bytes),
        NativeType::Unsigned(_) => put(out, values, u64::to_le_bytes),
        NativeType::Float64 => {
            for value in values {
                out.extend_from_slice(&double(*value)?.to_le_bytes());
            }
            Some(())
        }
        NativeType::Text => None,
    }
}

/// An integer as a double, if it is exactly representable.
#[expect(clippy::cast_precision_loss, reason = "the bound keeps it exact")]
fn double(value: i64) -> Option<f64> {
    NativeType::Float64.holds(value).then_some(value as f64)
}
