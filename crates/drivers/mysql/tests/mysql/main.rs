//! The driver for the MySQL wire protocol against a real MariaDB, and against three Galera nodes.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "../../../../driver/tests/support/killing.rs"]
mod killing;
#[path = "../../../../driver/tests/support/points.rs"]
mod points;
#[path = "../../../../driver/tests/support/rules.rs"]
mod rules;
#[path = "../../../../driver/tests/support/said.rs"]
mod said;
#[path = "../../../../driver/tests/support/mod.rs"]
mod support;
#[path = "../../../../driver/tests/support/transaction.rs"]
mod transaction;
#[path = "../../../../driver/tests/support/words.rs"]
mod words;

mod certainty;
mod client;
mod conformance;
mod connecting;
mod describing;
mod failing;
mod galera;
mod inserting;
mod refusing;
