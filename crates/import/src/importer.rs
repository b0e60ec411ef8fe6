//! Recognizes the format of one run's files, and passes their lines to its reader, by the interface of all importers: a
//! supported format, and a reader that takes these lines and returns the run. Must not open files.

use std::ops::Range;

use highwater_model::user_error::UserError;

use super::imported_run::ImportedRun;
use super::timeline::TimeUnit;
use super::{cockroach, hdr, ingest_bench, k6, locust, pgbench, sysbench};

/// Maximum bytes of a line, more than any format needs.
pub const LONGEST_LINE: usize = 4 << 20;
/// Bytes at the start of a file that are inspected to recognize its format.
pub const HEAD: usize = 64 << 10;

/// Whether the start of a file matches the format.
fn recognizes(format: Format, head: &str) -> bool {
    match format {
        Format::PgbenchLog => pgbench::is_log(head),
        Format::PgbenchOutput => pgbench::is_output(head),
        Format::Sysbench => sysbench::is_output(head),
        Format::K6Lines => k6::is_lines(head),
        Format::K6Summary => k6::is_summary(head),
        Format::HdrLog => hdr::is_log(head),
        Format::HdrPercentiles => hdr::is_percentiles(head),
        Format::IngestBench => ingest_bench::is_output(head),
        Format::LocustStats => locust::is_stats(head),
        Format::LocustHistory => locust::is_history(head),
        Format::CockroachOutput => cockroach::is_output(head),
        Format::CockroachHistograms => cockroach::is_histograms(head),
    }
}

fn reader(format: Format) -> Box<dyn OutputReader> {
    match format {
        Format::PgbenchLog | Format::PgbenchOutput => Box::new(pgbench::Reader::default()),
        Format::Sysbench => Box::new(sysbench::Reader::default()),
        Format::K6Lines => Box::new(k6::LineReader::default()),
        Format::K6Summary => Box::new(k6::SummaryReader::default()),
        Format::HdrLog => Box::new(hdr::LogReader::default()),
        Format::HdrPercentiles => Box::new(hdr::PercentileReader::default()),
        Format::IngestBench => Box::new(ingest_bench::Reader::default()),
        Format::LocustStats | Format::LocustHistory => Box::new(locust::Reader::default()),
        Format::CockroachOutput => Box::new(cockroach::Reader::default()),
        Format::CockroachHistograms => Box::new(cockroach::JsonReader::default()),
    }
}

/// How to import the figures of any other tool.
const AS_CSV: &str = "of any other tool or version, write the figures that it printed into a CSV file, a line for each run, such \
                      as `nodes,sessions,rows_per_s,p99_ms` and `3,64,338390,41.2`, for `highwater table FILE`, `check \
                      FILE`, and `size RATE --from FILE`";

/// The tool of a format that holds a run in a single file.
fn only_one(format: Format) -> Option<&'static str> {
    match format {
        Format::PgbenchLog
        | Format::PgbenchOutput
        | Format::LocustStats
        | Format::LocustHistory => None,
        Format::Sysbench => Some(sysbench::TOOL),
        Format::K6Lines | Format::K6Summary => Some(k6::TOOL),
        Format::HdrLog | Format::HdrPercentiles => Some(hdr::TOOL),
        Format::IngestBench => Some(ingest_bench::TOOL),
        Format::CockroachOutput | Format::CockroachHistograms => Some(cockroach::TOOL),
    }
}

/// The format of a file that begins with `head`, restricted to those of `tool` if it is given.
///
/// # Errors
/// If it is not a supported format.
pub fn recognize(head: &str, tool: Option<&str>) -> Result<Format, UserError> {
    let of_tool = |format: &&Format| tool.is_none_or(|tool| format.tool() == tool);
    let formats = || Format::ALL.iter().filter(of_tool).copied();
    let found = formats().find(|format| recognizes(*format, head));
    found.ok_or_else(|| {
        let message = match tool {
            Some(tool) => format!("this is no output of {tool}"),
            None => "this is not the output of a supported tool".to_owned(),
        };
        let hint = if tool.is_some() {
            let named: Vec<&str> = formats().map(Format::about).collect();
            format!("supported: {}", named.join(", "))
        } else {
            format!("supported: {}; {AS_CSV}", tools().join(", "))
        };
        wrong_file(message, &hint)
    })
}

/// Names of all tools.
pub fn tools() -> Vec<&'static str> {
    let mut tools: Vec<&str> = Format::ALL.iter().map(|format| format.tool()).collect();
    tools.dedup();
    tools
}

/// Takes the lines of one run's files.
pub struct Import {
    reader: Box<dyn OutputReader>,
    tool: &'static str,
    files: usize,
}

impl Import {
    /// Without any lines read.
    pub fn new(format: Format) -> Self {
        Self { reader: reader(format), tool: format.tool(), files: 0 }
    }

    /// Sets the unit of values whose file has none.
    pub fn unit(&mut self, unit: Option<TimeUnit>) {
        self.reader.unit(unit);
    }

    /// Begins another file of the same run.
    ///
    /// # Errors
    /// If it cannot belong to the files before it.
    pub fn begin(&mut self, format: Format) -> Result<(), UserError> {
        if format.tool() != self.tool {
            let (tool, first) = (format.tool(), self.tool);
            let message = format!("this is of {tool}, the first file of {first}");
            let hint = "import the files of one run at a time";
            return Err(wrong_file(message, hint));
        }
        self.files += 1;
        if let (2.., Some(tool)) = (self.files, only_one(format)) {
            let message = format!("{tool} writes one file a run, and this is the second");
            return Err(wrong_file(message, "import each of them by itself"));
        }
        self.reader.begin(format);
        Ok(())
    }

    /// Adds the next line of the file, without its end.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn line(&mut self, line: &str) -> Result<(), UserError> {
        self.reader.line(line).map_err(|mut wrong| {
            wrong.hint = wrong.hint.map(|hint| format!("{hint}; {AS_CSV}"));
            wrong
        })
    }

    /// The run that the files report together.
    ///
    /// # Errors
    /// If there is not enough data for a record.
    pub fn end(self) -> Result<ImportedRun, UserError> {
        self.reader.end()
    }
}

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
