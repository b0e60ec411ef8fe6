//! The generated parts of the documents, and their sources.
//!
//! A page has a file, a block of it (or the whole file), and the source of the text. Text that differs from run to run
//! is not a page: `cargo xtask` writes it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use highwater_model::cluster;
use highwater_model::judgment::ReasonCode;
use highwater_report as report;
use highwater_sizing::plausibility::Rule;
use highwater_sizing::series;
use highwater_workload::file_schema;

use xtask::tidy::Tree;
use xtask::{bench, blocks, first_run, process};

use crate::index::index;
use crate::{accuracy, command_line, limits};

/// The source of a page's text.
#[derive(Clone, Copy)]
enum Source {
    /// A function of the repository's files.
    Files(fn(&Tree) -> String),
    /// A function of the crates' data.
    Crates(fn() -> String),
    /// Output of the program on stdout with these arguments.
    Program(&'static [&'static str]),
    /// The help of each command, each flag once.
    Commands,
}

/// One generated text.
#[derive(Clone, Copy)]
struct Page {
    /// Path from the root.
    path: &'static str,
    /// The block of the file; the whole file when absent.
    block: Option<&'static str>,
    source: Source,
}

/// A block that the program writes.
const fn printed(
    path: &'static str,
    block: &'static str,
    arguments: &'static [&'static str],
) -> Page {
    Page { path, block: Some(block), source: Source::Program(arguments) }
}

/// A block that is computed from the crates' data.
const fn known(path: &'static str, block: &'static str, text: fn() -> String) -> Page {
    Page { block: Some(block), ..whole(path, text) }
}

/// A whole file that is computed.
const fn whole(path: &'static str, text: fn() -> String) -> Page {
    Page { path, block: None, source: Source::Crates(text) }
}

/// The page of the command line.
const CLI: &str = "docs/reference/cli.md";

/// How often stated confidence levels hold.
const ACCURACY: &str = "docs/concepts/accuracy.md";

/// The guide to a million rows per second.
const SIZE_GUIDE: &str = "docs/guide/size.md";
const ROWS_GUIDE: &str = "docs/guide/one-million-rows.md";

/// The reference of the format of figures.
const FIGURES_FILE: &str = "docs/reference/figures-file.md";

/// All generated texts.
const PAGES: &[Page] = &[
    whole("docs/reference/reasons.md", reasons),
    whole("docs/reference/record.schema.json", report::schema),
    whole("docs/reference/event.schema.json", report::event_schema),
    whole("docs/reference/control.schema.json", report::control_schema),
    whole("docs/reference/size.schema.json", report::size_schema),
    printed(CLI, "highwater", &["--help"]),
    Page { path: CLI, block: Some("commands"), source: Source::Commands },
    printed(ROWS_GUIDE, "guide-tables", &["table", "examples/published/benchmarking-guide.csv"]),
    printed(ROWS_GUIDE, "guide-growth", &["table", "examples/published/one-million-rows.csv"]),
    printed(
        ROWS_GUIDE,
        "guide-size",
        &[
            "size",
            "1M",
            "--assume",
            "cratedb-1m",
            "--replicas",
            "1",
            "--tolerate-failures",
            "1",
            "--retention",
            "30d",
            "--bytes-per-row",
            "120",
            "--price",
            "0.97",
        ],
    ),
    known(FIGURES_FILE, "columns", columns),
    known(FIGURES_FILE, "rules", rules),
    known(ACCURACY, "sizes", accuracy::sizes),
    known(ACCURACY, "throughput", accuracy::throughput),
    known(ACCURACY, "drift", accuracy::drift),
    known(ACCURACY, "marks", accuracy::marks),
    known(ACCURACY, "batches", accuracy::batches),
    known(ACCURACY, "comparisons", accuracy::comparisons),
    known("docs/concepts/limit.md", "limits", limits::matrix),
    printed(
        SIZE_GUIDE,
        "decision",
        &["size", "700k", "--from", "examples/sizes.csv", "--price", "0.97"],
    ),
    known(SIZE_GUIDE, "clusters", accuracy::clusters),
    whole("docs/reference/workload.schema.json", || file_schema() + "\n"),
    whole("docs/reference/cluster.schema.json", cluster::schema),
    // After the other pages, because it lists them.
    Page { path: "docs/README.md", block: Some("pages"), source: Source::Files(index) },
];

/// The action for the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Rewrite the pages that differ.
    Write,
    /// Compare without writing.
    Check,
}

