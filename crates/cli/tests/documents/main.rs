//! What is beside the program is true of it: the documents' generated parts, the commands that they print, and the
//! dashboards.
//!
//! `cargo xtask docs` runs this binary to have the generated parts rewritten.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

mod dashboards;
mod generated;
mod printed_commands;
