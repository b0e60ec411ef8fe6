//! Encodes an op as the body of its request. The insert modes differ only here: `bulk` sends one statement and one
//! array of values per row, `values` one multi-row INSERT, `unnest` one INSERT from one array per column.
//!
//! This is the hot path of a load: columns are read directly, repeated texts are quoted once per dictionary, and
//! numbers are written without the formatting machinery.
//!
//! JSON values are written directly into a byte vector, and the JSON quoting of the workload's statements is done once.

#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;

use highwater_driver::contract::{Encoder, Request};
use highwater_driver::sql::connection::insert_into;
use highwater_driver::sql::dialect::quoted;
use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::op::{
    BoundOpKind, BoundTable, BoundWorkload, ColumnData, Op, OpBody, RowBatch, Value,
};
use highwater_model::user_error::UserError;

/// Encodes for one session.
pub(super) struct BodyEncoder {
    plans: Rc<[Plan]>,
    /// Compression level, and a buffer for the compressed body.
    gzip: Option<(u32, Vec<u8>)>,
    quoted: QuotedDictionaries,
}

/// Quoted dictionaries, by column.
#[derive(Default)]
struct QuotedDictionaries(Vec<Option<QuotedDictionary>>);

/// The values of a dictionary as JSON texts, one after the other.
struct QuotedDictionary {
    /// Kept, so that no other dictionary can have the same address.
    source: Arc<[Box<str>]>,
    text: Vec<u8>,
    /// The end position of each value.
    ends: Vec<usize>,
}

