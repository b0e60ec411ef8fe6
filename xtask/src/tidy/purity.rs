//! Rules about side effects: pure crates have none, and only one module reads the clock.

use super::crates::PURE;
use super::tree::{Finding, Tree, code_lines, has_word, is_test};

/// Names that a pure crate must not use, and the alternatives.
const WORLD: &[(&str, &str)] = &[
    ("std::fs", "take bytes or text as an argument"),
    ("std::net", "only a driver talks to a network"),
    ("std::env", "take the value as an argument"),
    ("std::process", "return a value; the CLI decides"),
    ("std::thread", "the runner owns threads"),
    ("Instant", "take `Nanos` as an argument"),
    ("SystemTime", "take the time as an argument"),
    ("now_utc", "take the time as an argument"),
    ("thread_rng", "derive it from seed and index"),
    ("RandomState", "use a `BTreeMap`: equal records give equal bytes"),
];

/// Modules of `std` that a grouped import could hide.
const WORLD_MODULES: &[&str] = &["fs", "net", "env", "process", "thread"];

/// Functions that read the time, in any crate. CPU time is allowed: it measures usage, not a point in time.
const CLOCKS: &[&str] = &["Instant::now", "SystemTime", "ClockId::Monotonic", "ClockId::Realtime"];

/// Pure crates have no I/O, clock, threads, or randomness.
pub(super) fn pure_crates_are_pure(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.with_extension("rs") {
        if !is_pure(path) || is_test(path) {
            continue;
        }
        for (number, line) in code_lines(text) {
            for (word, hint) in WORLD.iter().filter(|(word, _)| has_word(line, word)) {
                let what = format!("a pure crate mentions `{word}`");
                findings.push(Finding::at(path, number, what, *hint));
            }
            let Some(group) = line.trim_start().strip_prefix("use std::{") else {
                continue;
            };
            for module in WORLD_MODULES.iter().filter(|m| has_word(group, m)) {
                let what = format!("a pure crate imports `std::{module}`");
                findings.push(Finding::at(path, number, what, "pure crates have no I/O"));
            }
        }
    }
    findings
}

/// Whether a file is source code of a pure crate.
fn is_pure(path: &str) -> bool {
    let mut parts = path.split('/');
    let in_source = parts.next() == Some("crates");
    let name = parts.next().map(|name| format!("highwater-{name}"));
    in_source
        && name.is_some_and(|name| PURE.contains(&name.as_str()))
        && parts.next() == Some("src")
}

/// Only one module reads the time, so that a simulated clock can replace it everywhere.
pub(super) fn one_clock(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_no_clock = |(path, _): &(&str, &str)| !path.starts_with("crates/driver/src/clock");
    for (path, text) in tree.product().filter(is_no_clock) {
        for (number, line) in code_lines(text) {
            if let Some(clock) = CLOCKS.iter().find(|clock| has_word(line, clock)) {
                findings.push(Finding::at(
                    path,
                    number,
                    format!("`{clock}` outside the module `clock`"),
                    "ask the `Timeline`, or take the time as an argument",
                ));
            }
        }
    }
    findings
}
