//! Settings of `highwater import`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use highwater_model::quantity::QuantityError;
use highwater_report::import::{TimeUnit, tools};

use super::parsers;
use super::resolve::pairs;
use crate::failure::Failure;
use crate::layers::Layers;

/// Files of one run, at most: a log for each thread.
const FILES_MAX: usize = 1_024;

/// Settings of `highwater import`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportSettings {
    /// The files of one run; never empty.
    pub files: Vec<String>,
    /// The tool that wrote them; detected from their content when absent.
    pub tool: Option<String>,
    /// The unit of values that have none in their file.
    pub unit: Option<TimeUnit>,
    /// Notes for the record.
    pub labels: BTreeMap<String, String>,
    /// The run store's directory.
    pub out: PathBuf,
}

impl ImportSettings {
    /// Settings of `highwater import`.
    pub fn resolve(layers: &Layers) -> Result<Self, Failure> {
        let files = layers.positionals.clone();
        if files.is_empty() || files.len() > FILES_MAX {
            let message = format!("import takes from 1 to {FILES_MAX} files");
            return Err(Failure::usage(message)
                .with_hint("name the files of one run, such as pgbench_log.4711 and its output"));
        }
        Ok(Self {
            files,
            tool: layers.parse("tool", tool)?,
            unit: layers.parse("unit", unit)?,
            labels: pairs(layers, "label")?,
            out: layers.require("out", parsers::word)?.into(),
        })
    }
}

fn tool(text: &str) -> Result<String, QuantityError> {
    if tools().contains(&text) {
        return Ok(text.to_owned());
    }
    Err(QuantityError {
        message: format!("`{text}` is not a supported tool ({})", tools().join(", ")),
        hint: "remove --tool to detect it from the files",
    })
}

fn unit(text: &str) -> Result<TimeUnit, QuantityError> {
    TimeUnit::parse(text).ok_or_else(|| QuantityError {
        message: format!("`{text}` is not a unit of time"),
        hint: "use ns, us, ms, or s",
    })
}
