//! The parts of a TOML document with their places: every error is noted, and reading goes on.
//!
//! What must not be here: what the sections of a workload file mean.

mod names;
mod reader;
mod section;

pub(crate) use names::{Named, check_name, named};
pub(crate) use reader::{Hint, Reader};
pub(crate) use section::{Entry, Section};
