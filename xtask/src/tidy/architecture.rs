//! Rules that keep ARCHITECTURE.md consistent with the code.

use super::crates::{DRIVERS, DRIVERS_FOLDER, workspace_crates};
use super::finding::Finding;
use super::markdown::code_spans;
use super::tree::{Tree, directory_of};

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
