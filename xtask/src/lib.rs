//! The repository's own tasks, as a library so that the checks can also run as tests.
//!
//! Nothing here is part of the product. It must stay quick to compile, because CI begins with it: what needs
//! crates of the product is a test or a benchmark of theirs, which a task starts.

pub mod bench;
pub mod blocks;
pub mod docs;
pub mod fences;
pub mod first_run;
pub mod long;
pub mod process;
pub mod test;
pub mod tidy;
