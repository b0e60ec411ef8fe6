//! Generators, one file each: its options, how they are read and checked, and what it makes.
//!
//! `plain` need nothing but a number; `columns` are for columns of tables, `parameters` for those
//! of queries. The list in the `mod.rs` of each folder is what reading, the schema of the format
//! and the making of values go by.

pub(crate) mod columns;
pub(crate) mod distribution;
pub(crate) mod parameters;
pub(crate) mod plain;
mod prelude;
pub(crate) mod spec;
