//! Each rule on files in memory, with and without violations; then all rules on the repository.

use super::*;
use crate::process;

/// A rule reports exactly these lines.
#[track_caller]
fn check_rule(rule: Rule, files: &[(&str, &str)], expected: &[&str]) {
    let mut found = rule(&Tree::new(files));
    found.sort();
    let found: Vec<String> =
        found.iter().map(|of| format!("{}:{}: {}", of.path, of.line, of.what)).collect();
    assert_eq!(found, expected);
}

#[test]
fn this_repository_is_tidy() {
    let tree = Tree::read(&process::root()).unwrap();
    let lines: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let lines = |lines: usize| format!("//! Why.\n{}", "x\n".repeat(lines - 1));
    check_rule(
        sources::is_short_and_says_its_purpose,
        &[
            ("crates/model/src/a.rs", &lines(800)),
            ("crates/model/src/b.rs", &lines(801)),
            ("crates/model/src/b/tests.rs", &lines(1_000)),
            ("crates/model/tests/c.rs", &lines(1_001)),
            ("d.rs", "use a;\n"),
            ("e.rs", "//! \n"),
            ("f.md", &lines(5_000)),
        ],
        &[
            "crates/model/src/b.rs:801: 801 lines, more than 800",
            "crates/model/tests/c.rs:1001: 1001 lines, more than 1000",
            "d.rs:1: the file does not open with `//!`",
            "e.rs:1: the file does not open with `//!`",
        ],
    );
}

#[test]
fn no_machine_is_special() {
    let path = concat!("a\nsee /wo", "rk/x\n");
    check_rule(
        sources::no_path_of_one_machine,
        &[("a.txt", path), ("b.txt", "see /srv/x\n")],
        &["a.txt:2: the path is one machine's own"],
    );
}

#[test]
fn pure_crates_touch_nothing() {
    check_rule(
        sources::pure_crates_are_pure,
        &[
            ("crates/model/src/a.rs", "use std::fs;\n"),
            ("crates/model/src/b.rs", "//! no std::fs here\nlet Instants = 1;\n"),
            ("crates/model/src/c.rs", "use std::{fmt, net};\nuse std::{env, fmt};\n"),
            ("crates/model/src/d.rs", "let t = Instant::now();\n"),
            ("crates/model/src/e.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\nuse std::fs;\n}\n"),
            ("crates/model/tests/f.rs", "use std::fs;\n"),
            ("crates/runner/src/g.rs", "use std::fs;\n"),
        ],
        &[
            "crates/model/src/a.rs:1: a pure crate mentions `std::fs`",
            "crates/model/src/c.rs:1: a pure crate mentions `std::net`",
            "crates/model/src/c.rs:2: a pure crate mentions `std::env`",
            "crates/model/src/d.rs:1: a pure crate mentions `Instant`",
        ],
    );
}

#[test]
fn one_module_reads_the_clock() {
    let reads = "let t = Instant::now();\n";
    check_rule(
        sources::one_clock,
        &[
            ("crates/cli/src/a.rs", reads),
            ("crates/cli/tests/b.rs", reads),
            ("crates/driver/src/c.rs", "clock_gettime(ClockId::ThreadCPUTime);\nuse SystemTime;\n"),
            ("crates/driver/src/clock.rs", reads),
            ("crates/driver/src/clock/real.rs", reads),
            ("xtask/src/d.rs", reads),
        ],
        &[
            "crates/cli/src/a.rs:1: `Instant::now` outside the module `clock`",
            "crates/driver/src/c.rs:2: `SystemTime` outside the module `clock`",
        ],
    );
}

fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}")
}

/// The manifest of a driver, and the databases that its code may name.
fn driver(name: &str, databases: &str) -> String {
    let names = format!("[package.metadata.highwater]\nnames = {databases}\n");
    manifest(&format!("highwater-driver-{name}"), &names)
}

