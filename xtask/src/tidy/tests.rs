//! Each rule on files in memory, once with and once without a violation; then all rules on the repository.

use super::*;
use crate::process;

/// A rule reports exactly these lines.
#[track_caller]
fn check_rule(rule: Rule, files: &[(&str, &str)], expected: &[&str]) {
    let found: Vec<String> = rule(&Tree::new(files))
        .iter()
        .map(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.what))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn this_repository_is_tidy() {
    let tree = Tree::read(&process::root()).unwrap();
    let lines: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn a_finding_prints_place_cause_and_hint() {
    let finding = Finding::at("a.rs", 3, "what", "hint");
    assert_eq!(finding.to_string(), "a.rs:3: what: hint");
}

#[test]
fn each_file_states_its_purpose() {
    check_rule(
        files::opens_with_its_purpose,
        &[("a.rs", "//! Why.\n"), ("b.rs", "use a;\n"), ("c.rs", "//! \n"), ("d.rs", "")],
        &[
            "b.rs:1: the file does not open with `//!`",
            "c.rs:1: the file does not open with `//!`",
            "d.rs:1: the file does not open with `//!`",
        ],
    );
}

#[test]
fn files_are_short_and_tests_are_apart() {
    let (at_limit, over) = ("x\n".repeat(800), "x\n".repeat(801));
    let (tests_at_limit, tests_over) = ("x\n".repeat(1_000), "x\n".repeat(1_001));
    check_rule(
        files::is_short_enough,
        &[
            ("crates/model/src/a.rs", &at_limit),
            ("crates/model/src/b.rs", &over),
            ("crates/model/src/b/tests.rs", &tests_at_limit),
            ("crates/model/tests/c.rs", &tests_over),
            ("crates/model/benches/d.rs", &tests_at_limit),
            ("docs/long.md", &tests_over),
        ],
        &[
            "crates/model/src/b.rs:801: 801 lines, more than 800",
            "crates/model/tests/c.rs:1001: 1001 lines, more than 1000",
        ],
    );
}

#[test]
fn a_crate_is_too_large_by_its_code_and_not_by_comments_or_tests() {
    let many = manifest("highwater-model", "");
    let few = manifest("highwater-driver", "");
    let (code, comments) = ("x\n".repeat(7_501), "// x\n".repeat(20_000));
    check_rule(
        crates::is_small_enough,
        &[
            ("crates/model/Cargo.toml", &many),
            ("crates/model/src/a.rs", &code),
            ("crates/model/src/b/c.rs", &code),
            ("crates/driver/Cargo.toml", &few),
            ("crates/driver/src/a.rs", &code),
            ("crates/driver/src/b.rs", &comments),
            ("crates/driver/src/tests.rs", &code),
            ("crates/driver/tests/a.rs", &code),
        ],
        &["crates/model/Cargo.toml:1: `highwater-model` has 15002 lines of code, more than 15000"],
    );
}

#[test]
fn names_report() {
    check_rule(
        files::has_a_telling_name,
        &[
            ("src/clock.rs", ""),
            ("src/common_case.rs", ""),
            ("src/helpers/a.rs", ""),
            ("src/utils.rs", ""),
        ],
        &[
            "src/helpers/a.rs:1: the name `helpers` says nothing",
            "src/utils.rs:1: the name `utils` says nothing",
        ],
    );
}

#[test]
fn whitespace_is_clean() {
    check_rule(
        files::has_clean_whitespace,
        &[
            ("a.md", "a\n"),
            ("b.md", "a \nb\t\n"),
            ("c.md", "a"),
            ("d.md", "a\n\n"),
            ("e.md", "a\r\n"),
            ("f.snap", "a "),
        ],
        &[
            "b.md:1: whitespace at the end of the line",
            "b.md:2: whitespace at the end of the line",
            "c.md:1: the file does not end with exactly one newline",
            "d.md:2: the file does not end with exactly one newline",
            "e.md:1: whitespace at the end of the line",
        ],
    );
}

#[test]
fn nothing_is_left_open() {
    check_rule(
        words::nothing_is_left_open,
        &[
            ("a.rs", concat!("// FIX", "ME later\n")),
            ("b.md", concat!("a\nTO", "DO: b\n")),
            ("c.rs", concat!("dbg", "!(x);\n")),
            ("d.rs", "let todo = MASTODON;\n"),
        ],
        &[
            concat!("a.rs:1: `FIX", "ME`"),
            concat!("b.md:2: `TO", "DO`"),
            "c.rs:1: a debugging print",
        ],
    );
}

#[test]
fn no_machine_is_special() {
    let path = concat!("see /wo", "rk/x\n");
    check_rule(
        words::no_path_of_one_machine,
        &[("a.txt", path), ("b.txt", "see /srv/x\n")],
        &[concat!("a.txt:1: the path `/wo", "rk/` is one machine's own")],
    );
}

#[test]
fn databases_are_named_by_their_drivers_only() {
    let inline_tests = "//! a\n#[cfg(test)]\nmod tests {\n// sqlite\n}\n";
    let mysql = driver("mysql", "[\"mysql\"]");
    let postgres = driver("postgres", "[\"postgres\", \"cockroach\", \"crate\"]");
    let sqlite = driver("sqlite", "[\"sqlite\"]");
    check_rule(
        words::databases_stay_in_their_drivers,
        &[
            ("crates/drivers/mysql/Cargo.toml", &mysql),
            ("crates/drivers/postgres/Cargo.toml", &postgres),
            ("crates/drivers/sqlite/Cargo.toml", &sqlite),
            ("crates/cli/src/a.rs", "//! PostgreSQL\n"),
            ("crates/cli/src/help.txt", "sqlite:\n"),
            ("crates/model/src/b.rs", "use crate::model;\npub(crate) fn f() {}\n"),
            ("crates/model/src/c.rs", "let u = \"crate://h\";\nlet n = \"crate\";\n"),
            ("crates/model/src/d.rs", inline_tests),
            ("crates/model/tests/e.rs", "sqlite\n"),
            ("crates/model/workloads/cpu.toml", "sqlite\n"),
            ("crates/driver/src/lib.rs", "// sqlite\n"),
            ("crates/driver/src/network/a.rs", "sqlite\n"),
            ("crates/driver/src/sql/a.rs", "postgres\n"),
            ("crates/driver/src/sql/cratedb.rs", "postgres\ncassandra\n"),
            ("crates/drivers/postgres/src/a.rs", "cockroach postgres\n"),
            ("crates/drivers/registry/src/lib.rs", "sqlite\nduckdb\n"),
            ("crates/drivers/sqlite/src/a.rs", "sqlite\nmysql\n"),
            ("crates/testing/src/lib.rs", "postgres\n"),
        ],
        &[
            "crates/cli/src/a.rs:1: `postgres` is named outside its driver",
            "crates/driver/src/lib.rs:1: `sqlite` is named outside its driver",
            "crates/driver/src/network/a.rs:1: `sqlite` is named outside its driver",
            "crates/driver/src/sql/a.rs:1: `postgres` is named outside its driver",
            "crates/driver/src/sql/cratedb.rs:2: `cassandra` is named outside its driver",
            "crates/drivers/registry/src/lib.rs:2: `duckdb` is named outside its driver",
            "crates/drivers/sqlite/src/a.rs:2: `mysql` is named outside its driver",
            "crates/model/src/c.rs:1: `crate` is named outside its driver",
            "crates/model/src/c.rs:2: `crate` is named outside its driver",
        ],
    );
}

#[test]
fn pure_crates_touch_nothing() {
    check_rule(
        purity::pure_crates_are_pure,
        &[
            ("crates/model/src/a.rs", "use std::fs;\n"),
            ("crates/model/src/b.rs", "//! no std::fs here\nlet Instants = 1;\n"),
            ("crates/model/src/c.rs", "use std::{fmt, net};\n"),
            ("crates/model/src/d.rs", "let t = Instant::now();\n"),
            ("crates/model/tests/e.rs", "use std::fs;\n"),
            ("crates/runner/src/f.rs", "use std::fs;\n"),
        ],
        &[
            "crates/model/src/a.rs:1: a pure crate mentions `std::fs`",
            "crates/model/src/c.rs:1: a pure crate imports `std::net`",
            "crates/model/src/d.rs:1: a pure crate mentions `Instant`",
        ],
    );
}

#[test]
fn one_module_reads_the_clock() {
    let reads = "let t = Instant::now();\n";
    check_rule(
        purity::one_clock,
        &[
            ("crates/cli/src/a.rs", reads),
            ("crates/cli/tests/b.rs", reads),
            ("crates/driver/src/c.rs", "use std::time::SystemTime;\n"),
            (
                "crates/driver/src/d.rs",
                "clock_gettime(ClockId::ThreadCPUTime);\nclock_gettime(ClockId::Monotonic);\n",
            ),
            ("crates/driver/src/clock.rs", reads),
            ("crates/driver/src/clock/real.rs", reads),
            ("xtask/src/d.rs", reads),
        ],
        &[
            "crates/cli/src/a.rs:1: `Instant::now` outside the module `clock`",
            "crates/driver/src/c.rs:1: `SystemTime` outside the module `clock`",
            "crates/driver/src/d.rs:2: `ClockId::Monotonic` outside the module `clock`",
        ],
    );
}

fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}")
}

