//! Workload files: built-in ones, users' files, and SQL files. Must not read the parts of a file, or generate rows and
//! ops.

mod catalog;
mod schema;
mod script;
mod spec;

pub use catalog::{CatalogEntry, EXAMPLE, builtin, catalog};
pub use schema::file_schema;
pub use script::{Script, ScriptError};
pub use spec::WorkloadSpec;
