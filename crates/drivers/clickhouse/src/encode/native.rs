//! Columns of a block in Native format: name, type, then the values, and which types are sent so.
//!
//! Must not know an op.

use highwater_model::op::{ColumnData, ColumnType, RowBatch};

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

/// A column of a block.
#[derive(Debug)]
pub(crate) struct NativeColumn {
    /// Its name, unquoted.
    pub(crate) name: String,
    /// Its type, in the server's words.
    pub(crate) declared: String,
    /// The type without `Nullable`.
    pub(crate) native: NativeType,
    /// It is nullable, so each row has a byte for null.
    pub(crate) nullable: bool,
    /// The source of its values.
    pub(crate) source: Source,
}

/// The source of a column's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// In the column of a batch at this position.
    Column(usize),
    /// In objects at this position, under this name.
    Attribute(usize, String),
}

impl Source {
    /// The column of the batch, and the attribute of its objects, if any.
    pub(crate) fn place(&self) -> (usize, Option<&str>) {
        match self {
            Self::Column(position) => (*position, None),
            Self::Attribute(position, name) => (*position, Some(name)),
        }
    }
}

/// Integers up to this one are exactly representable as doubles.
const EXACT_MAX: i64 = 1 << 53;

/// A type in which values are sent. Other types would round, truncate, or hash values differently from the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NativeType {
    /// Signed integers of this many bytes.
    Signed(u8),
    /// Unsigned integers of this many bytes.
    Unsigned(u8),
    /// Double precision.
    Float64,
    /// Texts.
    Text,
}

impl NativeType {
    /// Parses the server's type name.
    pub(crate) fn of(declared: &str) -> Option<Self> {
        Some(match declared {
            "Int8" => Self::Signed(1),
            "Int16" => Self::Signed(2),
            "Int32" => Self::Signed(4),
            "Int64" => Self::Signed(8),
            "UInt8" | "Bool" => Self::Unsigned(1),
            "UInt16" => Self::Unsigned(2),
            "UInt32" => Self::Unsigned(4),
            "UInt64" => Self::Unsigned(8),
            "Float64" => Self::Float64,
            "String" => Self::Text,
            _ => return None,
        })
    }

    /// Whether it can hold an integer exactly.
    pub(crate) fn holds(self, value: i64) -> bool {
        match self {
            Self::Signed(bytes @ ..8) => value >> (u32::from(bytes) * 8 - 1) == value >> 63,
            Self::Signed(_) => true,
            Self::Unsigned(bytes @ ..8) => value >> (u32::from(bytes) * 8) == 0,
            Self::Unsigned(_) => value >= 0,
            Self::Float64 => (-EXACT_MAX..=EXACT_MAX).contains(&value),
            Self::Text => false,
        }
    }

    /// Whether values of the workload's type can be sent in it.
    pub(crate) fn takes(self, kind: ColumnType) -> bool {
        match kind {
            ColumnType::Integer | ColumnType::Bigint => self != Self::Text,
            ColumnType::Float => self == Self::Float64,
            ColumnType::Boolean => matches!(self, Self::Signed(_) | Self::Unsigned(_)),
            // Milliseconds since 1970.
            ColumnType::Timestamp => matches!(self, Self::Signed(8) | Self::Unsigned(8)),
            ColumnType::Text | ColumnType::Object => self == Self::Text,
        }
    }
}
