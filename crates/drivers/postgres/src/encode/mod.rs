//! Encodes an op as request bytes. All preparation happens here, before the op's start time; a session only writes the
//! result.
//!
//! The insert modes differ only in these bytes: `copy` sends one COPY with its data, `values` multi-row INSERTs,
//! `unnest` one INSERT from arrays, `prepared` one INSERT per row; each is one transaction.
//!
//! One value in the server's binary format, or as text if its column has another type. An encoder cannot fail. A value
//! that does not fit is written in a width that the server rejects (SQLSTATE 22P03), so that the target itself refuses
//! it.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use highwater_driver::cell::{Cell, CivilTime};
use highwater_driver::contract::{Encoder, Request};
use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::numbers::{signed_to_f64, to_f32};
use highwater_model::op::{ColumnType, Op, OpBody, RowBatch, Value};
use highwater_model::transaction::{BoundTransaction, NextStep};

use super::wire::{
    COPY_DONE, EXECUTE, EXECUTE_SYNC, SYNC, finish, finish_field, parse, put_count, put_cstr,
    query, run_prepared, start,
};
use crate::product::Product;

/// Maximum parameters of one statement; the protocol counts them in 16 bits.
const PARAMETERS_MAX: usize = 65_535;
/// A `CopyData` message is ended after this many bytes, so that the server can work while it reads.
const COPY_MESSAGE_BYTES: usize = 64 * 1024;
/// Signature, flags and extension length of binary COPY.
const COPY_HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The prepared statement that begins an explicit transaction.
pub(super) const BEGIN: &str = "b";
/// Ends the transaction begun by [`BEGIN`].
pub(super) const COMMIT: &str = "c";
/// Ends it without effect, where the workload orders that.
pub(super) const ROLLBACK: &str = "r";

/// Insert modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// `COPY … FROM STDIN`.
    Copy,
    /// `INSERT … VALUES (…), (…)`.
    Values,
    /// `INSERT … SELECT … FROM unnest(…)`.
    Unnest,
    /// `INSERT … VALUES (…)` per row, pipelined.
    Prepared,
}

impl Mode {
    /// The values of `--insert` in the order of the modes, the default first.
    pub(super) const NAMES: &[&str] = &["copy", "values", "unnest", "prepared"];

    /// The value of `--insert`.
    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The mode without `--insert`. CockroachDB restricts COPY to administrators, and YugabyteDB makes it one
    /// transaction only with a setting.
    pub(super) fn default_for(product: Product) -> Self {
        match product {
            Product::PostgreSql => Self::Copy,
            _ => Self::Values,
        }
    }

    /// Whether the mode is used with servers of the product: `prepared` would be one statement per row, and the others
    /// are not supported.
    pub(super) fn is_taken_by(self, product: Product) -> bool {
        product != Product::QuestDb || self == Self::Values
    }

    /// Parses a value of `--insert`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Copy, Self::Values, Self::Unnest, Self::Prepared]
            .into_iter()
            .find(|mode| mode.name() == name)
    }
}

/// How a session sends one op of the workload.
#[derive(Debug)]
pub(super) enum Plan {
    /// A prepared query.
    Query(PreparedStatement),
    /// A query with its values in its text: sent as a simple query, never prepared.
    Literal(LiteralSql),
    /// Statements between [`BEGIN`] and its end, each sent after the response to the previous one.
    Transaction(TransactionPlan),
    /// A batch insert.
    Insert(InsertPlan),
}

/// A transaction and its statements.
#[derive(Debug)]
pub(super) struct TransactionPlan {
    pub(super) transaction: BoundTransaction,
    /// For each of its steps, its statement if it is one.
    pub(super) prepared: Vec<Option<PreparedStatement>>,
    /// For each of its steps, the columns of its answer and the positions of their values.
    pub(super) columns: Vec<Vec<(usize, usize)>>,
}

impl TransactionPlan {
    /// Writes the request for a step.
    pub(super) fn write(&self, out: &mut Vec<u8>, step: NextStep<'_>, values: &[Value]) {
        match step {
            NextStep::Statement(position, statement, _) => {
                if let Some(Some(prepared)) = self.prepared.get(position) {
                    bind_query(out, prepared, statement.values_of(values));
                    out.extend_from_slice(&EXECUTE_SYNC);
                }
            }
            NextStep::Pause(_) => {}
            NextStep::End { rolls_back: true } => self.bracket(out, ROLLBACK, "ROLLBACK"),
            NextStep::End { rolls_back: false } => self.bracket(out, COMMIT, "COMMIT"),
        }
    }

