//! Converts outputs of other tools to records: the printed figures, and the ones that are missing.
//!
//! Takes lines, returns an [`ImportedRun`], and makes a plan and a record of it. A figure that an output does not
//! contain must never be invented: it stays empty and is listed as missing. Must not read files.

mod averages;
mod cockroach;
mod format;
mod hdr;
mod imported_run;
mod importer;
mod ingest_bench;
mod k6;
mod locust;
mod op_timeline;
mod output_reader;
mod pgbench;
mod record;
mod sysbench;
#[cfg(test)]
mod tests;

pub use averages::TimeUnit;
pub use format::Format;
pub use imported_run::{ImportedRun, ParsedLatency, ParsedOp};
pub use importer::{HEAD, Import, LONGEST_LINE, recognize, tools};
pub use record::{Stamp, plan, record};
