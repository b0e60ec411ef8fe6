//! The rule that every Rust file is compiled: it is a root of a crate, or some `mod` names it.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::tree::{Tree, extension_of};

/// A file that no `mod` reaches is dead, and the compiler cannot say so.
pub(super) fn every_file_is_reached(tree: &Tree) -> Vec<Finding> {
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> = roots(tree);
    while let Some(path) = open.pop() {
        if let Some(text) = tree.text(&path)
            && reached.insert(path.clone())
        {
            open.extend(children(&path, text));
        }
    }
    let files = tree.with_extension("rs").map(|(path, _)| path);
    Finding::in_each(
        files.filter(|path| !reached.contains(*path)),
        "no `mod` reaches this file, so it is never compiled",
        "declare it, or delete it",
    )
}

/// A module with children is `a/mod.rs`, so that all of it is in one folder; never `a.rs` and `a/`.
pub(super) fn one_style(tree: &Tree) -> Vec<Finding> {
    let files = tree.with_extension("rs").map(|(path, _)| path);
    let has_folder = |path: &&str| {
        let folder = path.trim_end_matches(".rs");
        path.contains("/src/") && tree.contains_folder_of_rust(folder)
    };
    Finding::in_each(
        files.filter(has_folder),
        "the module is a file beside a folder of its name",
        "move it to `mod.rs` in the folder",
    )
}

/// Where compilation starts: by cargo's conventions, and by `path = "….rs"` in manifests.
fn roots(tree: &Tree) -> Vec<String> {
    let mut roots = Vec::new();
    for (manifest, text) in tree.with_extension("toml") {
        let Some(directory) = manifest.strip_suffix("Cargo.toml") else {
            continue;
        };
        for name in ["src/lib.rs", "src/main.rs", "build.rs"] {
            roots.push(format!("{directory}{name}"));
        }
        for folder in ["src/bin/", "tests/", "benches/", "examples/"] {
            let prefix = format!("{directory}{folder}");
            roots.extend(tree.paths().filter_map(|path| {
                let inside = path.strip_prefix(&prefix)?;
                let is_root = !inside.contains('/') || inside.ends_with("/main.rs");
                is_root.then(|| path.to_owned())
            }));
        }
        for line in text.lines() {
            if let Some(value) = line.strip_prefix("path = \"")
                && let Some(path) = value.strip_suffix(".rs\"")
            {
                roots.push(format!("{directory}{path}.rs"));
            }
        }
    }
    roots.retain(|path| tree.text(path).is_some() && extension_of(path) == Some("rs"));
    roots
}

/// Every path at which a `mod` of this file could find its module.
fn children(path: &str, text: &str) -> Vec<String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.trim_end_matches(".rs");
    let parent = directory.rsplit('/').next().unwrap_or_default();
    let is_root = matches!(parent, "tests" | "benches" | "examples" | "bin");
    let base = if matches!(stem, "lib" | "main" | "mod" | "build") || is_root {
        directory.to_owned()
    } else {
        format!("{directory}/{stem}")
    };
    let mut found = Vec::new();
    let mut explicit: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        if let Some(value) = line.strip_prefix("#[path = \"") {
            explicit = value.strip_suffix("\"]");
            continue;
        }
        if line.starts_with("#[") || line.starts_with("//") {
            continue;
        }
        if let Some(module) = declared_module(line) {
            if let Some(file) = explicit {
                found.push(normal(&format!("{directory}/{file}")));
            } else {
                found.push(format!("{base}/{module}.rs"));
                found.push(format!("{base}/{module}/mod.rs"));
            }
        }
        explicit = None;
    }
    found
}

/// The name in `mod name;`, with any visibility.
fn declared_module(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    rest.strip_prefix("mod ")?.strip_suffix(';')
}

/// A path without `.` and `..`.
pub(super) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
