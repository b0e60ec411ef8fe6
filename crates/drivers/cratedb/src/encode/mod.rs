//! Encodes an op as the body of its request. The insert modes differ only here: `bulk` sends one statement and one
//! array of values per row, `values` one multi-row INSERT, `unnest` one INSERT from one array per column.
//!
//! This is the hot path of a load: columns are read directly, repeated texts are quoted once per dictionary, and
//! numbers are written without the formatting machinery.

use std::io::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use highwater_model::literal::LiteralStyle;
use highwater_model::op::{ColumnData, Op, OpBody, RowBatch, Value};

use super::json::{self, Numbers};
use super::statements::{InsertPlan, Mode, Plan, head};
use highwater_driver::contract::{Encoder, Request};

/// Encodes for one session.
pub(super) struct BodyEncoder {
    plans: Rc<[Plan]>,
    /// Compression level, and a buffer for the compressed body.
    gzip: Option<(u32, Vec<u8>)>,
    quoted: Quoted,
}

/// Quoted dictionaries, by column.
#[derive(Default)]
struct Quoted(Vec<Option<QuotedDictionary>>);

/// The values of a dictionary as JSON texts, one after the other.
struct QuotedDictionary {
    /// Kept, so that no other dictionary can have the same address.
    source: Arc<[Box<str>]>,
    text: Vec<u8>,
    /// Where each value ends.
    ends: Vec<usize>,
}

impl BodyEncoder {
    pub(super) fn new(plans: &Rc<[Plan]>, gzip: Option<u32>) -> Self {
        Self {
            plans: Rc::clone(plans),
            gzip: gzip.map(|level| (level, Vec::new())),
            quoted: Quoted::default(),
        }
    }
}

impl Encoder for BodyEncoder {
    fn encode(&mut self, request: &mut Request) {
        request.bytes.clear();
        match &mut self.gzip {
            None => encode(&self.plans, &mut self.quoted, &request.op, &mut request.bytes),
            Some((level, body)) => {
                body.clear();
                encode(&self.plans, &mut self.quoted, &request.op, body);
                compress(body, *level, &mut request.bytes);
            }
        }
    }
}

/// An empty body stays empty: it means that the op needs no request.
pub(super) fn compress(body: &[u8], level: u32, out: &mut Vec<u8>) {
    if body.is_empty() {
        return;
    }
    let mut encoder = GzEncoder::new(out, Compression::new(level));
    // Writing to a vector cannot fail.
    drop(encoder.write_all(body));
    drop(encoder.finish());
}

/// Writes the body for `op`; nothing if no request is needed, or if the op does not fit its plan.
fn encode(plans: &[Plan], quoted: &mut Quoted, op: &Op, out: &mut Vec<u8>) {
    match (plans.get(usize::from(op.id.0)), &op.body) {
        (Some(Plan::Query { head }), OpBody::Query(values)) => {
            out.extend_from_slice(head);
            out.extend_from_slice(b"\",\"args\":[");
            for (position, value) in values.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                put_value(out, value);
            }
            out.extend_from_slice(b"]}");
        }
        (Some(Plan::Literal(sql)), OpBody::Query(values)) => {
            let mut text = String::new();
            sql.write(values, LiteralStyle::Standard, &mut text);
            out.extend_from_slice(&head(&text));
            out.extend_from_slice(b"\"}");
        }
        (Some(Plan::Insert(plan)), OpBody::Insert(batch)) => {
            quoted.learn(batch);
            insert(plan, quoted, batch, out);
        }
        _ => {}
    }
}

fn insert(plan: &InsertPlan, quoted: &Quoted, batch: &RowBatch, out: &mut Vec<u8>) {
    match plan.mode {
        Mode::Bulk => {
            out.extend_from_slice(&plan.head);
            out.extend_from_slice(b"\",\"bulk_args\":");
            rows(batch, quoted, [b'[', b']'], out);
            out.push(b'}');
        }
        // Neither mode can represent an empty batch.
        Mode::Values | Mode::Unnest if batch.rows == 0 => {}
        Mode::Values => {
            out.extend_from_slice(&plan.head);
            for row in 0..batch.rows {
                if row > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(&plan.placeholders);
            }
            out.extend_from_slice(b"\",\"args\":");
            rows(batch, quoted, [b' ', b' '], out);
            out.push(b'}');
        }
        Mode::Unnest => {
            out.extend_from_slice(&plan.head);
            out.extend_from_slice(b"\",\"args\":[");
            for (position, column) in batch.columns.iter().enumerate() {
                out.push(if position > 0 { b',' } else { b' ' });
                out.push(b'[');
                column_of(column, quoted.of(position), batch.rows, out);
                out.push(b']');
            }
            out.extend_from_slice(b"]}");
        }
    }
}

