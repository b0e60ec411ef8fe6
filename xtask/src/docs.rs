//! `cargo xtask docs`: rewrites the generated parts of the documents.
//!
//! Runs the test that compares them, in a mode in which it writes instead, so that only the tests must be built.

use std::process::Command;

use crate::process;

/// If set to `1`, the test of the documents writes the differences.
pub const WRITE: &str = "HIGHWATER_WRITE_DOCUMENTS";

/// Rewrites the generated parts.
pub fn write() -> Result<String, String> {
    process::run(test().env(WRITE, "1")).map(|()| String::new())
}

/// Compares the generated parts.
pub fn check() -> Result<String, String> {
    process::run(&mut test()).map(|()| String::new())
}

fn test() -> Command {
    let mut command = process::cargo(&["test", "--quiet", "--workspace", "--test", "documents"]);
    command.args(["--", "generated", "--nocapture"]);
    command
}
