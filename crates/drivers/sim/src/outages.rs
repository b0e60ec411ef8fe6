//! What planned actions did to the nodes of a simulated cluster: which are down, what they had in progress, and which
//! rows died with them. Must not wait; an action's times are those of `actions`.

use std::collections::{BTreeMap, VecDeque};

use highwater_model::units::Nanos;

/// Ops in flight of which the end is remembered; ops that their clients abandoned are forgotten beyond this.
const MAX_IN_FLIGHT: usize = 65_536;

/// The nodes as actions left them.
#[derive(Debug, Default)]
pub(super) struct Outages {
    /// Nodes that are down, and from when the cluster does without them.
    down: BTreeMap<u32, Nanos>,
    in_flight: BTreeMap<u64, InFlight>,
    tickets: u64,
    /// Inserts that only their primaries have, in the order of their arrival.
    unreplicated: VecDeque<Insert>,
}

/// An op that waits for its response.
#[derive(Debug)]
struct InFlight {
    /// When its response is due.
    at: Nanos,
    /// Its nodes, and when each is done.
    parts: Vec<(u32, Nanos)>,
}

/// An insert that was booked.
#[derive(Debug, Clone)]
pub(super) struct Insert {
    pub(super) table: usize,
    pub(super) first_row: u64,
    pub(super) rows: u64,
    /// When it was done.
    pub(super) finish: Nanos,
    /// The nodes of its primaries.
    pub(super) primaries: Vec<u32>,
}

impl Outages {
    /// Whether a node is down.
    pub(super) fn is_down(&self, node: u32) -> bool {
        self.down.contains_key(&node)
    }

    /// Number of nodes that are down.
    pub(super) fn nodes_down(&self) -> usize {
        self.down.len()
    }

    /// Until when an op for this node has to wait, because the cluster does not do without it yet.
    pub(super) fn blocked_until(&self, node: u32, now: Nanos) -> Option<Nanos> {
        self.down.get(&node).copied().filter(|without_from| now < *without_from)
    }

    /// Remembers an op; returns its ticket.
    pub(super) fn expect(&mut self, at: Nanos, parts: Vec<(u32, Nanos)>, now: Nanos) -> u64 {
        if self.in_flight.len() >= MAX_IN_FLIGHT {
            self.in_flight.retain(|_, op| op.at >= now);
        }
        self.tickets += 1;
        self.in_flight.insert(self.tickets, InFlight { at, parts });
        self.tickets
    }

    /// When the response of an op is due; `None` if a node died with it.
    pub(super) fn due(&self, ticket: u64) -> Option<Nanos> {
        self.in_flight.get(&ticket).map(|op| op.at)
    }

    /// Forgets an op that has its response.
    pub(super) fn forget(&mut self, ticket: u64) {
        self.in_flight.remove(&ticket);
    }

    /// Remembers the rows of an insert for as long as a kill loses them.
    pub(super) fn replicate_later(&mut self, insert: Insert, lag: Nanos, now: Nanos) {
        let safe = |insert: &Insert| insert.finish.saturating_add(lag) <= now;
        while self.unreplicated.front().is_some_and(safe) {
            self.unreplicated.pop_front();
        }
        self.unreplicated.push_back(insert);
    }

    /// Takes a node away, in order; the cluster does without it from the given time on.
    pub(super) fn take_away(&mut self, node: u32, without_from: Nanos) {
        self.down.insert(node, without_from);
    }

    /// Cuts off the ops that a node had not finished, and returns the inserts that are lost with it.
    pub(super) fn kill(&mut self, node: u32, lag: Nanos, now: Nanos) -> Vec<Insert> {
        self.in_flight
            .retain(|_, op| op.parts.iter().all(|(on, finish)| *on != node || *finish <= now));
        let since = |insert: &Insert| insert.finish.saturating_add(lag) > now;
        let is_lost = |insert: &Insert| insert.primaries.contains(&node) && since(insert);
        let (lost, left) = self.unreplicated.drain(..).partition(is_lost);
        self.unreplicated = left;
        Vec::from(lost)
    }

    /// A node is back.
    pub(super) fn bring_back(&mut self, node: u32) {
        self.down.remove(&node);
    }

    /// What a node has in progress is done later.
    pub(super) fn postpone(&mut self, node: u32, later: impl Fn(Nanos) -> Nanos, rtt: Nanos) {
        for op in self.in_flight.values_mut() {
            for (_, finish) in op.parts.iter_mut().filter(|(on, _)| *on == node) {
                *finish = later(*finish);
                op.at = op.at.max(finish.saturating_add(rtt));
            }
        }
    }
}
