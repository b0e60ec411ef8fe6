//! The driver for the MySQL wire protocol against a real MariaDB, and against three Galera nodes.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use highwater_testkit::{killing, points, rules, said, support, transaction, words};

mod certainty;
mod client;
mod conformance;
mod connecting;
mod describing;
mod failing;
mod galera;
mod inserting;
mod refusing;
mod steps;
