//! Rules about documents: one title each, and links that lead somewhere.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::modules::normal;
use super::tree::{Tree, directory_of};
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

/// Links within the repository lead to a file that exists, and to a heading that exists in it.
pub(super) fn links_resolve(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.with_extension("md") {
        let directory = directory_of(path);
        for (number, line) in prose(text) {
            for link in links(&without_code_spans(line)) {
                if let Some(what) = broken(tree, path, directory, &link) {
                    let hint = "correct the path, or delete the link";
                    findings.push(Finding::at(path, number, what, hint));
                }
            }
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

fn broken(tree: &Tree, from: &str, directory: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target =
        if file.is_empty() { from.to_owned() } else { normal(&format!("{directory}/{file}")) };
    if !tree.contains(&target) {
        return Some(format!("the link `{link}` leads to no file"));
    }
    let text = tree.text(&target)?;
    let found = anchor.is_empty() || anchors(text).any(|known| known == anchor);
    (!found).then(|| format!("the link `{link}` leads to no heading"))
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

/// Numbered spans in backticks, outside fenced code.
pub(super) fn code_spans(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        line.split('`').skip(1).step_by(2).map(move |span| (number, span))
    })
}

fn without_code_spans(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("")
}

/// The targets of `[text](target)`.
fn links(line: &str) -> Vec<String> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.trim().to_owned())
        .collect()
}

/// Headings as they are linked to: lower case, blanks as hyphens, punctuation gone.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| {
        line.trim_start_matches('#')
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    })
}
