//! The interface of all importers: takes the lines of one run's files, and returns the run.
//!
//! Must not contain anything specific to a tool.

use super::decimal::TimeUnit;
use super::error::ImportError;
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
