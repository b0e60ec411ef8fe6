//! The op that a stream runs at an index, and the number of rows that earlier ops write.
//!
//! Read-only streams sample each op independently. If some ops write rows, the ops are shuffled in blocks (permuted
//! blocks): a block has as many ops as the sum of the weights, and holds each op exactly as often as its weight. The
//! number of rows written before an index then follows from the preceding blocks, without visiting their ops. Must not
//! determine an op's rows and values.

use super::definition::{OpBodyDefinition, StreamSpec};
use super::instance::Workload;
use super::random::Draws;
use highwater_model::op::OpId;

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
        let draws = Draws::of(self.seed, &["stream", &stream.name, "deal"]);
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
        let draws = Draws::of(self.seed, &["stream", &stream.name]);
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
        body.is_some_and(|body| {
            matches!(body, OpBodyDefinition::Insert { .. }) || body.writes().is_some()
        })
    }
}