/// The values of one column, separated by commas.
fn column_of(
    column: &ColumnData,
    dictionary: Option<&QuotedDictionary>,
    rows: usize,
    out: &mut Vec<u8>,
) {
    if let Some(values) = whole_numbers(column, rows) {
        let mut numbers = Numbers::new();
        for (row, value) in values.iter().enumerate() {
            numbers.put(out, *value, row == 0);
        }
        return numbers.flush(out);
    }
    for row in 0..rows {
        if row > 0 {
            out.push(b',');
        }
        put_cell(out, column, dictionary, row);
    }
}

/// Columns that are written together.
enum Part<'a> {
    /// Adjacent integer columns.
    Numbers(Vec<&'a [i64]>),
    Cell(&'a ColumnData, Option<&'a QuotedDictionary>),
}

/// An array of all rows; the values of each are enclosed in `around`.
fn rows(batch: &RowBatch, quoted: &Quoted, around: [u8; 2], out: &mut Vec<u8>) {
    let [before, after] = around;
    let parts = parts(batch, quoted);
    let mut numbers = Numbers::new();
    out.push(b'[');
    for row in 0..batch.rows {
        if row > 0 {
            out.push(b',');
        }
        out.push(before);
        for (position, part) in parts.iter().enumerate() {
            match part {
                Part::Numbers(columns) => {
                    for (number, values) in columns.iter().enumerate() {
                        numbers.put(out, values[row], position == 0 && number == 0);
                    }
                    numbers.flush(out);
                }
                Part::Cell(column, dictionary) => {
                    if position > 0 {
                        out.push(b',');
                    }
                    put_cell(out, column, *dictionary, row);
                }
            }
        }
        out.push(after);
    }
    out.push(b']');
}

/// The columns of a batch, with adjacent integer columns grouped.
fn parts<'a>(batch: &'a RowBatch, quoted: &'a Quoted) -> Vec<Part<'a>> {
    let mut parts = Vec::with_capacity(batch.columns.len());
    for (position, column) in batch.columns.iter().enumerate() {
        match (whole_numbers(column, batch.rows), parts.last_mut()) {
            (Some(values), Some(Part::Numbers(columns))) => columns.push(values),
            (Some(values), _) => parts.push(Part::Numbers(vec![values])),
            (None, _) => parts.push(Part::Cell(column, quoted.of(position))),
        }
    }
    parts
}

/// The values of a column with an integer for each of these rows.
fn whole_numbers(column: &ColumnData, rows: usize) -> Option<&[i64]> {
    match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => values.get(..rows),
        _ => None,
    }
}

/// The value of a row; a missing row is null.
#[inline]
fn put_cell(
    out: &mut Vec<u8>,
    column: &ColumnData,
    dictionary: Option<&QuotedDictionary>,
    row: usize,
) {
    let there = match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => {
            values.get(row).map(|value| json::put_integer(out, *value))
        }
        ColumnData::Float(values) => values.get(row).map(|value| json::put_float(out, *value)),
        ColumnData::Boolean(values) => values.get(row).map(|value| json::put_boolean(out, *value)),
        ColumnData::Text(values) => values.get(row).map(|value| json::put_text(out, value)),
        ColumnData::TextDictionary(coded) => coded
            .codes
            .get(row)
            .and_then(|code| dictionary?.value(*code))
            .map(|text| out.extend_from_slice(text)),
        // An object is JSON already.
        ColumnData::ObjectDictionary(coded) => coded
            .codes
            .get(row)
            .and_then(|code| coded.values.get(usize::try_from(*code).ok()?))
            .map(|text| out.extend_from_slice(text.as_bytes())),
    };
    if there.is_none() {
        out.extend_from_slice(b"null");
    }
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Integer(v) | Value::TimestampMs(v) => json::put_integer(out, *v),
        Value::Float(v) => json::put_float(out, *v),
        Value::Boolean(v) => json::put_boolean(out, *v),
        Value::Text(v) => json::put_text(out, v),
    }
}

impl Quoted {
    /// Quotes the dictionaries of a batch that are new.
    fn learn(&mut self, batch: &RowBatch) {
        self.0.resize_with(batch.columns.len(), || None);
        for (column, quoted) in batch.columns.iter().zip(&mut self.0) {
            let ColumnData::TextDictionary(coded) = column else {
                continue;
            };
            let cached =
                quoted.as_ref().is_some_and(|quoted| Arc::ptr_eq(&quoted.source, &coded.values));
            if !cached {
                *quoted = Some(QuotedDictionary::new(&coded.values));
            }
        }
    }

    fn of(&self, column: usize) -> Option<&QuotedDictionary> {
        self.0.get(column)?.as_ref()
    }
}

impl QuotedDictionary {
    fn new(source: &Arc<[Box<str>]>) -> Self {
        let mut text = Vec::new();
        let mut ends = Vec::with_capacity(source.len());
        for value in source.iter() {
            json::put_text(&mut text, value);
            ends.push(text.len());
        }
        Self { source: Arc::clone(source), text, ends }
    }

    fn value(&self, code: u32) -> Option<&[u8]> {
        let code = usize::try_from(code).ok()?;
        let end = *self.ends.get(code)?;
        let start =
            code.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.text.get(start..end)
    }
}

#[cfg(test)]
mod tests;
