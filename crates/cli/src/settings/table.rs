//! Settings of `highwater table`.

use std::path::PathBuf;

use super::parsers;
use crate::failure::Failure;
use crate::layers::Layers;

/// Everything `highwater table` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSettings {
    /// CSV files, runs, directories of runs; never empty.
    pub from: Vec<String>,
    /// The setting that a table runs over; what varies when absent.
    pub over: Option<String>,
    /// Names of series or their beginnings; empty: all.
    pub series: Vec<String>,
    /// JSON in place of text.
    pub json: bool,
    /// The run store's directory, where ids are looked up.
    pub out: PathBuf,
    /// No colors, whatever the terminal can do.
    pub no_color: bool,
}

impl TableSettings {
    /// Settings of `highwater table`.
    pub fn resolve(layers: &Layers) -> Result<Self, Failure> {
        let out: String = layers.require("out", parsers::word)?;
        let mut from = layers.positionals.clone();
        if from.is_empty() {
            from.push(out.clone());
        }
        let series = layers.list("series").iter();
        Ok(Self {
            from,
            over: over(layers)?,
            series: series
                .map(|given| given.parse(parsers::word))
                .collect::<Result<_, _>>()?,
            json: layers.switch("json")?,
            out: out.into(),
            no_color: layers.switch("no-color")?,
        })
    }
}

/// The one setting that is named: other commands vary several at once.
fn over(layers: &Layers) -> Result<Option<String>, Failure> {
    match layers.list("over") {
        [] => Ok(None),
        [one] => one.parse(parsers::word).map(Some),
        [_, second, ..] => Err(second
            .failure("a table runs over one setting".to_owned())
            .with_hint("print a table for each")),
    }
}
