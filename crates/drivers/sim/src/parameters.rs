//! The parameters of a simulated cluster; their text form is in `text`. From them alone follows the true capacity of a
//! model: its maximum ops per second.
//!
//! Searches and size estimates are tested against these numbers, so nothing here may depend on a run.

use std::collections::BTreeMap;

use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::units::Nanos;

use super::cluster::Work;

/// A simulated cluster. Valid if made by [`SimParameters::parse`](Self::parse) or by default; the bounds are in
/// `docs/reference/sim.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct SimParameters {
    /// Nodes, at least 1.
    pub nodes: u32,
    /// Cores per node, at least 1; `None` means infinitely many.
    pub cores: Option<u32>,
    /// Core time per piece of an insert, whatever its rows.
    pub request: Nanos,
    /// Core time per row of a piece of an insert.
    pub row: Nanos,
    /// Core time of a query.
    pub query: Nanos,
    /// Distribution of service times around these means.
    pub service: ServiceDistribution,
    /// Primary shards, at least 1.
    pub shards: u32,
    /// Replicas of each shard; fewer than nodes.
    pub replicas: u32,
    /// Core time of a replica's work as a multiple of the primary's.
    pub replica_cost: f64,
    /// Fraction of an insert's rows that goes to the first shard, 0 to 1.
    pub hot_shard: f64,
    /// Network round trip, added to every response.
    pub rtt: Nanos,
    /// Rows, or queries, per second that a load generator can send; `None` without a limit.
    pub client: Option<u64>,
    /// How long each insert holds the single lock that all inserts need; zero for no lock.
    pub lock: Nanos,
    /// Maximum waiting pieces per node; `None` means no limit.
    pub queue: Option<u32>,
    /// Rows per second that each node's disk sustains, replicas counted; `None` for a disk without a limit.
    pub disk: Option<u64>,
    /// Rows that each disk accepts at once beyond that; the credit recovers at the disk's rate.
    pub burst: u64,
    /// Bytes of the single row of a query's response.
    pub answer_bytes: u64,
    /// Speeds of nodes that differ from 1, by index; users count nodes from 1.
    pub slow_node: BTreeMap<u32, f64>,
    /// Slower work at the start.
    pub warm: Option<Warm>,
    /// Times without any work; ascending, not overlapping or touching, none empty.
    pub stall: Vec<Stall>,
    /// When the whole target fails permanently.
    pub die: Option<Nanos>,
    /// Time from the death of a node until the others do without it.
    pub failover: Nanos,
    /// How long a node takes to start again.
    pub start: Nanos,
    /// Work of all nodes after a node came back.
    pub rebuild: Option<Rebuild>,
    /// Inserts that finished this long before a node is killed are lost with their primaries on it.
    pub lag: Nanos,
    /// Probability that a row is acknowledged but not stored.
    pub drop: f64,
    /// Probability that a row is stored twice.
    pub duplicate: f64,
    /// Probability that a value of a row is stored as a different one.
    pub alter: f64,
    /// Probability that two neighboring rows are stored with a value swapped.
    pub swap: f64,
    /// Probability that two neighboring rows are stored with changes that offset each other.
    pub offset: f64,
    /// Probability that an applied insert is answered by a closed connection.
    pub lose_ack: f64,
    /// Probability that the connection is closed before an op does anything.
    pub fail: f64,
    /// Which clock the run uses.
    pub clock: SimClock,
}

impl Default for SimParameters {
    fn default() -> Self {
        Self {
            nodes: 3,
            cores: Some(4),
            request: Nanos::from_micros(500),
            row: Nanos::from_micros(40),
            query: Nanos::from_millis(5),
            service: ServiceDistribution::Exponential,
            shards: 6,
            replicas: 1,
            replica_cost: 1.0,
            hot_shard: 0.0,
            rtt: Nanos::from_micros(300),
            client: None,
            lock: Nanos::ZERO,
            queue: Some(200),
            disk: None,
            burst: 0,
            answer_bytes: 128,
            slow_node: BTreeMap::new(),
            warm: None,
            stall: Vec::new(),
            die: None,
            failover: Nanos::SECOND,
            start: Nanos::SECOND,
            rebuild: None,
            lag: Nanos::ZERO,
            drop: 0.0,
            duplicate: 0.0,
            alter: 0.0,
            swap: 0.0,
            offset: 0.0,
            lose_ack: 0.0,
            fail: 0.0,
            clock: SimClock::Simulated,
        }
    }
}

impl SimParameters {
    /// The node of a copy of a shard; copy 0 is the primary. Copies of one shard are on different nodes.
    pub fn node_of(&self, shard: u32, copy: u32) -> u32 {
        (shard % self.nodes + copy % self.nodes) % self.nodes
    }

    /// Time to receive and read an op that is then rejected: a tenth of the mean work of its primaries. Without it,
    /// sessions would send hundreds of thousands of rejected ops per second, each with all of its rows.
    pub(super) fn reading(&self, work: Work) -> Nanos {
        match work {
            Work::Insert { rows, .. } => {
                Nanos((self.request.0 + self.row.0.saturating_mul(rows)) / 10)
            }
            Work::Query => Nanos(self.query.0 / 10),
        }
    }

    /// Splits the rows of an insert: those for the first shard alone, and those for all shards.
    pub fn hot_and_other(&self, rows: u64) -> (u64, u64) {
        let hot = round_to_u64(to_f64(rows) * self.hot_shard).min(rows);
        (hot, rows - hot)
    }

