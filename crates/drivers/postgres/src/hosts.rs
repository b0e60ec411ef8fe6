//! Selects the host of each session: in turn, or according to `target_session_attrs` and `load_balance_hosts`.
//!
//! Must not know how a connection is made.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use super::connect::{self, OpenConnection};
use super::facts::mismatch;
use super::options::{HostOrder, Node, SessionAttributes};
use highwater_driver::contract::{Timeline, in_turn};
use highwater_driver::network;
use highwater_model::user_error::{UserError, UserErrorKind};

/// The hosts of a target.
pub(super) struct Hosts {
    /// At least one.
    nodes: Vec<Node>,
    /// Seed for random host selection.
    seed: u64,
    /// By the first host that a session tried: the host that was last accepted; bounded by the number of hosts.
    taken: Mutex<BTreeMap<usize, usize>>,
}

impl Hosts {
    pub(super) fn new(nodes: Vec<Node>, seed: u64) -> Self {
        Self { nodes, seed, taken: Mutex::default() }
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The host of a session at an attempt; if it depends on the servers, it is known once connected.
    pub(super) fn host_of(&self, number: u32, attempt: u32) -> usize {
        let first = self.first(number, attempt);
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.get(&first).copied().unwrap_or(first)
    }

    /// Opens the connection of a session.
    pub(super) async fn open(
        &self,
        number: u32,
        attempt: u32,
        timeline: &Rc<dyn Timeline>,
    ) -> Result<(&Node, OpenConnection), UserError> {
        let first = self.first(number, attempt);
        if !self.are_chosen() {
            let node = network::nth(&self.nodes, first)?;
            return Ok((node, connect::open(node, timeline).await?));
        }
        let open = async |node: &Node| connect::open(node, timeline).await;
        let (host, opened) = self.choose(first, open).await?;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.insert(first, host);
        Ok((network::nth(&self.nodes, host)?, opened))
    }

    /// Opens a connection other than a session's: to the first acceptable host that opens.
    pub(super) async fn open_any(
        &self,
        open: impl AsyncFn(&Node) -> Result<OpenConnection, UserError>,
    ) -> Result<(&Node, OpenConnection), UserError> {
        let (host, opened) = self.choose(0, open).await?;
        Ok((network::nth(&self.nodes, host)?, opened))
    }

    /// Whether a session may try more than one host.
    fn are_chosen(&self) -> bool {
        let plain = |node: &Node| {
            let login = &node.login;
            login.session_attributes == SessionAttributes::Any
                && login.host_order == HostOrder::InTurn
        };
        !self.nodes.iter().all(plain)
    }

    /// The first host that a session tries.
    fn first(&self, number: u32, attempt: u32) -> usize {
        let count = self.nodes.len();
        let order = self.nodes.first().map(|node| node.login.host_order);
        match order.unwrap_or(HostOrder::InTurn) {
            HostOrder::InTurn => in_turn(number, attempt, count),
            HostOrder::AsGiven => in_turn(0, attempt, count),
            HostOrder::Random => {
                let position = u64::from(number) << 32 | u64::from(attempt);
                let drawn = mixed(self.seed ^ mixed(position)) % (count.max(1) as u64);
                usize::try_from(drawn).unwrap_or(0)
            }
        }
    }

    /// The first host, starting at `first`, that opens and is acceptable; a standby is preferred if requested.
    ///
    /// # Errors
    ///
    /// The error of the last host. An error reported by a server itself, such as a wrong password, ends the search, as
    /// in libpq.
    async fn choose(
        &self,
        first: usize,
        open: impl AsyncFn(&Node) -> Result<OpenConnection, UserError>,
    ) -> Result<(usize, OpenConnection), UserError> {
        let prefers =
            |node: &Node| node.login.session_attributes == SessionAttributes::PreferStandby;
        let rounds = if self.nodes.iter().any(prefers) { 2 } else { 1 };
        let mut failed = network::none_given();
        for round in 0..rounds {
            for place in 0..self.nodes.len() {
                let host = (first + place) % self.nodes.len();
                let node = network::nth(&self.nodes, host)?;
                let expected = match node.login.session_attributes {
                    SessionAttributes::PreferStandby if round > 0 => SessionAttributes::Any,
                    expected => expected,
                };
                let mut opened = match open(node).await {
                    Ok(opened) => opened,
                    Err(error) if self.are_chosen() && error.kind != UserErrorKind::Unreachable => {
                        return Err(error);
                    }
                    Err(error) => {
                        failed = error;
                        continue;
                    }
                };
                let (connection, reported) = (&mut opened.connection, opened.reported);
                match mismatch(connection, reported, node, expected).await? {
                    None => return Ok((host, opened)),
                    Some(mismatch) => failed = unsuitable(node, mismatch),
                }
            }
        }
        Err(failed)
    }
}

/// A host of another kind than `target_session_attrs` requires. It may change, so the search is repeated.
fn unsuitable(node: &Node, mismatch: &str) -> UserError {
    let cause = format!("{}: no host is as target_session_attrs says: {mismatch}", node.shown);
    UserError::unreachable(cause).with_hint(
        "name the other hosts of the cluster too, or correct target_session_attrs (PGTARGETSESSIONATTRS)",
    )
}

/// A number that depends on every bit of another one (SplitMix64's last step).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
