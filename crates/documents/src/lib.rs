//! The parts of the documents that a program writes: help texts, schemas, tables of reasons and columns, and
//! how often the levels that are claimed held.
//!
//! A test of the command line compares them with what stands in the documents, and rewrites them for
//! `cargo xtask docs`. Nothing here is part of the product.

pub mod accuracy;
pub mod dashboards;
mod index;
#[expect(
    clippy::expect_used,
    reason = "a case that cannot be run must fail its test, and the documents with it"
)]
pub mod limits;
mod pages;
pub mod sizes;

pub use pages::{Mode, run};
