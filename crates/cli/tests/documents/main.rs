//! The documents match the program: their generated parts, the commands that they print, and the dashboards.
//!
//! `cargo xtask docs` runs this binary to rewrite the generated parts.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

mod dashboards;
mod generated;
mod printed_commands;
