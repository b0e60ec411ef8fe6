//! Rules about manifests: who may depend on whom, and that lints hold everywhere.

use super::finding::Finding;
use super::tree::{Tree, code_lines, is_test};

/// Crates without I/O, async, clocks and global randomness: equal input gives equal bytes.
pub(super) const PURE: [&str; 7] = [MODEL, WORKLOAD, ANALYSIS, SIZING, NEXT, REPORT, IMPORT];

const MODEL: &str = "highwater-model";
const WORKLOAD: &str = "highwater-workload";
const ANALYSIS: &str = "highwater-analysis";
const SIZING: &str = "highwater-sizing";
const NEXT: &str = "highwater-next";
const REPORT: &str = "highwater-report";
const DRIVER: &str = "highwater-driver";
const CLICKHOUSE: &str = "highwater-driver-clickhouse";
const CRATEDB: &str = "highwater-driver-cratedb";
const MYSQL: &str = "highwater-driver-mysql";
const POSTGRES: &str = "highwater-driver-postgres";
const SQLITE: &str = "highwater-driver-sqlite";
const NULL: &str = "highwater-driver-null";
/// The registry, which alone names all drivers.
const DRIVERS: &str = "highwater-drivers";
const RUNNER: &str = "highwater-runner";
const EXPERIMENT: &str = "highwater-experiment";
const IMPORT: &str = "highwater-import";
const LIVE: &str = "highwater-live";

/// Each crate of the workspace, and those of the workspace that it may depend on.
const DIRECTION: [(&str, &[&str]); 23] = [
    (MODEL, &[]),
    (WORKLOAD, &[MODEL]),
    (ANALYSIS, &[MODEL, WORKLOAD]),
    (SIZING, &[MODEL, WORKLOAD, ANALYSIS]),
    (NEXT, &[MODEL, ANALYSIS, SIZING]),
    (REPORT, &[MODEL, ANALYSIS, SIZING, NEXT]),
    (DRIVER, &[MODEL, WORKLOAD, ANALYSIS]),
    (CLICKHOUSE, &[MODEL, WORKLOAD, DRIVER]),
    (CRATEDB, &[MODEL, DRIVER]),
    (MYSQL, &[MODEL, WORKLOAD, DRIVER]),
    (POSTGRES, &[MODEL, WORKLOAD, DRIVER]),
    (SQLITE, &[MODEL, WORKLOAD, DRIVER]),
    (
        NULL,
        &[MODEL, WORKLOAD, DRIVER, CLICKHOUSE, CRATEDB, POSTGRES],
    ),
    (
        DRIVERS,
        &[
            MODEL, WORKLOAD, DRIVER, CLICKHOUSE, CRATEDB, MYSQL, POSTGRES, SQLITE, NULL,
        ],
    ),
    (RUNNER, &[MODEL, WORKLOAD, ANALYSIS, REPORT, DRIVER]),
    (
        EXPERIMENT,
        &[MODEL, ANALYSIS, SIZING, REPORT, DRIVER, RUNNER, WORKLOAD],
    ),
    (IMPORT, &[MODEL, ANALYSIS, REPORT]),
    (LIVE, &[MODEL, ANALYSIS, REPORT, RUNNER]),
    (
        "highwater",
        &[
            MODEL, WORKLOAD, ANALYSIS, SIZING, NEXT, REPORT, DRIVER, DRIVERS, RUNNER, EXPERIMENT,
            IMPORT, LIVE,
        ],
    ),
    (
        "highwater-bench",
        &[
            MODEL, WORKLOAD, ANALYSIS, REPORT, DRIVER, DRIVERS, RUNNER, IMPORT,
        ],
    ),
    (TESTING, &[MODEL, WORKLOAD, DRIVER]),
    (XTASK, &[TESTING]),
    (
        DOCUMENTS,
        &[
            MODEL, WORKLOAD, ANALYSIS, SIZING, REPORT, DRIVER, RUNNER, XTASK,
        ],
    ),
];

/// Servers for tests; every crate may have it as a dev-dependency, and only `xtask`, which installs
/// them, as another.
const TESTING: &str = "highwater-testing";
/// The repository's tasks.
const XTASK: &str = "xtask";
/// The generated parts of the documents, which a test compares.
const DOCUMENTS: &str = "highwater-documents";

/// What a pure crate must not depend on: I/O, async, clocks, global randomness.
const WORLD: [&str; 16] = [
    "tokio",
    "futures",
    "futures-util",
    "futures-executor",
    "async-std",
    "smol",
    "mio",
    "socket2",
    "hyper",
    "reqwest",
    "ureq",
    "rand",
    "getrandom",
    "rustix",
    "libc",
    "chrono",
];

/// Crates that talk to one kind of database.
const WIRES: [&str; 6] = [
    "rusqlite",
    "libsqlite3-sys",
    "postgres-protocol",
    "tokio-postgres",
    "mysql_async",
    "clickhouse",
];

/// Crates that may hold them.
const MAY_HOLD_WIRES: [&str; 4] = [DRIVER, POSTGRES, SQLITE, TESTING];

/// Lines of product code, without comments and tests, that one crate holds at most: DIRECTION keeps the house
/// in order only while none holds half of it.
const LARGEST_CRATE: usize = 15_000;

/// A dependency that a manifest names.
struct Dependency {
    name: String,
    only_for_tests: bool,
    line: usize,
}

