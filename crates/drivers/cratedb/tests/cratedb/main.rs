//! The driver for CrateDB against a double that responds only with recorded bytes.
//!
//! No claim about CrateDB rests on the double alone: its responses come from a real server, and `conformance_named` and
//! `answers` run against a named one.

mod client;
mod double;
mod inserting;
mod transport;

#[path = "../../../../driver/tests/support/mod.rs"]
mod support;
