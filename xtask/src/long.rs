//! `cargo xtask long`: the tests that take too long for everyday use.
//!
//! They are `#[ignore]`d and their names contain `long_`. They run in the test profile, because linking a release build
//! of every test program takes longer than it saves. They run one at a time, because a growth of a real cluster, or a
//! search next to a server, has no correct figures during another test.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::process;

/// Sums over the test binaries of one call of `cargo test`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Names of the failed tests.
    pub failures: Vec<String>,
}

/// Runs the long tests whose names contain `filter`, copying their output to `out`.
pub fn run(filter: Option<&str>, out: &mut dyn Write) -> Result<String, String> {
    let mut command = process::cargo(&["test", "--workspace", "--no-fail-fast"]);
    command.args(["--", "--ignored", "--test-threads=1"]);
    command.arg(filter.unwrap_or("long_"));
    let shown = process::shown(&command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{shown}` did not start: {error}"))?;
    let mut totals = Totals::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            totals.add(&line);
            // A closed output must not end the tests.
            writeln!(out, "{line}").ok();
        }
    }
    let status = child.wait().map_err(|error| format!("`{shown}`: {error}"))?;
    totals.verdict(status.success())
}

impl Totals {
    /// Adds one line of a test binary's output.
    pub fn add(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            for part in result.split([';', '.']) {
                match part.trim().split_once(' ') {
                    Some((count, "passed")) => self.passed += count.parse().unwrap_or(0),
                    Some((count, "failed")) => self.failed += count.parse().unwrap_or(0),
                    _ => {}
                }
            }
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        }
    }

    /// The closing line.
    pub fn verdict(&self, cargo_succeeded: bool) -> Result<String, String> {
        let line = format!("long: {} passed, {} failed", self.passed, self.failed);
        if self.failed > 0 {
            return Err(format!("{line}: {}", self.failures.join(", ")));
        }
        if !cargo_succeeded {
            return Err(format!("{line}, but cargo did not succeed"));
        }
        if self.passed == 0 {
            return Err(format!("{line}: no ignored test has such a name"));
        }
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(lines: &[&str]) -> Totals {
        let mut totals = Totals::default();
        for line in lines {
            totals.add(line);
        }
        totals
    }

    #[test]
    fn results_of_all_binaries_add_up() {
        let found = totals(&[
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out",
            "test sim::long_stall ... FAILED",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
        ]);
        assert_eq!((found.passed, found.failed), (3, 1));
        let said = found.verdict(false).unwrap_err();
        assert_eq!(said, "long: 3 passed, 1 failed: sim::long_stall");
    }

    #[test]
    fn nothing_run_is_a_failure() {
        assert!(totals(&[]).verdict(true).is_err());
        let one = totals(&["test result: ok. 1 passed; 0 failed; 0 ignored"]);
        assert!(one.verdict(false).is_err());
        assert_eq!(one.verdict(true).unwrap(), "long: 1 passed, 0 failed");
    }
}
