//! The interface of all importers: takes the lines of one run's files, and returns the run.
//!
//! Must not contain anything specific to a tool.

use std::ops::Range;

use highwater_model::user_error::UserError;

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
    fn line(&mut self, line: &str) -> Result<(), UserError>;
    /// The run that the files report together.
    fn end(self: Box<Self>) -> Result<ImportedRun, UserError>;
}

/// An error in a file as a whole.
pub(super) fn wrong_file(message: impl Into<String>, hint: &str) -> UserError {
    UserError::usage(message).with_hint(hint)
}

/// An error in a part of a line.
pub(super) fn wrong_line(
    line: &str,
    span: Range<usize>,
    message: impl Into<String>,
    hint: &str,
) -> UserError {
    UserError::in_text(line, &span, &message.into()).with_hint(hint)
}
