//! Which op a stream asks at an index, and how many rows the ops before it write.
//!
//! Ops that only ask are drawn, each by a number of its own. Where statements that write rows are
//! among them, ops are dealt like cards: as many as the weights add up to hold every op exactly as
//! often as its weight, in an order of their own. So what was written before an index is known
//! without looking at all that came before.

use super::definition::{OpBodyDefinition, StreamSpec};
use super::instance::Workload;
use super::random::Draws;
use crate::model::op::OpId;

/// Sum of the weights of a stream whose ops are dealt, at most: each op shuffles so many cards.
pub(super) const MAX_CARDS: u64 = 1_000;

impl Workload {
    /// Which op a stream asks at an index.
    pub fn op_id(&self, stream: &StreamSpec, index: u64) -> OpId {
        self.dealt(stream, index).0
    }

    /// Rows that the ops of a stream before an index write.
    pub fn rows_before(&self, stream: &StreamSpec, index: u64) -> u64 {
        self.dealt(stream, index).1
    }

    /// Ops of a stream that write so many rows, at least; all of them where none writes.
    pub fn ops_for_rows(&self, stream: &StreamSpec, rows: u64) -> u64 {
        if let [(only, _)] = stream.ops.as_slice() {
            return match self.rows_per_op(*only) {
                0 => u64::MAX,
                per_op => rows.div_ceil(per_op),
            };
        }
        let (cards, per_deal) = self.deal_of(stream);
        if per_deal == 0 {
            return u64::MAX;
        }
        let (deals, mut left) = (rows / per_deal, rows % per_deal);
        let mut ops = deals.saturating_mul(cards);
        for op in self.shuffled(stream, deals) {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(self.rows_per_op(op));
            ops += 1;
        }
        ops
    }

    /// The op at an index, and the rows that those before it write.
    pub(super) fn dealt(&self, stream: &StreamSpec, index: u64) -> (OpId, u64) {
        if let [(only, _)] = stream.ops.as_slice() {
            return (*only, index.saturating_mul(self.rows_per_op(*only)));
        }
        if !stream.ops.iter().any(|(op, _)| self.changes_rows(*op)) {
            return (self.drawn(stream, index), 0);
        }
        let (cards, per_deal) = self.deal_of(stream);
        let (deal, place) = (index / cards, index % cards);
        let order = self.shuffled(stream, deal);
        let place = usize::try_from(place).unwrap_or(0);
        let written: u64 = order
            .iter()
            .take(place)
            .map(|op| self.rows_per_op(*op))
            .sum();
        let op = order.get(place).copied().unwrap_or(OpId(0));
        (op, deal.saturating_mul(per_deal).saturating_add(written))
    }

    /// Cards of a deal (at least one), and the rows that they write together.
    fn deal_of(&self, stream: &StreamSpec) -> (u64, u64) {
        let weights = || {
            stream
                .ops
                .iter()
                .map(|(op, weight)| (*op, u64::from(*weight)))
        };
        let cards: u64 = weights().map(|(_, weight)| weight).sum();
        let rows = weights().map(|(op, weight)| weight * self.rows_per_op(op));
        (cards.max(1), rows.sum())
    }

    /// The ops of one deal in their order (Fisher and Yates).
    fn shuffled(&self, stream: &StreamSpec, deal: u64) -> Vec<OpId> {
        let mut cards: Vec<OpId> = stream
            .ops
            .iter()
            .flat_map(|(op, weight)| (0..*weight).map(|_| *op))
            .collect();
        let draws = Draws::of(self.seed, &["stream", &stream.name, "deal"]);
        let first = deal.wrapping_mul(cards.len() as u64);
        for last in (1..cards.len()).rev() {
            let other = draws.below(first.wrapping_add(last as u64), last as u64 + 1);
            cards.swap(last, usize::try_from(other).unwrap_or(0));
        }
        cards
    }

    /// By weight, from a number of its own.
    fn drawn(&self, stream: &StreamSpec, index: u64) -> OpId {
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
        match self.op_definition(op).map(|op| &op.body) {
            Some(OpBodyDefinition::Insert { .. }) => true,
            Some(OpBodyDefinition::Query { writes, .. }) => writes.is_some(),
            Some(OpBodyDefinition::Transaction { .. }) | None => false,
        }
    }
}
