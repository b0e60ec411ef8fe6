//! Whole runs against a real PostgreSQL: loads, queries, failures, time-outs, tables, hosts.

mod failing;
mod loading;
mod locking;
pub(crate) mod server;
mod tables;
