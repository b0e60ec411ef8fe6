//! The interface of all importers: takes the lines of one run's files, and returns the run.
//!
//! Must not contain anything specific to a tool.

use std::ops::Range;

use super::averages::TimeUnit;
use super::format::Format;
use super::imported_run::ImportedRun;

/// Reads the files of one run.
pub(super) trait OutputReader {
    /// Sets the unit of values whose file has none.
    fn unit(&mut self, _unit: Option<TimeUnit>) {}
    /// Begins another file.
    fn begin(&mut self, _format: Format) {}
    /// Adds the file's next line, without its end.
    fn line(&mut self, line: &str) -> Result<(), ImportError>;
    /// The run that the files report together.
    fn end(self: Box<Self>) -> Result<ImportedRun, ImportError>;
}

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