/// Generates the pages, with the texts of this program, which has these commands. Returns one line per page written, or
/// the differences.
pub fn run(program: &Path, mode: Mode, commands: &[&str]) -> Result<Vec<String>, String> {
    let root = process::root();
    let read = || Tree::read(&root).map_err(|error| format!("reading the repository: {error}"));
    let mut tree = read()?;
    let mut said = Vec::new();
    let mut wrong = blocks_without_page(&tree);
    // The index lists titles of pages, which are never generated.
    let texts = generate(PAGES, &tree, program, commands);
    for (page, generated) in PAGES.iter().zip(texts) {
        let old = tree.text(page.path).unwrap_or_default();
        let new = page.filled(old, generated?)?;
        let Some((line, difference)) = first_difference(old, &new) else {
            continue;
        };
        if mode == Mode::Check {
            wrong.push(format!(
                "{}:{line}: not what is generated ({difference}): run `cargo xtask docs`",
                page.path
            ));
        } else {
            let path = root.join(page.path);
            fs::write(&path, &new).map_err(|error| format!("writing {}: {error}", page.path))?;
            said.push(format!("docs: wrote {}", page.path));
            tree = read()?;
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    said.push(format!("docs: {} pages are as generated", PAGES.len()));
    Ok(said)
}

/// The texts of all pages, generated in parallel: some run thousands of searches.
fn generate(
    pages: &[Page],
    tree: &Tree,
    program: &Path,
    commands: &[&str],
) -> Vec<Result<String, String>> {
    let ended = |_| Err("generating it ended early".to_owned());
    thread::scope(|threads| {
        let running: Vec<_> = pages
            .iter()
            .map(|page| threads.spawn(|| page.generate(tree, program, commands)))
            .collect();
        running.into_iter().map(|text| text.join().unwrap_or_else(ended)).collect()
    })
}

/// Output of the program with these arguments.
fn written(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    let text = process::output(command.args(arguments).current_dir(process::root()))?;
    Ok(blocks::verbatim(&text))
}

/// The page of all commands.
fn commands_page(program: &Path, commands: &[&str]) -> Result<String, String> {
    let help = |name| {
        let mut command = Command::new(program);
        let command = command.args([name, "--help-all"]).current_dir(process::root());
        process::output(command).map(|help| (name, help))
    };
    let helps: Result<Vec<_>, _> = commands.iter().map(|name| help(*name)).collect();
    Ok(command_line::page(&helps?))
}

impl Page {
    fn generate(&self, tree: &Tree, program: &Path, commands: &[&str]) -> Result<String, String> {
        match self.source {
            Source::Files(from_files) => Ok(from_files(tree)),
            Source::Crates(text) => Ok(text()),
            Source::Program(arguments) => written(program, arguments),
            Source::Commands => commands_page(program, commands),
        }
    }

    /// The document with this text inserted.
    fn filled(&self, old: &str, text: String) -> Result<String, String> {
        match self.block {
            None => Ok(text),
            Some(block) => blocks::replace(old, block, &text)
                .map_err(|error| format!("{}:1: {error}", self.path)),
        }
    }
}

/// Marks in documents without a generator: a typing error, or a removed generator.
fn blocks_without_page(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.with_extension("md") {
        for name in blocks::names(text) {
            let known = PAGES.iter().any(|page| page.path == path && page.block == Some(name));
            let is_measured = path == bench::DOCUMENT && name.starts_with(bench::BLOCK_PREFIX)
                || path == first_run::DOCUMENT && name == first_run::BLOCK;
            if !known && !is_measured {
                wrong.push(format!(
                    "{path}:1: nothing generates the block `{name}`: add it to PAGES in \
                     crates/documents/src/pages.rs, or delete the marks"
                ));
            }
        }
    }
    wrong
}

/// Line and content of the first difference.
fn first_difference(old: &str, new: &str) -> Option<(usize, String)> {
    if old == new {
        return None;
    }
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    let there = old.lines().nth(same).unwrap_or("end of file");
    let new_line = new.lines().nth(same).unwrap_or("end of file");
    Some((same + 1, format!("`{there}`, generated `{new_line}`")))
}

/// Every code of a reason, by judgment.
fn reasons() -> String {
    let mut text =
        "# Reasons\n\nThe stable codes behind the judgments, as they stand in records.\n\n\
                    Generated from the program by `cargo xtask docs`.\n"
            .to_owned();
    let mut last = "";
    for (_, code, judgment, meaning) in ReasonCode::ALL {
        if *judgment != last {
            text += &format!("\n## {judgment}\n\n| code | says |\n|---|---|\n");
            last = judgment;
        }
        text += &format!("| `{code}` | {meaning} |\n");
    }
    text
}

/// Every column that a file of figures may have.
fn columns() -> String {
    let mut text = accuracy::head("column | also called | holds");
    for known in &*series::KNOWN_COLUMNS {
        let names: Vec<String> = known.aliases.iter().map(|name| format!("`{name}`")).collect();
        let aliases = names.join(", ");
        text += &format!("| `{}` | {aliases} | {} |\n", known.name, known.meaning);
    }
    text
}

/// Every rule of the plausibility audit.
fn rules() -> String {
    let mut text = accuracy::head("code | what must hold");
    for (_, code, compares) in Rule::ALL {
        text += &format!("| `{code}` | {compares} |\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_line_under_its_judgment() {
        let page = reasons();
        assert_eq!(page.matches("\n| `").count(), ReasonCode::ALL.len());
        for judgment in ["measurement", "data", "objective"] {
            assert_eq!(page.matches(&format!("\n## {judgment}\n")).count(), 1);
        }
    }

    #[test]
    fn the_schema_of_the_record_is_json_and_names_its_parts() {
        let schema: serde_json::Value = serde_json::from_str(&report::schema()).unwrap();
        let kinds: Vec<&str> = schema["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|kind| kind["properties"]["kind"]["const"].as_str())
            .collect();
        assert_eq!(kinds, ["run", "experiment", "imported"]);
        let parts = &schema["$defs"]["RunRecord"]["properties"];
        for part in ["schema", "plan", "judgments", "results", "clients"] {
            assert!(parts.get(part).is_some(), "{part}");
        }
    }

    #[test]
    fn a_difference_is_named_by_line() {
        let (line, difference) = first_difference("a\nb\n", "a\nc\n").unwrap();
        assert_eq!((line, difference.as_str()), (2, "`b`, generated `c`"));
        assert_eq!(first_difference("a\n", "a\n"), None);
    }

    #[test]
    fn a_block_that_nothing_fills_is_wrong() {
        let marks = "# T\n\n<!-- generated: unknown -->\n<!-- end of unknown -->\n";
        let wrong = blocks_without_page(&Tree::new(&[("docs/a.md", marks)]));
        assert!(wrong[0].contains("`unknown`"), "{wrong:?}");
    }
}
