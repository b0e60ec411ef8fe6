//! The cluster: nodes, each with cores and a queue, and one event after the other.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use super::chances::Chances;
use super::float;

/// Distribution of service times around their mean.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Service {
    Exponential,
    Constant,
    /// With this coefficient of variation.
    Lognormal(f64),
}

/// The kind of an op.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// With this many rows.
    Insert(usize),
    Query,
}

/// The arrival of ops.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Load {
    /// This many a second, independently of each other.
    Poisson(f64),
    /// From this many sessions, each of which sends its next op after the last response.
    Closed(usize),
}

/// A time range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
}

impl Span {
    fn holds(&self, at: f64) -> bool {
        self.from_s <= at && at < self.to_s
    }
}

/// The compared parameters of the reference page. Times are seconds of core time.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) cores: usize,
    pub(crate) request_s: f64,
    pub(crate) row_s: f64,
    pub(crate) query_s: f64,
    pub(crate) service: Service,
    pub(crate) shards: usize,
    pub(crate) replicas: usize,
    pub(crate) replica_cost: f64,
    pub(crate) rtt_s: f64,
    pub(crate) queue: usize,
    /// One per node.
    pub(crate) speeds: Vec<f64>,
    /// In order.
    pub(crate) stalls: Vec<Span>,
}

/// Observations of the ops.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Latencies of the ops that arrived within the span and were not rejected, unordered.
    pub(crate) latencies_s: Vec<f64>,
    /// Successful responses within the span, whenever the ops arrived.
    pub(crate) acknowledged: usize,
    /// Number of ops that arrived within the span and were rejected.
    pub(crate) rejected: usize,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    op: usize,
    node: usize,
    /// Mean core time at speed 1.
    mean_s: f64,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Arrival,
    PieceDone(Piece),
}

#[derive(Debug, Clone, Copy)]
struct Event {
    at: f64,
    /// Of equal times, the earlier event comes first.
    number: u64,
    what: What,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    /// The greatest is the next.
    fn cmp(&self, other: &Self) -> Ordering {
        let times = other.at.total_cmp(&self.at);
        times.then(other.number.cmp(&self.number))
    }
}

/// An op in flight.
#[derive(Debug, Clone, Copy)]
struct Sent {
    arrived: f64,
    pieces_left: usize,
}

#[derive(Debug)]
struct Node {
    idle: usize,
    waiting: VecDeque<Piece>,
}

struct Simulation<'a> {
    cluster: &'a Cluster,
    op: Op,
    load: Load,
    span: Span,
    chances: Chances,
    events: BinaryHeap<Event>,
    numbers: u64,
    nodes: Vec<Node>,
    ops: Vec<Sent>,
    seen: Seen,
}

impl Cluster {
    /// Sends such ops from time 0 on, and observes the span.
    pub(crate) fn simulate(&self, op: Op, load: Load, span: Span, seed: u64) -> Seen {
        let node = || Node { idle: self.cores, waiting: VecDeque::new() };
        let mut simulation = Simulation {
            cluster: self,
            op,
            load,
            span,
            chances: Chances::new(seed),
            events: BinaryHeap::new(),
            numbers: 0,
            nodes: self.speeds.iter().map(|_| node()).collect(),
            ops: Vec::new(),
            seen: Seen::default(),
        };
        simulation.run();
        simulation.seen
    }

    /// Pieces of an op, in the order of their arrival.
    fn pieces(&self, op: usize, kind: Op, chances: &mut Chances) -> Vec<Piece> {
        let nodes = self.speeds.len();
        let Op::Insert(rows) = kind else {
            return vec![Piece { op, node: chances.below(nodes), mean_s: self.query_s }];
        };
        let first = chances.below(self.shards);
        let mut pieces = Vec::new();
        for turn in 0..self.shards.min(rows) {
            let shard = (first + turn) % self.shards;
            let rows = rows / self.shards + usize::from(turn < rows % self.shards);
            let primary_s = self.request_s + float(rows) * self.row_s;
            for copy in 0..=self.replicas {
                let cost = if copy == 0 { 1.0 } else { self.replica_cost };
                pieces.push(Piece { op, node: (shard + copy) % nodes, mean_s: primary_s * cost });
            }
        }
        pieces
    }

