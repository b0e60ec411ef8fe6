//! The state of a simulated cluster: its nodes, its tables, and the faults it was told to make.
//!
//! Everything about an op is decided when it arrives: when it ends, what it leaves behind, what
//! the client hears. The session then only waits. No clock is read here and nothing is awaited.

use std::collections::HashMap;
use std::sync::Arc;

use highwater_core::model::numbers::{round_to_u64, to_f64};
use highwater_core::model::op::BoundWorkload;
use highwater_core::model::outcome::{ErrorClass, OpError, Outcome};
use highwater_core::model::units::{Nanos, Seed};

use super::disk::Disk;
use super::draw::{Draw, Purpose};
use super::node::{Node, stall_at};
use super::parameters::{ServiceDistribution, SimParameters};
use super::store::{RowFate, Table};
use super::values::{ValueFate, Values};

/// An answer takes at least this long, so that simulated time moves even where a model costs
/// nothing: else a closed load would ask for ever at one and the same moment.
const LEAST_ANSWER: Nanos = Nanos::from_micros(1);

/// Ops whose failed attempts are remembered, so that asking again draws anew.
const MAX_REMEMBERED: usize = 65_536;

/// What the model was told to do wrong and did, counted as it happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Planted {
    /// Rows acknowledged (or their acknowledgement lost) but not stored.
    pub dropped_rows: u64,
    /// Rows stored twice.
    pub duplicated_rows: u64,
    /// Copies of rows stored with other values.
    pub altered_rows: u64,
    /// Inserts applied, but answered by a cut connection.
    pub lost_acks: u64,
    /// Rows of those inserts, as sent.
    pub lost_ack_rows: u64,
    /// Ops whose connection was cut before they did anything.
    pub failed_ops: u64,
    /// Ops refused because a queue was full.
    pub rejected_ops: u64,
}

/// One op as it arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    /// Position of the op in the workload.
    pub(super) op: u16,
    /// Number of the op in its stream.
    pub(super) index: u64,
    /// What it wants.
    pub(super) work: Work,
}

/// What an op wants.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Rows for a table, by the table's number in the cluster.
    Insert {
        table: usize,
        first_row: u64,
        rows: u64,
    },
    /// One row of answer.
    Query,
}

/// What the client will hear, and when.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) at: Nanos,
    pub(super) outcome: Outcome,
}

/// A piece of an op: the work of one copy of one shard.
#[derive(Debug, Clone, Copy)]
struct Piece {
    node: u32,
    /// Core time at speed 1, before the service law.
    mean: f64,
    /// Rows for the node's disk.
    rows: u64,
}

type Identity = (u16, u64, u64);

/// The cluster.
#[derive(Debug)]
pub(super) struct Cluster {
    parameters: Arc<SimParameters>,
    seed: Seed,
    nodes: Vec<Node>,
    tables: Vec<Table>,
    planted: Planted,
    /// Latest arrival so far; virtual scheduling needs arrivals in order.
    latest: Nanos,
    /// When all work booked so far is done.
    busy_until: Nanos,
    /// Attempts so far of ops that failed for a drawn reason.
    attempts: HashMap<Identity, u32>,
    /// Pieces of the op being booked; kept for its allocation.
    pieces: Vec<Piece>,
    /// Pieces of that op per node; all zero between ops.
    pieces_on: Vec<usize>,
}

impl Cluster {
    /// An idle cluster without tables.
    pub(super) fn new(parameters: Arc<SimParameters>, seed: Seed) -> Self {
        Self {
            nodes: (0..parameters.nodes)
                .map(|_| {
                    let disk = parameters
                        .disk
                        .map(|rate| Disk::new(to_f64(rate), to_f64(parameters.burst)));
                    Node::new(parameters.cores, parameters.queue, disk)
                })
                .collect(),
            pieces_on: (0..parameters.nodes).map(|_| 0).collect(),
            parameters,
            seed,
            tables: Vec::new(),
            planted: Planted::default(),
            latest: Nanos::ZERO,
            busy_until: Nanos::ZERO,
            attempts: HashMap::new(),
            pieces: Vec::new(),
        }
    }

