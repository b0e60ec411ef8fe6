//! Workload files: those that come with the program, those that users write, and SQL files.
//!
//! What must not be here: reading the parts of a file, and making rows and ops.

mod catalog;
mod schema;
mod script;
mod spec;

pub use catalog::{CatalogEntry, EXAMPLE, builtin, catalog};
pub use schema::file_schema;
pub use script::{Script, ScriptError};
pub use spec::WorkloadSpec;
