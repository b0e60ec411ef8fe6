//! Encodes an op as request bytes. All preparation happens here, before the op's start time; a session only writes the
//! result.
//!
//! The insert modes differ only in these bytes: `values` sends multi-row INSERTs with their values as text, `prepared`
//! one INSERT per row, `load-data` a LOAD DATA LOCAL and its lines. Several commands form one transaction, which
//! [`OPEN`] precedes.
//!
//! The execution of a prepared statement, with its values in the protocol's binary format. Values as text: literals of
//! a statement, and fields of a line of LOAD DATA. An encoder cannot fail. A value that cannot be represented is
//! written so that the server rejects it.

#[cfg(test)]
mod tests;

use std::io::Write;
use std::rc::Rc;

use highwater_driver::cell::{Cell, CivilTime};
use highwater_driver::contract::{Encoder, Request};
use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::op::{Op, OpBody, RowBatch, Value};
use highwater_model::transaction::{BoundTransaction, NextStep};

use crate::row::{self, Column};
use crate::wire::{self, command, put_lenenc_bytes};

/// Begins the transaction of a batch of several commands. Unlike BEGIN, it stays in force after a deadlock, which rolls
/// back: later commands are in a new transaction, and not committed separately.
const OPEN: &str = "SET autocommit = 0";
/// Ends what [`OPEN`] began, after COMMIT or ROLLBACK.
pub(super) const CLOSE: &str = "SET autocommit = 1";
/// Begins a transaction of statements, each of which is sent after the response to the previous one.
const BEGIN: &str = "START TRANSACTION";
/// Ends it.
pub(super) const COMMIT: &str = "COMMIT";
/// Ends it without effect.
pub(super) const ROLLBACK: &str = "ROLLBACK";
/// A packet of LOAD DATA's lines is ended after this many bytes, so that the server can work while it reads.
const LINES_BYTES: usize = 64 * 1024;
/// Sequence number of the first packet of lines: after the statement and the server's request.
const LINES_SEQUENCE: u8 = 2;

/// Insert modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// `INSERT … VALUES (…), (…)`, with its values in the text.
    Values,
    /// `INSERT … VALUES (…)` per row, prepared, all sent at once.
    Prepared,
    /// `LOAD DATA LOCAL INFILE`, with its lines from memory.
    LoadData,
}

impl Mode {
    /// The values of `--insert`, the default first.
    pub(super) const NAMES: &[&str] = &["values", "prepared", "load-data"];

    /// The value of `--insert`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Prepared => "prepared",
            Self::LoadData => "load-data",
        }
    }

    /// Parses a value of `--insert`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Values, Self::Prepared, Self::LoadData].into_iter().find(|mode| mode.name() == name)
    }

    /// Whether a batch is applied as a whole or not at all. LOAD DATA LOCAL skips rows that it cannot store.
    pub(super) fn is_atomic(self) -> bool {
        self != Self::LoadData
    }
}

/// How a session sends one op of the workload.
#[derive(Debug)]
pub(super) enum Plan {
    /// A prepared query.
    Query(PreparedStatement),
    /// A query with its values in its text: never prepared.
    Literal(LiteralSql),
    /// Statements between [`BEGIN`] and its end.
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
    /// The values in the last row of a step's answer.
    pub(super) fn values_of(&self, position: usize, row: &[u8]) -> Option<Vec<(usize, Value)>> {
        let prepared = self.prepared.get(position)?.as_ref()?;
        row::values_of(row, &prepared.columns, self.columns.get(position)?)
    }

    /// Writes the command for a step; that of COMMIT is left to the session.
    pub(super) fn write(&self, out: &mut Vec<u8>, step: NextStep<'_>, values: &[Value]) {
        match step {
            NextStep::Statement(position, statement, _) => {
                if let Some(Some(prepared)) = self.prepared.get(position) {
                    let own: Vec<&Value> = statement.values_of(values).collect();
                    execute(out, prepared, |position| own.get(position).copied());
                }
            }
            NextStep::End { rolls_back: true } => wire::query(out, ROLLBACK),
            NextStep::Pause(_) | NextStep::End { rolls_back: false } => {}
        }
    }
}

