//! Rules about words that must not appear in certain places.

use super::crates::{DriverCrate, drivers};
use super::tree::{Finding, Tree, extension_of, has_word, production_lines};

// Written in two halves, so that this file does not violate its own rules.
const LEFT_OPEN: [&str; 3] = [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")];
const DEBUG_CALL: &str = concat!("dbg", "!(");
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Databases without a driver, in lower case. Those with one are listed in its manifest.
const WITHOUT_DRIVER: &[&str] = &["duckdb", "cassandra"];

/// Places in which every database with a driver may be named: the registry, the SQL that two drivers share, and the
/// importers, because a tool can have the name of its database. A driver's crate may name those in its manifest, and
/// other code may name none, not even as a dialect.
const OF_ALL_DRIVERS: &[&str] = &[
    "crates/drivers/registry/",
    "crates/driver/src/sql/cratedb",
    "crates/driver/src/sql/mod.rs",
    "crates/import/",
];

/// Unfinished work is an issue, not a comment in the tree.
pub(super) fn nothing_is_left_open(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| is_source(path)) {
        for (i, line) in text.lines().enumerate() {
            let left = LEFT_OPEN.iter().find(|word| has_word(line, word));
            if let Some(word) = left {
                let hint = "finish it, or open an issue and delete the remark";
                findings.push(Finding::at(path, i + 1, format!("`{word}`"), hint));
            }
            if line.contains(DEBUG_CALL) {
                let what = "a debugging print";
                findings.push(Finding::at(path, i + 1, what, "delete it"));
            }
        }
    }
    findings
}

/// Nothing depends on the location of one developer's files.
pub(super) fn no_path_of_one_machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        for (i, line) in text.lines().enumerate() {
            if let Some(found) = MACHINE_PATHS.iter().find(|found| line.contains(**found)) {
                findings.push(Finding::at(
                    path,
                    i + 1,
                    format!("the path `{found}` is one machine's own"),
                    "use a path relative to the repository, or a temporary directory",
                ));
            }
        }
    }
    findings
}

/// A database is named in its driver, in the registry, and in workload files; all other code uses capabilities.
/// Comments are checked, too, because they become outdated first.
pub(super) fn databases_stay_in_their_drivers(tree: &Tree) -> Vec<Finding> {
    let drivers = drivers(tree);
    let with_driver: Vec<&str> = drivers.iter().flat_map(databases).collect();
    let mut findings = Vec::new();
    // Generated documents name the databases that they describe.
    let is_code = |(path, _): &(&str, &str)| !path.starts_with("crates/documents/");
    for (path, text) in tree.product().filter(is_code) {
        let own = may_name(path, &drivers, &with_driver);
        for (line_number, line) in production_lines(text) {
            let lower = line.to_lowercase();
            let mut all = with_driver.iter().chain(WITHOUT_DRIVER);
            let found = all.find(|name| names(&lower, name) && !own.contains(name));
            if let Some(name) = found {
                findings.push(Finding::at(
                    path,
                    line_number,
                    format!("`{name}` is named outside its driver"),
                    "ask `Capabilities` or the registry; examples for help texts go to a `.txt` file",
                ));
            }
        }
    }
    findings
}

/// Whether `lower` names the database. The Rust keyword `crate` does not count; a URL scheme or a string with only this
/// word does.
fn names(lower: &str, database: &str) -> bool {
    if database != "crate" {
        return lower.contains(database);
    }
    lower.contains("\"crate\"")
        || lower.match_indices("crate:").any(|(at, scheme)| {
            let next = lower[at + scheme.len()..].chars().next();
            next.is_some_and(|c| c != ':' && !c.is_whitespace())
        })
}

/// The databases that this file may name.
fn may_name<'a>(path: &str, drivers: &'a [DriverCrate], with_driver: &[&'a str]) -> Vec<&'a str> {
    if OF_ALL_DRIVERS.iter().any(|place| path.starts_with(place)) {
        return with_driver.to_vec();
    }
    drivers.iter().filter(|driver| path.starts_with(&driver.folder)).flat_map(databases).collect()
}

/// The databases in a driver's manifest.
fn databases(driver: &DriverCrate) -> impl Iterator<Item = &str> {
    driver.databases.iter().flatten().map(String::as_str)
}

fn is_source(path: &str) -> bool {
    let is_ours = matches!(extension_of(path), Some("rs" | "toml" | "md" | "sh" | "sql"));
    is_ours || path.starts_with(".ci/")
}
