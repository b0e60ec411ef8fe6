//! The user's next step as a command: a repetition of the last command, or the step that an expert would take.
//!
//! Commands must use the user's words and units, be valid, and be ready to paste. Must not print anything else, or
//! judge.

mod commands;
mod steps;

pub use commands::{SHARED, again, ceiling, quoted};
pub use steps::next_command;
