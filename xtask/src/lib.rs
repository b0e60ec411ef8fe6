//! The repository's tasks, as a library so that the checks can also run as tests.
//!
//! Must not contain anything of the product, or depend on its crates, because CI starts with it and needs it to compile
//! quickly. Tasks that need these crates start a test or a benchmark in them.

pub mod bench;
pub mod blocks;
pub mod dist;
pub mod docs;
pub mod fences;
pub mod first_run;
pub mod long;
pub mod process;
pub mod test;
pub mod tidy;
