//! Encodes an op as request bytes: a statement with its values in it, or an insert followed by its rows, as one block
//! in Native format, column by column, or row by row.
//!
//! An encoder cannot fail. A batch with a value that its column's type cannot hold gets no bytes, because the server
//! would silently store another value.

use std::rc::Rc;

use highwater_driver::contract::{Encoder, Request};
use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::op::{Op, OpBody, RowBatch};

use super::insert_mode::Format;

mod native;
mod rows;
mod words;

pub(super) use native::{NativeColumn, NativeType, Source};
use words::Words;

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
        let put_text =
            if plans.iter().any(is_json) { rows::put_json_text } else { native::put_text };
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
        return rows::put_rows(out, plan.format, &plan.columns, batch, words);
    }
    native::put_length(out, plan.columns.len());
    native::put_length(out, batch.rows);
    for column in &plan.columns {
        native::put_column(out, column, batch, words)?;
    }
    Some(())
}

#[cfg(test)]
mod tests;
