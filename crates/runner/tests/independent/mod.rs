//! A second simulation of the cluster described in `docs/reference/sim.md`: written from that page alone, slow and
//! simple, with queues and an event for each piece's end. It shares no code with `sim:`, and must not use any of the
//! project, so that an error in one is not repeated in the other.
//!
//! Choices where the page is ambiguous:
//!
//! - Pieces of one op reach a node one after another, so a later one encounters the earlier ones.
//! - A batch whose rows cannot be divided evenly by the shards adds one row to the first shards, counted from its
//!   random one.
//! - A piece that arrives during a stall takes an idle core at once, and starts when the stall ends.
#![allow(dead_code, clippy::allow_attributes, reason = "each test program uses a part of it")]

mod chances;
mod cluster;

pub(crate) use cluster::{Cluster, Load, Op, Seen, Service, Span};

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}