/// A prepared statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PreparedStatement {
    /// The server's statement id.
    pub(super) id: u32,
    /// For each placeholder, the index of its value.
    pub(super) values: Vec<usize>,
    /// The columns that it returns.
    pub(super) columns: Vec<Column>,
}

/// How batches are inserted.
#[derive(Debug)]
pub(super) struct InsertPlan {
    pub(super) mode: Mode,
    /// The prepared statement of `prepared`.
    pub(super) id: u32,
    /// The statement's text: INSERT up to its rows, or LOAD DATA.
    pub(super) sql: String,
    pub(super) columns: usize,
    /// Maximum bytes of one statement, unless a single row is longer.
    pub(super) bytes_max: usize,
}

impl InsertPlan {
    fn row<'b>(&self, batch: &'b RowBatch, row: usize) -> impl Iterator<Item = Cell<'b>> + Clone {
        (0..self.columns).map(move |column| {
            let data = batch.columns.get(column);
            data.map_or(Cell::Null, |data| Cell::of_row(data, row))
        })
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

/// Writes the request bytes of `op`; nothing if the op does not fit its plan, or has no rows.
pub(super) fn encode(plans: &[Plan], op: &Op, out: &mut Vec<u8>) {
    match (plans.get(usize::from(op.id.0)), &op.body) {
        (Some(Plan::Query(prepared)), OpBody::Query(values)) => {
            execute(out, prepared, |position| values.get(position));
        }
        (Some(Plan::Literal(sql)), OpBody::Query(values)) => {
            let mut text = String::new();
            sql.write(values, LiteralStyle::Backslashes, &mut text);
            wire::query(out, &text);
        }
        (Some(Plan::Transaction(plan)), OpBody::Query(values)) => {
            transaction(out, plan, values);
        }
        (Some(Plan::Insert(plan)), OpBody::Insert(batch)) if batch.rows > 0 => match plan.mode {
            Mode::Values => rows_as_values(out, plan, batch),
            Mode::Prepared => rows_prepared(out, plan, batch),
            Mode::LoadData => rows_as_lines(out, plan, batch),
        },
        _ => {}
    }
}

fn execute<'v>(
    out: &mut Vec<u8>,
    prepared: &PreparedStatement,
    value: impl Fn(usize) -> Option<&'v Value> + Clone,
) {
    let cells = prepared
        .values
        .iter()
        .map(move |position| value(*position).map_or(Cell::Null, Cell::of_value));
    write_execution(out, prepared.id, cells);
}

/// One command per statement, so that each can wait for the response to the previous one, up to a statement whose answer
/// later steps use.
fn transaction(out: &mut Vec<u8>, plan: &TransactionPlan, values: &[Value]) {
    wire::query(out, BEGIN);
    let mut walk = plan.transaction.walk(values);
    while let Ok(step) = walk.step() {
        plan.write(out, step, values);
        if matches!(step, NextStep::Statement(_, _, Some(_)) | NextStep::End { .. }) {
            return;
        }
    }
}

/// As few statements as the server's limit allows.
fn rows_as_values(out: &mut Vec<u8>, plan: &InsertPlan, batch: &RowBatch) {
    let mut statements = 1;
    let mut at = start_values(out, plan);
    let mut first = out.len();
    for row in 0..batch.rows {
        let begin = out.len();
        if begin > first {
            out.push(b',');
        }
        values(out, plan.row(batch, row));
        if out.len() - at > plan.bytes_max && begin > first {
            let moved = out.split_off(begin);
            wire::finish(out, at);
            at = start_values(out, plan);
            first = out.len();
            // Without the leading comma.
            out.extend_from_slice(moved.get(1..).unwrap_or_default());
            statements += 1;
        }
    }
    wire::finish(out, at);
    if statements > 1 {
        let mut open = Vec::new();
        wire::query(&mut open, OPEN);
        out.splice(0..0, open);
    }
}

