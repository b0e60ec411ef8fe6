//! Whole runs on databases: the simulated one, and real ones if they are installed. In one program, because most of
//! these tests wait, and others can then run.
//! because most of these tests wait, and then another one runs.

#![expect(clippy::unwrap_used, reason = "a test fails where it finds something else")]

mod audit;
mod beside;
mod clickhouse;
mod continuing;
mod declared;
mod disk;
mod first_run;
mod galera;
mod postgres;
#[path = "../support/mod.rs"]
mod support;