    /// Core time of a copy's work as a multiple of the primary's.
    pub fn cost_of_copy(&self, copy: u32) -> f64 {
        if copy == 0 { 1.0 } else { self.replica_cost }
    }

    /// Work per core second of a node, 1 unless it is slow.
    pub fn speed_of(&self, node: u32) -> f64 {
        self.slow_node.get(&node).copied().unwrap_or(1.0)
    }

    /// The factor by which work that starts at this time is slowed.
    pub fn slowness_at(&self, start: Nanos) -> f64 {
        match self.warm {
            Some(warm) if start < warm.length => {
                let done = start.as_secs_f64() / warm.length.as_secs_f64();
                warm.factor + (1.0 - warm.factor) * done
            }
            _ => 1.0,
        }
    }
}

/// Distribution of service times; the mean is always that of the costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServiceDistribution {
    /// Exponential: coefficient of variation 1.
    Exponential,
    /// Always the mean.
    Constant,
    /// Lognormal with this coefficient of variation, in (0, 100].
    Lognormal(f64),
}

/// Work takes `factor` times as long at the start, falling linearly to 1 after `length`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Warm {
    /// Time until work takes its normal time; above 0.
    pub length: Nanos,
    /// At the start; at least 1.
    pub factor: f64,
}

/// A part of the capacity of all nodes that copying data takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rebuild {
    /// How long it takes; above 0.
    pub length: Nanos,
    /// Part of the capacity, in (0, 1).
    pub share: f64,
}

/// A time without any work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// When it begins.
    pub at: Nanos,
    /// How long it lasts; above 0.
    pub length: Nanos,
}

impl Stall {
    /// The first moment after it.
    pub fn end(&self) -> Nanos {
        self.at.saturating_add(self.length)
    }
}

/// Which clock a run on the model uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimClock {
    /// Time jumps from event to event.
    Simulated,
    /// Real time.
    Real,
}

/// The highest rate, in ops per second, at which no node's work grows without bound: one over the mean core time per op
/// on the busiest node, divided by its cores.
///
/// `rows_per_op` is the batch size and counts only for `inserts`; otherwise ops are queries. An op's first shard is
/// uniformly random, so without a hot shard each shard gets `parts / shards` requests and `rows / shards` rows per op
/// on average, with `parts` the smaller of rows (at least 1) and shards. All service distributions keep the mean.
/// Infinite for infinitely many cores, and for work that takes no time. A lock limits inserts to one over the time that
/// each holds it. A disk limits them to its rate, divided by the rows of an op on its node; its credit is temporary and
/// not included. Also not included are stalls, warm-up, faults, and the queue limit: a short queue rejects work below
/// this rate.
pub fn capacity(parameters: &SimParameters, rows_per_op: u64, inserts: bool) -> f64 {
    let of_cores = of_cores(parameters, rows_per_op, inserts);
    if inserts {
        let of_disks = of_disks(parameters, rows_per_op);
        // One over zero is infinite.
        of_cores.min(of_disks).min(1.0 / seconds(parameters.lock))
    } else {
        of_cores
    }
}

fn of_disks(parameters: &SimParameters, rows_per_op: u64) -> f64 {
    let Some(rate) = parameters.disk else {
        return f64::INFINITY;
    };
    let rows_on = |node: u32| -> f64 {
        let here = copies_on(parameters, node);
        here.map(|(shard, _)| dealt(parameters, shard, rows_per_op).1).sum()
    };
    let rows = (0..parameters.nodes).map(rows_on).fold(0.0, f64::max);
    if rows > 0.0 { to_f64(rate) / rows } else { f64::INFINITY }
}

fn of_cores(parameters: &SimParameters, rows_per_op: u64, inserts: bool) -> f64 {
    let Some(cores) = parameters.cores else {
        return f64::INFINITY;
    };
    let busiest = (0..parameters.nodes)
        .map(|node| {
            let work = if inserts {
                insert_work(parameters, node, rows_per_op)
            } else {
                seconds(parameters.query) / f64::from(parameters.nodes)
            };
            work / parameters.speed_of(node)
        })
        .fold(0.0, f64::max);
    if busiest > 0.0 { f64::from(cores) / busiest } else { f64::INFINITY }
}

/// Mean core seconds per insert op on one node at speed 1, replicas included.
fn insert_work(parameters: &SimParameters, node: u32, rows: u64) -> f64 {
    let here = copies_on(parameters, node);
    here.map(|(shard, copy)| {
        let (parts, rows) = dealt(parameters, shard, rows);
        let work = parts * seconds(parameters.request) + rows * seconds(parameters.row);
        parameters.cost_of_copy(copy) * work
    })
    .sum()
}

/// The shards and copies on a node.
fn copies_on(parameters: &SimParameters, node: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
    let all = (0..parameters.shards)
        .flat_map(|shard| (0..=parameters.replicas).map(move |copy| (shard, copy)));
    all.filter(move |(shard, copy)| parameters.node_of(*shard, *copy) == node)
}

/// Pieces and rows of an insert op for a shard, on average.
fn dealt(parameters: &SimParameters, shard: u32, rows: u64) -> (f64, f64) {
    let shards = f64::from(parameters.shards);
    let (hot, others) = parameters.hot_and_other(rows);
    let touched = others.clamp(u64::from(hot == 0), parameters.shards.into());
    let (parts, rows) = (to_f64(touched) / shards, to_f64(others) / shards);
    match (shard, hot) {
        (0, 1..) => (1.0, rows + to_f64(hot)),
        _ => (parts, rows),
    }
}

fn seconds(span: Nanos) -> f64 {
    span.as_secs_f64()
}
