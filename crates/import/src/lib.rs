//! Outputs of other tools as records: what they printed, in the words of this project, and what they
//! left out.
//!
//! Lines in, [`ImportedRun`] out, and from that a plan and a record. A figure that an output does
//! not hold is never made up: it stays empty and is listed as missing. Nothing is read here from
//! files.

mod averages;
mod decimal;
mod error;
mod format;
mod hdr;
mod imported_run;
mod importer;
mod ingest_bench;
mod k6;
mod op_timeline;
mod output_reader;
mod pgbench;
mod record;
mod sysbench;
#[cfg(test)]
mod tests;

pub use decimal::TimeUnit;
pub use error::ImportError;
pub use format::Format;
pub use imported_run::{ImportedRun, ParsedLatency, ParsedOp};
pub use importer::{HEAD, Import, LONGEST_LINE, recognize, tools};
pub use record::{Stamp, plan, record};
