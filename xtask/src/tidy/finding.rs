//! The report of a rule: place, violation, and hint. Must not contain rules.

use std::fmt;

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
