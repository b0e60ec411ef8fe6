//! A workload file after reading: its content, and its instantiation with settings. Must not hold rows, ops, or SQL;
//! only a workload with a seed does.

use std::collections::{BTreeMap, BTreeSet};

use crate::data_time;
use crate::definition::{Definition, StreamSpec};
use crate::instance::Workload;
use crate::parameter::ParameterSpec;
use crate::reading;
use crate::row_identity::SPREADING;
use highwater_model::input_error::InputError;
use highwater_model::units::Seed;

/// A workload file without errors.
#[derive(Debug, Clone)]
pub struct WorkloadSpec {
    text: String,
    /// With the defaults of all parameters.
    definition: Definition,
}

impl WorkloadSpec {
    /// Parses a workload file; returns all its errors (at most 50), in the order of the file.
    pub fn parse(text: &str) -> Result<Self, Vec<InputError>> {
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
    ) -> Result<Workload, InputError> {
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
    ) -> Result<BTreeMap<String, String>, InputError> {
        Ok(data_time::settled(&self.with(settings)?, settings, now, rows))
    }

    fn with(&self, settings: &BTreeMap<String, String>) -> Result<Definition, InputError> {
        reading::read(&self.text, settings).map_err(|errors| {
            let first = errors.into_iter().next();
            first.unwrap_or_else(|| InputError::elsewhere("the workload cannot be read"))
        })
    }
}
