//! `cargo xtask TASK`: selects a task and prints its result. The tasks are in the library.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

use xtask::tidy::{self, Tree};
use xtask::{bench, dist, docs, first_run, long, process, test};

const HELP: &str = "\
Repository tasks

Usage: cargo xtask TASK

  test [ARGUMENTS]         installs the programs that tests need, and runs every test
  tidy                     checks of the house; see STYLE.md
  docs                     rewrites the generated parts of the documents
  docs --check             fails where a generated part is out of date
  docs --measured          runs the README's first command and keeps its output
  bench [NAME] [--write]   runs the benchmarks; --write keeps the tables in docs/benchmarks.md
  accuracy FILE            how well predictions of larger sizes hold on the series of a file
  long [FILTER]            runs the long tests
  dist [--only KIND]       makes what installs without a compiler, in dist/: archive, wheel, deb,
                           image, or only one of them
  dist --program FILE      the same without the wheel, from a program that is already built
  dist --check             tries what is in dist/ in trees without Rust
  ci                       runs the steps of CI in order
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut out = std::io::stdout();
    let (text, code) = match task(&words, &mut out) {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(error) => (error, ExitCode::FAILURE),
    };
    // If stdout is closed, there is no reader to report to.
    writeln!(out, "{}", text.trim_end()).ok();
    code
}

fn task(words: &[&str], out: &mut dyn Write) -> Result<String, String> {
    let lines = |lines: Vec<String>| lines.join("\n");
    match words {
        ["tidy"] => check(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["docs", "--measured"] => first_run::write(),
        ["bench"] => bench::run(None, false).map(lines),
        ["bench", "--write"] => bench::run(None, true).map(lines),
        ["bench", name, "--write"] | ["bench", "--write", name] => {
            bench::run(Some(name), true).map(lines)
        }
        ["bench", name] => bench::run(Some(name), false).map(lines),
        ["test", arguments @ ..] => test::run(arguments),
        ["accuracy", file] => process::output(&mut process::cargo(&[
            "run",
            "--quiet",
            "--package",
            "highwater-documents",
            "--",
            file,
        ])),
        ["dist"] => dist::make(&dist::KINDS, None),
        ["dist", "--check"] => dist::check(),
        ["dist", "--only", kind] => dist::make(&[*kind], None),
        ["dist", "--program", file] => dist::make(&dist::KINDS, Some(Path::new(file))),
        ["long"] => long::run(None, out),
        ["long", filter] => long::run(Some(filter), out),
        ["ci"] => {
            let mut steps = Command::new("bash");
            process::run(steps.arg(".ci/run").current_dir(process::root()))?;
            Ok(String::new())
        }
        ["help" | "--help" | "-h"] => Ok(HELP.to_owned()),
        other => Err(format!("xtask: no task `{}`\n\n{HELP}", other.join(" "))),
    }
}

/// Reports the findings of tidy's rules.
fn check() -> Result<String, String> {
    let tree = Tree::read(&process::root())
        .map_err(|error| format!("tidy: cannot read the repository: {error}"))?;
    let findings = tidy::check(&tree);
    if findings.is_empty() {
        let files = tree.paths().count();
        return Ok(format!("tidy: {files} files, nothing found"));
    }
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    Err(format!("{}\ntidy: {} found", lines.join("\n"), lines.len()))
}
