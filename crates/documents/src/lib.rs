//! The generated parts of the documents: help texts, schemas, tables of reasons and columns, and how often stated
//! confidence levels held.
//!
//! A test of the command line compares them with the documents, and rewrites them for `cargo xtask docs`. Not part of
//! the product.

pub mod accuracy;
mod command_line;
mod index;
#[expect(
    clippy::expect_used,
    reason = "a case that cannot be run must fail its test, and the documents with it"
)]
pub mod limits;
mod pages;
pub mod sizes;

pub use pages::{Mode, run};