    /// Its nodes, to be looked at.
    pub(super) fn nodes(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// Faults so far.
    pub(super) fn planted(&self) -> Planted {
        self.planted
    }

    /// Whether the target is gone at this time.
    pub(super) fn is_dead(&self, now: Nanos) -> bool {
        self.parameters.die.is_some_and(|die| now >= die)
    }

    /// When all work booked so far is done.
    pub(super) fn busy_until(&self) -> Nanos {
        self.busy_until
    }

    /// A table by name.
    pub(super) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The number of a table.
    pub(super) fn table_number(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name == name)
    }

    /// Makes a table anew, empty; `position` is its place in the workload.
    pub(super) fn create_table(&mut self, workload: &BoundWorkload, position: usize) {
        let Some(bound) = workload.tables.get(position) else {
            return;
        };
        let parameters = &self.parameters;
        let fate = RowFate::new(
            self.seed,
            &bound.name,
            parameters.drop,
            parameters.duplicate,
        );
        let values = workload.rows.as_ref().map(|maker| {
            let fate = ValueFate::new(self.seed, &bound.name, parameters);
            Values::new(maker.clone(), position, &bound.columns, fate)
        });
        let table = Table::new(&bound.name, fate, values);
        match self.table_number(&bound.name) {
            Some(number) => self.tables[number] = table,
            None => self.tables.push(table),
        }
    }

    /// Books an op that arrives now.
    pub(super) fn ask(&mut self, now: Nanos, ask: &Ask) -> Answer {
        // Threads on a real clock may come here in another order than they read the time.
        let now = now.max(self.latest);
        self.latest = now;
        let soon = now.saturating_add(self.parameters.rtt.max(LEAST_ANSWER));
        if self.is_dead(now) {
            return cut(soon, "the simulated cluster is down");
        }
        let identity = identity_of(ask);
        let attempt = self.attempts.get(&identity).copied().unwrap_or(0);
        let draw = Draw::new(self.seed, Purpose::Op)
            .with(ask.op.into())
            .with(ask.index)
            .with(identity.2)
            .with(attempt.into());
        if draw.with(1).happens(self.parameters.fail) {
            self.planted.failed_ops += 1;
            self.remember(identity);
            return cut(soon, "connection reset before the op began");
        }
        self.cut_into_pieces(ask, draw.with(2));
        if !self.has_room(now) {
            self.planted.rejected_ops += 1;
            return rejected(soon, ask);
        }
        let finish = self.book(now, draw.with(3));
        if let Some(die) = self.parameters.die.filter(|die| finish > *die) {
            self.busy_until = self.busy_until.min(die);
            return cut(die.max(soon), "the simulated cluster went down");
        }
        self.answer(ask, identity, draw.with(4), finish)
            .at_least(soon)
    }

    /// Applies a finished op and says what the client hears.
    fn answer(&mut self, ask: &Ask, identity: Identity, draw: Draw, finish: Nanos) -> Answer {
        let at = finish.saturating_add(self.parameters.rtt);
        let Work::Insert {
            table,
            first_row,
            rows,
        } = ask.work
        else {
            self.forget(identity);
            let outcome = Outcome::answered(1, self.parameters.answer_bytes);
            return Answer { at, outcome };
        };
        let Some(table) = self.tables.get_mut(table) else {
            return no_table(at, rows);
        };
        let faults = table.apply(first_row, rows);
        self.planted.dropped_rows += faults.dropped;
        self.planted.duplicated_rows += faults.duplicated;
        self.planted.altered_rows += faults.altered;
        if draw.happens(self.parameters.lose_ack) {
            self.planted.lost_acks += 1;
            self.planted.lost_ack_rows += rows;
            self.remember(identity);
            return cut(at, "connection reset while waiting for the answer");
        }
        self.forget(identity);
        Answer {
            at,
            outcome: Outcome::applied(rows),
        }
    }

    fn remember(&mut self, identity: Identity) {
        if self.attempts.len() < MAX_REMEMBERED || self.attempts.contains_key(&identity) {
            let attempts = self.attempts.entry(identity).or_insert(0);
            *attempts = attempts.wrapping_add(1);
        }
    }

    fn forget(&mut self, identity: Identity) {
        if !self.attempts.is_empty() {
            self.attempts.remove(&identity);
        }
    }

