//! Outputs of other tools as records: what they printed, in our words, and what they left out.
//!
//! Lines in, [`Told`] out, and from that a plan and a record. A figure that an output does not
//! hold is never made up: it stays empty and is listed as untold. Nothing is read here from files.

mod averages;
mod course;
mod decimal;
mod hdr;
mod ingest_bench;
mod k6;
mod pgbench;
mod record;
mod sysbench;
#[cfg(test)]
mod tests;
mod told;

use std::ops::Range;

pub use decimal::TimeUnit;
pub(crate) use record::NOT_AUDITED;
pub use record::{Stamp, plan, record};
pub use told::{ParsedLatency, ParsedOp, Told};

/// Longest line of an output, in bytes: more than a line of any of them has.
pub const LONGEST_LINE: usize = 4 << 20;
/// What is looked at to tell a format, in bytes.
pub const HEAD: usize = 64 << 10;

/// What is wrong with a line, or with what a file holds altogether.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Wrong {
    /// The cause, lower case.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Bytes of the line that are meant; empty where it is about no line.
    pub span: Range<usize>,
}

impl Wrong {
    fn new(message: impl Into<String>, hint: &str) -> Self {
        Self {
            message: message.into(),
            hint: hint.to_owned(),
            span: 0..0,
        }
    }

    fn at(self, span: Range<usize>) -> Self {
        Self { span, ..self }
    }
}

macro_rules! formats {
    ($($variant:ident = $tool:literal, $about:literal, $known:path, $reader:path;)*) => {
        /// A kind of output.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format { $(#[doc = $about] $variant,)* }

        impl Format {
            /// All of them, those that are told most surely first.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The tool, as `--tool` names it.
            pub const fn tool(self) -> &'static str {
                match self { $(Self::$variant => $tool,)* }
            }

            /// What it is.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }

            /// Whether a file that begins like this is one.
            fn knows(self, head: &str) -> bool {
                match self { $(Self::$variant => $known(head),)* }
            }

            fn reader(self) -> Box<dyn Read> {
                match self { $(Self::$variant => Box::new($reader()),)* }
            }
        }
    };
}

formats! {
    PgbenchLog = "pgbench", "log of transactions", pgbench::is_log, pgbench::Reader::new;
    PgbenchOutput = "pgbench", "printed output", pgbench::is_output, pgbench::Reader::new;
    Sysbench = "sysbench", "printed output", sysbench::is_output, sysbench::Reader::new;
    K6Lines = "k6", "JSON lines", k6::is_lines, k6::LineReader::new;
    K6Summary = "k6", "JSON summary", k6::is_summary, k6::SummaryReader::new;
    HdrLog = "hdrhistogram", "interval log", hdr::is_log, hdr::LogReader::new;
    HdrPercentiles = "hdrhistogram", "percentiles", hdr::is_percentiles, hdr::PercentileReader::new;
    IngestBench = "nodeingestbench", "printed output", ingest_bench::is_output, ingest_bench::Reader::new;
}

/// Reads the files of one run.
trait Read {
    /// The unit of values that have none in their file.
    fn unit(&mut self, _unit: Option<TimeUnit>) {}
    /// Another file begins.
    fn begin(&mut self, format: Format) -> Result<(), Wrong>;
    /// The next line of it, without its end.
    fn line(&mut self, line: &str) -> Result<(), Wrong>;
    /// What all of them told.
    fn end(self: Box<Self>) -> Result<Told, Wrong>;
}

/// One file makes one record, where a tool writes all of a run into one.
fn only_one(files: &mut usize, tool: &str) -> Result<(), Wrong> {
    *files += 1;
    if *files > 1 {
        let message = format!("{tool} writes one file a run, and this is the second");
        return Err(Wrong::new(message, "import each of them by itself"));
    }
    Ok(())
}

/// The format of a file that begins with `head`; of one tool's where it is named.
///
/// # Errors
/// If it is none of those that are known.
pub fn recognize(head: &str, tool: Option<&str>) -> Result<Format, Wrong> {
    let of_tool = |format: &&Format| tool.is_none_or(|tool| format.tool() == tool);
    let formats = Format::ALL.iter().filter(of_tool);
    let found = formats.copied().find(|format| format.knows(head));
    found.ok_or_else(|| match tool {
        Some(tool) => Wrong::new(format!("this is no output of {tool}"), &known(Some(tool))),
        None => Wrong::new("this is the output of no tool that is known", &known(None)),
    })
}

/// Names of all tools.
pub fn tools() -> Vec<&'static str> {
    let mut tools: Vec<&str> = Format::ALL.iter().map(|format| format.tool()).collect();
    tools.dedup();
    tools
}

/// What can be imported, as a hint lists it.
fn known(tool: Option<&str>) -> String {
    let of_tool = |format: &&Format| tool.is_none_or(|tool| format.tool() == tool);
    let formats = Format::ALL.iter().filter(of_tool);
    let named = formats.map(|format| format!("{} ({})", format.tool(), format.about()));
    format!("known here: {}", named.collect::<Vec<_>>().join(", "))
}

/// Takes the lines of one run's files.
pub struct Import {
    reader: Box<dyn Read>,
    tool: &'static str,
}

impl std::fmt::Debug for Import {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Import")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

impl Import {
    /// With nothing read.
    pub fn of(format: Format) -> Self {
        Self {
            reader: format.reader(),
            tool: format.tool(),
        }
    }

    /// The unit of values that have none in their file.
    pub fn unit(&mut self, unit: Option<TimeUnit>) {
        self.reader.unit(unit);
    }

    /// Another file of the same run begins.
    ///
    /// # Errors
    /// If it cannot belong to the files before it.
    pub fn begin(&mut self, format: Format) -> Result<(), Wrong> {
        if format.tool() != self.tool {
            let message = format!(
                "this is of {}, the first file of {}",
                format.tool(),
                self.tool
            );
            return Err(Wrong::new(message, "import the files of one run at a time"));
        }
        self.reader.begin(format)
    }

    /// The next line of the file, without its end.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn line(&mut self, line: &str) -> Result<(), Wrong> {
        self.reader.line(line)
    }

    /// What all files told.
    ///
    /// # Errors
    /// If there is nothing to make a record of.
    pub fn end(self) -> Result<Told, Wrong> {
        self.reader.end()
    }
}
