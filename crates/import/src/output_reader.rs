//! The interface of all importers: a supported format, and a reader that takes the lines of one run's files and returns
//! the run.
//!
//! Must not recognize a format, or contain anything specific to a tool.

use std::ops::Range;

use highwater_model::user_error::UserError;

use super::imported_run::ImportedRun;
use super::timeline::TimeUnit;

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

macro_rules! formats {
    ($($variant:ident = $tool:literal, $about:literal;)*) => {
        /// A kind of output.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format { $(#[doc = $about] $variant,)* }

        impl Format {
            /// All formats, the most reliably recognized first.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The tool, as `--tool` names it.
            pub const fn tool(self) -> &'static str {
                match self { $(Self::$variant => $tool,)* }
            }

            /// Description.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }
        }
    };
}

formats! {
    PgbenchLog = "pgbench", "log of transactions";
    PgbenchOutput = "pgbench", "printed output";
    Sysbench = "sysbench", "printed output";
    K6Lines = "k6", "JSON lines";
    K6Summary = "k6", "JSON summary";
    HdrLog = "hdrhistogram", "interval log";
    HdrPercentiles = "hdrhistogram", "percentiles";
    IngestBench = "nodeingestbench", "printed output";
    LocustStats = "locust", "statistics as CSV";
    LocustHistory = "locust", "history as CSV";
    CockroachOutput = "cockroach", "printed output";
    CockroachHistograms = "cockroach", "histograms as JSON";
}
