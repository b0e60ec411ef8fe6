//! A second simulation of the cluster that `docs/reference/sim.md` describes: written from that page alone,
//! slow and plain, with waiting lines and an event for each piece's end. It shares no code with `sim:` and
//! must not use any of the project, so that a mistake in one is not a mistake in both.
//!
//! Where the page leaves something open:
//!
//! - Pieces of one op reach a node one after another, so a later one finds the earlier ones.
//! - A batch whose rows the shards do not divide brings one row more to the first shards, counted from its
//!   random one.
//! - A piece that comes during a stall takes a free core at once and begins when the stall is over.
#![allow(dead_code, clippy::allow_attributes, reason = "each test program uses a part of it")]

mod chances;
mod cluster;

pub(crate) use cluster::{Cluster, Load, Op, Seen, Service, Span};

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}
