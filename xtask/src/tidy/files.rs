//! Rules about a file as a whole: module comment, length, name, and whitespace.

use std::path::Path;

use super::tree::{Finding, Tree, extension_of, is_test};

/// Maximum lines of a Rust file, for readability.
const LONGEST_FILE: usize = 800;
/// The maximum for files of tests, which are read one test at a time.
const LONGEST_TEST_FILE: usize = 1_000;

/// Names that do not describe the content.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "helpers", "common", "manager", "misc", "imp", "types"];

/// Extensions of files whose whitespace is content, or is written by another tool.
const FOREIGN_WHITESPACE: &[&str] = &["snap", "svg", "csv", "out", "log", "hlog", "hgrm"];

/// Each Rust file begins with a module comment that states its purpose.
pub(super) fn opens_with_its_purpose(tree: &Tree) -> Vec<Finding> {
    let says_nothing = |(_, text): &(&str, &str)| {
        let first = text.lines().next().unwrap_or_default();
        let said = first.strip_prefix("//! ");
        said.is_none_or(|said| said.trim().is_empty())
    };
    let files = tree.with_extension("rs").filter(says_nothing);
    Finding::in_each(
        files.map(|(path, _)| path),
        "the file does not open with `//!`",
        "say in a sentence what it is for, and what must not be in it",
    )
}

/// No file is too long.
pub(super) fn is_short_enough(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("rs")
        .filter_map(|(path, text)| {
            let most = if is_test(path) { LONGEST_TEST_FILE } else { LONGEST_FILE };
            let lines = text.lines().count();
            (lines > most).then(|| {
                Finding::at(
                    path,
                    most + 1,
                    format!("{lines} lines, more than {most}"),
                    "split it where it stops being one thing; tests may go to `tests.rs`",
                )
            })
        })
        .collect()
}

/// No file or directory has a name that would fit any content.
pub(super) fn has_a_telling_name(tree: &Tree) -> Vec<Finding> {
    tree.paths()
        .filter_map(|path| {
            let empty = Path::new(path)
                .components()
                .filter_map(|part| Path::new(part.as_os_str()).file_stem()?.to_str())
                .find(|stem| EMPTY_NAMES.contains(stem))?;
            Some(Finding::at(
                path,
                1,
                format!("the name `{empty}` says nothing"),
                "name it after the noun that it holds",
            ))
        })
        .collect()
}

/// No trailing blanks, no carriage returns, and one newline at the end.
pub(super) fn has_clean_whitespace(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        if extension_of(path).is_some_and(|e| FOREIGN_WHITESPACE.contains(&e)) || text.is_empty() {
            continue;
        }
        for (i, line) in text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                let what = "whitespace at the end of the line";
                findings.push(Finding::at(path, i + 1, what, "delete it"));
            }
        }
        if !text.ends_with('\n') || text.ends_with("\n\n") {
            let last = text.lines().count();
            let what = "the file does not end with exactly one newline";
            findings.push(Finding::at(path, last, what, "end it with one"));
        }
    }
    findings
}
