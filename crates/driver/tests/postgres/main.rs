//! The driver for the PostgreSQL wire protocol against a real server.

#[path = "../support/mod.rs"]
mod support;

mod client;
mod connecting;
mod failing;
mod inserting;
