//! Real databases for tests, started on loopback in a private directory and ended by process ID,
//! and the programs that tests need.
//!
//! A development dependency only, and one of the repository's tasks; the product never links it.

pub mod postgres;
pub mod programs;
