//! The rule about manifests: which crate may depend on which.

use super::tree::{Finding, Tree};

/// Crates without I/O, async, clocks, and global randomness: equal input gives equal bytes.
pub(super) const PURE: [&str; 7] =
    ["model", "workload", "analysis", "sizing", "next", "report", "import"];

/// Each crate of the workspace, and the crates of the workspace that it may depend on, all without `highwater-`.
/// `driver-*` are the drivers without a line of their own.
const DIRECTION: &str = "
model:
workload: model
analysis: model workload
sizing: model workload analysis
next: model analysis sizing
report: model analysis sizing next
import: model analysis
driver: model workload analysis
driver-*: model workload driver
driver-null: model workload driver driver-clickhouse driver-cratedb driver-mysql driver-postgres
driver-sim: model analysis driver
drivers: model workload driver driver-*
runner: model workload analysis driver
cluster: model driver
experiment: model analysis sizing driver runner cluster
live: model analysis report driver runner
highwater: model workload analysis sizing next report driver drivers runner cluster experiment import live
bench: model workload analysis report driver drivers runner import live
testing:
testkit: model analysis driver
xtask: testing
documents: model workload analysis sizing report driver driver-sim runner xtask";

/// Crates with I/O, async, clocks, or global randomness, which a pure crate must not depend on.
const WORLD: &str = "tokio futures futures-util futures-executor async-std smol mio socket2 hyper reqwest ureq rand \
                     getrandom rustix libc chrono";
/// Clients of one kind of database, which only drivers have.
const WIRES: &str =
    "rusqlite libsqlite3-sys postgres-protocol tokio-postgres mysql_async clickhouse";

/// Dependencies point from the command line towards the nouns, pure crates stay pure, and only drivers talk to
/// databases. Every crate has a place, and the workspace's lints.
pub(super) fn dependencies_point_one_way(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, name, manifest) in manifests(tree) {
        let Some(allowed) = allowed(&name) else {
            let hint = "add it to DIRECTION in xtask/src/tidy/crates.rs and to ARCHITECTURE.md";
            findings.push(Finding::at(path, 1, format!("crate `{name}` has no place"), hint));
            continue;
        };
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        if lints.and_then(toml::Value::as_bool) != Some(true) {
            let hint = "add `[lints]` with `workspace = true`";
            findings.push(Finding::at(path, 1, "it does not inherit the workspace's lints", hint));
        }
        for on in dependencies(&manifest) {
            let short = short(&on);
            let is_driver = ["driver", "testing"].contains(&name.as_str())
                || name.starts_with("driver-")
                    && !["driver-null", "driver-sim"].contains(&name.as_str());
            let is_ours = on != short || on == "xtask" || on == "highwater";
            let hint = if is_ours && !is_in(allowed, short) {
                "see DIRECTION in xtask/src/tidy/crates.rs; move the code, not the arrow"
            } else if PURE.contains(&name.as_str()) && has(WORLD, &on) {
                "pure crates have no I/O, no clock, no async and no randomness of their own"
            } else if has(WIRES, &on) && !is_driver {
                "only drivers talk to databases"
            } else {
                continue;
            };
            findings.push(Finding::at(path, 1, format!("`{name}` depends on `{on}`"), hint));
        }
    }
    findings
}

fn has(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

/// Whether a line of DIRECTION allows this crate; `driver-*` stands for all drivers.
fn is_in(allowed: &str, name: &str) -> bool {
    has(allowed, name) || (name.starts_with("driver-") && has(allowed, "driver-*"))
}

/// The crates that this one may depend on; absent if it has no place.
fn allowed(name: &str) -> Option<&'static str> {
    let line = |name: &str| {
        let mut lines = DIRECTION.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(known, _)| *known == name).map(|(_, allowed)| allowed.trim())
    };
    line(name).or_else(|| name.starts_with("driver-").then(|| line("driver-*"))?)
}

/// A crate's name as DIRECTION has it.
fn short(name: &str) -> &str {
    name.strip_prefix("highwater-").unwrap_or(name)
}

/// Path, short name, and content of every crate's `Cargo.toml`; cargo itself rejects those that are not valid.
pub(super) fn manifests(tree: &Tree) -> impl Iterator<Item = (&str, String, toml::Table)> {
    tree.with_extension("toml").filter_map(|(path, text)| {
        let is_manifest = path == "Cargo.toml" || path.ends_with("/Cargo.toml");
        let manifest: toml::Table = is_manifest.then(|| text.parse().ok())??;
        let name = manifest.get("package")?.get("name")?.as_str()?;
        Some((path, short(name).to_owned(), manifest))
    })
}

/// The folders of the drivers and their registry, each with the databases that its code may name, from `names` of
/// `[package.metadata.highwater]`.
pub(super) fn drivers(tree: &Tree) -> Vec<(&str, Vec<String>)> {
    let all = manifests(tree).filter(|(path, ..)| path.starts_with("crates/drivers/"));
    all.filter_map(|(path, _, manifest)| {
        let metadata = manifest.get("package")?.get("metadata");
        let names = metadata.and_then(|all| all.get("highwater")?.get("names")?.as_array());
        let names = names.into_iter().flatten().filter_map(toml::Value::as_str);
        Some((path.strip_suffix("Cargo.toml")?, names.map(str::to_owned).collect()))
    })
    .collect()
}

/// The dependencies of a crate. Those of its tests do not affect the program.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets =
        targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    let mut found = Vec::new();
    for table in targets.chain([manifest]) {
        for section in ["dependencies", "build-dependencies"] {
            let entries = table.get(section).and_then(toml::Value::as_table);
            for (key, value) in entries.into_iter().flatten() {
                let renamed = value.get("package").and_then(toml::Value::as_str);
                found.push(renamed.unwrap_or(key).to_owned());
            }
        }
    }
    found
}
