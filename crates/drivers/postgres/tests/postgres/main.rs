//! The driver for the PostgreSQL wire protocol against a real server.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use highwater_testkit::{points, rules, support, transaction, words};

mod client;
mod cockroach;
mod conformance;
mod connecting;
mod creating;
mod describing;
mod expressions;
mod failing;
mod inserting;
mod pooled;
mod standbys;
mod steps;
mod transactions;
mod yugabyte;