fn start_values(out: &mut Vec<u8>, plan: &InsertPlan) -> usize {
    let at = wire::start_query(out);
    out.extend_from_slice(plan.sql.as_bytes());
    at
}

fn rows_prepared(out: &mut Vec<u8>, plan: &InsertPlan, batch: &RowBatch) {
    if batch.rows > 1 {
        wire::query(out, OPEN);
    }
    for row in 0..batch.rows {
        write_execution(out, plan.id, plan.row(batch, row));
    }
}

/// The statement; then, for the server's request, the lines and their end.
fn rows_as_lines(out: &mut Vec<u8>, plan: &InsertPlan, batch: &RowBatch) {
    wire::query(out, &plan.sql);
    let mut sequence = LINES_SEQUENCE;
    let mut at = wire::start(out, sequence);
    for row in 0..batch.rows {
        if out.len() - at > LINES_BYTES {
            wire::finish(out, at);
            sequence = sequence.wrapping_add(1);
            at = wire::start(out, sequence);
        }
        line(out, plan.row(batch, row));
    }
    wire::finish(out, at);
    let at = wire::start(out, sequence.wrapping_add(1));
    wire::finish(out, at);
}

const TINY: u8 = 1;
const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const LONGLONG: u8 = 8;
const DATETIME: u8 = 12;
const VAR_STRING: u8 = 253;

/// Writes one execution, with the types of its values.
fn write_execution<'c>(
    out: &mut Vec<u8>,
    statement: u32,
    cells: impl Iterator<Item = Cell<'c>> + Clone,
) {
    let at = wire::start(out, 0);
    out.push(command::STMT_EXECUTE);
    out.extend_from_slice(&statement.to_le_bytes());
    // No cursor, one iteration.
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    let bitmap = out.len();
    let mut count = 0;
    for (index, cell) in cells.clone().enumerate() {
        if index % 8 == 0 {
            out.push(0);
        }
        if let (Cell::Null, Some(byte)) = (cell, out.last_mut()) {
            *byte |= 1 << (index % 8);
        }
        count += 1;
    }
    if count > 0 {
        debug_assert_eq!(out.len() - bitmap, usize::div_ceil(count, 8));
        // The types follow.
        out.push(1);
        for cell in cells.clone() {
            out.extend_from_slice(&[type_of(cell), 0]);
        }
        for cell in cells {
            put(out, cell);
        }
    }
    wire::finish(out, at);
}

fn type_of(cell: Cell<'_>) -> u8 {
    match cell {
        Cell::Null => NULL,
        Cell::Integer(_) => LONGLONG,
        Cell::Float(_) => DOUBLE,
        Cell::Boolean(_) => TINY,
        Cell::TimestampMs(ms) if has_binary_form(ms) => DATETIME,
        Cell::TimestampMs(_) | Cell::Text(_) => VAR_STRING,
    }
}

/// Whether the server supports the year; others are sent as text, which it rejects.
fn has_binary_form(ms: i64) -> bool {
    (0..=9_999).contains(&CivilTime::of_ms(ms).year)
}

fn put(out: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::Null => {}
        Cell::Integer(v) => out.extend_from_slice(&v.to_le_bytes()),
        Cell::Float(v) => out.extend_from_slice(&v.to_le_bytes()),
        Cell::Boolean(v) => out.push(u8::from(v)),
        Cell::Text(v) => put_lenenc_bytes(out, v.as_bytes()),
        Cell::TimestampMs(ms) if has_binary_form(ms) => {
            let time = CivilTime::of_ms(ms);
            let [a, b] = u16::try_from(time.year).unwrap_or(0).to_le_bytes();
            out.extend_from_slice(&[11, a, b, time.month, time.day]);
            out.extend_from_slice(&[time.hour, time.minute, time.second]);
            let micros = u32::from(time.milli) * 1_000;
            out.extend_from_slice(&micros.to_le_bytes());
        }
        Cell::TimestampMs(ms) => {
            let mut written = Vec::new();
            timestamp(&mut written, ms);
            put_lenenc_bytes(out, &written);
        }
    }
}

