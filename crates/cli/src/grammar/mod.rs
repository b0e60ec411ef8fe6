//! The command line: commands, flags, help texts and the parser. No value is judged here.
//!
//! The parser, the help texts and the list of settings all come from the table in [`flags`].

mod command;
mod examples;
pub mod flags;
mod parameters;
mod parse;
mod shared_flags;

#[cfg(test)]
mod tests;

pub use command::Command;
pub use parse::{Arguments, Request, command_line, parse};
