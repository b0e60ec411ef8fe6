//! The driver for CrateDB against a double that responds only with recorded bytes.
//!
//! No claim about CrateDB rests on the double alone: its responses come from a real server, and `conformance_named` and
//! `answers` run against a named one.

use highwater_testkit::support;

mod client;
mod double;
mod inserting;
mod transport;
