//! Which part of which document is generated, and from what.
//!
//! A page says which file, which block of it (or all of it) and where the text comes from. What
//! differs from run to run is no page: `cargo xtask` writes it.

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
use xtask::tidy::markdown::title_and_summary;
use xtask::{bench, blocks, first_run, process};

use crate::{accuracy, dashboards, limits};

/// Where the text of a page comes from.
enum Source {
    /// A function of the repository's files.
    Files(fn(&Tree) -> String),
    /// What the program writes on stdout with these arguments.
    Program(&'static [&'static str]),
}

/// One generated text.
struct Page {
    /// Path from the root.
    path: &'static str,
    /// The block of the file; the whole file when absent.
    block: Option<&'static str>,
    source: Source,
}

/// A block of the page of the command line: what `--help-all` prints.
const fn help(block: &'static str, command: &'static [&'static str]) -> Page {
    Page {
        path: CLI,
        block: Some(block),
        source: Source::Program(command),
    }
}

/// A block that is computed from the files of the tree.
const fn files(path: &'static str, block: &'static str, text: fn(&Tree) -> String) -> Page {
    Page {
        path,
        block: Some(block),
        source: Source::Files(text),
    }
}

/// A file for Grafana.
const fn dashboard(path: &'static str, text: fn(&Tree) -> String) -> Page {
    Page {
        path,
        block: None,
        source: Source::Files(text),
    }
}

/// The page of the command line.
const CLI: &str = "docs/reference/cli.md";

/// All generated texts.
const PAGES: &[Page] = &[
    Page {
        path: "docs/reference/reasons.md",
        block: None,
        source: Source::Files(reasons),
    },
    Page {
        path: "docs/reference/record.schema.json",
        block: None,
        source: Source::Files(record_schema),
    },
    Page {
        path: "docs/reference/event.schema.json",
        block: None,
        source: Source::Files(event_schema),
    },
    Page {
        path: "docs/reference/control.schema.json",
        block: None,
        source: Source::Files(control_schema),
    },
    Page {
        path: "docs/reference/size.schema.json",
        block: None,
        source: Source::Files(size_schema),
    },
    help("highwater", &["--help"]),
    help("highwater demo", &["demo", "--help-all"]),
    help("highwater run", &["run", "--help-all"]),
    help("highwater load", &["load", "--help-all"]),
    help("highwater find", &["find", "--help-all"]),
    help("highwater tune", &["tune", "--help-all"]),
    help("highwater scale", &["scale", "--help-all"]),
    help("highwater show", &["show", "--help-all"]),
    help("highwater serve", &["serve", "--help-all"]),
    help("highwater import", &["import", "--help-all"]),
    help("highwater size", &["size", "--help-all"]),
    help("highwater check", &["check", "--help-all"]),
    help("highwater table", &["table", "--help-all"]),
    help("highwater cluster", &["cluster", "--help-all"]),
    printed(
        "guide-tables",
        &["table", "examples/published/benchmarking-guide.csv"],
    ),
    printed(
        "guide-growth",
        &["table", "examples/published/one-million-rows.csv"],
    ),
    printed(
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
            "--extrapolate",
        ],
    ),
    files(FIGURES_FILE, "columns", columns),
    files(FIGURES_FILE, "rules", rules),
    files("docs/concepts/accuracy.md", "sizes", |_| accuracy::sizes()),
    files("docs/concepts/accuracy.md", "throughput", |_| {
        accuracy::throughput()
    }),
    files("docs/concepts/accuracy.md", "drift", |_| accuracy::drift()),
    files("docs/concepts/accuracy.md", "marks", |_| accuracy::marks()),
    files("docs/concepts/accuracy.md", "comparisons", |_| {
        accuracy::comparisons()
    }),
    files("docs/concepts/limit.md", "limits", |_| limits::matrix()),
    files("docs/guide/size.md", "clusters", |_| accuracy::clusters()),
    help("highwater workloads", &["workloads", "--help-all"]),
    Page {
        path: "docs/reference/workload.schema.json",
        block: None,
        source: Source::Files(workload_schema),
    },
    Page {
        path: "docs/reference/cluster.schema.json",
        block: None,
        source: Source::Files(|_| cluster::schema()),
    },
    dashboard("grafana/dashboards/highwater-run.json", |_| {
        dashboards::json(dashboards::ALL[0])
    }),
    dashboard("grafana/dashboards/cratedb-kubernetes.json", |_| {
        dashboards::json(dashboards::ALL[1])
    }),
    dashboard("grafana/dashboards/cratedb-machines.json", |_| {
        dashboards::json(dashboards::ALL[2])
    }),
    dashboard("grafana/dashboards/postgresql.json", |_| {
        dashboards::json(dashboards::ALL[3])
    }),
    dashboard("grafana/dashboards/cockroachdb.json", |_| {
        dashboards::json(dashboards::ALL[4])
    }),
    // After the other pages, because it lists them.
    files("docs/README.md", "pages", index),
];

