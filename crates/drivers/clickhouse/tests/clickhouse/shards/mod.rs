//! The driver on three shards of ClickHouse.

pub(crate) mod cluster;
mod losing;
mod spooling;
mod tables;
