//! Rules about manifests: allowed dependencies, and inherited lints.

use super::tree::{Finding, Tree, code_lines, is_test};

/// Crates without I/O, async, clocks, and global randomness: equal input gives equal bytes.
pub(super) const PURE: &[&str] = &[MODEL, WORKLOAD, ANALYSIS, SIZING, NEXT, REPORT, IMPORT];

const MODEL: &str = "highwater-model";
const WORKLOAD: &str = "highwater-workload";
const ANALYSIS: &str = "highwater-analysis";
const SIZING: &str = "highwater-sizing";
const NEXT: &str = "highwater-next";
const REPORT: &str = "highwater-report";
const DRIVER: &str = "highwater-driver";
const SIM: &str = "highwater-driver-sim";
const NULL: &str = "highwater-driver-null";
/// The registry, the only crate that names all drivers.
pub(super) const DRIVERS: &str = "highwater-drivers";
const RUNNER: &str = "highwater-runner";
const CLUSTER: &str = "highwater-cluster";
const EXPERIMENT: &str = "highwater-experiment";
const IMPORT: &str = "highwater-import";
const LIVE: &str = "highwater-live";

/// Folder of the drivers and their registry.
pub(super) const DRIVERS_FOLDER: &str = "crates/drivers/";

/// Allowed dependencies of a driver. No driver depends on another one; DIRECTION contains the exception.
const OF_A_DRIVER: &[&str] = &[MODEL, WORKLOAD, DRIVER];

/// Each crate of the workspace, and the crates of the workspace that it may depend on. Drivers have no entry, and the
/// registry may also depend on all of them.
const DIRECTION: &[(&str, &[&str])] = &[
    (MODEL, &[]),
    (WORKLOAD, &[MODEL]),
    (ANALYSIS, &[MODEL, WORKLOAD]),
    (SIZING, &[MODEL, WORKLOAD, ANALYSIS]),
    (NEXT, &[MODEL, ANALYSIS, SIZING]),
    (REPORT, &[MODEL, ANALYSIS, SIZING, NEXT]),
    (DRIVER, &[MODEL, WORKLOAD, ANALYSIS]),
    // The sink for the real sessions: it responds in the protocols of these drivers.
    (
        NULL,
        &[
            MODEL,
            WORKLOAD,
            DRIVER,
            "highwater-driver-clickhouse",
            "highwater-driver-cratedb",
            "highwater-driver-mysql",
            "highwater-driver-postgres",
        ],
    ),
    // It compares rows in the same way as an audit.
    (SIM, &[MODEL, ANALYSIS, DRIVER]),
    (DRIVERS, OF_A_DRIVER),
    (RUNNER, &[MODEL, WORKLOAD, ANALYSIS, DRIVER]),
    (CLUSTER, &[MODEL, DRIVER]),
    (EXPERIMENT, &[MODEL, ANALYSIS, SIZING, DRIVER, RUNNER, CLUSTER]),
    (IMPORT, &[MODEL, ANALYSIS]),
    (LIVE, &[MODEL, ANALYSIS, REPORT, DRIVER, RUNNER]),
    (
        "highwater",
        &[
            MODEL, WORKLOAD, ANALYSIS, SIZING, NEXT, REPORT, DRIVER, DRIVERS, RUNNER, CLUSTER,
            EXPERIMENT, IMPORT, LIVE,
        ],
    ),
    (
        "highwater-bench",
        &[MODEL, WORKLOAD, ANALYSIS, REPORT, DRIVER, DRIVERS, RUNNER, IMPORT, LIVE],
    ),
    (TESTING, &[]),
    (TESTKIT, &[MODEL, ANALYSIS, DRIVER]),
    (XTASK, &[TESTING]),
    (DOCUMENTS, &[MODEL, WORKLOAD, ANALYSIS, SIZING, REPORT, DRIVER, SIM, RUNNER, XTASK]),
];