/// The reference of the format of figures.
const FIGURES_FILE: &str = "docs/reference/figures-file.md";

/// An output in the guide to a million rows per second.
const fn printed(block: &'static str, arguments: &'static [&'static str]) -> Page {
    Page {
        path: "docs/guide/one-million-rows.md",
        block: Some(block),
        source: Source::Program(arguments),
    }
}

/// What to do with the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Rewrite those that differ.
    Write,
    /// Compare, write nothing.
    Check,
}

/// Generates the pages, with the texts of this program; one line for each that was written, or what
/// differs.
pub fn run(program: &Path, mode: Mode) -> Result<Vec<String>, String> {
    let root = process::root();
    let read = || Tree::read(&root).map_err(|error| format!("reading the repository: {error}"));
    let mut tree = read()?;
    let mut said = Vec::new();
    let mut wrong = blocks_without_page(&tree);
    // The index lists titles of pages, which are never generated.
    for (page, generated) in PAGES.iter().zip(generate(&tree, program)) {
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

/// The texts of all pages, side by side: some of them are counted in thousands of searches.
fn generate(tree: &Tree, program: &Path) -> Vec<Result<String, String>> {
    let ended = |_| Err("generating it ended early".to_owned());
    thread::scope(|threads| {
        let pages = PAGES.iter();
        let running: Vec<_> = pages
            .map(|page| threads.spawn(|| page.generate(tree, program)))
            .collect();
        let texts = running.into_iter();
        texts
            .map(|text| text.join().unwrap_or_else(ended))
            .collect()
    })
}

impl Page {
    fn generate(&self, tree: &Tree, program: &Path) -> Result<String, String> {
        match self.source {
            Source::Files(from_files) => Ok(from_files(tree)),
            Source::Program(arguments) => {
                let mut command = Command::new(program);
                let text = process::output(command.args(arguments).current_dir(process::root()))?;
                Ok(blocks::verbatim(&text))
            }
        }
    }

    /// The document with this text in its place.
    fn filled(&self, old: &str, text: String) -> Result<String, String> {
        match self.block {
            None => Ok(text),
            Some(block) => blocks::replace(old, block, &text)
                .map_err(|error| format!("{}:1: {error}", self.path)),
        }
    }
}

/// Marks in documents that nothing fills: a typing error, or a generator that went away.
fn blocks_without_page(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.with_extension("md") {
        for name in blocks::names(text) {
            let known = PAGES
                .iter()
                .any(|page| page.path == path && page.block == Some(name));
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
    let same = old
        .lines()
        .zip(new.lines())
        .take_while(|(old, new)| old == new)
        .count();
    let there = old.lines().nth(same).unwrap_or("end of file");
    let new_line = new.lines().nth(same).unwrap_or("end of file");
    Some((same + 1, format!("`{there}`, generated `{new_line}`")))
}

/// Every code of a reason, by judgment.
fn reasons(_: &Tree) -> String {
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
fn columns(_: &Tree) -> String {
    let mut text = "| column | also called | holds |\n|---|---|---|\n".to_owned();
    for known in series::KNOWN_COLUMNS {
        let names: Vec<String> = known
            .aliases
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let aliases = names.join(", ");
        text += &format!("| `{}` | {aliases} | {} |\n", known.name, known.meaning);
    }
    text
}

/// Every rule of the plausibility audit.
fn rules(_: &Tree) -> String {
    let mut text = "| code | what must hold |\n|---|---|\n".to_owned();
    for (_, code, compares) in Rule::ALL {
        text += &format!("| `{code}` | {compares} |\n");
    }
    text
}

/// The JSON Schema of `record.json`.
fn record_schema(_: &Tree) -> String {
    format!("{}\n", report::schema().trim_end())
}

/// The JSON Schema of a line of `--events`.
fn event_schema(_: &Tree) -> String {
    format!("{}\n", report::event_schema().trim_end())
}

/// The JSON Schema of a line that `--control` reads.
fn control_schema(_: &Tree) -> String {
    format!("{}\n", report::control_schema().trim_end())
}

/// The JSON Schema of `highwater size --json`.
fn size_schema(_: &Tree) -> String {
    format!("{}\n", report::size_schema().trim_end())
}

/// The JSON Schema of workload files.
fn workload_schema(_: &Tree) -> String {
    format!("{}\n", file_schema())
}

/// Pages in the order in which a reader needs them; the others follow by name.
const FIRST_PAGES: [&str; 15] = [
    "guide/first-run.md",
    "guide/postgresql.md",
    "guide/why-no-faster.md",
    "guide/is-my-number-right.md",
    "guide/report.md",
    "guide/compare.md",
    "guide/growing-a-cluster.md",
    "guide/size.md",
    "guide/import.md",
    "concepts/times.md",
    "concepts/open-and-closed.md",
    "concepts/judgments.md",
    "concepts/audit.md",
    "concepts/mark.md",
    "concepts/limit.md",
];

/// The list of all documents: title and first paragraph of each, by section.
fn index(tree: &Tree) -> String {
    let sections = [
        ("Guide", "docs/guide/"),
        ("Concepts", "docs/concepts/"),
        ("Reference", "docs/reference/"),
        ("Decisions", "docs/decisions/"),
        ("Figures", "docs/"),
    ];
    let mut text = String::new();
    for (title, directory) in sections {
        let mut entries: Vec<(usize, String)> = tree
            .with_extension("md")
            .filter_map(|(path, text)| {
                let inside = path.strip_prefix(directory)?;
                if inside.contains('/') || inside == "README.md" {
                    return None;
                }
                let (title, summary) = title_and_summary(text)?;
                let link = path.strip_prefix("docs/")?;
                let place = FIRST_PAGES.iter().position(|first| *first == link);
                let place = place.unwrap_or(FIRST_PAGES.len());
                Some((place, format!("- [{title}]({link}): {summary}")))
            })
            .collect();
        entries.sort_by_key(|(place, _)| *place);
        let entries: Vec<String> = entries.into_iter().map(|(_, entry)| entry).collect();
        if !entries.is_empty() {
            text = format!("{text}## {title}\n\n{}\n\n", entries.join("\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_lists_titles_and_first_paragraphs() {
        let tree = Tree::of(&[
            ("docs/README.md", "# Index\n\nNot itself.\n"),
            (
                "docs/concepts/times.md",
                "# The times\n\nAn op\nhas three.\n\nMore.\n",
            ),
            ("docs/benchmarks.md", "# Benchmarks\n\nFigures.\n"),
        ]);
        assert_eq!(
            index(&tree),
            "## Concepts\n\n- [The times](concepts/times.md): An op has three.\n\n\
             ## Figures\n\n- [Benchmarks](benchmarks.md): Figures.\n\n"
        );
    }

    #[test]
    fn the_pages_that_come_first_are_there() {
        let tree = Tree::read(&process::root()).unwrap();
        for page in FIRST_PAGES {
            assert!(tree.contains(&format!("docs/{page}")), "{page}");
        }
    }

    #[test]
    fn every_reason_has_a_line_under_its_judgment() {
        let page = reasons(&Tree::default());
        assert_eq!(page.matches("\n| `").count(), ReasonCode::ALL.len());
        for judgment in ["measurement", "data", "objective"] {
            assert_eq!(page.matches(&format!("\n## {judgment}\n")).count(), 1);
        }
    }

    #[test]
    fn the_schema_of_the_record_is_json_and_names_its_parts() {
        let schema: serde_json::Value =
            serde_json::from_str(&record_schema(&Tree::default())).unwrap();
        let kinds = schema["oneOf"].as_array().unwrap().iter();
        let kinds: Vec<&str> = kinds
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
        let wrong = blocks_without_page(&Tree::of(&[("docs/a.md", marks)]));
        assert!(wrong[0].contains("`unknown`"), "{wrong:?}");
    }
}
