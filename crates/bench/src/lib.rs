//! Shared parts of the benchmarks: CPU clocks, a table of figures, a run in a few lines.
//!
//! Not part of the product. A benchmark prints one Markdown table and never fails on a limit: `cargo xtask bench` runs
//! them, and a reader judges the figures.

pub mod cores;
pub mod figures;
pub mod job;
pub mod meters;
pub mod sending;
