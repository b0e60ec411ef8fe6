//! Workloads: files that describe tables, their rows, and the ops to run.
//!
//! text → [`WorkloadSpec`] (checked; the content of a file) → [`Workload`] (with parameters and seed: any row and any
//! op by index) → `BoundWorkload` (with the SQL of one dialect).
//!
//! Imports go one way: `files` and `sketch` → `reading` → the files of this folder → `generators` → `expression` and
//! `input`. Among the
//! files of this folder, the definition of a workload is below [`Workload`], which is below those that add ops,
//! statements, and SQL to it.
//!
//! No I/O, clock, or state: row i and op j are functions of file, settings, seed, and index. Must not name a database;
//! dialects are words in the files.

mod definition;
mod expression;
mod files;
mod generators;
mod input;
mod instance;
mod invariants;
mod ops;
mod parameter;
pub mod random;
mod reading;
mod rows;
mod sketch;
mod sql;
mod steps;
#[cfg(test)]
mod tests;

pub use definition::{Arrivals, StreamSpec, Unit};
pub use files::{
    CatalogEntry, EXAMPLE, Script, ScriptError, WorkloadSpec, builtin, catalog, file_schema,
};
pub use instance::{OpContext, Workload};
pub use invariants::{Expected, Invariant, whole};
pub use ops::ReplacedKeys;
pub use parameter::{ParameterKind, ParameterSpec};
pub use sketch::sketch;
pub use sql::WrittenStatement;

/// Whether a value is omitted from a fingerprint.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Whether a number is omitted from a fingerprint because it is 1.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(number: &u64) -> bool {
    *number == 1
}
