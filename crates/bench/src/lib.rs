//! What the benchmarks share: clocks of CPU time, a table of figures, a run in a few words.
//!
//! Nothing here is part of the product. A benchmark prints one Markdown table and has no limit
//! that fails: `cargo xtask bench` runs them, and a reader judges the figures.

pub mod cores;
pub mod figures;
pub mod job;
pub mod meters;
pub mod sending;
