//! Recognizes the format of one run's files, and passes their lines to its reader.
//!
//! The formats, the interface of their readers, and the errors in an output are here too. An error is data: it must not be
//! printed here, or name a file, which only the caller knows. Must not open files.

use std::ops::Range;

use super::averages::TimeUnit;
use super::imported_run::ImportedRun;
use super::{hdr, ingest_bench, k6, pgbench, sysbench};

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
    }
}

/// The tool of a format that holds a run in a single file.
fn only_one(format: Format) -> Option<&'static str> {
    match format {
        Format::PgbenchLog | Format::PgbenchOutput => None,
        Format::Sysbench => Some(sysbench::TOOL),
        Format::K6Lines | Format::K6Summary => Some(k6::TOOL),
        Format::HdrLog | Format::HdrPercentiles => Some(hdr::TOOL),
        Format::IngestBench => Some(ingest_bench::TOOL),
    }
}

/// The format of a file that begins with `head`, restricted to those of `tool` if it is given.
///
/// # Errors
/// If it is not a supported format.
pub fn recognize(head: &str, tool: Option<&str>) -> Result<Format, ImportError> {
    let of_tool = |format: &&Format| tool.is_none_or(|tool| format.tool() == tool);
    let formats = || Format::ALL.iter().filter(of_tool).copied();
    let found = formats().find(|format| recognizes(*format, head));
    found.ok_or_else(|| {
        let message = match tool {
            Some(tool) => format!("this is no output of {tool}"),
            None => "this is not the output of a supported tool".to_owned(),
        };
        let named: Vec<String> =
            formats().map(|format| format!("{} ({})", format.tool(), format.about())).collect();
        ImportError::new(message, &format!("supported: {}", named.join(", ")))
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
    pub fn begin(&mut self, format: Format) -> Result<(), ImportError> {
        if format.tool() != self.tool {
            let (tool, first) = (format.tool(), self.tool);
            let message = format!("this is of {tool}, the first file of {first}");
            let hint = "import the files of one run at a time";
            return Err(ImportError::new(message, hint));
        }
        self.files += 1;
        if let (2.., Some(tool)) = (self.files, only_one(format)) {
            let message = format!("{tool} writes one file a run, and this is the second");
            return Err(ImportError::new(message, "import each of them by itself"));
        }
        self.reader.begin(format);
        Ok(())
    }

    /// Adds the next line of the file, without its end.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn line(&mut self, line: &str) -> Result<(), ImportError> {
        self.reader.line(line)
    }

    /// The run that the files report together.
    ///
    /// # Errors
    /// If there is not enough data for a record.
    pub fn end(self) -> Result<ImportedRun, ImportError> {
        self.reader.end()
    }
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
}

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
