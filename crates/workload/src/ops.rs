//! The rows and ops of a workload, each a pure function of its index.
//!
//! An op depends only on (seed, stream, index, context). Read-only streams sample each op independently. If some ops
//! write rows, the ops are shuffled in blocks, so that any number of ops contains the intended fraction of each. The
//! audit determines which of several writes to a key wins.

use std::cell::RefCell;

use highwater_model::numbers::signed_to_f64;
use highwater_model::op::{ColumnData, ColumnType, Op, OpBody, OpId, RowBatch, Value};

use super::definition::{
    Column, OpBodyDefinition, OpDefinition, StreamSpec, Table, WriteKind, Writes,
};
use super::generators::columns::ColumnGenerator;
use super::generators::parameters::OpScope;
use super::generators::plain::Plain;
use super::instance::{OpContext, Workload};
use super::random::Draws;
use super::rows::TableRows;
use super::steps::depends_on_answers;

impl Workload {
    /// Rows of a table from an index on; no columns if there is no such table.
    pub fn row_batch(&self, table: usize, first_row: u64, rows: usize) -> RowBatch {
        let mut batch = RowBatch::default();
        self.fill_row_batch(table, first_row, rows, &mut batch);
        batch
    }

    /// Values that include the extremes of the range of each column's generator; none for a column
    /// whose values follow from the row's index.
    pub fn extremes(&self, table: usize) -> Vec<Vec<Value>> {
        self.tables.get(table).map(TableRows::extremes).unwrap_or_default()
    }

    /// [`Workload::row_batch`] into the memory of another batch of the same table.
    pub fn fill_row_batch(&self, table: usize, first_row: u64, rows: usize, batch: &mut RowBatch) {
        match self.tables.get(table) {
            Some(table) => table.fill(first_row, rows, batch),
            None => *batch = RowBatch::default(),
        }
    }

    /// Op `index` of a stream; values that cannot be computed are null.
    pub fn op(&self, stream: &StreamSpec, index: u64, context: &OpContext) -> Op {
        let mut op = Op { id: OpId(0), index, body: OpBody::Query(Vec::new()) };
        // The reader of the op sees the null.
        let _ = self.fill_op(stream, index, context, &mut op);
        op
    }

    /// [`Workload::op`] into the memory of another op. The error says which of its values cannot be computed, and why:
    /// such an op must not be sent.
    pub fn fill_op(
        &self,
        stream: &StreamSpec,
        index: u64,
        context: &OpContext,
        op: &mut Op,
    ) -> Result<(), String> {
        let (id, rows_before) = self.op_and_rows_before(stream, index);
        op.id = id;
        op.index = index;
        let first_row = context.first_row.saturating_add(rows_before);
        match self.op_definition(id) {
            Some(OpDefinition { body: OpBodyDefinition::Insert { table, batch }, .. }) => {
                let rows = usize::try_from(*batch).unwrap_or(usize::MAX);
                if !matches!(op.body, OpBody::Insert(_)) {
                    op.body = OpBody::Insert(RowBatch::default());
                }
                if let OpBody::Insert(batch) = &mut op.body {
                    self.fill_row_batch(*table, first_row, rows, batch);
                }
            }
            Some(definition) => {
                let (values, failure) = self.values(definition, &stream.name, index, first_row);
                op.body = OpBody::Query(values);
                return failure.map_or(Ok(()), Err);
            }
            None => op.body = OpBody::Query(Vec::new()),
        }
        Ok(())
    }

