//! Real databases for tests, started on loopback in a private directory and ended by process ID,
//! the programs and packages that tests need, and a thread that makes a core busy.
//!
//! A development dependency only, and one of the repository's tasks; the product never links it.

pub mod busy;
pub mod clickhouse;
pub mod clickhouse_shards;
pub mod galera;
pub mod mariadb;
pub mod npm;
pub mod pgbouncer;
pub mod postgres;
pub mod programs;
mod server;
