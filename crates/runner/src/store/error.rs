//! Why the store could not read or write a file. Must not access files.

use std::path::Path;

/// Why a file could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// Which file, and why.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl StoreError {
    pub(super) fn new(path: &Path, cause: impl std::fmt::Display) -> Self {
        Self::plain(format!("{}: {cause}", path.display()))
    }

    pub(super) fn plain(message: String) -> Self {
        Self { message, hint: None }
    }

    pub(super) fn hinting(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }
}
