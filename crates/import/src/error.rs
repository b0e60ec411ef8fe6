//! What is wrong with another tool's output, and what to do about it.
//!
//! An error is data: it is not printed here, and it names no file (the caller knows that).

use std::ops::Range;

/// An error in a line, or in the content of a file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ImportError {
    /// The cause, lower case.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Bytes of the line that are wrong; empty if the error is in no single line.
    pub span: Range<usize>,
}

impl ImportError {
    /// An error in a file as a whole.
    pub(super) fn new(message: impl Into<String>, hint: &str) -> Self {
        Self { message: message.into(), hint: hint.to_owned(), span: 0..0 }
    }

    /// The same error at a place of the line.
    pub(super) fn at(self, span: Range<usize>) -> Self {
        Self { span, ..self }
    }
}
