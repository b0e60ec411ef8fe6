//! The content of ops: a pure function of the index, behind one small trait.

use std::sync::Arc;

use highwater_model::op::{BoundOpKind, BoundWorkload, Op, OpBody, OpId, RowBatch};
use highwater_workload::{OpContext, ReplacedKeys, StreamSpec, Workload};

/// Generates ops by index.
pub(crate) trait Feed: Send + Sync {
    /// Generates the op with this index, reusing the memory of another op.
    fn fill(&self, index: u64, op: &mut Op);
    /// The id of an op, without generating it.
    fn op_id(&self, index: u64) -> OpId;
    /// First row and number of rows that the op writes, without generating it.
    fn rows(&self, index: u64) -> (u64, u64);
    /// The keys that this op writes, if rows replace each other.
    fn replaced(&self, op: &Op) -> Option<ReplacedKeys>;
}

/// The ops of a stream.
pub(crate) struct StreamFeed {
    /// The workload.
    pub(crate) workload: Arc<Workload>,
    /// The stream.
    pub(crate) stream: StreamSpec,
    /// Rows that existed before the stream began.
    pub(crate) context: OpContext,
}

impl Feed for StreamFeed {
    fn fill(&self, index: u64, op: &mut Op) {
        self.workload.fill_op(&self.stream, index, &self.context, op);
    }

    fn op_id(&self, index: u64) -> OpId {
        self.workload.op_id(&self.stream, index)
    }

    fn rows(&self, index: u64) -> (u64, u64) {
        let rows = self.workload.rows_per_op(self.op_id(index));
        let before = self.workload.rows_before(&self.stream, index);
        (self.context.first_row.saturating_add(before), rows)
    }

    fn replaced(&self, op: &Op) -> Option<ReplacedKeys> {
        self.workload.replaced_keys(op, self.rows(op.index).0)
    }
}

/// The batches that fill the first table before the first phase.
pub(crate) struct LoadFeed {
    /// The workload.
    pub(crate) workload: Arc<Workload>,
    /// The insert op.
    pub(crate) op: OpId,
    /// Index of the first row.
    pub(crate) first: u64,
    /// Rows per batch; the last one may be shorter.
    pub(crate) batch: u64,
    /// Total rows.
    pub(crate) rows: u64,
}

impl Feed for LoadFeed {
    fn fill(&self, index: u64, op: &mut Op) {
        let (first, rows) = self.rows(index);
        let rows = usize::try_from(rows).unwrap_or(0);
        op.id = self.op;
        op.index = index;
        if let OpBody::Insert(batch) = &mut op.body {
            self.workload.fill_row_batch(0, first, rows, batch);
        } else {
            op.body = OpBody::Insert(self.workload.row_batch(0, first, rows));
        }
    }

    fn op_id(&self, _index: u64) -> OpId {
        self.op
    }

    fn rows(&self, index: u64) -> (u64, u64) {
        let skipped = index.saturating_mul(self.batch);
        let first = self.first.saturating_add(skipped);
        (first, self.batch.min(self.rows.saturating_sub(skipped)))
    }

    fn replaced(&self, op: &Op) -> Option<ReplacedKeys> {
        self.workload.replaced_keys(op, self.rows(op.index).0)
    }
}

/// The ops of another feed, with new rows that have numbers but no values. Generating values would dominate the cost of
/// a run against a model that ignores them.
pub(crate) struct NumberedRows {
    /// Source of everything else.
    pub(crate) feed: Arc<dyn Feed>,
    /// Which ops insert.
    pub(crate) bound: Arc<BoundWorkload>,
}

impl Feed for NumberedRows {
    fn fill(&self, index: u64, op: &mut Op) {
        let id = self.feed.op_id(index);
        if inserts_into(&self.bound, id).is_none() {
            return self.feed.fill(index, op);
        }
        let (first_row, rows) = self.feed.rows(index);
        op.id = id;
        op.index = index;
        op.body = OpBody::Insert(RowBatch {
            first_row,
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
            columns: Vec::new(),
        });
    }

    fn op_id(&self, index: u64) -> OpId {
        self.feed.op_id(index)
    }

    fn rows(&self, index: u64) -> (u64, u64) {
        self.feed.rows(index)
    }

    fn replaced(&self, op: &Op) -> Option<ReplacedKeys> {
        self.feed.replaced(op)
    }
}

/// The table that an op writes to.
pub(crate) fn inserts_into(bound: &BoundWorkload, op: OpId) -> Option<usize> {
    match bound.ops.get(usize::from(op.0))?.kind {
        BoundOpKind::Insert { table, .. } => Some(table),
        BoundOpKind::Query { .. } | BoundOpKind::Literal(_) | BoundOpKind::Transaction(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use highwater_model::op::PlaceholderStyle;
    use highwater_model::units::Seed;
    use highwater_workload::{WorkloadSpec, builtin};

    use super::*;

    #[test]
    fn rows_without_values_have_their_numbers_and_queries_stay_as_they_are() {
        let spec = WorkloadSpec::parse(builtin("cpu").unwrap().text).unwrap();
        let workload = Arc::new(spec.instantiate(&BTreeMap::new(), Seed(7)).unwrap());
        let dialects = ["postgresql".to_owned()];
        let bound = workload.bind(&dialects, PlaceholderStyle::Dollar).unwrap();
        let bound = Arc::new(bound);
        let mut inserts = 0;
        for stream in workload.streams() {
            let feed: Arc<dyn Feed> = Arc::new(StreamFeed {
                workload: Arc::clone(&workload),
                stream: stream.clone(),
                context: OpContext { first_row: 300 },
            });
            let numbered = NumberedRows { feed: Arc::clone(&feed), bound: Arc::clone(&bound) };
            let (mut with, mut without) = (empty(), empty());
            for index in 0..20 {
                feed.fill(index, &mut with);
                numbered.fill(index, &mut without);
                if let OpBody::Insert(batch) = &mut with.body {
                    assert!(!std::mem::take(&mut batch.columns).is_empty());
                    inserts += 1;
                }
                assert_eq!(with, without);
            }
        }
        assert!(inserts >= 20, "{inserts}");
    }

    fn empty() -> Op {
        Op { id: OpId(0), index: 0, body: OpBody::Query(Vec::new()) }
    }
}