    fn drawn_s(&self, mean_s: f64, chances: &mut Chances) -> f64 {
        mean_s
            * match self.service {
                Service::Exponential => chances.exponential(),
                Service::Constant => 1.0,
                Service::Lognormal(cv) => {
                    let variance = (1.0 + cv * cv).ln();
                    (variance.sqrt() * chances.normal() - variance / 2.0).exp()
                }
            }
    }

    /// When work of this length that starts on a core now is done.
    fn end_of(&self, now: f64, work_s: f64) -> f64 {
        let mut at = now;
        let mut left_s = work_s;
        for stall in self.stalls.iter().filter(|stall| stall.to_s > now) {
            let before_s = (stall.from_s - at).max(0.0);
            if left_s <= before_s {
                break;
            }
            left_s -= before_s;
            at = stall.to_s;
        }
        at + left_s
    }
}

impl Simulation<'_> {
    fn run(&mut self) {
        match self.load {
            Load::Poisson(_) => self.next_arrival(0.0),
            Load::Closed(sessions) => (0..sessions).for_each(|_| self.plan(0.0, What::Arrival)),
        }
        while let Some(event) = self.events.pop() {
            match event.what {
                What::Arrival => self.arrive(event.at),
                What::PieceDone(piece) => self.piece_done(event.at, piece),
            }
        }
    }

    fn plan(&mut self, at: f64, what: What) {
        self.numbers += 1;
        let number = self.numbers;
        self.events.push(Event { at, number, what });
    }

    /// Nothing arrives after the span.
    fn next_arrival(&mut self, now: f64) {
        if let Load::Poisson(per_s) = self.load {
            let at = now + self.chances.exponential() / per_s;
            if at < self.span.to_s {
                self.plan(at, What::Arrival);
            }
        }
    }

    fn arrive(&mut self, now: f64) {
        self.next_arrival(now);
        let op = self.ops.len();
        let pieces = self.cluster.pieces(op, self.op, &mut self.chances);
        self.ops.push(Sent { arrived: now, pieces_left: pieces.len() });
        if self.is_rejected(&pieces) {
            self.seen.rejected += usize::from(self.span.holds(now));
            self.answered(now + self.cluster.rtt_s);
            return;
        }
        for piece in pieces {
            let node = &mut self.nodes[piece.node];
            if node.idle > 0 {
                node.idle -= 1;
                self.start(now, piece);
            } else {
                node.waiting.push_back(piece);
            }
        }
    }

    /// Whether any of them would find a full queue and no idle core.
    fn is_rejected(&self, pieces: &[Piece]) -> bool {
        let mut found: Vec<[usize; 2]> =
            self.nodes.iter().map(|node| [node.idle, node.waiting.len()]).collect();
        pieces.iter().any(|piece| {
            let [idle, waiting] = &mut found[piece.node];
            if *idle > 0 {
                *idle -= 1;
                return false;
            }
            *waiting += 1;
            *waiting > self.cluster.queue
        })
    }

    fn start(&mut self, now: f64, piece: Piece) {
        let drawn_s = self.cluster.drawn_s(piece.mean_s, &mut self.chances);
        let work_s = drawn_s / self.cluster.speeds[piece.node];
        let end = self.cluster.end_of(now, work_s);
        self.plan(end, What::PieceDone(piece));
    }

    fn piece_done(&mut self, now: f64, piece: Piece) {
        match self.nodes[piece.node].waiting.pop_front() {
            Some(next) => self.start(now, next),
            None => self.nodes[piece.node].idle += 1,
        }
        let op = &mut self.ops[piece.op];
        op.pieces_left -= 1;
        if op.pieces_left > 0 {
            return;
        }
        let arrived = op.arrived;
        let answered = now + self.cluster.rtt_s;
        if self.span.holds(arrived) {
            self.seen.latencies_s.push(answered - arrived);
        }
        self.seen.acknowledged += usize::from(self.span.holds(answered));
        self.answered(answered);
    }

    fn answered(&mut self, at: f64) {
        if matches!(self.load, Load::Closed(_)) && at < self.span.to_s {
            self.plan(at, What::Arrival);
        }
    }
}
