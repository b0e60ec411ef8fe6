//! `highwater show`: prints a finished run, or the merged shares of one. Must not change a record.

use std::path::PathBuf;

use highwater_model::record::{Record, RecordRef, RunRecord};
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
    let merged;
    let (record, place) = if let ([record], [path]) = (&records[..], &paths[..]) {
        (RecordRef::from(record), path.display().to_string())
    } else {
        merged = merge(&records)?;
        (RecordRef::from(&merged), merged.header.id.clone())
    };
    if settings.open {
        let page = store::write_page(&paths[0], record, paths.len() > 1)?;
        terminal::data(&format!("{}\n", page.display()))?;
        if let Err(error) = open::that_detached(&page) {
            terminal::warn(&format!("no browser could be started: {error}"));
        }
        return Ok(exit::of(record));
    }
    let text = match settings.format {
        Format::Text => report::text_at(record, &place),
        Format::Json => report::json(record),
        Format::Csv => report::csv(&record.measured_run()),
        Format::TelemetryCsv => report::telemetry_csv(&record.measured_run()),
        Format::Html => report::html(record),
        Format::Markdown => report::markdown(record, &place),
    };
    terminal::data(&text)?;
    Ok(exit::of(record))
}

/// The shares of one run, put together.
fn merge(records: &[Record]) -> Result<RunRecord, Failure> {
    let shares = records.iter().map(|record| {
        let id = &record.header().id;
        record.run().ok_or_else(|| {
            Failure::usage(format!("{id} is not a share of a run"))
                .with_hint("show experiments and imports one by one, or compare them")
        })
    });
    let shares = shares.collect::<Result<Vec<_>, _>>()?;
    report::merge(&shares).map_err(|error| {
        let failure = Failure::usage(error.to_string());
        match error.reason().hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    })
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