/// Dependencies point from the command line towards the nouns, and pure crates stay pure.
pub(super) fn dependencies_point_one_way(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text, manifest) in manifests(tree) {
        let Some(name) = package_name(&manifest) else {
            continue;
        };
        let Some((_, allowed)) = DIRECTION.iter().find(|(known, _)| *known == name) else {
            let what = format!("crate `{name}` has no place in the direction of dependencies");
            let hint = "add it to DIRECTION in xtask/src/tidy/crates.rs and to ARCHITECTURE.md";
            findings.push(Finding::at(path, 1, what, hint));
            continue;
        };
        for dependency in dependencies(text, &manifest) {
            if let Some((what, hint)) = violation(name, allowed, &dependency) {
                findings.push(Finding::at(path, dependency.line, what, hint));
            }
        }
    }
    findings
}

/// Every crate takes its lints from the workspace.
pub(super) fn lints_are_inherited(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _, manifest) in manifests(tree) {
        let inherits = manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace"))
            .and_then(toml::Value::as_bool);
        if package_name(&manifest).is_some() && inherits != Some(true) {
            let what = "the crate does not inherit the workspace's lints";
            let hint = "add `[lints]` with `workspace = true`";
            findings.push(Finding::at(path, 1, what, hint));
        }
    }
    findings
}

/// No crate is a house of its own.
pub(super) fn is_small_enough(tree: &Tree) -> Vec<Finding> {
    workspace_crates(tree)
        .into_iter()
        .filter_map(|(name, directory)| {
            let source = format!("{directory}/src/");
            let files = tree
                .with_extension("rs")
                .filter(|(path, _)| path.starts_with(&source) && !is_test(path));
            let lines: usize = files
                .map(|(_, text)| {
                    let code = code_lines(text);
                    code.filter(|(_, line)| !line.trim().is_empty()).count()
                })
                .sum();
            (lines > LARGEST_CRATE).then(|| {
                let what = format!("`{name}` has {lines} lines of code, more than {LARGEST_CRATE}");
                let hint = "split it where its parts do not need each other";
                Finding::at(&format!("{directory}/Cargo.toml"), 1, what, hint)
            })
        })
        .collect()
}

/// Why `dependency` of crate `name` is wrong, and what to do.
fn violation(
    name: &str,
    allowed: &[&str],
    dependency: &Dependency,
) -> Option<(String, &'static str)> {
    let on = dependency.name.as_str();
    let is_ours = DIRECTION.iter().any(|(known, _)| *known == on);
    if [TESTING, DRIVERS, DOCUMENTS, XTASK].contains(&on) && dependency.only_for_tests {
        return None;
    }
    if is_ours && !allowed.contains(&on) {
        return Some((
            format!("`{name}` depends on `{on}`"),
            "see DIRECTION in xtask/src/tidy/crates.rs; move the code, not the arrow",
        ));
    }
    if dependency.only_for_tests {
        return None;
    }
    if PURE.contains(&name) && WORLD.contains(&on) {
        return Some((
            format!("the pure crate `{name}` depends on `{on}`"),
            "pure crates have no I/O, no clock, no async and no randomness of their own",
        ));
    }
    if WIRES.contains(&on) && !MAY_HOLD_WIRES.contains(&name) {
        return Some((
            format!("`{name}` depends on `{on}`"),
            "only drivers talk to databases",
        ));
    }
    None
}

/// Path, text and content of every `Cargo.toml` that parses; cargo itself rejects the others.
fn manifests(tree: &Tree) -> impl Iterator<Item = (&str, &str, toml::Table)> {
    tree.with_extension("toml").filter_map(|(path, text)| {
        let is_manifest = path == "Cargo.toml" || path.ends_with("/Cargo.toml");
        let manifest = is_manifest.then(|| text.parse::<toml::Table>().ok())??;
        Some((path, text, manifest))
    })
}

/// The names of the workspace's crates, with the directory of each.
pub(super) fn workspace_crates(tree: &Tree) -> Vec<(String, String)> {
    manifests(tree)
        .filter_map(|(path, _, manifest)| {
            let directory = path.trim_end_matches("Cargo.toml").trim_end_matches('/');
            Some((package_name(&manifest)?.to_owned(), directory.to_owned()))
        })
        .collect()
}

fn package_name(manifest: &toml::Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
}

fn dependencies(text: &str, manifest: &toml::Table) -> Vec<Dependency> {
    let mut found = dependencies_in(text, manifest);
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    for target in targets.into_iter().flat_map(|targets| targets.values()) {
        if let Some(table) = target.as_table() {
            found.extend(dependencies_in(text, table));
        }
    }
    found
}

fn dependencies_in(text: &str, table: &toml::Table) -> Vec<Dependency> {
    let mut found = Vec::new();
    for (section, only_for_tests) in [
        ("dependencies", false),
        ("build-dependencies", false),
        ("dev-dependencies", true),
    ] {
        let entries = table.get(section).and_then(toml::Value::as_table);
        for (key, value) in entries.into_iter().flatten() {
            let renamed = value.get("package").and_then(toml::Value::as_str);
            found.push(Dependency {
                name: renamed.unwrap_or(key).to_owned(),
                only_for_tests,
                line: line_of(text, key),
            });
        }
    }
    found
}

fn line_of(text: &str, key: &str) -> usize {
    text.lines()
        .position(|line| {
            line.strip_prefix(key)
                .is_some_and(|rest| rest.starts_with([' ', '.', '=']))
        })
        .map_or(1, |i| i + 1)
}
