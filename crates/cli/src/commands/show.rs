//! `highwater show`: prints a finished run, or the merged shares of one. Must not change a record.

use std::path::PathBuf;

use highwater_report as report;
use highwater_runner::record;
use highwater_runner::store::{self, StoreError};

use crate::exit;
use crate::failure::Failure;
use crate::settings::{Format, ShowSettings};
use crate::terminal;

/// Prints the run in the requested form; the exit code is that of the run.
pub fn show(settings: &ShowSettings) -> Result<u8, Failure> {
    let paths: Vec<PathBuf> = if settings.runs.is_empty() {
        vec![store::find(&settings.out, None)?]
    } else {
        let names = settings.runs.iter();
        names
            .map(|name| store::find(&settings.out, Some(name)))
            .collect::<Result<_, _>>()?
    };
    let records = paths
        .iter()
        .map(|path| record::read(path))
        .collect::<Result<Vec<_>, _>>()?;
    let (record, place) = if let ([record], [path]) = (&records[..], &paths[..]) {
        (record.clone(), path.display().to_string())
    } else {
        let merged = report::merge(&records).map_err(|error| {
            let failure = Failure::usage(error.to_string());
            match error.reason().hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        })?;
        let place = merged.id.clone();
        (merged, place)
    };
    if settings.open {
        let page = store::write_page(&paths[0], &record, paths.len() > 1)?;
        terminal::data(&format!("{}\n", page.display()))?;
        if let Err(error) = open::that_detached(&page) {
            terminal::warn(&format!("no browser could be started: {error}"));
        }
        return Ok(exit::of(&record));
    }
    let text = match settings.format {
        Format::Text => report::text_at(&record, &place),
        Format::Json => report::json(&record),
        Format::Csv => report::csv(&record),
        Format::TelemetryCsv => report::telemetry_csv(&record),
        Format::Html => report::html(&record),
        Format::Markdown => report::markdown(&record, &place),
    };
    terminal::data(&text)?;
    Ok(exit::of(&record))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let failure = Self::usage(error.to_string());
        match error.hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}