    /// Writes a statement that begins or ends the transaction.
    fn bracket(&self, out: &mut Vec<u8>, name: &str, sql: &str) {
        let unnamed = self.prepared.iter().flatten().any(|prepared| prepared.name.is_empty());
        if unnamed {
            parse(out, "", sql, &[]);
        }
        run_prepared(out, if unnamed { "" } else { name });
        out.extend_from_slice(&SYNC);
    }
}

/// A prepared statement.
#[derive(Debug)]
pub(super) struct PreparedStatement {
    /// Its name; empty if a pooler shares the server's connections.
    pub(super) name: String,
    /// Parse for an unnamed statement: sent before each execution.
    pub(super) parse: Vec<u8>,
    pub(super) parameters: Vec<Field>,
}

/// How batches are inserted.
#[derive(Debug)]
pub(super) struct InsertPlan {
    pub(super) mode: Mode,
    /// Name of the statement; for `values`, the prefix of the names.
    pub(super) statement: String,
    /// The statement's text: COPY, or INSERT up to its rows.
    pub(super) sql: String,
    pub(super) columns: Vec<Field>,
    /// Maximum rows of one statement for `values`.
    pub(super) values_max: usize,
    /// The Parse message for `unnest` and `prepared`, as with a query.
    pub(super) parse: Vec<u8>,
    /// The same for `values`, whose text has one placeholder per value of the batch.
    pub(super) last_parse: Option<LastParse>,
    /// Whether several statements need [`BEGIN`] and [`COMMIT`] to form one transaction.
    pub(super) wrap: bool,
}

impl InsertPlan {
    /// Maximum rows of one statement.
    pub(super) fn rows_per_statement(&self) -> usize {
        match self.mode {
            Mode::Copy | Mode::Unnest => usize::MAX,
            Mode::Values => (PARAMETERS_MAX / self.columns.len().max(1)).clamp(1, self.values_max),
            Mode::Prepared => 1,
        }
    }

    /// Whether every column has a binary form.
    pub(super) fn binary(&self) -> bool {
        self.columns.iter().all(|field| field.form != Form::AsText)
    }

    /// Name of the prepared statement for this many rows.
    pub(super) fn statement_for(&self, rows: usize) -> String {
        match self.mode {
            Mode::Values if self.last_parse.is_none() => format!("{}_{rows}", self.statement),
            Mode::Values => String::new(),
            Mode::Copy | Mode::Unnest | Mode::Prepared => self.statement.clone(),
        }
    }
}

/// Encodes for one session.
pub(super) struct WireEncoder {
    pub(super) plans: Rc<[Plan]>,
}

impl Encoder for WireEncoder {
    fn encode(&mut self, request: &mut Request) {
        request.bytes.clear();
        encode(&self.plans, &request.op, &mut request.bytes);
    }
}

/// Writes the request bytes of `op`; nothing if the op does not fit its plan.
pub(super) fn encode(plans: &[Plan], op: &Op, out: &mut Vec<u8>) {
    match (plans.get(usize::from(op.id.0)), &op.body) {
        (Some(Plan::Query(prepared)), OpBody::Query(values)) => {
            bind_query(out, prepared, values.iter());
            out.extend_from_slice(&EXECUTE_SYNC);
        }
        (Some(Plan::Literal(sql)), OpBody::Query(values)) => {
            let mut text = String::new();
            sql.write(values, LiteralStyle::Standard, &mut text);
            query(out, &text);
        }
        (Some(Plan::Transaction(plan)), OpBody::Query(values)) => {
            transaction(out, plan, values);
        }
        (Some(Plan::Insert(plan)), OpBody::Insert(batch)) => match plan.mode {
            Mode::Copy => copy(out, plan, batch),
            Mode::Unnest => unnest(out, plan, batch),
            Mode::Values | Mode::Prepared => values_pipeline(out, plan, batch),
        },
        _ => {}
    }
}

/// One exchange per statement, so that each can wait for the response to the previous one, up to a statement whose answer
/// later steps use.
fn transaction(out: &mut Vec<u8>, plan: &TransactionPlan, values: &[Value]) {
    plan.bracket(out, BEGIN, "BEGIN");
    let mut walk = plan.transaction.walk(values);
    while let Ok(step) = walk.step() {
        plan.write(out, step, values);
        if matches!(step, NextStep::Statement(_, _, Some(_)) | NextStep::End { .. }) {
            return;
        }
    }
}

