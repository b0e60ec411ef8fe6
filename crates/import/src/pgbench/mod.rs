//! pgbench: its transaction log (`-l`), and its printed output: progress and summary.
//!
//! A run has one log per thread, and the output. Figures come from the logs, if there are any; the output then adds
//! version, clients, and scripts, which logs do not contain. With a rate, latency begins at the scheduled start
//! (pgbench's documentation, "Per-Transaction Logging"), and the service time follows from the schedule lag.

mod log;
mod output;
mod reader;

pub(super) use reader::{Reader, is_log, is_output};