impl BodyEncoder {
    pub(super) fn new(plans: &Rc<[Plan]>, gzip: Option<u32>) -> Self {
        Self {
            plans: Rc::clone(plans),
            gzip: gzip.map(|level| (level, Vec::new())),
            quoted: QuotedDictionaries::default(),
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
fn encode(plans: &[Plan], quoted: &mut QuotedDictionaries, op: &Op, out: &mut Vec<u8>) {
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

fn insert(plan: &InsertPlan, quoted: &QuotedDictionaries, batch: &RowBatch, out: &mut Vec<u8>) {
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
                column_of(column, quoted.for_column(position), batch.rows, out);
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
fn rows(batch: &RowBatch, quoted: &QuotedDictionaries, around: [u8; 2], out: &mut Vec<u8>) {
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
fn parts<'a>(batch: &'a RowBatch, quoted: &'a QuotedDictionaries) -> Vec<Part<'a>> {
    let mut parts = Vec::with_capacity(batch.columns.len());
    for (position, column) in batch.columns.iter().enumerate() {
        match (whole_numbers(column, batch.rows), parts.last_mut()) {
            (Some(values), Some(Part::Numbers(columns))) => columns.push(values),
            (Some(values), _) => parts.push(Part::Numbers(vec![values])),
            (None, _) => parts.push(Part::Cell(column, quoted.for_column(position))),
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
    let there = match column.values() {
        _ if column.is_null(row) => None,
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => {
            values.get(row).map(|value| put_integer(out, *value))
        }
        ColumnData::Float(values) => values.get(row).map(|value| put_float(out, *value)),
        ColumnData::Boolean(values) => values.get(row).map(|value| put_boolean(out, *value)),
        ColumnData::Text(values) => values.get(row).map(|value| put_text(out, value)),
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
        ColumnData::Nullable(..) => None,
    };
    if there.is_none() {
        out.extend_from_slice(b"null");
    }
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Integer(v) | Value::TimestampMs(v) => put_integer(out, *v),
        Value::Float(v) => put_float(out, *v),
        Value::Boolean(v) => put_boolean(out, *v),
        Value::Text(v) => put_text(out, v),
    }
}

impl QuotedDictionaries {
    /// Quotes the dictionaries of a batch that are new.
    fn learn(&mut self, batch: &RowBatch) {
        self.0.resize_with(batch.columns.len(), || None);
        for (column, quoted) in batch.columns.iter().zip(&mut self.0) {
            let ColumnData::TextDictionary(coded) = column.values() else {
                continue;
            };
            let cached =
                quoted.as_ref().is_some_and(|quoted| Arc::ptr_eq(&quoted.source, &coded.values));
            if !cached {
                *quoted = Some(QuotedDictionary::new(&coded.values));
            }
        }
    }

    fn for_column(&self, column: usize) -> Option<&QuotedDictionary> {
        self.0.get(column)?.as_ref()
    }
}

impl QuotedDictionary {
    fn new(source: &Arc<[Box<str>]>) -> Self {
        let mut text = Vec::new();
        let mut ends = Vec::with_capacity(source.len());
        for value in source.iter() {
            put_text(&mut text, value);
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

/// Size of the buffer in bytes.
const TEXT_BYTES: usize = 512;
/// Maximum bytes of a number with its comma.
const NUMBER_BYTES: usize = 24;

/// The numbers of one or two digits, each with a comma before it: most metrics. Their length follows from their value.
const SMALL: [[u8; 4]; 100] = small();

#[expect(clippy::cast_possible_truncation, reason = "digits")]
const fn small() -> [[u8; 4]; 100] {
    let mut all = [[b','; 4]; 100];
    let mut n = 0;
    while n < all.len() {
        let (tens, ones) = (b'0' + (n / 10) as u8, b'0' + (n % 10) as u8);
        all[n] = if n < 10 { [b',', ones, 0, 0] } else { [b',', tens, ones, 0] };
        n += 1;
    }
    all
}

/// Buffers consecutive integers of a row, so that the vector's capacity is checked once for all of them.
struct Numbers {
    text: [u8; TEXT_BYTES],
    start: usize,
    end: usize,
    /// The last number of more than two digits, and its text: times repeat for many rows.
    last: i64,
    last_text: [u8; NUMBER_BYTES],
    last_length: usize,
}

impl Numbers {
    pub(super) const fn new() -> Self {
        Self {
            text: [0; TEXT_BYTES],
            start: 0,
            end: 0,
            // A small number, which is never looked up among the long ones.
            last: 0,
            last_text: [0; NUMBER_BYTES],
            last_length: 0,
        }
    }

    /// A comma and a number; no comma for the `first` of all values.
    #[inline]
    fn put(&mut self, out: &mut Vec<u8>, value: i64, first: bool) {
        if self.end + NUMBER_BYTES > TEXT_BYTES {
            self.flush(out);
        }
        if first {
            self.start = self.end + 1;
        }
        let room = &mut self.text[self.end..self.end + NUMBER_BYTES];
        match usize::try_from(value) {
            Ok(small) if small < SMALL.len() => {
                room[..4].copy_from_slice(&SMALL[small]);
                self.end += 2 + usize::from(small > 9);
            }
            _ => {
                if value != self.last {
                    let mut buffer = itoa::Buffer::new();
                    let digits = buffer.format(value).as_bytes();
                    self.last = value;
                    self.last_text[0] = b',';
                    self.last_text[1..=digits.len()].copy_from_slice(digits);
                    self.last_length = digits.len() + 1;
                }
                room.copy_from_slice(&self.last_text);
                self.end += self.last_length;
            }
        }
    }

    /// Writes the buffered numbers.
    #[inline]
    fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text[self.start..self.end]);
        (self.start, self.end) = (0, 0);
    }
}

/// Writes an integer.
#[inline]
fn put_integer(out: &mut Vec<u8>, value: i64) {
    // Metrics are mostly small: two digits need no loop.
    match u8::try_from(value) {
        Ok(small @ 0..10) => out.push(b'0' + small),
        Ok(small @ 10..100) => out.extend_from_slice(&[b'0' + small / 10, b'0' + small % 10]),
        _ => {
            let mut buffer = itoa::Buffer::new();
            out.extend_from_slice(buffer.format(value).as_bytes());
        }
    }
}

/// Writes a float so that it reads back to the same bits; a value without a JSON number is written as a text that the
/// server converts.
fn put_float(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        let mut buffer = zmij::Buffer::new();
        out.extend_from_slice(buffer.format_finite(value).as_bytes());
    } else if value.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else if value > 0.0 {
        out.extend_from_slice(b"\"Infinity\"");
    } else {
        out.extend_from_slice(b"\"-Infinity\"");
    }
}

/// Writes `true` or `false`.
fn put_boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Writes a text with its quotes.
fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    put_escaped(out, text);
    out.push(b'"');
}

/// Writes the content of a quoted text.
fn put_escaped(out: &mut Vec<u8>, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let escape = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..0x20 => b'u',
            _ => continue,
        };
        out.extend_from_slice(bytes.get(copied..at).unwrap_or_default());
        out.extend_from_slice(&[b'\\', escape]);
        if escape == b'u' {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            out.extend_from_slice(&[b'0', b'0', DIGITS[high], DIGITS[low]]);
        }
        copied = at + 1;
    }
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
}

/// Insert modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// One statement, and an array of values per row.
    Bulk,
    /// `INSERT … VALUES (…), (…)`.
    Values,
    /// `INSERT … SELECT … FROM UNNEST(…)`.
    Unnest,
}

impl Mode {
    /// The values of `--insert` in the order of the modes, the default first.
    pub(super) const NAMES: &[&str] = &["bulk", "values", "unnest"];

    /// The value of `--insert`.
    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Parses a value of `--insert`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Bulk, Self::Values, Self::Unnest].into_iter().find(|mode| mode.name() == name)
    }
}

/// How a session sends one op of the workload.
#[derive(Debug)]
pub(super) enum Plan {
    /// A query.
    Query {
        /// The body up to the end of the statement's text.
        head: Vec<u8>,
    },
    /// A query with its values in its text.
    Literal(LiteralSql),
    /// A batch insert.
    Insert(InsertPlan),
}

/// How batches are inserted.
#[derive(Debug)]
pub(super) struct InsertPlan {
    pub(super) mode: Mode,
    /// The body up to the end of the statement's text; for `values`, up to its rows.
    pub(super) head: Vec<u8>,
    /// The placeholders of one row, for `values`.
    pub(super) placeholders: Vec<u8>,
    /// The table has a primary key, so that there can be duplicates.
    pub(super) has_key: bool,
}

/// The plans of every op, in the workload's order.
pub(super) fn plans(workload: &BoundWorkload, mode: Mode) -> Result<Vec<Plan>, UserError> {
    let plan = |op: &highwater_model::op::BoundOp| match &op.kind {
        BoundOpKind::Query { sql, .. } => Ok(Plan::Query { head: head(sql) }),
        BoundOpKind::Literal(sql) => Ok(Plan::Literal(sql.clone())),
        BoundOpKind::Transaction(_) => Err(UserError::no_transactions(&op.name)),
        BoundOpKind::Insert { table, .. } => {
            let table = workload.tables.get(*table).ok_or_else(|| {
                UserError::usage(format!("op `{}` inserts into a table that is not there", op.name))
            })?;
            Ok(Plan::Insert(insert_plan(table, mode)))
        }
    };
    workload.ops.iter().map(plan).collect()
}

fn insert_plan(table: &BoundTable, mode: Mode) -> InsertPlan {
    let into = insert_into(table, quoted);
    let marks = vec!["?"; table.columns.len()].join(",");
    let text = match mode {
        Mode::Bulk => format!("{into} VALUES ({marks})"),
        Mode::Values => format!("{into} VALUES "),
        Mode::Unnest => format!("{into} (SELECT * FROM UNNEST({marks}))"),
    };
    InsertPlan {
        mode,
        head: head(&text),
        placeholders: format!("({marks})").into_bytes(),
        has_key: has_key(table),
    }
}

/// Whether the statements that create a table give it a primary key. One of the user's own tables, without such
/// statements, is assumed to have none: a duplicate is then not certain, and is looked up.
fn has_key(table: &BoundTable) -> bool {
    table.create.iter().any(|sql| sql.to_ascii_uppercase().contains("PRIMARY KEY"))
}

/// The body of a request up to the end of the statement's text.
pub(super) fn head(sql: &str) -> Vec<u8> {
    let mut head = b"{\"stmt\":\"".to_vec();
    put_escaped(&mut head, sql);
    head
}
