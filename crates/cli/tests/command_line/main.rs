//! The program as used by scripts: texts, streams, exit codes.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

mod check;
mod figures;
mod process_title;
mod proposed;
mod size;
mod stored;
mod texts;

use std::process::Output;

use assert_cmd::Command;
use insta::assert_snapshot;
use tempfile::TempDir;

/// The program in an empty directory, without Highwater's environment variables.
fn highwater(directory: &TempDir) -> Command {
    let mut command = Command::cargo_bin("highwater").unwrap();
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("HIGHWATER_")) {
        command.env_remove(name);
    }
    command.current_dir(directory).env_remove("NO_COLOR");
    // Settings of the user who runs the tests must have no effect.
    command.env("XDG_CONFIG_HOME", directory.path());
    command
}

fn call(words: &[&str]) -> Output {
    highwater(&TempDir::new().unwrap()).args(words).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The help on stdout, with exit code 0 and nothing on stderr.
fn help(words: &[&str]) -> String {
    let output = call(words);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

/// A run on simulated time, which takes almost no time; returns its exit code and output.
fn run(directory: &TempDir, words: &[&str]) -> (Option<i32>, String) {
    let output = highwater(directory)
        .env("HIGHWATER_DURATION", "10s")
        .args(["run", "-q"])
        .args(words)
        .output()
        .unwrap();
    assert_eq!(stderr(&output), "", "{words:?}");
    (output.status.code(), stdout(&output))
}
