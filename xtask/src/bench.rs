//! `cargo xtask bench`: runs the benchmarks of the workspace, each as `cargo bench` runs it.
//!
//! A benchmark writes a Markdown table to stdout. With `--write`, the table replaces the block with the same name in
//! docs/benchmarks.md, below a line that describes the machine.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::blocks;
use crate::process;

/// The document with the results.
pub const DOCUMENT: &str = "docs/benchmarks.md";
/// Prefix of the names of result blocks: `bench NAME`.
pub const BLOCK_PREFIX: &str = "bench ";

/// A benchmark: its package and its name.
#[derive(Debug, PartialEq, Eq)]
struct Bench {
    package: String,
    name: String,
}

/// Runs the benchmark `only`, or all of them; returns the output of each.
pub fn run(only: Option<&str>, write: bool) -> Result<Vec<String>, String> {
    let all = list(&process::metadata()?);
    let names: Vec<&str> = all.iter().map(|bench| bench.name.as_str()).collect();
    let chosen: Vec<&Bench> =
        all.iter().filter(|bench| only.is_none_or(|name| name == bench.name)).collect();
    if chosen.is_empty() {
        return Err(match only {
            Some(name) => format!("no benchmark is called `{name}`; there are: {names:?}"),
            None => "the workspace has no benchmarks".to_owned(),
        });
    }
    let mut said = Vec::new();
    for bench in chosen {
        let table = process::output(&mut process::cargo(&[
            "bench",
            "--quiet",
            "--package",
            &bench.package,
            "--bench",
            &bench.name,
        ]))?;
        if write {
            write_results(&bench.name, &table)?;
        }
        said.push(format!("bench: {}\n\n{}", bench.name, table.trim_end()));
    }
    Ok(said)
}

/// Benchmarks of the workspace's packages.
fn list(metadata: &Value) -> Vec<Bench> {
    let members = array(metadata, "workspace_members");
    let is_ours = |package: &&Value| package.get("id").is_some_and(|id| members.contains(id));
    let is_bench = |target: &&Value| array(target, "kind").iter().any(|kind| kind == "bench");
    let name = |of: &Value| Some(of.get("name")?.as_str()?.to_owned());
    let mut found = Vec::new();
    for package in array(metadata, "packages").iter().filter(is_ours) {
        let benches = array(package, "targets").iter().filter(is_bench);
        found.extend(
            benches
                .filter_map(|target| Some(Bench { package: name(package)?, name: name(target)? })),
        );
    }
    found
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn write_results(name: &str, table: &str) -> Result<(), String> {
    let content =
        format!("`cargo xtask bench {name}`, {}, {}.\n\n{}", today()?, machine(), table.trim());
    blocks::rewrite(DOCUMENT, &format!("{BLOCK_PREFIX}{name}"), &content)
}

/// The date, in UTC.
fn today() -> Result<String, String> {
    let date = process::output(Command::new("date").args(["-u", "+%F"]))?;
    Ok(date.trim().to_owned())
}

/// The machine in a few words, for judging the figures.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("a CPU of unknown model", |(_, model)| model);
    let loads = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = loads.split(' ').next().unwrap_or("unknown");
    format!("{cores} cores of {model}, {}, load average {load} when it ended", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_benchmarks_of_our_own_packages_run() {
        let package = |id: &str, kind: &str| {
            serde_json::json!({
                "id": id, "name": id, "targets": [{"kind": [kind], "name": "recording"}]
            })
        };
        let metadata = serde_json::json!({
            "workspace_members": ["ours", "plain"],
            "packages": [package("ours", "bench"), package("plain", "lib"), package("x", "bench")],
        });
        let ours = Bench { package: "ours".to_owned(), name: "recording".to_owned() };
        assert_eq!(list(&metadata), [ours]);
    }
}