fn bind_query<'v>(
    out: &mut Vec<u8>,
    prepared: &PreparedStatement,
    values: impl ExactSizeIterator<Item = &'v Value>,
) {
    out.extend_from_slice(&prepared.parse);
    let at = start(out, b'B');
    out.push(0);
    put_cstr(out, &prepared.name);
    put_formats(out, &prepared.parameters, 1);
    put_count(out, values.len());
    for (index, given) in values.enumerate() {
        let form = prepared.parameters.get(index).map_or(Form::AsText, |field| field.form);
        put_cell(out, form, Cell::of_value(given));
    }
    // Results as text, which every type supports.
    put_count(out, 0);
    finish(out, at);
}

/// Format codes of `rows` times these fields: a single one if all are equal.
fn put_formats(out: &mut Vec<u8>, fields: &[Field], rows: usize) {
    let first = fields.first().map_or(0, |field| field.format());
    if fields.iter().all(|field| field.format() == first) {
        put_count(out, 1);
        out.extend_from_slice(&first.to_be_bytes());
        return;
    }
    put_count(out, fields.len() * rows);
    for _ in 0..rows {
        for field in fields {
            out.extend_from_slice(&field.format().to_be_bytes());
        }
    }
}

/// Bind and Execute for each part of the batch, and one Sync: one transaction.
fn values_pipeline(out: &mut Vec<u8>, plan: &InsertPlan, batch: &RowBatch) {
    let piece = plan.rows_per_statement();
    let wrap = plan.wrap && batch.rows > piece;
    if wrap {
        run_prepared(out, BEGIN);
    }
    if plan.mode == Mode::Prepared {
        out.extend_from_slice(&plan.parse);
    }
    let mut first = 0;
    let mut parsed = 0;
    while first < batch.rows {
        let rows = piece.min(batch.rows - first);
        // The unnamed statement exists until the next Parse.
        if let Some(last) =
            plan.last_parse.as_ref().filter(|_| plan.mode == Mode::Values && parsed != rows)
        {
            last.write(out, plan, rows);
            parsed = rows;
        }
        let at = start(out, b'B');
        out.push(0);
        match plan.mode {
            // The hot path of `prepared` builds no name.
            Mode::Prepared => put_cstr(out, &plan.statement),
            _ => put_cstr(out, &plan.statement_for(rows)),
        }
        put_formats(out, &plan.columns, rows);
        put_count(out, rows * plan.columns.len());
        for row in first..first + rows {
            put_row(out, plan, batch, row);
        }
        put_count(out, 0);
        finish(out, at);
        out.extend_from_slice(&EXECUTE);
        first += rows;
    }
    if wrap {
        run_prepared(out, COMMIT);
    }
    out.extend_from_slice(&SYNC);
}

fn put_row(out: &mut Vec<u8>, plan: &InsertPlan, batch: &RowBatch, row: usize) {
    for (index, field) in plan.columns.iter().enumerate() {
        let value = batch.columns.get(index).map_or(Cell::Null, |column| Cell::of_row(column, row));
        put_cell(out, field.form, value);
    }
}

/// One array per column.
fn unnest(out: &mut Vec<u8>, plan: &InsertPlan, batch: &RowBatch) {
    out.extend_from_slice(&plan.parse);
    let at = start(out, b'B');
    out.push(0);
    put_cstr(out, &plan.statement);
    put_count(out, 1);
    out.extend_from_slice(&1i16.to_be_bytes());
    put_count(out, plan.columns.len());
    for (index, field) in plan.columns.iter().enumerate() {
        let array = out.len();
        out.extend_from_slice(&[0; 4]);
        // One dimension, no nulls declared (the server checks itself), lower bound 1.
        out.extend_from_slice(&i32::from(batch.rows > 0).to_be_bytes());
        out.extend_from_slice(&0i32.to_be_bytes());
        out.extend_from_slice(&field.oid.to_be_bytes());
        if batch.rows > 0 {
            let rows = u32::try_from(batch.rows).unwrap_or(u32::MAX);
            out.extend_from_slice(&rows.to_be_bytes());
            out.extend_from_slice(&1i32.to_be_bytes());
        }
        for row in 0..batch.rows {
            let value =
                batch.columns.get(index).map_or(Cell::Null, |column| Cell::of_row(column, row));
            put_cell(out, field.form, value);
        }
        finish_field(out, array);
    }
    put_count(out, 0);
    finish(out, at);
    out.extend_from_slice(&EXECUTE_SYNC);
}

