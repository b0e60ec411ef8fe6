//! The state of a simulated cluster: its nodes, its tables, and its planted faults.
//!
//! An op's end, stored rows, and outcome are all decided on its arrival; the session then only waits. Must not read a
//! clock, or await anything.

use std::collections::HashMap;
use std::sync::Arc;

use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::op::BoundWorkload;
use highwater_model::outcome::{ErrorClass, OpError, Outcome};
use highwater_model::units::{Nanos, Seed};

use super::node::{Disk, Node, stall_at};
use super::outages::{Insert, Outages};
use super::parameters::{Rebuild, ServiceDistribution, SimParameters};
use super::slowdown::Slowdown;
use super::store::{RowFaultModel, Table};
use super::values::{Purpose, RandomKey, ValueFaultModel, Values};

/// Minimum response time, so that simulated time advances even in a model without costs. Otherwise a closed load would
/// send ops at the same moment forever.
const LEAST_RESPONSE: Nanos = Nanos::from_micros(1);

/// Maximum ops whose failed attempts are remembered, so that a retry samples new random numbers.
const MAX_REMEMBERED: usize = 65_536;

/// Counts of the planted faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlantedFaults {
    /// Rows acknowledged (or with a lost acknowledgment) but not stored.
    pub dropped_rows: u64,
    /// Rows stored twice.
    pub duplicated_rows: u64,
    /// Copies of rows stored with other values.
    pub altered_rows: u64,
    /// Inserts applied, but answered by a closed connection.
    pub lost_acks: u64,
    /// Rows of those inserts, as sent.
    pub lost_ack_rows: u64,
    /// Ops whose connection was closed before they did anything.
    pub failed_ops: u64,
    /// Ops rejected because a queue was full.
    pub rejected_ops: u64,
    /// Rows acknowledged, and lost with a node that was killed.
    pub lost_rows: u64,
}

/// One op as it arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimOp {
    /// Position of the op in the workload.
    pub(super) position: u16,
    /// Number of the op in its stream.
    pub(super) index: u64,
    /// Its work.
    pub(super) work: Work,
}

/// The work of an op.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Rows for a table, by the table's number in the cluster.
    Insert { table: usize, first_row: u64, rows: u64 },
    /// A query with a response of one row.
    Query,
}

/// The outcome of an op, and when the client receives it.
#[derive(Debug)]
pub(super) struct SimResponse {
    pub(super) at: Nanos,
    pub(super) outcome: Outcome,
    /// By which a response is known that actions may change.
    pub(super) ticket: Option<u64>,
}

/// A piece of an op: the work of one copy of one shard.
#[derive(Debug, Clone, Copy)]
struct Piece {
    node: u32,
    /// Core time at speed 1, before service times are sampled.
    mean: f64,
    /// Rows for the node's disk.
    rows: u64,
    /// Whether its copy is the primary.
    is_primary: bool,
    /// When it is done.
    finish: Nanos,
}

type Identity = (u16, u64, u64);

