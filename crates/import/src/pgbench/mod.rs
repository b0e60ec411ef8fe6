//! pgbench: its log of transactions (`-l`), and what it prints: progress and the summary.
//!
//! Files of one run go together: a log for each thread, and the output beside them. From a log all
//! figures are computed; the output then says what a log does not: version, clients, scripts.
//! With a rate, latency begins at the scheduled start (pgbench's documentation, "Per-Transaction
//! Logging"), and the schedule lag tells the service time.

mod log;
mod output;
mod reader;

pub(super) use reader::{Reader, is_log, is_output};