/// The manifest of a driver, and the databases that its code may name.
fn driver(name: &str, databases: &str) -> String {
    manifest(
        &format!("highwater-driver-{name}"),
        &format!("[package.metadata.highwater]\nnames = {databases}\n"),
    )
}

#[test]
fn dependencies_run_towards_the_nouns() {
    let model = manifest(
        "highwater-model",
        "[dependencies]\nserde = \"1\"\ntokio = \"1\"\n[dev-dependencies]\nhighwater-testing = {}\n",
    );
    let driver = manifest(
        "highwater-driver",
        "[dependencies]\nhighwater-runner.workspace = true\nrusqlite = \"0\"\n",
    );
    let runner = manifest(
        "highwater-runner",
        "[target.'cfg(unix)'.dependencies]\ndb = { package = \"rusqlite\" }\n\
         [dependencies]\nhighwater-testing = {}\nhighwater-model = {}\n",
    );
    let stranger = manifest("highwater-extras", "");
    check_rule(
        crates::dependencies_point_one_way,
        &[
            ("crates/model/Cargo.toml", &model),
            ("crates/driver/Cargo.toml", &driver),
            ("crates/extras/Cargo.toml", &stranger),
            ("crates/runner/Cargo.toml", &runner),
            ("Cargo.toml", "[workspace]\n"),
        ],
        &[
            "crates/driver/Cargo.toml:6: `highwater-driver` depends on `highwater-runner`",
            "crates/extras/Cargo.toml:1: crate `highwater-extras` has no place in the direction of dependencies",
            "crates/model/Cargo.toml:7: the pure crate `highwater-model` depends on `tokio`",
            "crates/runner/Cargo.toml:8: `highwater-runner` depends on `highwater-testing`",
            "crates/runner/Cargo.toml:6: `highwater-runner` depends on `rusqlite`",
        ],
    );
}

