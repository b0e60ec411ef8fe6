//! The parts of a TOML document with their positions: reading continues after errors and collects them. Must not
//! interpret the sections of a workload file.

mod names;
mod reader;
mod section;

pub(crate) use names::{Named, check_name, named};
pub(crate) use reader::{Hint, Reader};
pub(crate) use section::{Entry, Section};
