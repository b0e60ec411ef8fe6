//! Encodes an op as request bytes: a statement with its values in it, or an insert followed by its rows, as one block
//! in Native format, column by column, or row by row in the formats RowBinary and JSONEachRow.
//!
//! An encoder cannot fail. A batch with a value that its column's type cannot hold gets no bytes, because the server
//! would silently store another value.

mod native;

#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::rc::Rc;

use highwater_driver::contract::{Encoder, Request};
use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::op::{ColumnData, Op, OpBody, RowBatch};

use self::native::{Entries, Words, put_boolean, put_integers, put_text};
use super::plan::Format;

pub(super) use native::{NativeColumn, NativeType, Source};

/// Maximum rows of a batch that the server takes as one block, in formats for which the server forms blocks from rows:
/// below its smallest default (`min_insert_block_size_rows`).
const BLOCK_ROWS_MAX: u64 = 1_000_000;
/// Maximum bytes of such a batch: a quarter of the smallest default (`min_insert_block_size_bytes`), because rows may
/// be larger in memory.
const BLOCK_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How a session sends one op of the workload.
#[derive(Debug)]
pub(super) enum Plan {
    /// A statement with its values in its text: current versions have parameters, but 18.16 has none.
    Query {
        /// Split at the values.
        sql: LiteralSql,
        /// It never changes anything.
        reads: bool,
        /// Rows in its text that it inserts; the server does not report how many it stored.
        inserts: u64,
    },
    /// A batch insert.
    Insert(InsertPlan),
}

/// How batches are inserted.
#[derive(Debug)]
pub(super) struct InsertPlan {
    /// `INSERT INTO … FORMAT Native` and the line feed after it.
    pub(super) head: Vec<u8>,
    /// In the order of the statement's column list.
    pub(super) columns: Vec<NativeColumn>,
    /// How rows are written.
    pub(super) format: Format,
    /// A block is stored as a whole or not at all.
    pub(super) is_atomic: bool,
    /// Rows are forwarded to other servers, some of which may store theirs when one fails.
    pub(super) is_distributed: bool,
}

impl InsertPlan {
    /// Whether a batch of this size is stored as a whole or not at all, once its complete request has arrived.
    pub(super) fn is_whole(&self, rows: u64, bytes: usize) -> bool {
        let is_block =
            self.format == Format::Native || (rows <= BLOCK_ROWS_MAX && bytes <= BLOCK_BYTES_MAX);
        self.is_atomic && is_block
    }

    /// Whether a truncated request adds nothing: its first part is not a valid request.
    pub(super) fn refuses_cuts(&self) -> bool {
        self.format == Format::Native
    }
}

/// Encodes for one session.
pub(super) struct BlockEncoder {
    plans: Rc<[Plan]>,
    words: Words,
}

impl BlockEncoder {
    pub(super) fn new(plans: &Rc<[Plan]>) -> Self {
        // All batches of a session have the same format.
        let is_json =
            |plan: &Plan| matches!(plan, Plan::Insert(plan) if plan.format == Format::JsonEachRow);
        let put_text = if plans.iter().any(is_json) { put_json_text } else { native::put_text };
        Self { plans: Rc::clone(plans), words: Words::new(put_text) }
    }

    fn put(&mut self, op: &Op, out: &mut Vec<u8>) {
        match (self.plans.get(usize::from(op.id.0)), &op.body) {
            (Some(Plan::Query { sql, .. }), OpBody::Query(values)) => {
                let mut text = String::new();
                sql.write(values, LiteralStyle::Numbers, &mut text);
                out.extend_from_slice(text.as_bytes());
            }
            (Some(Plan::Insert(plan)), OpBody::Insert(batch)) if batch.rows > 0 => {
                out.extend_from_slice(&plan.head);
                self.words.begin_batch();
                if put_batch(out, plan, batch, &mut self.words).is_none() {
                    out.clear();
                }
            }
            _ => {}
        }
    }
}

impl Encoder for BlockEncoder {
    fn encode(&mut self, request: &mut Request) {
        request.bytes.clear();
        self.put(&request.op, &mut request.bytes);
    }
}

/// Writes the rows of a batch; `None` if a value does not fit.
fn put_batch(
    out: &mut Vec<u8>,
    plan: &InsertPlan,
    batch: &RowBatch,
    words: &mut Words,
) -> Option<()> {
    if plan.format != Format::Native {
        return put_rows(out, plan.format, &plan.columns, batch, words);
    }
    native::put_length(out, plan.columns.len());
    native::put_length(out, batch.rows);
    for column in &plan.columns {
        native::put_column(out, column, batch, words)?;
    }
    Some(())
}

/// A column of a batch, and its values.
struct Column<'b> {
    native: NativeType,
    nullable: bool,
    /// Which rows have no value; empty if all have one.
    nulls: &'b [bool],
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
fn put_rows(
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
                out.push(u8::from(column.is_null(row)));
            }
            if column.is_null(row) {
                continue;
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
    let data = batch.columns.get(position)?;
    let nulls = match data {
        ColumnData::Nullable(_, nulls) if column.nullable => nulls.as_slice(),
        ColumnData::Nullable(..) => return None,
        _ => &[],
    };
    let values = match data.values() {
        ColumnData::Nullable(..) => return None,
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
    Some(Column { native: column.native, nullable: column.nullable, nulls, key, values })
}

impl Column<'_> {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.get(row) == Some(&true)
    }

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
        if column.is_null(row) {
            out.extend_from_slice(b"null");
            continue;
        }
        column.put_json(out, row, words)?;
    }
    // Replaces the first comma.
    *out.get_mut(begin)? = b'{';
    out.extend_from_slice(b"}\n");
    Some(())
}

/// Writes a quoted text, with escapes.
fn put_json_text(out: &mut Vec<u8>, text: &str) {
    // Writing to a vector cannot fail, and every text is representable.
    drop(serde_json::to_writer(out, text));
}
