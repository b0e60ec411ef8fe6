//! The input of rules, which is the files of the repository, read once; and their findings: place, violation, and hint.
//! Must not contain rules.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fmt, fs, io};

/// Directories without sources: version control, build output, runs.
const SKIPPED_DIRECTORIES: [&str; 4] = [".git", "target", "highwater-runs", "node_modules"];

/// Larger files are data: only their names are stored.
const LARGEST_TEXT_BYTES: u64 = 4 << 20;

/// Paths from the root with forward slashes, and the content of text files.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Reads the repository at `root`.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.add_directory(root, "")?;
        Ok(tree)
    }

    /// A tree in memory, for tests.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned())))
                .collect(),
        }
    }

    fn add_directory(&mut self, directory: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if !SKIPPED_DIRECTORIES.contains(&name.as_str()) {
                    self.add_directory(&entry.path(), &format!("{path}/"))?;
                }
            } else if kind.is_file() && name != ".git" {
                let text = if entry.metadata()?.len() > LARGEST_TEXT_BYTES {
                    None
                } else {
                    String::from_utf8(fs::read(entry.path())?).ok()
                };
                self.files.insert(path, text);
            }
        }
        Ok(())
    }

    /// Every path, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Path and text of every text file, sorted by path.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// Path and text of every text file with this extension.
    pub fn with_extension<'a>(
        &'a self,
        extension: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.texts().filter(move |(path, _)| extension_of(path) == Some(extension))
    }

    /// Path and text of every Rust file of a crate that contains more than tests.
    pub(super) fn product(&self) -> impl Iterator<Item = (&str, &str)> {
        self.with_extension("rs").filter(|(path, _)| {
            path.starts_with("crates/") && path.contains("/src/") && !is_test(path)
        })
    }

    /// The text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Whether a file or a directory with this name exists.
    pub fn contains(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self.paths().any(|known| known.starts_with(&inside))
    }
}

/// The extension of a file's name.
pub(super) fn extension_of(path: &str) -> Option<&str> {
    Path::new(path).extension()?.to_str()
}

/// The directory of a file; empty at the root.
pub(super) fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Whether a Rust file only contains tests, their fixtures, or benchmarks.
pub(super) fn is_test(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    matches!(name, "tests.rs" | "fixture.rs")
        || name.ends_with("_tests.rs")
        || ["crates/testing/", "crates/testkit/"].iter().any(|folder| path.starts_with(folder))
        || parts.iter().any(|part| matches!(*part, "tests" | "benches" | "fixture"))
}

/// The numbered lines of a Rust file before its test module, including comments.
pub(super) fn production_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    // Clippy ensures that nothing follows an inline test module.
    let end = lines
        .windows(2)
        .position(|pair| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        })
        .unwrap_or(lines.len());
    lines.into_iter().take(end).enumerate().map(|(i, line)| (i + 1, line))
}

/// The numbered lines of a Rust file before its test module, without comment lines.
pub(super) fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    production_lines(text).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Whether `line` contains `word` without an adjacent letter, digit, or underscore.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}

/// One violation of one rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the root of the repository, with forward slashes.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// The violation.
    pub what: String,
    /// How to fix it.
    pub hint: String,
}

impl Finding {
    /// A violation in `path` at `line`.
    pub(super) fn at(
        path: &str,
        line: usize,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), hint: hint.into() }
    }

    /// The same violation in each of these files as a whole.
    pub(super) fn in_each<'a>(
        paths: impl Iterator<Item = &'a str>,
        what: &str,
        hint: &str,
    ) -> Vec<Self> {
        paths.map(|path| Self::at(path, 1, what, hint)).collect()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what, hint } = self;
        write!(f, "{path}:{line}: {what}: {hint}")
    }
}