    /// The values of an op's parameters, and the first that cannot be computed. Each parameter has its own random
    /// numbers, by stream, op, and name.
    fn values(
        &self,
        op: &OpDefinition,
        stream: &str,
        index: u64,
        first_row: u64,
    ) -> (Vec<Value>, Option<String>) {
        let parameters = op.body.parameters();
        let mut values = Vec::with_capacity(parameters.len());
        let mut begins = Vec::with_capacity(parameters.len());
        let failure = RefCell::new(None);
        let mut failed = None;
        let is_late = depends_on_answers(parameters);
        for parameter in parameters {
            let begin = values.len();
            if parameter.late {
                begins.push(begin);
                values.push(Value::Null);
                continue;
            }
            let path = ["stream", stream, &op.name, &parameter.name];
            let scope = OpScope {
                entities: &self.entities,
                tables: &self.tables,
                distinct: &self.distinct,
                first_row,
                index,
                kind: parameter.kind,
                // One that is not sent has a value for later ones.
                count: parameter.count.max(1),
                draws: Draws::new(self.seed, &path),
                begins: &begins,
                seed: self.seed,
                failure: &failure,
            };
            parameter.generator.append(&scope, &mut values);
            begins.push(begin);
            if let Some(message) = failure.take() {
                failed.get_or_insert(not_computed(&parameter.name, &message));
            }
        }
        if is_late {
            // All of them stay, for the values that depend on answers, whose seed is the last one.
            let draws = Draws::new(self.seed, &["stream", stream, &op.name]);
            values.push(Value::Integer(draws.word(index).cast_signed()));
            return (values, failed);
        }
        for (parameter, begin) in parameters.iter().zip(&begins).rev() {
            match values.get_mut(*begin) {
                _ if parameter.count == 0 => drop(values.remove(*begin)),
                // An expression that is a double for other ops.
                Some(Value::Integer(number)) if parameter.kind == ColumnType::Float => {
                    values[*begin] = Value::Float(signed_to_f64(*number));
                }
                _ => {}
            }
        }
        (values, failed)
    }
}

/// Why an op cannot be sent.
pub(super) fn not_computed(name: &str, why: &str) -> String {
    format!("`:{name}` cannot be computed: {why}")
}

impl Workload {
    /// The op that a stream runs at an index.
    pub fn op_id(&self, stream: &StreamSpec, index: u64) -> OpId {
        self.op_and_rows_before(stream, index).0
    }

    /// Rows written by the ops of a stream before an index.
    pub fn rows_before(&self, stream: &StreamSpec, index: u64) -> u64 {
        self.op_and_rows_before(stream, index).1
    }

    /// The number of ops until a stream has written at least `rows` rows; `u64::MAX` if none writes.
    pub fn ops_for_rows(&self, stream: &StreamSpec, rows: u64) -> u64 {
        if let [(only, _)] = stream.ops.as_slice() {
            return match self.rows_per_op(*only) {
                0 => u64::MAX,
                per_op => rows.div_ceil(per_op),
            };
        }
        let (block, per_block) = self.block_of(stream);
        if per_block == 0 {
            return u64::MAX;
        }
        let (blocks, mut left) = (rows / per_block, rows % per_block);
        let mut ops = blocks.saturating_mul(block);
        for op in self.shuffled_block(stream, blocks) {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(self.rows_per_op(op));
            ops += 1;
        }
        ops
    }

    /// The op at an index, and the rows written by those before it.
    pub(super) fn op_and_rows_before(&self, stream: &StreamSpec, index: u64) -> (OpId, u64) {
        if let [(only, _)] = stream.ops.as_slice() {
            return (*only, index.saturating_mul(self.rows_per_op(*only)));
        }
        if !stream.ops.iter().any(|(op, _)| self.changes_rows(*op)) {
            return (self.sampled_op(stream, index), 0);
        }
        let (block, per_block) = self.block_of(stream);
        let (number, place) = (index / block, index % block);
        let order = self.shuffled_block(stream, number);
        let place = usize::try_from(place).unwrap_or(0);
        let written: u64 = order.iter().take(place).map(|op| self.rows_per_op(*op)).sum();
        let op = order.get(place).copied().unwrap_or(OpId(0));
        (op, number.saturating_mul(per_block).saturating_add(written))
    }

    /// Ops per block (at least one), and the rows that they write together.
    fn block_of(&self, stream: &StreamSpec) -> (u64, u64) {
        let weights = || stream.ops.iter().map(|(op, weight)| (*op, u64::from(*weight)));
        let ops: u64 = weights().map(|(_, weight)| weight).sum();
        let rows = weights().map(|(op, weight)| weight * self.rows_per_op(op));
        (ops.max(1), rows.sum())
    }

