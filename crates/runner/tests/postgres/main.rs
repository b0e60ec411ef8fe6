//! Whole runs against a real PostgreSQL: loads, queries, failures, time-outs, tables, hosts.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where it finds something else"
)]

mod failing;
mod loading;
mod locking;
mod server;
#[path = "../support/mod.rs"]
mod support;
mod tables;
