//! Real databases for tests, started on loopback in a private directory and ended by process ID; the programs and
//! packages that tests need; and a thread that keeps a core busy.
//!
//! Only a development dependency, also of a repository task; the product never links it.

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
pub mod slurm;