    /// The ops of one block in order (Fisher and Yates).
    fn shuffled_block(&self, stream: &StreamSpec, number: u64) -> Vec<OpId> {
        let mut ops: Vec<OpId> =
            stream.ops.iter().flat_map(|(op, weight)| (0..*weight).map(|_| *op)).collect();
        let draws = Draws::new(self.seed, &["stream", &stream.name, "deal"]);
        let first = number.wrapping_mul(ops.len() as u64);
        for last in (1..ops.len()).rev() {
            let other = draws.below(first.wrapping_add(last as u64), last as u64 + 1);
            ops.swap(last, usize::try_from(other).unwrap_or(0));
        }
        ops
    }

    /// The op at an index, sampled by weight with its own random number.
    fn sampled_op(&self, stream: &StreamSpec, index: u64) -> OpId {
        let weights = stream.ops.iter().map(|(_, weight)| u64::from(*weight));
        let draws = Draws::new(self.seed, &["stream", &stream.name]);
        let mut point = draws.below(index, weights.sum());
        for (id, weight) in &stream.ops {
            match point.checked_sub(u64::from(*weight)) {
                Some(rest) => point = rest,
                None => return *id,
            }
        }
        stream.ops.last().map_or(OpId(0), |(id, _)| *id)
    }

    fn changes_rows(&self, op: OpId) -> bool {
        let body = self.op_definition(op).map(|op| &op.body);
        body.is_some_and(|body| body.is_insert() || body.writes().is_some())
    }
}

/// Keys that an op writes in a table whose rows replace each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedKeys {
    /// Position of the table.
    pub table: usize,
    /// Values of the deciding column, in the order of the op's rows.
    pub keys: Vec<i64>,
    /// Index of the row for the first key; the others follow. `None` if the rows are deleted.
    pub first_row: Option<u64>,
}

impl Workload {
    /// The keys that an op writes or deletes, if rows replace each other; `first_row` is the first row that it writes.
    pub fn replaced_keys(&self, op: &Op, first_row: u64) -> Option<ReplacedKeys> {
        match (&self.op_definition(op.id)?.body, &op.body) {
            (OpBodyDefinition::Insert { table, .. }, OpBody::Insert(batch)) => {
                let key = self.replacing_column(*table)?;
                let ColumnData::Integer(keys) = batch.columns.get(key)? else {
                    return None;
                };
                Some(ReplacedKeys {
                    table: *table,
                    keys: keys.clone(),
                    first_row: Some(batch.first_row),
                })
            }
            (
                OpBodyDefinition::Query { parameters, writes: Some(writes), .. },
                OpBody::Query(values),
            ) => {
                let before: u64 = parameters.iter().take(writes.key).map(|p| p.count).sum();
                let keys = keys_of(values, before, *writes);
                Some(ReplacedKeys {
                    table: writes.table,
                    keys,
                    first_row: (writes.kind == WriteKind::Upsert).then_some(first_row),
                })
            }
            _ => None,
        }
    }

    /// Position of the column by whose value a later row replaces an earlier one, if rows do.
    pub fn replacing_column(&self, table: usize) -> Option<usize> {
        self.table_definition(table)?.replaces
    }

    /// Whether every row of a table contains its number, so that a row that is found identifies the op that wrote it.
    pub fn rows_are_marked(&self, table: usize) -> bool {
        let marked = |table: &Table| {
            table.columns.iter().any(|column| match &column.generator {
                ColumnGenerator::Plain(Plain::Text(text)) => text.is_marked(),
                _ => false,
            })
        };
        self.table_definition(table).is_some_and(marked)
    }

    /// Whether a table's keys are unique for any number of rows.
    pub fn keys_never_repeat(&self, table: usize) -> bool {
        let never_repeats = |column: &Column| match &column.generator {
            ColumnGenerator::Plain(Plain::Keys(keys)) => keys.never_repeats(),
            _ => false,
        };
        let table = self.table_definition(table);
        table.and_then(Table::replacing).is_some_and(never_repeats)
    }
}

fn keys_of(values: &[Value], before: u64, writes: Writes) -> Vec<i64> {
    let before = usize::try_from(before).unwrap_or(usize::MAX);
    let rows = usize::try_from(writes.rows).unwrap_or(0);
    values
        .iter()
        .skip(before)
        .take(rows)
        .filter_map(|value| match value {
            Value::Integer(key) => Some(*key),
            _ => None,
        })
        .collect()
}