/// The COPY statement and its data together; a server that rejects the statement ignores the data, as the protocol
/// requires.
fn copy(out: &mut Vec<u8>, plan: &InsertPlan, batch: &RowBatch) {
    query(out, &plan.sql);
    let binary = plan.binary();
    let mut at = start(out, b'd');
    if binary {
        out.extend_from_slice(COPY_HEADER);
    }
    for row in 0..batch.rows {
        if out.len() - at > COPY_MESSAGE_BYTES {
            finish(out, at);
            at = start(out, b'd');
        }
        if binary {
            put_count(out, plan.columns.len());
            put_row(out, plan, batch, row);
        } else {
            put_line(out, plan, batch, row);
        }
    }
    if binary {
        out.extend_from_slice(&(-1i16).to_be_bytes());
    }
    finish(out, at);
    out.extend_from_slice(&COPY_DONE);
}

/// One line of COPY's text format.
fn put_line(out: &mut Vec<u8>, plan: &InsertPlan, batch: &RowBatch, row: usize) {
    for index in 0..plan.columns.len() {
        if index > 0 {
            out.push(b'\t');
        }
        match batch.columns.get(index).map_or(Cell::Null, |column| Cell::of_row(column, row)) {
            Cell::Null => out.extend_from_slice(b"\\N"),
            Cell::Text(text) => put_escaped(out, text),
            value => put_text(out, value),
        }
    }
    out.push(b'\n');
}

fn put_escaped(out: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.push(byte),
        }
    }
}

/// Parse of an unnamed statement for the last number of rows, which the next statement usually needs again.
#[derive(Debug, Default)]
pub(super) struct LastParse(RefCell<(usize, Vec<u8>)>);

impl LastParse {
    /// Writes Parse for this many rows.
    fn write(&self, out: &mut Vec<u8>, plan: &InsertPlan, rows: usize) {
        let mut last = self.0.borrow_mut();
        let (last_rows, bytes) = &mut *last;
        if *last_rows != rows {
            bytes.clear();
            parse_values(bytes, plan, rows);
            *last_rows = rows;
        }
        out.extend_from_slice(bytes);
    }
}

/// Parse of the statement that inserts this many rows by VALUES.
pub(super) fn parse_values(out: &mut Vec<u8>, plan: &InsertPlan, rows: usize) {
    let sql = format!("{} VALUES {}", plan.sql, placeholders(rows, plan.columns.len()));
    let types: Vec<u32> =
        (0..rows).flat_map(|_| plan.columns.iter().map(|field| field.oid)).collect();
    parse(out, &plan.statement_for(rows), &sql, &types);
}

/// `$first, $first+1, …`
pub(super) fn numbers(first: usize, count: usize) -> String {
    let numbers: Vec<String> = (first..first + count).map(|n| format!("${n}")).collect();
    numbers.join(", ")
}

/// `($1, $2), ($3, $4), …`
pub(super) fn placeholders(rows: usize, columns: usize) -> String {
    let rows: Vec<String> =
        (0..rows).map(|row| format!("({})", numbers(row * columns + 1, columns))).collect();
    rows.join(", ")
}

/// Milliseconds from 1970-01-01 to 2000-01-01, where PostgreSQL's time begins.
const EPOCH_MS: i64 = 946_684_800_000;

/// How a column or parameter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
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
    /// The bytes that a text of hexadecimal digits after `\x` names, as the server's own text does; otherwise those of the
    /// text.
    Bytes,
    /// Version byte 1, then text.
    Jsonb,
    /// The type's text format: any other type.
    AsText,
}

/// A format, and the server type that it was chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    form: Form,
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
            ColumnType::Text | ColumnType::Object => {
                matches!(form, Form::Text | Form::Bytes | Form::Jsonb)
            }
        };
        Self { form: if fits { form } else { Form::AsText }, oid }
    }

    /// Format code of the protocol: 0 text, 1 binary.
    fn format(self) -> i16 {
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
        17 => (Form::Bytes, 1001),
        // name
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
fn put_cell(out: &mut Vec<u8>, form: Form, cell: Cell<'_>) {
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
        (Form::Bytes, Cell::Text(v)) if hexadecimal(v).is_some() => {
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            out.extend(hexadecimal(v).into_iter().flatten());
            finish_field(out, at);
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

/// The bytes that the server's text of them names: `\x` and two digits a byte.
fn hexadecimal(text: &str) -> Option<impl Iterator<Item = u8> + '_> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let is_whole = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
    let value =
        |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = move |pair: &[u8]| Some(value(pair[0])? << 4 | value(pair[1])?);
    is_whole.then(|| digits.chunks_exact(2).filter_map(byte))
}

/// Writes the text format of a value; null writes nothing.
fn put_text(out: &mut Vec<u8>, cell: Cell<'_>) {
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
