//! The rows and ops of a workload, each a pure function of its index.
//!
//! An op depends only on (seed, stream, index, context).

use super::definition::{OpBodyDefinition, OpDefinition, StreamSpec};
use super::generators::parameters::OpScope;
use super::instance::{OpContext, Workload};
use super::random::Draws;
use super::rows::TableRows;
use highwater_model::op::{Op, OpBody, OpId, RowBatch, Value};

impl Workload {
    /// Rows of a table from an index on; no columns if there is no such table.
    pub fn row_batch(&self, table: usize, first_row: u64, rows: usize) -> RowBatch {
        let mut batch = RowBatch::default();
        self.fill_row_batch(table, first_row, rows, &mut batch);
        batch
    }

    /// The values at the ends of what the generator of each column of a table may make, among others;
    /// none of a column whose values follow from the row's index.
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

    /// Op `index` of a stream.
    pub fn op(&self, stream: &StreamSpec, index: u64, context: &OpContext) -> Op {
        let mut op = Op { id: OpId(0), index, body: OpBody::Query(Vec::new()) };
        self.fill_op(stream, index, context, &mut op);
        op
    }

    /// [`Workload::op`] into the memory of another op.
    pub fn fill_op(&self, stream: &StreamSpec, index: u64, context: &OpContext, op: &mut Op) {
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
                op.body = OpBody::Query(self.values(definition, &stream.name, index, first_row));
            }
            None => op.body = OpBody::Query(Vec::new()),
        }
    }

    /// The values of an op's parameters. Each parameter has its own random numbers, by stream, op, and name.
    fn values(&self, op: &OpDefinition, stream: &str, index: u64, first_row: u64) -> Vec<Value> {
        let parameters = op.body.parameters();
        let mut values = Vec::with_capacity(parameters.len());
        let mut begins = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let begin = values.len();
            let path = ["stream", stream, &op.name, &parameter.name];
            let scope = OpScope {
                entities: &self.entities,
                tables: &self.tables,
                distinct: &self.distinct,
                first_row,
                index,
                kind: parameter.kind,
                count: parameter.count,
                draws: Draws::of(self.seed, &path),
                begins: &begins,
            };
            parameter.generator.append(&scope, &mut values);
            begins.push(begin);
        }
        values
    }
}
