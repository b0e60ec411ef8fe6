//! Encodes an op as request bytes. All preparation happens here, before the op's start time; a session only writes the
//! result.
//!
//! The insert modes differ only in these bytes: `values` sends multi-row INSERTs with their values as text, `prepared`
//! one INSERT per row, `load-data` a LOAD DATA LOCAL and its lines. Several commands form one transaction, which
//! [`OPEN`] precedes.

use std::rc::Rc;

use highwater_driver::cell::Cell;
use highwater_driver::contract::{Encoder, Request};
use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::op::{BoundStatement, Op, OpBody, RowBatch, Value};

use super::packet;

mod binary;
mod text;

/// Begins the transaction of a batch of several commands. Unlike BEGIN, it stays in force after a deadlock, which rolls
/// back: later commands are in a new transaction, and not committed separately.
pub(super) const OPEN: &str = "SET autocommit = 0";
/// Ends what [`OPEN`] began, after COMMIT or ROLLBACK.
pub(super) const CLOSE: &str = "SET autocommit = 1";
/// Begins a transaction of statements, each of which is sent after the response to the previous one.
const BEGIN: &str = "START TRANSACTION";
/// Ends it.
pub(super) const COMMIT: &str = "COMMIT";
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
    pub(super) fn of(name: &str) -> Option<Self> {
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
    Query(Prepared),
    /// A query with its values in its text: never prepared.
    Literal(LiteralSql),
    /// Statements between [`BEGIN`] and [`COMMIT`].
    Transaction(Vec<(Prepared, BoundStatement)>),
    /// A batch insert.
    Insert(InsertPlan),
}

/// A prepared statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    /// The server's statement id.
    pub(super) id: u32,
    /// For each placeholder, the index of its value.
    pub(super) values: Vec<usize>,
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
            packet::query(out, &text);
        }
        (Some(Plan::Transaction(statements)), OpBody::Query(values)) => {
            transaction(out, statements, values);
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
    prepared: &Prepared,
    value: impl Fn(usize) -> Option<&'v Value> + Clone,
) {
    let cells = prepared
        .values
        .iter()
        .map(move |position| value(*position).map_or(Cell::Null, Cell::of_value));
    binary::execute(out, prepared.id, cells);
}

/// One command per statement, so that each can wait for the response to the previous one.
fn transaction(out: &mut Vec<u8>, statements: &[(Prepared, BoundStatement)], values: &[Value]) {
    packet::query(out, BEGIN);
    for (prepared, statement) in statements {
        let own: Vec<&Value> = statement.values_of(values).collect();
        execute(out, prepared, |position| own.get(position).copied());
    }
    packet::query(out, COMMIT);
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
        text::values(out, plan.row(batch, row));
        if out.len() - at > plan.bytes_max && begin > first {
            let moved = out.split_off(begin);
            packet::finish(out, at);
            at = start_values(out, plan);
            first = out.len();
            // Without the leading comma.
            out.extend_from_slice(moved.get(1..).unwrap_or_default());
            statements += 1;
        }
    }
    packet::finish(out, at);
    if statements > 1 {
        let mut open = Vec::new();
        packet::query(&mut open, OPEN);
        out.splice(0..0, open);
    }
}

fn start_values(out: &mut Vec<u8>, plan: &InsertPlan) -> usize {
    let at = packet::start_query(out);
    out.extend_from_slice(plan.sql.as_bytes());
    at
}

fn rows_prepared(out: &mut Vec<u8>, plan: &InsertPlan, batch: &RowBatch) {
    if batch.rows > 1 {
        packet::query(out, OPEN);
    }
    for row in 0..batch.rows {
        binary::execute(out, plan.id, plan.row(batch, row));
    }
}

/// The statement; then, for the server's request, the lines and their end.
fn rows_as_lines(out: &mut Vec<u8>, plan: &InsertPlan, batch: &RowBatch) {
    packet::query(out, &plan.sql);
    let mut sequence = LINES_SEQUENCE;
    let mut at = packet::start(out, sequence);
    for row in 0..batch.rows {
        if out.len() - at > LINES_BYTES {
            packet::finish(out, at);
            sequence = sequence.wrapping_add(1);
            at = packet::start(out, sequence);
        }
        text::line(out, plan.row(batch, row));
    }
    packet::finish(out, at);
    let at = packet::start(out, sequence.wrapping_add(1));
    packet::finish(out, at);
}

#[cfg(test)]
mod tests;
