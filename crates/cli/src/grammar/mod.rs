//! The command line: what a command is, help texts and the parser. No value is judged here.
//!
//! The parser, the help texts and the list of settings all come from the table of commands.

mod command;
mod flag;
pub(crate) mod flags;
mod other_tools;
mod parameters;
mod parse;
mod texts;

#[cfg(test)]
mod tests;

pub(crate) use command::words;
pub use command::{CommandSpec, Positional, WORKLOAD_AND_TARGETS};
pub(crate) use flag::flag;
pub use flag::{Flag, Reach};
pub use parse::{Arguments, Request, command_line, parse};
