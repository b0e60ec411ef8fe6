//! Where the values of a command come from: the command line, the environment, and
//! `highwater.toml`.
//!
//! Must not interpret a value.

pub mod file;
mod gather;
mod names;

pub use gather::{gather, of_words};
pub use names::variable;