    /// A query is one piece on a random node. The rows of an insert are dealt evenly to the
    /// shards, from a random one on; each copy of each shard that gets rows is a piece.
    fn cut_into_pieces(&mut self, ask: &Ask, draw: Draw) {
        self.pieces.clear();
        let parameters = &self.parameters;
        let Work::Insert { rows, .. } = ask.work else {
            self.pieces.push(Piece {
                node: draw.below(parameters.nodes),
                mean: to_f64(parameters.query.0),
                rows: 0,
            });
            return;
        };
        let shards = u64::from(parameters.shards);
        let (each, one_more) = (rows / shards, rows % shards);
        let mut shard = draw.below(parameters.shards);
        for dealt in 0..rows.clamp(1, shards) {
            let rows = each + u64::from(dealt < one_more);
            let mean = to_f64(parameters.request.0) + to_f64(parameters.row.0) * to_f64(rows);
            self.pieces
                .extend((0..=parameters.replicas).map(|copy| Piece {
                    node: parameters.node_of(shard, copy),
                    mean: mean * parameters.cost_of_copy(copy),
                    rows,
                }));
            shard = (shard + 1) % parameters.shards;
        }
    }

    /// Whether every node has room for its pieces: an op is done as a whole or not at all.
    fn has_room(&mut self, now: Nanos) -> bool {
        if self.parameters.queue.is_none() {
            return true;
        }
        let stalled = stall_at(&self.parameters.stall, now).is_some();
        for piece in &self.pieces {
            if let Some(pieces) = self.pieces_on.get_mut(position(piece.node)) {
                *pieces += 1;
            }
        }
        let mut room = true;
        for (node, pieces) in self.nodes.iter_mut().zip(&mut self.pieces_on) {
            room = room && (*pieces == 0 || node.has_room(now, *pieces, stalled));
            *pieces = 0;
        }
        room
    }

    /// Books all pieces and returns when the last one finishes.
    fn book(&mut self, now: Nanos, draw: Draw) -> Nanos {
        let parameters = &self.parameters;
        let mut last = now;
        for (number, piece) in (0..).zip(&self.pieces) {
            let Some(node) = self.nodes.get_mut(position(piece.node)) else {
                continue;
            };
            let mean = piece.mean / parameters.speed_of(piece.node);
            let length = mean * scatter(parameters.service, draw.with(number));
            let service = |start| nanos(length * parameters.slowness_at(start));
            last = last.max(node.book(now, &parameters.stall, service));
            last = last.max(node.write(now, piece.rows));
        }
        self.busy_until = self.busy_until.max(last);
        last
    }
}

impl Answer {
    fn at_least(mut self, soon: Nanos) -> Self {
        self.at = self.at.max(soon);
        self
    }
}

/// What makes an op the same op, whoever asks it again: its place in the workload, its number,
/// and its first row, by which ops of two streams differ.
fn identity_of(ask: &Ask) -> Identity {
    let first_row = match ask.work {
        Work::Insert { first_row, .. } => first_row,
        Work::Query => 0,
    };
    (ask.op, ask.index, first_row)
}

fn rejected(at: Nanos, ask: &Ask) -> Answer {
    let rows = match ask.work {
        Work::Insert { rows, .. } => rows,
        Work::Query => 0,
    };
    let error = OpError {
        class: ErrorClass::Rejected,
        code: Some("queue_full".to_owned()),
        message: "a node's queue is full".to_owned(),
    };
    Answer {
        at,
        outcome: Outcome::refused(rows, error),
    }
}

fn no_table(at: Nanos, rows: u64) -> Answer {
    let error = OpError {
        class: ErrorClass::Statement,
        code: Some("no_table".to_owned()),
        message: "the table does not exist".to_owned(),
    };
    Answer {
        at,
        outcome: Outcome::refused(rows, error),
    }
}

fn cut(at: Nanos, message: &str) -> Answer {
    let outcome = Outcome::unknown(OpError {
        class: ErrorClass::Connection,
        code: None,
        message: message.to_owned(),
    });
    Answer { at, outcome }
}

fn scatter(law: ServiceDistribution, draw: Draw) -> f64 {
    match law {
        ServiceDistribution::Exponential => draw.exponential(),
        ServiceDistribution::Constant => 1.0,
        ServiceDistribution::Lognormal(cv) => draw.lognormal(cv),
    }
}

fn position(node: u32) -> usize {
    usize::try_from(node).unwrap_or(usize::MAX)
}

fn nanos(length: f64) -> Nanos {
    Nanos(round_to_u64(length))
}
