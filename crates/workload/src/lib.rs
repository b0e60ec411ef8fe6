//! Workloads: files that describe which tables there are, which rows fill them, and which ops run.
//!
//! text → [`WorkloadSpec`] (checked; what a file offers) → [`Workload`] (with its parameters and
//! its seed: any row and any op by index) → `BoundWorkload` (with the SQL of one dialect).
//!
//! Imports go one way: `files` and `sketch` → `reading` → the files of this folder → `generators`
//! → `input`. Among the files the definition of a workload stands below the [`Workload`], and that
//! below those that add ops, statements and SQL to it.
//!
//! No I/O, no clock, no state: row i and op j are functions of file, settings, seed and index.
//! No database is named here; dialects are words of the files.

mod binding;
mod data_time;
mod definition;
mod dialect;
mod entity;
mod files;
mod filling;
mod generators;
mod input;
mod instance;
mod invariant;
mod layout;
mod op_mix;
mod ops;
mod parameter;
pub mod random;
mod reading;
mod replaced_keys;
mod row_identity;
mod rows;
mod segment;
mod sketch;
mod sql;
mod statements;
mod table;
#[cfg(test)]
mod tests;
mod ticks;
mod transaction;

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

/// Whether a value is left out of a fingerprint.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Whether a number is left out of a fingerprint because it is 1.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(number: &u64) -> bool {
    *number == 1
}
