//! From an op to its request bytes: a statement with its values in it, or an insert with one block in the
//! format Native behind it, column by column.
//!
//! An encoder cannot fail. A batch with a value that its column's type cannot hold has no bytes: the server
//! would store another value, and say nothing.

use std::rc::Rc;

use highwater_driver::contract::{Encoder, Request};
use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::op::{Op, OpBody, RowBatch};

mod native;
mod native_type;

pub(super) use native_type::{NativeColumn, NativeType, Source};

/// The name of `--insert`.
pub(super) const NATIVE: &str = "native";

/// How a session sends one op of the workload.
#[derive(Debug)]
pub(super) enum Plan {
    /// A statement with its values in its text: versions of today have parameters, and 18.16 has none.
    Query {
        /// Cut where values go.
        sql: LiteralSql,
        /// It changes nothing, whatever becomes of it.
        reads: bool,
    },
    /// A batch insert.
    Insert(InsertPlan),
}

/// How batches are inserted.
#[derive(Debug)]
pub(super) struct InsertPlan {
    /// `INSERT INTO … FORMAT Native` and the line feed behind it.
    pub(super) head: Vec<u8>,
    /// In the order of the head.
    pub(super) columns: Vec<NativeColumn>,
    /// A block is stored as a whole or not at all.
    pub(super) is_atomic: bool,
}

/// Encodes for one session.
pub(super) struct BlockEncoder {
    plans: Rc<[Plan]>,
    words: native::Words,
}

impl BlockEncoder {
    pub(super) fn new(plans: &Rc<[Plan]>) -> Self {
        Self {
            plans: Rc::clone(plans),
            words: native::Words::default(),
        }
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
                if put_block(out, plan, batch, &mut self.words).is_none() {
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

/// Writes one block; none if a value does not fit.
fn put_block(
    out: &mut Vec<u8>,
    plan: &InsertPlan,
    batch: &RowBatch,
    words: &mut native::Words,
) -> Option<()> {
    native::put_length(out, plan.columns.len());
    native::put_length(out, batch.rows);
    for column in &plan.columns {
        native::put_column(out, column, batch, words)?;
    }
    Some(())
}

#[cfg(test)]
mod tests;
