//! Where the values of a command come from: the command line, the environment, and files of settings.
//!
//! Must not interpret a value.

pub mod file;
mod gather;
mod names;
mod reach;

pub use gather::{gather, of_words};
pub use names::variable;
pub use reach::FileKind;
