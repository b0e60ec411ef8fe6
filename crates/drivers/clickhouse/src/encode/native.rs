//! Columns of a block in Native format: name, type, then the values, and which types are sent so. Encoded entries of
//! dictionaries are kept between batches, because the same entries recur. Must not know an op.

use std::sync::Arc;

use highwater_model::op::{ColumnData, ColumnType, Dictionary, RowBatch};

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
    let (position, attribute) = column.source.place();
    let data = batch.columns.get(position)?;
    if column.nullable {
        out.extend((0..batch.rows).map(|row| u8::from(data.is_null(row))));
    } else if matches!(data, ColumnData::Nullable(..)) {
        return None;
    }
    match data.values() {
        ColumnData::Nullable(..) => None,
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
    pub(crate) fn parse(declared: &str) -> Option<Self> {
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

/// Maximum entries of a dictionary that are kept encoded; those of a larger one are encoded row by row.
const ENTRIES_KEPT: usize = 100_000;
/// Maximum dictionaries kept, in addition to those of one batch.
const KEPT_MAX: usize = 2_000;

/// See the module documentation.
pub(super) struct Words {
    kept: Vec<EncodedDictionary>,
    /// Writes a text.
    put_text: fn(&mut Vec<u8>, &str),
}

/// A dictionary, or one attribute of its objects.
struct EncodedDictionary {
    values: Arc<[Box<str>]>,
    attribute: Option<String>,
    bytes: Vec<u8>,
    /// Start of each entry, and end of the last one.
    begins: Vec<usize>,
}

impl EncodedDictionary {
    #[inline]
    fn put(&self, out: &mut Vec<u8>, code: usize) -> Option<()> {
        let range = *self.begins.get(code)?..*self.begins.get(code + 1)?;
        out.extend_from_slice(self.bytes.get(range)?);
        Some(())
    }
}

/// A dictionary of a batch, as returned by [`Words::find`].
#[derive(Clone, Copy)]
pub(super) struct Entries<'b> {
    coded: &'b Dictionary,
    attribute: Option<&'b str>,
    /// Position of its encoded entries, if kept.
    kept: Option<usize>,
}

impl Words {
    /// For a format that writes texts this way.
    pub(super) fn new(put_text: fn(&mut Vec<u8>, &str)) -> Self {
        Self { kept: Vec::new(), put_text }
    }

    /// Frees space for the dictionaries of a batch: results for an earlier batch become invalid.
    pub(super) fn begin_batch(&mut self) {
        // Each batch may have new dictionaries.
        if self.kept.len() >= KEPT_MAX {
            self.kept.clear();
        }
    }

    /// Looks up a dictionary, and encodes it on first use.
    pub(super) fn find<'b>(
        &mut self,
        coded: &'b Dictionary,
        attribute: Option<&'b str>,
    ) -> Entries<'b> {
        let kept =
            (coded.values.len() <= ENTRIES_KEPT).then(|| self.position(&coded.values, attribute));
        Entries { coded, attribute, kept }
    }

    /// Writes the entries of this many rows; `None` if one is missing.
    fn put_all(&self, out: &mut Vec<u8>, entries: &Entries<'_>, rows: usize) -> Option<()> {
        let codes = entries.coded.codes.get(..rows)?;
        let Some(kept) = entries.kept else {
            for row in 0..rows {
                self.put(out, entries, row)?;
            }
            return Some(());
        };
        let encoded = self.kept.get(kept)?;
        for code in codes {
            encoded.put(out, usize::try_from(*code).ok()?)?;
        }
        Some(())
    }

    /// Writes the entry of a row; `None` if it is missing.
    pub(super) fn put(&self, out: &mut Vec<u8>, entries: &Entries<'_>, row: usize) -> Option<()> {
        let code = usize::try_from(*entries.coded.codes.get(row)?).ok()?;
        if let Some(kept) = entries.kept {
            return self.kept.get(kept)?.put(out, code);
        }
        let entry = entries.coded.values.get(code)?;
        self.put_value(out, entry, entries.attribute);
        Some(())
    }

    fn put_value(&self, out: &mut Vec<u8>, entry: &str, attribute: Option<&str>) {
        match attribute {
            None => (self.put_text)(out, entry),
            Some(name) => (self.put_text)(out, &attribute_text(entry, name)),
        }
    }

    fn position(&mut self, values: &Arc<[Box<str>]>, attribute: Option<&str>) -> usize {
        let is_kept = |kept: &EncodedDictionary| {
            kept.attribute.as_deref() == attribute && Arc::ptr_eq(&kept.values, values)
        };
        if let Some(at) = self.kept.iter().position(is_kept) {
            return at;
        }
        let mut bytes = Vec::new();
        let mut begins = Vec::with_capacity(values.len() + 1);
        for value in values.iter() {
            begins.push(bytes.len());
            self.put_value(&mut bytes, value, attribute);
        }
        begins.push(bytes.len());
        self.kept.push(EncodedDictionary {
            values: Arc::clone(values),
            attribute: attribute.map(str::to_owned),
            bytes,
            begins,
        });
        self.kept.len() - 1
    }
}

/// An attribute of a JSON object as text, as in the object's checksum; empty if it is missing.
fn attribute_text(json: &str, name: &str) -> String {
    let object: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    match object.get(name) {
        None | Some(serde_json::Value::Null) => String::new(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
