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
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), Some((*text).to_owned()));
        Self { files: files.iter().map(own).collect() }
    }

    fn add_directory(&mut self, directory: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !SKIPPED_DIRECTORIES.contains(&name.as_str()) {
                self.add_directory(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() && name != ".git" {
                let is_text = entry.metadata()?.len() <= LARGEST_TEXT_BYTES;
                let bytes = is_text.then(|| fs::read(entry.path())).transpose()?;
                self.files.insert(path, bytes.and_then(|bytes| String::from_utf8(bytes).ok()));
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
        let of = |path| Path::new(path).extension().and_then(|own| own.to_str());
        self.texts().filter(move |(path, _)| of(*path) == Some(extension))
    }

    /// Path and numbered lines of every Rust file of the product, without tests and their fixtures.
    pub(super) fn product(&self) -> impl Iterator<Item = (&str, Vec<(usize, &str)>)> {
        let is_product = |path: &str| path.starts_with("crates/") && path.contains("/src/");
        let all = self.with_extension("rs");
        all.filter(move |(path, _)| is_product(path) && !is_test(path)).map(|(path, text)| {
            // Clippy ensures that nothing follows an inline test module.
            let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
            (path, (1..).zip(text[..end].lines()).collect())
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
        self.files.contains_key(path) || self.paths().any(|known| known.starts_with(&inside))
    }
}

/// Whether a Rust file only contains tests, their fixtures, or benchmarks.
pub(super) fn is_test(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut folders = folders.split('/');
    ["tests.rs", "fixture.rs"].contains(&name)
        || ["crates/testing/", "crates/testkit/"].iter().any(|folder| path.starts_with(folder))
        || folders.any(|folder| ["tests", "benches", "fixture"].contains(&folder))
}

/// Whether `line` contains `word` without an adjacent letter, digit, or underscore.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(joins) && !line[at + word.len()..].starts_with(joins))
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
    pub hint: &'static str,
}

impl Finding {
    /// A violation in `path` at `line`.
    pub(super) fn at(path: &str, line: usize, what: impl Into<String>, hint: &'static str) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), hint }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what, hint } = self;
        write!(f, "{path}:{line}: {what}: {hint}")
    }
}
