//! Rules about documents: one title each, tags on commands that state how they are tested, names in ARCHITECTURE.md
//! that exist, and the same command for the tests in README and CI.

use std::collections::BTreeSet;

use super::crates::{DRIVERS, DRIVERS_FOLDER, workspace_crates};
use super::tree::{Finding, Tree, directory_of};
use crate::fences::fences;

/// A document has one title, on its first line.
pub(super) fn one_title(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.with_extension("md") {
        let titles: Vec<usize> = prose(text)
            .filter(|(_, line)| line.starts_with("# "))
            .map(|(number, _)| number)
            .collect();
        match titles.as_slice() {
            [1] => {}
            [] | [_] => findings.push(Finding::at(
                path,
                1,
                "the document does not begin with its title",
                "open it with one `# Title`",
            )),
            [_, second, ..] => findings.push(Finding::at(
                path,
                *second,
                "a second title",
                "use `##` for sections, or make two documents",
            )),
        }
    }
    findings
}

/// Every fence states its language, and each fence of commands how they are tested.
pub(super) fn commands_are_tagged(tree: &Tree) -> Vec<Finding> {
    let hint = "write `sh run`, `sh dry-run`, or `sh needs=WHAT`, see xtask/src/fences.rs; of what is no \
                command the language, or `text`";
    let mut findings = Vec::new();
    let of_users =
        |path: &str| matches!(path, "README.md" | "CONTRIBUTING.md") || path.starts_with("docs/");
    for (path, text) in tree.with_extension("md").filter(|(path, _)| of_users(path)) {
        for fence in fences(text) {
            let wrong = if fence.is_commands() {
                fence.kept().err()
            } else {
                let nameless = fence.language.is_empty();
                nameless.then(|| "a fence without a language".to_owned())
            };
            findings.extend(wrong.map(|what| Finding::at(path, fence.line, what, hint)));
        }
    }
    findings
}

/// The title of a document and its first paragraph on one line, for the index.
pub fn title_and_summary(text: &str) -> Option<(String, String)> {
    let mut lines = prose(text).map(|(_, line)| line.trim());
    let title = lines.next()?.strip_prefix("# ")?.to_owned();
    let paragraph: Vec<&str> =
        lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
    (!paragraph.is_empty()).then(|| (title, paragraph.join(" ")))
}

/// Numbered lines outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let fenced = fences(text)
        .into_iter()
        .flat_map(|fence| fence.line..=fence.line + fence.text.lines().count() + 1);
    let fenced: BTreeSet<usize> = fenced.collect();
    let lines = (1..).zip(text.lines());
    lines.filter(move |(number, _)| !fenced.contains(number))
}

/// Code spans with line numbers, outside fenced code.
fn code_spans(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        line.split('`').skip(1).step_by(2).map(move |span| (number, span))
    })
}

const MAP: &str = "ARCHITECTURE.md";

/// Every crate and path that the map names in backticks exists.
pub(super) fn names_what_exists(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(MAP) else {
        return vec![Finding::at(MAP, 1, "there is no map", "write it")];
    };
    let crates = workspace_crates(tree);
    let mut findings = Vec::new();
    for (line, span) in code_spans(text) {
        let is_crate = span.starts_with("highwater-") && is_crate_name(span);
        if is_crate && !crates.iter().any(|(name, _)| name == span) {
            let what = format!("crate `{span}` does not exist");
            findings.push(Finding::at(MAP, line, what, "correct the map"));
        }
        if looks_like_path(span) {
            // A pattern such as `a/b/*.toml` is checked up to its star.
            let fixed = match span.split_once('*') {
                Some((fixed, _)) => directory_of(fixed),
                None => span,
            };
            if !tree.contains(fixed) {
                let what = format!("path `{span}` does not exist");
                findings.push(Finding::at(MAP, line, what, "correct the map"));
            }
        }
    }
    findings
}

/// The map contains every crate; the registry's entry stands for all drivers.
pub(super) fn names_every_crate(tree: &Tree) -> Vec<Finding> {
    let spans: Vec<&str> = tree
        .text(MAP)
        .map(|text| code_spans(text).map(|(_, span)| span).collect())
        .unwrap_or_default();
    let is_named = |name: &str| spans.contains(&name);
    workspace_crates(tree)
        .into_iter()
        .filter(|(name, directory)| {
            let is_driver = directory.starts_with(DRIVERS_FOLDER);
            let has_place = is_named(name) || (is_driver && is_named(DRIVERS));
            !has_place
        })
        .map(|(name, directory)| {
            Finding::at(
                &format!("{directory}/Cargo.toml"),
                1,
                format!("{MAP} does not name the crate `{name}`"),
                "give it a paragraph in the code map, its invariants included",
            )
        })
        .collect()
}

fn is_crate_name(span: &str) -> bool {
    span.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && span != "highwater-runs"
}

/// Paths into this repository; not URLs, commands or files of a run.
fn looks_like_path(span: &str) -> bool {
    let starts = ["crates/", "xtask/", "docs/", ".ci/"];
    !span.contains([' ', ':', '<']) && starts.iter().any(|start| span.starts_with(start))
}

/// The README's command for the tests.
const TEST_COMMAND: &str = "cargo xtask test";

/// README and CI name the same command for the tests.
pub(super) fn ci_runs_the_readme(tree: &Tree) -> Vec<Finding> {
    let lacks_it = |path: &&str| {
        let text = tree.text(path).unwrap_or_default();
        !text.lines().any(|line| line.trim().ends_with(TEST_COMMAND))
    };
    Finding::in_each(
        ["README.md", ".ci/run"].into_iter().filter(lacks_it),
        &format!("`{TEST_COMMAND}` is not in it"),
        "a newcomer and CI run the same command",
    )
}
