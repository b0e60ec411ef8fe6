//! The driver for CrateDB against a double that answers with recorded bytes, and with nothing else.
//!
//! No claim about CrateDB rests on the double alone: what it says was said by a real server, and
//! `conformance_named` and `answers` run against one that is named.

mod client;
mod double;
mod inserting;
mod transport;

#[path = "../../../../driver/tests/support/mod.rs"]
mod support;
