//! The driver on three shards of ClickHouse.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

#[path = "../../../../driver/tests/support/points.rs"]
#[expect(dead_code, reason = "no query of these tests is without a key")]
mod points;
#[path = "../../../../driver/tests/support/mod.rs"]
mod support;
#[path = "../words/mod.rs"]
mod words;

mod cluster;
mod conformance;
mod losing;
mod tables;