#[test]
fn a_driver_needs_no_separate_line() {
    let one = manifest(
        "highwater-driver-one",
        "[dependencies]\nhighwater-workload = {}\nrusqlite = \"0\"\n\
         highwater-analysis = {}\nhighwater-driver-two = {}\n",
    );
    let two = manifest("highwater-driver-two", "");
    let sink = manifest(
        "highwater-driver-null",
        "[dependencies]\nhighwater-driver-mysql = {}\nhighwater-driver-one = {}\n",
    );
    let registry = manifest(
        "highwater-drivers",
        "[dependencies]\nhighwater-driver-one = {}\nhighwater-driver-two = {}\n\
         highwater-driver-null = {}\nhighwater-runner = {}\n",
    );
    let runner = manifest(
        "highwater-runner",
        "[dependencies]\nhighwater-driver = {}\nhighwater-driver-one = {}\n",
    );
    check_rule(
        crates::dependencies_point_one_way,
        &[
            ("crates/drivers/null/Cargo.toml", &sink),
            ("crates/drivers/one/Cargo.toml", &one),
            ("crates/drivers/registry/Cargo.toml", &registry),
            ("crates/drivers/two/Cargo.toml", &two),
            ("crates/runner/Cargo.toml", &runner),
        ],
        &[
            "crates/drivers/null/Cargo.toml:7: `highwater-driver-null` depends on `highwater-driver-one`",
            "crates/drivers/one/Cargo.toml:8: `highwater-driver-one` depends on `highwater-analysis`",
            "crates/drivers/one/Cargo.toml:9: `highwater-driver-one` depends on `highwater-driver-two`",
            "crates/drivers/registry/Cargo.toml:9: `highwater-drivers` depends on `highwater-runner`",
            "crates/runner/Cargo.toml:7: `highwater-runner` depends on `highwater-driver-one`",
        ],
    );
}

