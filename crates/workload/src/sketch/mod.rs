//! Generates a workload file from an existing table: its columns, generators that approximate their contents, and the
//! queries recorded by the target. It is a starting point for a user's file, not a copy of the data.

mod column;
mod expression;
mod mix;
mod statement;
mod table;
mod toml_text;

pub use table::sketch;
