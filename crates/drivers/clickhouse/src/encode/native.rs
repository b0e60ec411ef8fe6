//! Columns of a block in the format Native: name, type, then the values one after the other.
//!
//! Must not know an op.

use std::sync::Arc;

use highwater_model::op::{ColumnData, Dictionary, RowBatch};

use super::native_type::{NativeColumn, NativeType, Source};

/// Entries of a dictionary that are kept encoded; those of a larger one are encoded row by row.
const ENTRIES_KEPT: usize = 100_000;
/// Whole numbers up to this one have a double of their own.
const EXACT_MAX: i64 = 1 << 53;

/// Writes a number of as few bytes as it needs, seven bits each.
pub(super) fn put_length(out: &mut Vec<u8>, length: usize) {
    let mut rest = length;
    while rest >= 0x80 {
        out.push(u8::try_from(rest & 0x7f).unwrap_or(0) | 0x80);
        rest >>= 7;
    }
    out.push(u8::try_from(rest).unwrap_or(0));
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_length(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// Writes a column; none if a value does not fit, or is not there.
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
    let (position, attribute) = match &column.source {
        Source::Column(position) => (*position, None),
        Source::Attribute(position, name) => (*position, Some(name.as_str())),
    };
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
            let (NativeType::Signed(bytes) | NativeType::Unsigned(bytes)) = column.native else {
                return None;
            };
            for value in values.get(..batch.rows)? {
                out.push(u8::from(*value));
                out.resize(out.len() + usize::from(bytes) - 1, 0);
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
            words.put(out, coded, attribute, batch.rows)
        }
    }
}

/// Writes whole numbers in the width of their column.
fn put_integers(out: &mut Vec<u8>, native: NativeType, values: &[i64]) -> Option<()> {
    /// Those of one type; `None` where one does not fit.
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

/// The double of a whole number, if it has one of its own.
#[expect(clippy::cast_precision_loss, reason = "the bound keeps it exact")]
fn double(value: i64) -> Option<f64> {
    (-EXACT_MAX..=EXACT_MAX)
        .contains(&value)
        .then_some(value as f64)
}

/// Entries of dictionaries as they are written, kept from batch to batch: the same hosts come again.
#[derive(Debug, Default)]
pub(super) struct Words {
    kept: Vec<Encoded>,
}

/// A dictionary, or one attribute of its objects.
#[derive(Debug)]
struct Encoded {
    values: Arc<[Box<str>]>,
    attribute: Option<String>,
    bytes: Vec<u8>,
    /// Where each entry begins, and where the last one ends.
    begins: Vec<usize>,
}

/// Dictionaries that are kept, at most: of each column of a wide table.
const KEPT_MAX: usize = 2_000;

impl Words {
    fn put(
        &mut self,
        out: &mut Vec<u8>,
        coded: &Dictionary,
        attribute: Option<&str>,
        rows: usize,
    ) -> Option<()> {
        let codes = coded.codes.get(..rows)?;
        if coded.values.len() > ENTRIES_KEPT {
            for code in codes {
                let entry = coded.values.get(usize::try_from(*code).ok()?)?;
                match attribute {
                    None => put_text(out, entry),
                    Some(name) => put_text(out, &attribute_text(entry, name)),
                }
            }
            return Some(());
        }
        let encoded = self.encoded(&coded.values, attribute)?;
        for code in codes {
            let at = usize::try_from(*code).ok()?;
            let range = *encoded.begins.get(at)?..*encoded.begins.get(at + 1)?;
            out.extend_from_slice(encoded.bytes.get(range)?);
        }
        Some(())
    }

    fn encoded(&mut self, values: &Arc<[Box<str>]>, attribute: Option<&str>) -> Option<&Encoded> {
        let is_kept = |kept: &Encoded| {
            kept.attribute.as_deref() == attribute && Arc::ptr_eq(&kept.values, values)
        };
        if let Some(at) = self.kept.iter().position(is_kept) {
            return self.kept.get(at);
        }
        // A batch may bring a dictionary of its own each time: the one of this attribute before is gone.
        if self.kept.len() >= KEPT_MAX {
            self.kept.clear();
        }
        let mut encoded = Encoded {
            values: Arc::clone(values),
            attribute: attribute.map(str::to_owned),
            bytes: Vec::new(),
            begins: Vec::with_capacity(values.len() + 1),
        };
        for value in values.iter() {
            encoded.begins.push(encoded.bytes.len());
            match attribute {
                None => put_text(&mut encoded.bytes, value),
                Some(name) => put_text(&mut encoded.bytes, &attribute_text(value, name)),
            }
        }
        encoded.begins.push(encoded.bytes.len());
        self.kept.push(encoded);
        self.kept.last()
    }
}

/// An attribute of a JSON object as text, as the checksum of the object reads it; empty where it is not
/// there.
fn attribute_text(json: &str, name: &str) -> String {
    let object: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    match object.get(name) {
        None | Some(serde_json::Value::Null) => String::new(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
