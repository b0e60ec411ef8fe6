//! The repository's own tasks, as a library so that the checks can also run as tests.
//!
//! Nothing here is part of the product, and no other crate may depend on this one.

pub mod accuracy;
pub mod bench;
pub mod blocks;
pub mod docs;
pub mod long;
pub mod process;
pub mod test;
pub mod tidy;
