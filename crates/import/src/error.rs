//! Errors in another tool's output, each with a hint.
//!
//! An error is data: it must not be printed here, or name a file, which only the caller knows.

use std::ops::Range;

/// An error in a line, or in the content of a file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ImportError {
    /// The cause, lower case.
    pub message: String,
    /// Advice.
    pub hint: String,
    /// Byte range of the error in the line; empty if it does not concern a single line.
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
