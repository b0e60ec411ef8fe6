//! Workload files: built-in ones, users' files, and SQL files. Must not read the parts of a file, or generate rows and
//! ops.

mod schema;
mod script;

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::units::Seed;
use highwater_model::user_error::UserError;

use crate::definition::{Definition, StreamSpec};
use crate::instance::{SPREADING, Workload};
use crate::parameter::ParameterSpec;
use crate::reading;

pub use schema::file_schema;
pub use script::{Script, ScriptError};

/// A built-in workload file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The name on the command line.
    pub name: &'static str,
    /// The file's text, in the same format as users' files.
    pub text: &'static str,
}

macro_rules! files {
    ($($name:literal),*) => {
        &[$(CatalogEntry {
            name: $name,
            text: include_str!(concat!("../../workloads/", $name, ".toml")),
        }),*]
    };
}

/// In listing order.
static CATALOG: &[CatalogEntry] = files![
    "cpu",
    "nib-cpu",
    "nib-cpu-strict",
    "loadtest",
    "sensors",
    "kv",
    "tsbs",
    "pgbench",
    "sysbench",
    "sysbench-bulk-insert"
];

/// A commented workload file as a starting point.
pub const EXAMPLE: &str = include_str!("../../workloads/example/new.toml");

/// The built-in workloads.
pub fn catalog() -> &'static [CatalogEntry] {
    CATALOG
}

/// A built-in workload.
pub fn builtin(name: &str) -> Option<&'static CatalogEntry> {
    CATALOG.iter().find(|entry| entry.name == name)
}

/// A workload file without errors.
#[derive(Debug, Clone)]
pub struct WorkloadSpec {
    text: String,
    /// With the defaults of all parameters.
    definition: Definition,
}

impl WorkloadSpec {
    /// Parses a workload file; returns all its errors (at most 50), in the order of the file.
    pub fn parse(text: &str) -> Result<Self, Vec<UserError>> {
        let definition = reading::read(text, &BTreeMap::new())?;
        Ok(Self { text: text.to_owned(), definition })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The version of its content.
    pub fn version(&self) -> u32 {
        self.definition.version
    }

    /// A one-line summary.
    pub fn summary(&self) -> &str {
        &self.definition.summary
    }

    /// The parameters, in the order of the file.
    pub fn parameters(&self) -> &[ParameterSpec] {
        &self.definition.parameters
    }

    /// The declared streams; in addition, every op is a stream.
    pub fn streams(&self) -> &[StreamSpec] {
        &self.definition.streams
    }

    /// Names and summaries of the ops, in the order of their IDs.
    pub fn ops(&self) -> impl Iterator<Item = (&str, &str)> {
        self.definition.ops.iter().map(|op| (op.name.as_str(), op.summary.as_str()))
    }

    /// All dialects in the file, sorted.
    pub fn dialects(&self) -> Vec<&str> {
        let all: BTreeSet<&str> = self
            .definition
            .tables
            .iter()
            .flat_map(|t| t.create.keys())
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
    ) -> Result<Workload, UserError> {
        let definition = self.with(settings)?;
        let mut unspread = settings.clone();
        unspread.retain(|name, _| !SPREADING.contains(&name.as_str()));
        if unspread.len() == settings.len() {
            return Workload::new(definition.clone(), &definition, seed);
        }
        Workload::new(definition, &self.with(&unspread)?, seed)
    }

    /// `settings` with the start of the data's time set, if they request one that follows the clock; `now` is in
    /// milliseconds since 1970. `rows` are loaded first, or as many as the settings say. The result is fixed: a plan
    /// that holds it gives the same rows at any time.
    pub fn settled(
        &self,
        settings: &BTreeMap<String, String>,
        now: i64,
        rows: Option<u64>,
    ) -> Result<BTreeMap<String, String>, UserError> {
        Ok(crate::definition::settings_with_start(&self.with(settings)?, settings, now, rows))
    }

    fn with(&self, settings: &BTreeMap<String, String>) -> Result<Definition, UserError> {
        reading::read(&self.text, settings).map_err(|errors| {
            let first = errors.into_iter().next();
            first.unwrap_or_else(|| UserError::usage("the workload cannot be read"))
        })
    }
}