/// Shared by tests. Only `xtask`, which installs their servers, may have it as a normal dependency.
const TESTING: &str = "highwater-testing";
const TESTKIT: &str = "highwater-testkit";
/// The repository's tasks.
const XTASK: &str = "xtask";
/// The generated parts of the documents, which a test compares.
const DOCUMENTS: &str = "highwater-documents";

/// Crates that a pure crate must not depend on: I/O, async, clocks, global randomness.
const WORLD: &[&str] = &[
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

/// Clients of one kind of database.
const WIRES: &[&str] = &[
    "rusqlite",
    "libsqlite3-sys",
    "postgres-protocol",
    "tokio-postgres",
    "mysql_async",
    "clickhouse",
];

/// Crates that may depend on them, in addition to the drivers.
const MAY_HOLD_WIRES: &[&str] = &[DRIVER, TESTING];

/// Maximum lines of product code in a crate, without comments and tests: DIRECTION is effective only if no crate
/// contains half of the code.
const LARGEST_CRATE: usize = 15_000;

/// A dependency in a manifest.
struct Dependency {
    name: String,
    only_for_tests: bool,
    line: usize,
}

/// A crate in the folder of the drivers.
pub(super) struct DriverCrate {
    name: String,
    /// Its folder, relative to the root, with a trailing slash.
    pub(super) folder: String,
    /// Databases that its code may name, in lower case; absent if its manifest does not list them.
    pub(super) databases: Option<Vec<String>>,
}

impl DriverCrate {
    /// Whether it is a normal driver: neither the registry, nor the sink, nor the simulated cluster.
    fn is_plain(&self) -> bool {
        direction_of(&self.name).is_none()
    }
}

/// Dependencies point from the command line towards the nouns, and pure crates stay pure.
pub(super) fn dependencies_point_one_way(tree: &Tree) -> Vec<Finding> {
    let drivers = drivers(tree);
    let mut findings = Vec::new();
    for (path, text, manifest) in manifests(tree) {
        let Some(name) = package_name(&manifest) else {
            continue;
        };
        let Some(allowed) = allowed(name, &drivers) else {
            let what = format!("crate `{name}` has no place in the direction of dependencies");
            let hint = "add it to DIRECTION in xtask/src/tidy/crates.rs and to ARCHITECTURE.md";
            findings.push(Finding::at(path, 1, what, hint));
            continue;
        };
        for dependency in dependencies(text, &manifest) {
            if let Some((what, hint)) = violation(name, &allowed, &drivers, &dependency) {
                findings.push(Finding::at(path, dependency.line, what, hint));
            }
        }
    }
    findings
}

/// Each crate in the folder of the drivers lists the databases that its code may name; each driver has at least one.
pub(super) fn drivers_say_what_they_name(tree: &Tree) -> Vec<Finding> {
    let says = |driver: &DriverCrate| {
        let names = driver.databases.as_ref();
        names.is_some_and(|names| !names.is_empty() || !driver.is_plain())
    };
    drivers(tree)
        .iter()
        .filter(|driver| !says(driver))
        .map(|driver| {
            let what = format!("`{}` does not say which databases it names", driver.name);
            let hint = "add `names = [\"…\"]` in lower case to `[package.metadata.highwater]`";
            Finding::at(&format!("{}Cargo.toml", driver.folder), 1, what, hint)
        })
        .collect()
}

/// Every crate inherits its lints from the workspace.
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

/// No crate is too large.
pub(super) fn is_small_enough(tree: &Tree) -> Vec<Finding> {
    workspace_crates(tree)
        .into_iter()
        .filter_map(|(name, directory)| {
            let source = format!("{directory}/src/");
            let code = tree
                .with_extension("rs")
                .filter(|(path, _)| path.starts_with(&source) && !is_test(path))
                .flat_map(|(_, text)| code_lines(text));
            let lines = code.filter(|(_, line)| !line.trim().is_empty()).count();
            (lines > LARGEST_CRATE).then(|| {
                let what = format!("`{name}` has {lines} lines of code, more than {LARGEST_CRATE}");
                let hint = "split it where its parts do not need each other";
                Finding::at(&format!("{directory}/Cargo.toml"), 1, what, hint)
            })
        })
        .collect()
}

/// The DIRECTION entry of this crate, if it has one.
fn direction_of(name: &str) -> Option<&'static [&'static str]> {
    let mut lines = DIRECTION.iter();
    let (_, allowed) = lines.find(|(known, _)| *known == name)?;
    Some(allowed)
}

