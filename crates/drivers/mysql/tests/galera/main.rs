//! The driver on three nodes of MariaDB with Galera, one after the other on one cluster; a test that loses
//! nodes has a cluster of its own.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

#[path = "../../../../driver/tests/support/points.rs"]
mod points;
#[path = "../../../../driver/tests/support/mod.rs"]
mod support;

mod certainty;
mod cluster;
mod conformance;
mod losing;
mod nodes;