/// The cluster.
#[derive(Debug)]
pub(super) struct Cluster {
    parameters: Arc<SimParameters>,
    seed: Seed,
    nodes: Vec<Node>,
    tables: Vec<Table>,
    planted: PlantedFaults,
    /// The load generator's output rate; `None` without a limit.
    client: Option<Disk>,
    /// The lock of all inserts, as a node that does one piece of work at a time; `None` without a lock.
    lock: Option<Node>,
    /// Latest arrival so far; virtual scheduling requires arrivals in order.
    latest: Nanos,
    /// When all work booked so far is done.
    busy_until: Nanos,
    /// Attempts so far of ops that failed at random.
    attempts: HashMap<Identity, u32>,
    /// Pieces of the op being booked; kept for its allocation.
    pieces: Vec<Piece>,
    /// Pieces of that op per node; all zero between ops.
    pieces_on: Vec<usize>,
    /// What actions did; absent if none is planned.
    pub(super) outages: Option<Outages>,
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
            // A rate without credit, like a disk's.
            client: parameters.client.map(|rate| Disk::new(to_f64(rate), 0.0)),
            lock: (parameters.lock > Nanos::ZERO).then(|| Node::new(Some(1), None, None)),
            parameters,
            seed,
            tables: Vec::new(),
            planted: PlantedFaults::default(),
            latest: Nanos::ZERO,
            busy_until: Nanos::ZERO,
            attempts: HashMap::new(),
            pieces: Vec::new(),
            outages: None,
        }
    }

    /// Its nodes.
    pub(super) fn nodes(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// Planted faults so far.
    pub(super) fn planted(&self) -> PlantedFaults {
        self.planted
    }

    /// Whether the target has failed by this time, or none of its nodes is up.
    pub(super) fn is_dead(&self, now: Nanos) -> bool {
        self.parameters.die.is_some_and(|die| now >= die)
            || self.outages.as_ref().is_some_and(|of| of.nodes_down() == self.nodes.len())
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

    /// Creates a table, or recreates it empty; `position` is its place in the workload.
    pub(super) fn create_table(&mut self, workload: &BoundWorkload, position: usize) {
        let Some(bound) = workload.tables.get(position) else {
            return;
        };
        let parameters = &self.parameters;
        let faults =
            RowFaultModel::new(self.seed, &bound.name, parameters.drop, parameters.duplicate);
        let values = workload.rows.as_ref().map(|generator| {
            let faults = ValueFaultModel::new(self.seed, &bound.name, parameters);
            Values::new(generator.clone(), position, &bound.columns, faults)
        });
        let table = Table::new(&bound.name, faults, values);
        match self.table_number(&bound.name) {
            Some(number) => self.tables[number] = table,
            None => self.tables.push(table),
        }
    }

    /// When the load generator has sent an op of this many rows.
    pub(super) fn sent(&mut self, now: Nanos, rows: u64) -> Nanos {
        let client = self.client.as_mut();
        client.map_or(now, |client| client.write(now, rows.max(1)))
    }

    /// When an arriving op releases the lock that it needs, and begins its work.
    pub(super) fn unlocked(&mut self, now: Nanos, op: &SimOp) -> Nanos {
        match (&mut self.lock, op.work) {
            (Some(lock), Work::Insert { .. }) => lock.book(now, &[], |_| self.parameters.lock),
            _ => now,
        }
    }

    /// Ops waiting for the lock; `None` without a lock.
    pub(super) fn waiting_for_lock(&mut self, now: Nanos) -> Option<usize> {
        Some(self.lock.as_mut()?.snapshot(now).waiting)
    }

    /// Books an op that arrives now; fails with a time until which it has to wait for a node that is down.
    pub(super) fn submit(&mut self, now: Nanos, op: &SimOp) -> Result<SimResponse, Nanos> {
        // Threads on a real clock may arrive here in another order than they read the time.
        let now = now.max(self.latest);
        self.latest = now;
        let soon = now.saturating_add(self.parameters.rtt.max(LEAST_RESPONSE));
        if self.is_dead(now) {
            return Ok(cut(soon, "the simulated cluster is down"));
        }
        let identity = identity_of(op);
        let attempt = self.attempts.get(&identity).copied().unwrap_or(0);
        let random = RandomKey::new(self.seed, Purpose::Op)
            .with(op.position.into())
            .with(op.index)
            .with(identity.2)
            .with(attempt.into());
        if random.with(1).happens(self.parameters.fail) {
            self.planted.failed_ops += 1;
            self.remember(identity);
            return Ok(cut(soon, "connection reset before the op began"));
        }
        self.cut_into_pieces(op, random.with(2));
        let read = soon.saturating_add(self.parameters.reading(op.work));
        if !self.is_placed(now, random.with(5))? {
            return Ok(refused(read, op, ErrorClass::Unavailable, NO_COPY));
        }
        if !self.has_room(now) {
            self.planted.rejected_ops += 1;
            return Ok(refused(read, op, ErrorClass::Rejected, QUEUE_FULL));
        }
        let finish = self.book(now, random.with(3));
        if let Some(die) = self.parameters.die.filter(|die| finish > *die) {
            self.busy_until = self.busy_until.min(die);
            return Ok(cut(die.max(soon), "the simulated cluster went down"));
        }
        let response = self.respond(op, identity, random.with(4), finish).at_least(soon);
        Ok(self.with_ticket(response, op, now, finish))
    }

    /// Remembers an op that actions may still affect.
    fn with_ticket(
        &mut self,
        response: SimResponse,
        op: &SimOp,
        now: Nanos,
        finish: Nanos,
    ) -> SimResponse {
        let Some(outages) = &mut self.outages else {
            return response;
        };
        let parts = self.pieces.iter().map(|piece| (piece.node, piece.finish)).collect();
        let ticket = Some(outages.expect(response.at, parts, now));
        if let Work::Insert { table, first_row, rows } = op.work
            && self.parameters.lag > Nanos::ZERO
        {
            let primaries = self.pieces.iter().filter(|piece| piece.is_primary);
            let primaries = primaries.map(|piece| piece.node).collect();
            let insert = Insert { table, first_row, rows, finish, primaries };
            outages.replicate_later(insert, self.parameters.lag, now);
        }
        SimResponse { ticket, ..response }
    }

    /// The response of an op is due now: ends what is remembered of it.
    pub(super) fn deliver(&mut self, ticket: u64) {
        if let Some(outages) = &mut self.outages {
            outages.forget(ticket);
        }
    }

    /// Takes a node away: at once, with all that it had in progress, or in order.
    pub(super) fn take_away(&mut self, node: u32, now: Nanos, is_killed: bool) {
        let (Some(outages), Some(at)) = (&mut self.outages, self.nodes.get_mut(position(node)))
        else {
            return;
        };
        if !is_killed {
            return outages.take_away(node, now);
        }
        outages.take_away(node, now.saturating_add(self.parameters.failover));
        at.clear(now);
        for lost in outages.kill(node, self.parameters.lag, now) {
            if let Some(table) = self.tables.get_mut(lost.table) {
                let rows = table.lose(lost.first_row, lost.rows);
                self.planted.lost_rows += if lost.finish <= now { rows } else { 0 };
            }
        }
    }

    /// A node is back, and all nodes rebuild its copies.
    pub(super) fn bring_back(&mut self, node: u32, now: Nanos) {
        if let Some(outages) = &mut self.outages {
            outages.bring_back(node);
        }
        if let Some(Rebuild { length, share }) = self.parameters.rebuild {
            (0..self.parameters.nodes).for_each(|on| self.slow_down(on, now, length, 1.0 - share));
        }
    }

    /// A node works at this speed for a time; 0 for a pause.
    pub(super) fn slow_down(&mut self, node: u32, now: Nanos, length: Nanos, speed: f64) {
        let (Some(outages), Some(at)) = (&mut self.outages, self.nodes.get_mut(position(node)))
        else {
            return;
        };
        let later = at.slow_down(Slowdown { from: now, until: now.saturating_add(length), speed });
        self.busy_until = self.busy_until.max(later(self.busy_until));
        outages.postpone(node, later, self.parameters.rtt);
    }

    /// Applies a finished op and returns its outcome.
    fn respond(
        &mut self,
        op: &SimOp,
        identity: Identity,
        random: RandomKey,
        finish: Nanos,
    ) -> SimResponse {
        let at = finish.saturating_add(self.parameters.rtt);
        let Work::Insert { table, first_row, rows } = op.work else {
            self.forget(identity);
            let outcome = Outcome::answered(1, self.parameters.answer_bytes);
            return SimResponse { at, outcome, ticket: None };
        };
        let Some(table) = self.tables.get_mut(table) else {
            return no_table(at, rows);
        };
        let faults = table.apply(first_row, rows);
        self.planted.dropped_rows += faults.dropped;
        self.planted.duplicated_rows += faults.duplicated;
        self.planted.altered_rows += faults.altered;
        if random.happens(self.parameters.lose_ack) {
            self.planted.lost_acks += 1;
            self.planted.lost_ack_rows += rows;
            self.remember(identity);
            return cut(at, "connection reset while waiting for the answer");
        }
        self.forget(identity);
        SimResponse { at, outcome: Outcome::applied(rows), ticket: None }
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

    /// A query is one piece on a random node. The rows of an insert, except those of a hot shard, are spread evenly
    /// over the shards, starting at a random one; each copy of each shard with rows is a piece.
    fn cut_into_pieces(&mut self, op: &SimOp, random: RandomKey) {
        self.pieces.clear();
        let parameters = &self.parameters;
        let Work::Insert { rows, .. } = op.work else {
            self.pieces.push(Piece {
                node: random.below(parameters.nodes),
                mean: to_f64(parameters.query.0),
                rows: 0,
                is_primary: true,
                finish: Nanos::ZERO,
            });
            return;
        };
        let shards = u64::from(parameters.shards);
        let (mut hot, others) = parameters.hot_and_other(rows);
        let (each, one_more) = (others / shards, others % shards);
        let mut shard = random.below(parameters.shards);
        // An op without rows touches one shard.
        for dealt in 0..others.clamp(u64::from(hot == 0), shards) {
            let rows = each + u64::from(dealt < one_more);
            let of_hot = if shard == 0 { std::mem::take(&mut hot) } else { 0 };
            self.pieces.extend(copies(parameters, shard, rows + of_hot));
            shard = (shard + 1) % parameters.shards;
        }
        if hot > 0 {
            self.pieces.extend(copies(parameters, 0, hot));
        }
    }

    /// Moves the pieces of nodes that are down to others. False if a shard has no copy left; fails with a time until
    /// which the op has to wait, because the cluster has not noticed yet.
    fn is_placed(&mut self, now: Nanos, random: RandomKey) -> Result<bool, Nanos> {
        let Some(outages) = self.outages.as_ref().filter(|of| of.nodes_down() > 0) else {
            return Ok(true);
        };
        let blocked = self.pieces.iter().filter_map(|piece| outages.blocked_until(piece.node, now));
        if let Some(until) = blocked.min() {
            return Err(until);
        }
        if let [query] = self.pieces.as_mut_slice()
            && query.rows == 0
        {
            let up = (0..self.parameters.nodes).filter(|node| !outages.is_down(*node));
            let up: Vec<u32> = up.collect();
            if outages.is_down(query.node) {
                let chosen = random.below(u32::try_from(up.len()).unwrap_or(1));
                query.node = up.get(position(chosen)).copied().unwrap_or(query.node);
            }
            return Ok(true);
        }
        let copies = position(self.parameters.replicas) + 1;
        let mut left = Vec::with_capacity(self.pieces.len());
        for shard in self.pieces.chunks(copies) {
            let mut up = shard.iter().filter(|piece| !outages.is_down(piece.node)).copied();
            let (Some(first), Some(primary)) = (up.next(), shard.first()) else {
                return Ok(false);
            };
            // A replica does the primary's work.
            left.push(Piece { mean: primary.mean, is_primary: true, ..first });
            left.extend(up);
        }
        self.pieces = left;
        Ok(true)
    }

    /// Whether every node can accept its pieces: an op is accepted as a whole or not at all.
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

    /// Books all pieces, and returns when the last one finishes.
    fn book(&mut self, now: Nanos, random: RandomKey) -> Nanos {
        let parameters = &self.parameters;
        let mut last = now;
        for (number, piece) in (0..).zip(&mut self.pieces) {
            let Some(node) = self.nodes.get_mut(position(piece.node)) else {
                continue;
            };
            let mean = piece.mean / parameters.speed_of(piece.node);
            let length = mean * scatter(parameters.service, random.with(number));
            let service = |start| nanos(length * parameters.slowness_at(start));
            piece.finish = node.book(now, &parameters.stall, service);
            piece.finish = piece.finish.max(node.write(now, piece.rows));
            last = last.max(piece.finish);
        }
        self.busy_until = self.busy_until.max(last);
        last
    }
}

/// The pieces of an insert in all copies of a shard.
fn copies(
    parameters: &SimParameters,
    shard: u32,
    rows: u64,
) -> impl Iterator<Item = Piece> + use<'_> {
    let mean = to_f64(parameters.request.0) + to_f64(parameters.row.0) * to_f64(rows);
    (0..=parameters.replicas).map(move |copy| Piece {
        node: parameters.node_of(shard, copy),
        mean: mean * parameters.cost_of_copy(copy),
        rows,
        is_primary: copy == 0,
        finish: Nanos::ZERO,
    })
}

impl SimResponse {
    fn at_least(mut self, soon: Nanos) -> Self {
        self.at = self.at.max(soon);
        self
    }
}

/// Identifies an op across retries: its position in the workload, its number, and its first row, which distinguishes
/// ops of two streams.
fn identity_of(op: &SimOp) -> Identity {
    let first_row = match op.work {
        Work::Insert { first_row, .. } => first_row,
        Work::Query => 0,
    };
    (op.position, op.index, first_row)
}

/// Codes of refusals, with their messages.
const QUEUE_FULL: [&str; 2] = ["queue_full", "a node's queue is full"];
const NO_COPY: [&str; 2] = ["no_copy", "no node that is up has a copy of a shard"];

fn refused(at: Nanos, op: &SimOp, class: ErrorClass, [code, message]: [&str; 2]) -> SimResponse {
    let rows = match op.work {
        Work::Insert { rows, .. } => rows,
        Work::Query => 0,
    };
    let error = OpError { class, code: Some(code.to_owned()), message: message.to_owned() };
    SimResponse { at, outcome: Outcome::refused(rows, error), ticket: None }
}

fn no_table(at: Nanos, rows: u64) -> SimResponse {
    let error = OpError {
        class: ErrorClass::Statement,
        code: Some("no_table".to_owned()),
        message: "the table does not exist".to_owned(),
    };
    SimResponse { at, outcome: Outcome::refused(rows, error), ticket: None }
}

fn cut(at: Nanos, message: &str) -> SimResponse {
    SimResponse { at, outcome: cut_off(message), ticket: None }
}

/// The connection was lost.
pub(super) fn cut_off(message: &str) -> Outcome {
    Outcome::unknown(OpError {
        class: ErrorClass::Connection,
        code: None,
        message: message.to_owned(),
    })
}

fn scatter(distribution: ServiceDistribution, random: RandomKey) -> f64 {
    match distribution {
        ServiceDistribution::Exponential => random.exponential(),
        ServiceDistribution::Constant => 1.0,
        ServiceDistribution::Lognormal(cv) => random.lognormal(cv),
    }
}

fn position(node: u32) -> usize {
    usize::try_from(node).unwrap_or(usize::MAX)
}

fn nanos(length: f64) -> Nanos {
    Nanos(round_to_u64(length))
}
