//! What a user could do next, as commands: the one that asks the same again, and the step that an expert would
//! take.
//!
//! Commands have the user's words and units, exist, and can be pasted as they stand. Must not print anything else,
//! and must not judge.

mod again;
mod commands;
mod steps;

pub use again::again;
pub use commands::{ceiling, quoted};
pub use steps::next_command;
