//! A running process shows no password to other users of the machine.
//!
//! The process blocks while it reads its settings from standard input, a pipe that stays open.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

const PASSWORD: &str = "geheim";

/// A process that has read its arguments, and the pipe that it waits for.
struct Held {
    process: Child,
    _directory: TempDir,
    pipe: ChildStdin,
}

/// Maximum checks whether a process has opened its settings.
const LOOKS_MAX: u32 = 10_000;

/// With `restarted`, a process that restarted itself without its password, and keeps a copy of its standard input.
fn hold(words: &[&str], environment: &[(&str, &str)], restarted: bool) -> Held {
    let directory = TempDir::new().unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_highwater"))
        .args(&words[..1])
        .args(["--config", "/dev/stdin"])
        .args(&words[1..])
        .envs(environment.iter().copied())
        .current_dir(&directory)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = process.stdin.take().unwrap();
    let held = Held { process, _directory: directory, pipe };
    for _ in 0..LOOKS_MAX {
        let open = held.descriptors();
        // Standard input, and the same pipe opened as a settings file.
        let ours = fs::read_link(format!("/proc/{}/fd/0", held.process.id())).unwrap();
        let ours = ours.display().to_string();
        let expected = if restarted { 3 } else { 2 };
        if open.iter().filter(|link| **link == ours).count() == expected {
            return held;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("no settings are read");
}

impl Held {
    /// A file of the process under /proc, as text.
    fn read(&self, name: &str) -> String {
        let path = format!("/proc/{}/{name}", self.process.id());
        String::from_utf8_lossy(&fs::read(path).unwrap()).replace('\0', " ")
    }

    /// The targets of the open descriptors.
    fn descriptors(&self) -> Vec<String> {
        let path = format!("/proc/{}/fd", self.process.id());
        fs::read_dir(path)
            .unwrap()
            .map(|entry| fs::read_link(entry.unwrap().path()))
            .map(|link| link.unwrap_or_default().display().to_string())
            .collect()
    }

    /// Lets the process continue with this file; returns its exit code and its stderr.
    fn go_on(mut self, file: &str) -> (Option<i32>, String) {
        self.pipe.write_all(file.as_bytes()).unwrap();
        drop(self.pipe);
        let mut text = String::new();
        let mut stderr = self.process.stderr.take().unwrap();
        stderr.read_to_string(&mut text).unwrap();
        (self.process.wait().unwrap().code(), text)
    }
}

#[test]
fn a_password_on_the_command_line_is_seen_neither_in_words_nor_in_the_environment() {
    let url = format!("postgres://user:{PASSWORD}@127.0.0.1:1/name");
    let variable = format!("postgres://user:{PASSWORD}@127.0.0.1:2/name");
    let held = hold(&["run", "kv", &url], &[("HIGHWATER_TARGET", &variable)], true);
    let words = held.read("cmdline");
    assert!(words.ends_with(" kv postgres://user@127.0.0.1:1/name "), "{words}");
    let environment = held.read("environ");
    assert!(environment.contains("HIGHWATER_TARGET=postgres://user@127.0.0.1:2/name"));
    assert!(!environment.contains(PASSWORD));
    let descriptors = held.descriptors();
    assert!(!descriptors.iter().any(|to| to.contains("memfd")), "{descriptors:?}");
    let (code, text) = held.go_on("wrong = 1");
    assert_eq!(code, Some(2));
    assert!(!text.contains(PASSWORD), "{text}");
}

#[test]
fn a_token_of_an_endpoint_is_not_seen() {
    let url = format!("http://127.0.0.1:1/metrics?token={PASSWORD}");
    let held = hold(&["run", "sim:", "--metrics", &url], &[], true);
    let words = held.read("cmdline");
    assert!(words.ends_with("/metrics?token=*** "), "{words}");
    let (code, text) = held.go_on("wrong = 1");
    assert_eq!(code, Some(2));
    assert!(!text.contains(PASSWORD), "{text}");
}

#[test]
fn standard_input_is_the_same_before_and_after() {
    let held = hold(&["run", "postgres://user:geheim@127.0.0.1:1/name"], &[], true);
    let path = format!("/proc/{}/fd/0", held.process.id());
    let link = fs::read_link(Path::new(&path)).unwrap();
    assert!(link.display().to_string().starts_with("pipe:"), "{link:?}");
    held.go_on("wrong = 1");
}

#[test]
fn the_new_process_receives_the_arguments_with_the_password() {
    // A label of more than 256 bytes is an error; without its password, it is shorter.
    let long = "x".repeat(300);
    let label = format!("url=db://user:{long}@h");
    let held = hold(&["run", "sim:", "--label", &label], &[], true);
    assert!(!held.read("cmdline").contains(&long));
    let (code, text) = held.go_on("");
    assert_eq!(code, Some(2));
    assert!(text.contains("is too long"), "{text}");
}

#[test]
fn without_a_password_nothing_is_restarted() {
    let held = hold(&["run", "db://user@h/name"], &[], false);
    assert!(!held.read("environ").contains("HIGHWATER_HANDOVER"));
    held.go_on("wrong = 1");
}