#[test]
fn a_driver_declares_the_databases_that_it_names() {
    let silent = manifest("highwater-driver-silent", "");
    let (good, none) = (driver("good", "[\"good\"]"), driver("none", "[]"));
    let (loud, empty) = (driver("loud", "[\"Loud\"]"), driver("empty", "[\"\"]"));
    // The sink must not name any.
    let sink = driver("null", "[]");
    let registry = manifest("highwater-drivers", "");
    check_rule(
        crates::drivers_say_what_they_name,
        &[
            ("crates/driver/Cargo.toml", &manifest("highwater-driver", "")),
            ("crates/drivers/empty/Cargo.toml", &empty),
            ("crates/drivers/good/Cargo.toml", &good),
            ("crates/drivers/loud/Cargo.toml", &loud),
            ("crates/drivers/none/Cargo.toml", &none),
            ("crates/drivers/null/Cargo.toml", &sink),
            ("crates/drivers/registry/Cargo.toml", &registry),
            ("crates/drivers/silent/Cargo.toml", &silent),
        ],
        &[
            "crates/drivers/empty/Cargo.toml:1: `highwater-driver-empty` does not say which databases it names",
            "crates/drivers/loud/Cargo.toml:1: `highwater-driver-loud` does not say which databases it names",
            "crates/drivers/none/Cargo.toml:1: `highwater-driver-none` does not say which databases it names",
            "crates/drivers/registry/Cargo.toml:1: `highwater-drivers` does not say which databases it names",
            "crates/drivers/silent/Cargo.toml:1: `highwater-driver-silent` does not say which databases it names",
        ],
    );
}

#[test]
fn lints_hold_in_every_crate() {
    let good = manifest("a", "");
    check_rule(
        crates::lints_are_inherited,
        &[
            ("a/Cargo.toml", &good),
            ("b/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("Cargo.toml", "[workspace]\n"),
        ],
        &["b/Cargo.toml:1: the crate does not inherit the workspace's lints"],
    );
}

#[test]
fn a_document_has_one_title() {
    check_rule(
        documents::one_title,
        &[("a.md", "# A\n\n```sh\n# comment\n```\n"), ("b.md", "# A\n\n# B\n"), ("c.md", "text\n")],
        &["b.md:3: a second title", "c.md:1: the document does not begin with its title"],
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
fn the_map_names_what_exists() {
    let model = manifest("highwater-model", "");
    let map = "# Map\n\n`highwater-model` `highwater-gone` `crates/model/Cargo.toml` `crates/model`\n\
               `crates/model/workloads/*.toml` `crates/model/src/lost.rs` `highwater run a/b`\n";
    check_rule(
        documents::names_what_exists,
        &[("ARCHITECTURE.md", map), ("crates/model/Cargo.toml", &model)],
        &[
            "ARCHITECTURE.md:3: crate `highwater-gone` does not exist",
            "ARCHITECTURE.md:4: path `crates/model/workloads/*.toml` does not exist",
            "ARCHITECTURE.md:4: path `crates/model/src/lost.rs` does not exist",
        ],
    );
    check_rule(documents::names_what_exists, &[], &["ARCHITECTURE.md:1: there is no map"]);
}

#[test]
fn the_map_names_every_crate() {
    let (model, xtask) = (manifest("highwater-model", ""), manifest("xtask", ""));
    check_rule(
        documents::names_every_crate,
        &[
            ("ARCHITECTURE.md", "# Map\n\n`highwater-model`\n"),
            ("crates/model/Cargo.toml", &model),
            ("xtask/Cargo.toml", &xtask),
        ],
        &["xtask/Cargo.toml:1: ARCHITECTURE.md does not name the crate `xtask`"],
    );
    let (registry, one) = (manifest("highwater-drivers", ""), manifest("highwater-driver-one", ""));
    let drivers = [
        ("crates/drivers/one/Cargo.toml", one.as_str()),
        ("crates/drivers/registry/Cargo.toml", registry.as_str()),
    ];
    let with_map = |map| [drivers[0], drivers[1], ("ARCHITECTURE.md", map)];
    check_rule(documents::names_every_crate, &with_map("# Map\n\n`highwater-drivers`\n"), &[]);
    check_rule(
        documents::names_every_crate,
        &with_map("# Map\n\n`highwater-driver-one`\n"),
        &[
            "crates/drivers/registry/Cargo.toml:1: ARCHITECTURE.md does not name the crate `highwater-drivers`",
        ],
    );
}

#[test]
fn ci_runs_the_commands_of_the_readme() {
    check_rule(
        documents::ci_runs_the_readme,
        &[("README.md", "# R\n\n```sh\ncargo xtask test\n```\n"), (".ci/run", "step cargo test\n")],
        &[".ci/run:1: `cargo xtask test` is not in it"],
    );
}
