//! What every importer does: it takes the lines of the files of one run, and makes a run of them.
//!
//! What must not be here: a tool's own words.

use super::decimal::TimeUnit;
use super::error::ImportError;
use super::format::Format;
use super::imported_run::ImportedRun;

/// Reads the files of one run.
pub(super) trait OutputReader {
    /// The unit of values that have none in their file.
    fn unit(&mut self, _unit: Option<TimeUnit>) {}
    /// Another file begins.
    fn begin(&mut self, _format: Format) {}
    /// The next line of it, without its end.
    fn line(&mut self, line: &str) -> Result<(), ImportError>;
    /// The run that all of them report.
    fn end(self: Box<Self>) -> Result<ImportedRun, ImportError>;
}
