//! The driver for ClickHouse against a real server, and against three of one cluster.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use highwater_testkit::{killing, points, rules, said, support, words};

mod certainty;
mod client;
mod conformance;
mod cutting;
mod failing;
mod inserting;
mod leasing;
mod shards;
