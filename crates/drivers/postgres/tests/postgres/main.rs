//! The driver for the PostgreSQL wire protocol against a real server.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

#[path = "../../../../driver/tests/support/points.rs"]
mod points;
#[path = "../../../../driver/tests/support/mod.rs"]
mod support;

mod client;
mod cockroach;
mod conformance;
mod connecting;
mod creating;
mod describing;
mod failing;
mod inserting;
mod transactions;