/// Writes a row of VALUES.
fn values<'c>(out: &mut Vec<u8>, cells: impl Iterator<Item = Cell<'c>>) {
    let mut before = b'(';
    for cell in cells {
        out.push(before);
        before = b',';
        match cell {
            Cell::Null => out.extend_from_slice(b"NULL"),
            Cell::Text(text) => {
                out.push(b'\'');
                escape(out, text, |byte| match byte {
                    b'\'' => Some(b'\''),
                    b'\\' => Some(b'\\'),
                    0 => Some(b'0'),
                    _ => None,
                });
                out.push(b'\'');
            }
            Cell::TimestampMs(ms) => {
                out.push(b'\'');
                timestamp(out, ms);
                out.push(b'\'');
            }
            cell => number(out, cell),
        }
    }
    out.push(b')');
}

/// Writes a line of LOAD DATA with its default format.
fn line<'c>(out: &mut Vec<u8>, cells: impl Iterator<Item = Cell<'c>>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        match cell {
            Cell::Null => out.extend_from_slice(b"\\N"),
            Cell::Text(text) => escape(out, text, |byte| match byte {
                b'\\' => Some(b'\\'),
                b'\t' => Some(b't'),
                b'\n' => Some(b'n'),
                0 => Some(b'0'),
                _ => None,
            }),
            Cell::TimestampMs(ms) => timestamp(out, ms),
            cell => number(out, cell),
        }
    }
    out.push(b'\n');
}

/// Writes a text in which some bytes are replaced by a backslash and the result of `escaped`.
fn escape(out: &mut Vec<u8>, text: &str, escaped: impl Fn(u8) -> Option<u8>) {
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if let Some(letter) = escaped(*byte) {
            out.extend_from_slice(bytes.get(plain..at).unwrap_or_default());
            out.extend_from_slice(&[b'\\', letter]);
            plain = at + 1;
        }
    }
    out.extend_from_slice(bytes.get(plain..).unwrap_or_default());
}

/// Writes a value that needs no quotes.
fn number(out: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::Integer(v) => {
            out.extend_from_slice(itoa::Buffer::new().format(v).as_bytes());
        }
        Cell::Boolean(v) => out.push(if v { b'1' } else { b'0' }),
        // Without an exponent, it would be a decimal.
        Cell::Float(v) if v.is_finite() => drop(write!(out, "{v:e}")),
        // There is no such literal: a value beyond the maximum is rejected.
        Cell::Float(v) => out.extend_from_slice(if v < 0.0 { b"-1e999" } else { b"1e999" }),
        Cell::Null | Cell::Text(_) | Cell::TimestampMs(_) => {}
    }
}

/// `2026-01-31 23:59:59.123`; the server rejects years that it does not support.
fn timestamp(out: &mut Vec<u8>, ms: i64) {
    let time = CivilTime::of_ms(ms);
    if (0..=9_999).contains(&time.year) {
        let year = u16::try_from(time.year).unwrap_or(0);
        digits(out, u8::try_from(year / 100).unwrap_or(0));
        digits(out, u8::try_from(year % 100).unwrap_or(0));
    } else {
        drop(write!(out, "{}", time.year));
    }
    for (before, number) in [
        (b'-', time.month),
        (b'-', time.day),
        (b' ', time.hour),
        (b':', time.minute),
        (b':', time.second),
    ] {
        out.push(before);
        digits(out, number);
    }
    out.push(b'.');
    out.push(b'0' + u8::try_from(time.milli / 100).unwrap_or(0));
    digits(out, u8::try_from(time.milli % 100).unwrap_or(0));
}

/// Two digits.
fn digits(out: &mut Vec<u8>, number: u8) {
    out.extend_from_slice(&[b'0' + number / 10, b'0' + number % 10]);
}
