//! A workload file from an existing table: its columns, what they hold, generators that come near to
//! it, and the queries that the target recorded. It is a start for a user's file, not a copy of the
//! data.

mod column;
mod expression;
mod mix;
mod statement;
mod table;
mod toml_text;

pub use table::sketch;
