//! Workloads: files that say which tables there are, which rows fill them and what is asked.
//!
//! text → [`WorkloadSpec`] (checked; what a file offers) → [`Workload`] (with its parameters and
//! its seed: any row and any op by index) → `BoundWorkload` (with the SQL of one dialect).
//!
//! No I/O, no clock, no state: row i and op j are functions of file, settings, seed and index.
//! No database is named here; dialects are words of the files.

mod asking;
mod column;
mod data_time;
mod dealing;
mod definition;
mod distribution;
mod entity;
mod fields;
mod instance;
mod invariant;
mod keys;
mod parameter;
pub mod random;
mod reading;
mod reference;
mod replacing;
mod rows;
mod schema;
mod script;
mod section;
mod sketch;
mod sql;
#[cfg(test)]
mod tests;
mod transaction;
mod walk;
mod words;

use std::collections::{BTreeMap, BTreeSet};

pub use crate::input_error::InputError;
pub use definition::{Arrivals, StreamSpec, Unit};
pub use instance::{OpContext, Workload};
pub use invariant::Invariant;
pub use parameter::{ParameterKind, ParameterSpec};
pub use replacing::Replaced;
pub use schema::file_schema;
pub use script::{Script, ScriptError};
pub use sketch::sketch;

use crate::model::units::Seed;
use definition::Definition;

/// A workload file that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The name on the command line.
    pub name: &'static str,
    /// The file's text, in the format that users write.
    pub text: &'static str,
}

/// In the order in which they are listed.
static CATALOG: [CatalogEntry; 7] = [
    CatalogEntry {
        name: "cpu",
        text: include_str!("../../workloads/cpu.toml"),
    },
    CatalogEntry {
        name: "nib-cpu",
        text: include_str!("../../workloads/nib-cpu.toml"),
    },
    CatalogEntry {
        name: "nib-cpu-strict",
        text: include_str!("../../workloads/nib-cpu-strict.toml"),
    },
    CatalogEntry {
        name: "loadtest",
        text: include_str!("../../workloads/loadtest.toml"),
    },
    CatalogEntry {
        name: "sensors",
        text: include_str!("../../workloads/sensors.toml"),
    },
    CatalogEntry {
        name: "kv",
        text: include_str!("../../workloads/kv.toml"),
    },
    CatalogEntry {
        name: "tsbs",
        text: include_str!("../../workloads/tsbs.toml"),
    },
];

/// A commented workload file to begin with.
pub const EXAMPLE: &str = include_str!("../../workloads/example/new.toml");

/// The workloads that come with the program.
pub fn catalog() -> &'static [CatalogEntry] {
    &CATALOG
}

/// A workload that comes with the program.
pub fn builtin(name: &str) -> Option<&'static CatalogEntry> {
    CATALOG.iter().find(|entry| entry.name == name)
}

/// A workload file without errors.
#[derive(Debug, Clone)]
pub struct WorkloadSpec {
    text: String,
    /// With the default of every parameter.
    definition: Definition,
}

impl WorkloadSpec {
    /// Reads a workload file; returns everything that is wrong with it (at most 50 errors),
    /// in the order of the file.
    pub fn parse(text: &str) -> Result<Self, Vec<InputError>> {
        let definition = reading::read(text, &BTreeMap::new())?;
        Ok(Self {
            text: text.to_owned(),
            definition,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The version of its content.
    pub fn version(&self) -> u32 {
        self.definition.version
    }

    /// One line on what it is.
    pub fn summary(&self) -> &str {
        &self.definition.summary
    }

    /// Where its definition comes from; may be empty.
    pub fn source(&self) -> &str {
        &self.definition.source
    }

    /// The file's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What can be set, in the order of the file.
    pub fn parameters(&self) -> &[ParameterSpec] {
        &self.definition.parameters
    }

    /// The declared streams; every op is also a stream of its own.
    pub fn streams(&self) -> &[StreamSpec] {
        &self.definition.streams
    }

    /// Names and summaries of the ops, in the order of their ids.
    pub fn ops(&self) -> impl Iterator<Item = (&str, &str)> {
        let ops = self.definition.ops.iter();
        ops.map(|op| (op.name.as_str(), op.summary.as_str()))
    }

    /// Dialects that the file mentions anywhere, sorted.
    pub fn dialects(&self) -> Vec<&str> {
        let tables = self.definition.tables.iter().flat_map(|t| t.create.keys());
        let all: BTreeSet<&str> = tables
            .map(String::as_str)
            .chain(self.definition.ops.iter().flat_map(|op| op.body.dialects()))
            .collect();
        all.into_iter().collect()
    }

    /// The workload with some parameters set (the others have their defaults) and a seed.
    pub fn instantiate(
        &self,
        settings: &BTreeMap<String, String>,
        seed: Seed,
    ) -> Result<Workload, InputError> {
        Workload::new(self.with(settings)?, seed)
    }

    /// `settings` with the start of the data's time set, where they ask for one that follows the
    /// clock; `now` is in milliseconds since 1970. What comes out is fixed: a plan that holds it
    /// makes the same rows again at any time.
    pub fn settled(
        &self,
        settings: &BTreeMap<String, String>,
        now: i64,
    ) -> Result<BTreeMap<String, String>, InputError> {
        data_time::settled(&self.with(settings)?, settings, now)
    }

    fn with(&self, settings: &BTreeMap<String, String>) -> Result<Definition, InputError> {
        reading::read(&self.text, settings).map_err(|errors| {
            let first = errors.into_iter().next();
            first.unwrap_or_else(|| InputError::elsewhere("the workload cannot be read"))
        })
    }
}
