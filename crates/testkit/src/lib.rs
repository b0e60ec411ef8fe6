//! Shared by the tests of several crates: the conformance suite that every driver passes, and a session, a small
//! workload, and a clock for tests of drivers.
//!
//! Only a development dependency. Must not start a database: `highwater-testing` does.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot start has failed")]

pub mod conformance;
pub mod killing;
pub mod points;
pub mod rules;
pub mod said;
pub mod support;
pub mod transaction;
pub mod words;
