//! The driver for the PostgreSQL wire protocol against a real server.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "../../../../driver/tests/support/points.rs"]
mod points;
#[path = "../../../../driver/tests/support/rules.rs"]
mod rules;
#[path = "../../../../driver/tests/support/mod.rs"]
mod support;
#[path = "../../../../driver/tests/support/transaction.rs"]
mod transaction;
#[path = "../../../../driver/tests/support/words.rs"]
mod words;

mod client;
mod cockroach;
mod conformance;
mod connecting;
mod creating;
mod describing;
mod failing;
mod inserting;
mod pooled;
mod standbys;
mod transactions;
mod yugabyte;
