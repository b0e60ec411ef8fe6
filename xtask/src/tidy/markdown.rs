//! Rules about documents: one title each, and commands that say how they are kept right.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::tree::Tree;
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

/// Every fence says its language, and each with commands how these are kept right.
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
pub(super) fn code_spans(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        line.split('`').skip(1).step_by(2).map(move |span| (number, span))
    })
}