/// The crates of the workspace that crate `name` may depend on; absent if it has no entry.
fn allowed<'a>(name: &str, drivers: &'a [DriverCrate]) -> Option<Vec<&'a str>> {
    let is_driver = drivers.iter().any(|driver| driver.name == name);
    let line = direction_of(name).or_else(|| is_driver.then_some(OF_A_DRIVER))?;
    let mut allowed: Vec<&'a str> = line.to_vec();
    if name == DRIVERS {
        allowed.extend(drivers.iter().map(|driver| driver.name.as_str()));
    }
    Some(allowed)
}

/// Why `dependency` of crate `name` is wrong, and a hint.
fn violation(
    name: &str,
    allowed: &[&str],
    drivers: &[DriverCrate],
    dependency: &Dependency,
) -> Option<(String, &'static str)> {
    // Dependencies of tests do not affect the program.
    if dependency.only_for_tests {
        return None;
    }
    let on = dependency.name.as_str();
    let is_ours = direction_of(on).is_some() || drivers.iter().any(|driver| driver.name == on);
    if is_ours && !allowed.contains(&on) {
        return Some((
            format!("`{name}` depends on `{on}`"),
            "see DIRECTION in xtask/src/tidy/crates.rs; move the code, not the arrow",
        ));
    }
    if PURE.contains(&name) && WORLD.contains(&on) {
        return Some((
            format!("the pure crate `{name}` depends on `{on}`"),
            "pure crates have no I/O, no clock, no async and no randomness of their own",
        ));
    }
    let mut drivers = drivers.iter().filter(|driver| driver.is_plain());
    let may_hold_wires = MAY_HOLD_WIRES.contains(&name) || drivers.any(|d| d.name == name);
    if WIRES.contains(&on) && !may_hold_wires {
        return Some((format!("`{name}` depends on `{on}`"), "only drivers talk to databases"));
    }
    None
}

/// Path, text, and parsed content of every valid `Cargo.toml`; cargo itself rejects the others.
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

/// The crates in the folder of the drivers, including the registry.
pub(super) fn drivers(tree: &Tree) -> Vec<DriverCrate> {
    manifests(tree)
        .filter(|(path, _, _)| path.starts_with(DRIVERS_FOLDER))
        .filter_map(|(path, _, manifest)| {
            Some(DriverCrate {
                name: package_name(&manifest)?.to_owned(),
                folder: path.strip_suffix("Cargo.toml")?.to_owned(),
                databases: databases_of(&manifest),
            })
        })
        .collect()
}

/// `names` of `[package.metadata.highwater]`.
fn databases_of(manifest: &toml::Table) -> Option<Vec<String>> {
    let metadata = manifest.get("package")?.get("metadata")?;
    let names = metadata.get("highwater")?.get("names")?.as_array()?;
    let text = |name: &toml::Value| {
        let name = name.as_str()?;
        // Lines are compared in lower case, and an empty name would match all of them.
        (!name.is_empty() && name == name.to_lowercase()).then(|| name.to_owned())
    };
    names.iter().map(text).collect()
}

fn package_name(manifest: &toml::Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
}

fn dependencies(text: &str, manifest: &toml::Table) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let of_targets =
        targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    let tables = [manifest].into_iter().chain(of_targets);
    tables.flat_map(|table| dependencies_in(text, table)).collect()
}

fn dependencies_in(text: &str, table: &toml::Table) -> Vec<Dependency> {
    let mut found = Vec::new();
    for (section, only_for_tests) in
        [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
    {
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
            line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
        })
        .map_or(1, |i| i + 1)
}
