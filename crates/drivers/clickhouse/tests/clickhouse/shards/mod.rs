//! The driver on three shards of ClickHouse.

mod cluster;
mod conformance;
mod losing;
mod spooling;
mod tables;