#[test]
fn databases_are_named_by_their_drivers_only() {
    let inline_tests = "//! a\n#[cfg(test)]\nmod tests {\n// sqlite\n}\n";
    let postgres = driver("postgres", "[\"postgres\", \"cockroach\", \"crate\"]");
    check_rule(
        sources::databases_stay_in_their_drivers,
        &[
            ("crates/drivers/loud/Cargo.toml", &driver("loud", "[\"Loud\"]")),
            ("crates/drivers/mysql/Cargo.toml", &driver("mysql", "[\"mysql\"]")),
            ("crates/drivers/null/Cargo.toml", &driver("null", "[]")),
            ("crates/drivers/postgres/Cargo.toml", &postgres),
            ("crates/drivers/silent/Cargo.toml", &manifest("highwater-driver-silent", "")),
            ("crates/drivers/sqlite/Cargo.toml", &driver("sqlite", "[\"sqlite\"]")),
            ("crates/cli/src/a.rs", "//! PostgreSQL\n"),
            ("crates/cli/src/help.txt", "sqlite:\n"),
            ("crates/model/src/b.rs", "use crate::model;\npub(crate) fn f() {}\n"),
            ("crates/model/src/c.rs", "let u = \"crate://h\";\nlet n = \"crate\";\n"),
            ("crates/model/src/d.rs", inline_tests),
            ("crates/model/tests/e.rs", "sqlite\n"),
            ("crates/driver/src/sql/a.rs", "postgres\n"),
            ("crates/driver/src/sql/cratedb.rs", "postgres\ncassandra\n"),
            ("crates/drivers/postgres/src/a.rs", "cockroach postgres\n"),
            ("crates/drivers/registry/src/lib.rs", "sqlite\nduckdb\n"),
            ("crates/drivers/sqlite/src/a.rs", "sqlite\nmysql\n"),
        ],
        &[
            "crates/cli/src/a.rs:1: `postgres` is named outside its driver",
            "crates/driver/src/sql/a.rs:1: `postgres` is named outside its driver",
            "crates/driver/src/sql/cratedb.rs:2: `cassandra` is named outside its driver",
            "crates/drivers/loud/Cargo.toml:1: the driver does not say which databases it names",
            "crates/drivers/registry/src/lib.rs:2: `duckdb` is named outside its driver",
            "crates/drivers/silent/Cargo.toml:1: the driver does not say which databases it names",
            "crates/drivers/sqlite/src/a.rs:2: `mysql` is named outside its driver",
            "crates/model/src/c.rs:1: `crate` is named outside its driver",
            "crates/model/src/c.rs:2: `crate` is named outside its driver",
        ],
    );
}

#[test]
fn dependencies_run_towards_the_nouns() {
    let of = |name: &str, dependencies: &str| {
        let lines = dependencies.split(' ').map(|on| format!("{on} = {{}}\n")).collect::<String>();
        manifest(name, &format!("[dependencies]\n{lines}"))
    };
    let model = of("highwater-model", "serde tokio") + "[dev-dependencies]\nrusqlite = \"1\"\n";
    let renamed = "[target.'cfg(unix)'.dependencies]\ndb = { package = \"rusqlite\" }\n";
    let one = of("highwater-driver-one", "highwater-workload rusqlite highwater-driver-two");
    let registry = of("highwater-drivers", "highwater-driver-one highwater-runner");
    check_rule(
        crates::dependencies_point_one_way,
        &[
            ("Cargo.toml", "[workspace]\n"),
            ("crates/driver/Cargo.toml", &of("highwater-driver", "highwater-runner rusqlite")),
            ("crates/drivers/one/Cargo.toml", &one),
            ("crates/drivers/registry/Cargo.toml", &registry),
            ("crates/extras/Cargo.toml", &manifest("highwater-extras", "")),
            ("crates/model/Cargo.toml", &model),
            ("crates/runner/Cargo.toml", &(of("highwater-runner", "highwater-testing") + renamed)),
            ("crates/sizing/Cargo.toml", "[package]\nname = \"highwater-sizing\"\n"),
        ],
        &[
            "crates/driver/Cargo.toml:1: `driver` depends on `highwater-runner`",
            "crates/drivers/one/Cargo.toml:1: `driver-one` depends on `highwater-driver-two`",
            "crates/drivers/registry/Cargo.toml:1: `drivers` depends on `highwater-runner`",
            "crates/extras/Cargo.toml:1: crate `extras` has no place",
            "crates/model/Cargo.toml:1: `model` depends on `tokio`",
            "crates/runner/Cargo.toml:1: `runner` depends on `highwater-testing`",
            "crates/runner/Cargo.toml:1: `runner` depends on `rusqlite`",
            "crates/sizing/Cargo.toml:1: it does not inherit the workspace's lints",
        ],
    );
}

#[test]
fn commands_of_documents_are_tagged() {
    check_rule(
        documents::commands_are_tagged,
        &[
            ("README.md", "# R\n\n```sh run\na\n```\n\n```sh\nb\n```\n"),
            ("docs/a.md", "# A\n\n```\nhighwater run\n```\n\n```text\nsaid\n```\n"),
            ("crates/a/README.md", "# A\n\n```sh\nc\n```\n"),
        ],
        &["README.md:7: commands without a tag", "docs/a.md:3: a fence without a language"],
    );
}

#[test]
fn the_map_names_what_exists_and_every_crate() {
    let map = "# Map\n\n`highwater-model` `highwater-gone` `highwater-runs` `crates/model/Cargo.toml`\n\
               `crates/model` `crates/model/src/lost.rs` `highwater run a/b` `highwater-drivers`\n";
    check_rule(
        documents::the_map_is_true,
        &[
            ("ARCHITECTURE.md", map),
            ("crates/drivers/one/Cargo.toml", &manifest("highwater-driver-one", "")),
            ("crates/drivers/registry/Cargo.toml", &manifest("highwater-drivers", "")),
            ("crates/model/Cargo.toml", &manifest("highwater-model", "")),
            ("xtask/Cargo.toml", &manifest("xtask", "")),
        ],
        &[
            "ARCHITECTURE.md:1: crate `xtask` is not in it",
            "ARCHITECTURE.md:3: `highwater-gone` does not exist",
            "ARCHITECTURE.md:4: `crates/model/src/lost.rs` does not exist",
        ],
    );
}
