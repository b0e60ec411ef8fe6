//! Rows one after the other, in the formats RowBinary and JSONEachRow. Must not know an op.

use std::io::Write as _;

use highwater_model::op::{ColumnData, RowBatch};

use super::native::{NativeColumn, NativeType};
use super::native::{put_boolean, put_integers, put_text};
use super::words::{Entries, Words};
use crate::insert_mode::Format;

/// A column of a batch, and its values.
struct Column<'b> {
    native: NativeType,
    nullable: bool,
    /// Precedes a value as text: a comma, and the name of the column.
    key: Vec<u8>,
    values: Values<'b>,
}

/// The values of a column, one for each row.
enum Values<'b> {
    Integers(&'b [i64]),
    Floats(&'b [f64]),
    Booleans(&'b [bool]),
    Texts(&'b [Box<str>]),
    Entries(Entries<'b>),
}

/// Writes all rows of a batch; `None` if a value does not fit, or is missing.
pub(super) fn put_rows(
    out: &mut Vec<u8>,
    format: Format,
    columns: &[NativeColumn],
    batch: &RowBatch,
    words: &mut Words,
) -> Option<()> {
    let mut found = Vec::with_capacity(columns.len());
    for column in columns {
        found.push(found_column(column, batch, words)?);
    }
    for row in 0..batch.rows {
        if format == Format::JsonEachRow {
            put_object(out, &found, row, words)?;
            continue;
        }
        for column in &found {
            if column.nullable {
                out.push(0);
            }
            column.put_binary(out, row, words)?;
        }
    }
    Some(())
}

fn found_column<'b>(
    column: &'b NativeColumn,
    batch: &'b RowBatch,
    words: &mut Words,
) -> Option<Column<'b>> {
    let (position, attribute) = column.source.place();
    let rows = ..batch.rows;
    let values = match batch.columns.get(position)? {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => {
            Values::Integers(values.get(rows)?)
        }
        ColumnData::Float(values) => Values::Floats(values.get(rows)?),
        ColumnData::Boolean(values) => Values::Booleans(values.get(rows)?),
        ColumnData::Text(values) => Values::Texts(values.get(rows)?),
        ColumnData::TextDictionary(coded) | ColumnData::ObjectDictionary(coded) => {
            Values::Entries(words.find(coded, attribute))
        }
    };
    let mut key = vec![b','];
    put_json_text(&mut key, &column.name);
    key.push(b':');
    Some(Column { native: column.native, nullable: column.nullable, key, values })
}

impl Column<'_> {
    fn put_binary(&self, out: &mut Vec<u8>, row: usize, words: &Words) -> Option<()> {
        match &self.values {
            Values::Integers(values) => {
                put_integers(out, self.native, values.get(row..=row)?)?;
            }
            Values::Floats(values) => out.extend_from_slice(&values.get(row)?.to_le_bytes()),
            Values::Booleans(values) => put_boolean(out, self.native, *values.get(row)?)?,
            Values::Texts(values) => put_text(out, values.get(row)?),
            Values::Entries(entries) => words.put(out, entries, row)?,
        }
        Some(())
    }

    fn put_json(&self, out: &mut Vec<u8>, row: usize, words: &Words) -> Option<()> {
        match &self.values {
            Values::Integers(values) => {
                let value = *values.get(row)?;
                if !self.native.holds(value) {
                    return None;
                }
                out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
            }
            Values::Floats(values) => {
                // Others are not representable in JSON.
                let value = values.get(row).filter(|value| value.is_finite())?;
                // The shortest text that identifies this value.
                write!(out, "{value:?}").ok()?;
            }
            Values::Booleans(values) => out.push(b'0' + u8::from(*values.get(row)?)),
            Values::Texts(values) => put_json_text(out, values.get(row)?),
            Values::Entries(entries) => words.put(out, entries, row)?,
        }
        Some(())
    }
}

fn put_object(out: &mut Vec<u8>, columns: &[Column<'_>], row: usize, words: &Words) -> Option<()> {
    let begin = out.len();
    for column in columns {
        out.extend_from_slice(&column.key);
        column.put_json(out, row, words)?;
    }
    // Replaces the first comma.
    *out.get_mut(begin)? = b'{';
    out.extend_from_slice(b"}\n");
    Some(())
}

/// Writes a quoted text, with escapes.
pub(super) fn put_json_text(out: &mut Vec<u8>, text: &str) {
    // Writing to a vector cannot fail, and every text is representable.
    drop(serde_json::to_writer(out, text));
}
