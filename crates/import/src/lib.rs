//! Converts outputs of other tools to records: the printed figures, and the ones that are missing.
//!
//! Takes lines, returns an [`ImportedRun`], and makes a plan and a record of it. A figure that an output does not
//! contain must never be invented: it stays empty and is listed as missing. Must not read files.

mod cockroach;
mod hdr;
mod imported_run;
mod importer;
mod ingest_bench;
mod k6;
mod locust;
mod pgbench;
mod sysbench;
#[cfg(test)]
mod tests;
mod timeline;

pub use imported_run::{ImportedRun, ParsedLatency, ParsedOp, Stamp, plan, record};
pub use importer::{Format, HEAD, Import, LONGEST_LINE, recognize, tools};
pub use timeline::TimeUnit;
