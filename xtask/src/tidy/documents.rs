//! Rules about documents: tags on commands that state how they are tested, and names in ARCHITECTURE.md that exist.

use std::collections::BTreeSet;

use super::crates::manifests;
use super::tree::{Finding, Tree};
use crate::fences::fences;

/// Every fence states its language, and each fence of commands how they are tested.
pub(super) fn commands_are_tagged(tree: &Tree) -> Vec<Finding> {
    let hint = "write `sh run`, `sh dry-run`, or `sh needs=WHAT`, see xtask/src/fences.rs; of what is no \
                command the language, or `text`";
    let of_users =
        |path: &str| matches!(path, "README.md" | "CONTRIBUTING.md") || path.starts_with("docs/");
    let mut findings = Vec::new();
    for (path, text) in tree.with_extension("md").filter(|(path, _)| of_users(path)) {
        for fence in fences(text) {
            let wrong = if fence.is_commands() {
                fence.kept().err()
            } else {
                let is_nameless = fence.language.is_empty();
                is_nameless.then(|| "a fence without a language".to_owned())
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
    (1..).zip(text.lines()).filter(move |(number, _)| !fenced.contains(number))
}

const MAP: &str = "ARCHITECTURE.md";

/// Every crate and path that the map names in backticks exists, and it names every crate; `highwater-drivers` stands
/// for all drivers.
pub(super) fn the_map_is_true(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(MAP).unwrap_or_default();
    let spans: Vec<(usize, &str)> = prose(text)
        .flat_map(|(number, line)| {
            line.split('`').skip(1).step_by(2).map(move |span| (number, span))
        })
        .collect();
    let crates: Vec<String> = manifests(tree).map(|(_, name, _)| name).collect();
    let mut findings = Vec::new();
    for (line, span) in &spans {
        let is_crate_name = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let is_known = |name: &str| name == "runs" || crates.iter().any(|known| known == name);
        let of_crate = span.strip_prefix("highwater-").filter(|name| is_crate_name(name));
        let starts = ["crates/", "xtask/", "docs/", ".ci/"];
        let is_path = !span.contains([' ', ':', '<']) && starts.iter().any(|s| span.starts_with(s));
        if of_crate.is_some_and(|name| !is_known(name)) || (is_path && !tree.contains(span)) {
            let what = format!("`{span}` does not exist");
            findings.push(Finding::at(MAP, *line, what, "correct the map"));
        }
    }
    for name in crates.iter().filter(|name| !name.starts_with("driver-")) {
        let is_it = |span: &str| span.strip_prefix("highwater-").unwrap_or(span) == name;
        if !spans.iter().any(|(_, span)| is_it(span)) {
            let hint = "give it a paragraph, its invariants included";
            findings.push(Finding::at(MAP, 1, format!("crate `{name}` is not in it"), hint));
        }
    }
    findings
}
