//! `cargo xtask docs`: has the generated parts of the documents rewritten.
//!
//! It runs the test that compares them, which writes instead where it is asked to: what the tests are built
//! from is built once.

use std::process::Command;

use crate::process;

/// Set to `1`: the test of the documents writes what differs.
pub const WRITE: &str = "HIGHWATER_WRITE_DOCUMENTS";

/// Rewrites them.
pub fn write() -> Result<String, String> {
    process::run(test().env(WRITE, "1")).map(|()| String::new())
}

/// Compares them.
pub fn check() -> Result<String, String> {
    process::run(&mut test()).map(|()| String::new())
}

fn test() -> Command {
    let mut command = process::cargo(&["test", "--quiet", "--workspace", "--test", "documents"]);
    command.args(["--", "generated", "--nocapture"]);
    command
}
