//! Workloads: files that describe which tables there are, which rows fill them, and which ops run.
//!
//! text → [`WorkloadSpec`] (checked; what a file offers) → [`Workload`] (with its parameters and
//! its seed: any row and any op by index) → `BoundWorkload` (with the SQL of one dialect).
//!
//! Imports go one way: `files` and `sketch` → `reading` → the files of this folder. Among these,
//! the definition of a workload stands below the making of rows, rows below the [`Workload`], and
//! that below the files that add ops, statements and SQL to it.
//!
//! No I/O, no clock, no state: row i and op j are functions of file, settings, seed and index.
//! No database is named here; dialects are words of the files.

mod binding;
mod column;
mod data_time;
mod definition;
mod dialect;
mod distribution;
mod entity;
mod fields;
mod files;
mod instance;
mod invariant;
mod keys;
mod layout;
mod op_mix;
mod ops;
mod parameter;
mod plain;
mod query_parameters;
pub mod random;
mod reading;
mod reference;
mod replaced_keys;
mod row_identity;
mod rows;
mod segment;
mod sketch;
mod sql;
mod statements;
#[cfg(test)]
mod tests;
mod timeline;
mod transaction;
mod walk;
mod words;

pub use highwater_model::input_error::InputError;

pub use definition::{Arrivals, StreamSpec, Unit};
pub use files::{
    CatalogEntry, EXAMPLE, Script, ScriptError, WorkloadSpec, builtin, catalog, file_schema,
};
pub use instance::{OpContext, Workload};
pub use invariant::Invariant;
pub use parameter::{ParameterKind, ParameterSpec};
pub use replaced_keys::ReplacedKeys;
pub use sketch::sketch;
pub use statements::WrittenStatement;
