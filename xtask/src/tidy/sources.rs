//! Rules about source files: length and purpose, purity, the one clock, and where databases are named.

use super::crates::{PURE, drivers};
use super::tree::{Finding, Tree, has_word, is_test};

/// Maximum lines of a Rust file, for readability.
const LONGEST_FILE: usize = 800;
/// The maximum for files of tests, which are read one test at a time.
const LONGEST_TEST_FILE: usize = 1_000;

/// Each Rust file states its purpose, and is not too long.
pub(super) fn is_short_and_says_its_purpose(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.with_extension("rs") {
        let (lines, most) =
            (text.lines().count(), if is_test(path) { LONGEST_TEST_FILE } else { LONGEST_FILE });
        if lines > most {
            let what = format!("{lines} lines, more than {most}");
            let hint = "split it where it stops being one thing; tests may go to `tests.rs`";
            findings.push(Finding::at(path, most + 1, what, hint));
        }
        if !text
            .strip_prefix("//! ")
            .is_some_and(|said| said.starts_with(char::is_alphanumeric) || said.starts_with('`'))
        {
            let hint = "state its purpose in a sentence, and what must not be in it";
            findings.push(Finding::at(path, 1, "the file does not open with `//!`", hint));
        }
    }
    findings
}

/// Nothing depends on the location of one developer's files. Written in halves, so that this file does not violate it.
pub(super) fn no_path_of_one_machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        for (line, _) in (1..).zip(text.lines()).filter(|(_, line)| {
            [concat!("/wo", "rk/"), concat!("/ro", "ot/")].iter().any(|own| line.contains(own))
        }) {
            let hint = "use a path relative to the repository, or a temporary directory";
            findings.push(Finding::at(path, line, "the path is one machine's own", hint));
        }
    }
    findings
}

/// Names that a pure crate must not use.
const WORLD: [&str; 10] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "Instant",
    "SystemTime",
    "now_utc",
    "thread_rng",
    // Equal records give equal bytes.
    "RandomState",
];

/// Pure crates have no I/O, clock, threads, or randomness.
pub(super) fn pure_crates_are_pure(tree: &Tree) -> Vec<Finding> {
    let is_pure = |path: &str| {
        let name = path.split('/').nth(1).unwrap_or_default();
        PURE.contains(&name)
    };
    let mut findings = Vec::new();
    for (path, lines) in tree.product().filter(|(path, _)| is_pure(path)) {
        for (number, line) in lines.into_iter().filter(|(_, line)| is_code(line)) {
            // A grouped import hides the first part.
            let line = line.replacen("use std::{", "use std::{std::", 1).replace(", ", ", std::");
            for word in WORLD.iter().filter(|word| has_word(&line, word)) {
                let hint = "take bytes, text, or the time as an argument, and return a value";
                let what = format!("a pure crate mentions `{word}`");
                findings.push(Finding::at(path, number, what, hint));
            }
        }
    }
    findings
}

fn is_code(line: &str) -> bool {
    !line.trim_start().starts_with("//")
}

/// Functions that read the time, in any crate. CPU time is allowed: it measures usage, not a point in time.
const CLOCKS: [&str; 4] = ["Instant::now", "SystemTime", "ClockId::Monotonic", "ClockId::Realtime"];

/// Only one module reads the time, so that a simulated clock can replace it everywhere.
pub(super) fn one_clock(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in tree.product() {
        let is_clock = path.starts_with("crates/driver/src/clock");
        for (number, line) in lines.into_iter().filter(|(_, line)| !is_clock && is_code(line)) {
            for clock in CLOCKS.iter().filter(|clock| has_word(line, clock)) {
                let hint = "ask the `Timeline`, or take the time as an argument";
                let what = format!("`{clock}` outside the module `clock`");
                findings.push(Finding::at(path, number, what, hint));
            }
        }
    }
    findings
}

/// Databases without a driver, in lower case. Those with one are listed in its manifest.
const WITHOUT_DRIVER: [&str; 2] = ["duckdb", "cassandra"];

/// Places in which every database with a driver may be named: the registry, the SQL that two drivers share, the
/// importers, because a tool can have the name of its database, and the generator of documents.
const OF_ALL_DRIVERS: [&str; 5] = [
    "crates/documents/",
    "crates/driver/src/sql/cratedb",
    "crates/driver/src/sql/mod.rs",
    "crates/drivers/registry/",
    "crates/import/",
];

/// A database is named in its driver, in the registry, and in workload files; all other code uses capabilities.
/// Comments are checked, too, because they become outdated first.
pub(super) fn databases_stay_in_their_drivers(tree: &Tree) -> Vec<Finding> {
    let drivers = drivers(tree);
    let mut findings = Vec::new();
    for (folder, names) in &drivers {
        // Only the sink, the simulated cluster, and the registry have none.
        let has_none = ["null/", "sim/", "registry/"].iter().any(|own| folder.ends_with(own));
        if names.iter().any(|name| name.is_empty() || *name != name.to_lowercase())
            || (names.is_empty() && !has_none)
        {
            let hint = "add `names = [\"…\"]` in lower case to `[package.metadata.highwater]`";
            let what = "the driver does not say which databases it names";
            findings.push(Finding::at(&format!("{folder}Cargo.toml"), 1, what, hint));
        }
    }
    for (path, lines) in tree.product() {
        let of_all = OF_ALL_DRIVERS.iter().any(|place| path.starts_with(place));
        let others = drivers.iter().filter(|(folder, _)| !of_all && !path.starts_with(folder));
        let others: Vec<&str> = others.flat_map(|(_, names)| names).map(String::as_str).collect();
        let own = drivers.iter().find(|(folder, _)| path.starts_with(folder));
        let is_own = |name: &str| own.is_some_and(|(_, names)| names.iter().any(|own| own == name));
        for (number, line) in lines {
            let lower = line.to_lowercase();
            let mut wrong = others.iter().copied().chain(WITHOUT_DRIVER);
            if let Some(name) = wrong.find(|name| names_it(&lower, name) && !is_own(name)) {
                let hint = "ask `Capabilities` or the registry; examples for help texts go to a `.txt` file";
                let what = format!("`{name}` is named outside its driver");
                findings.push(Finding::at(path, number, what, hint));
            }
        }
    }
    findings
}

/// Whether `lower` names the database. The Rust keyword `crate` does not count; a URL scheme or a string with only this
/// word does.
fn names_it(lower: &str, database: &str) -> bool {
    if database != "crate" {
        return lower.contains(database);
    }
    lower.contains("\"crate\"")
        || lower.match_indices("crate:").any(|(at, scheme)| {
            let next = lower[at + scheme.len()..].chars().next();
            next.is_some_and(|c| c != ':' && !c.is_whitespace())
        })
}
