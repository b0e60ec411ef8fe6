//! `highwater show`: prints a finished run, or the merged shares of one. Must not change a record.

use std::path::PathBuf;

use highwater_analysis as analysis;
use highwater_model::json;
use highwater_model::record::{Record, RecordRef, RunRecord};
use highwater_model::user_error::UserError;
use highwater_report as report;
use highwater_runner::record;
use highwater_runner::store;

use crate::grammar::flags::{CONFIG, NO_COLOR, OUT, OUTPUT, VERBOSE};
use crate::grammar::{CommandSpec, Flag, Reach, flag, words};
use crate::intent::parsers::{self, one_of};
use crate::layers::Layers;
use crate::{exit, terminal};

/// `highwater show`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "show",
    summary: "Show a finished run, or merge the shares of one run",
    usage: "[RUN]...",
    positionals: &[words(
        "RUN",
        "Directory, record.json, ID, unique beginning or end of an ID, or last. Several are merged \
         as shares of one run [default: the latest]",
    )],
    flags: &[(OUTPUT, OUTPUT_FLAGS)],
    main_flags: None,
    examples: "  highwater show
      the latest run
  highwater show 2026-11-20T18 --format csv
      the intervals of one run, named by the beginning of its ID
  highwater show --format junit > results.xml
      the judgments and objectives as test cases, for a pipeline
  highwater show m1/highwater-runs/a m2/highwater-runs/b
      two load generators' shares merged into one run",
    run: |layers| show(&ShowIntent::resolve(layers)?),
};

const OUTPUT_FLAGS: &[Flag] = &[
    flag("--format <FORMAT>", "Print text, json, csv, telemetry-csv, html, markdown, or junit")
        .default("text"),
    flag("--open", "Write report.html in the run's directory again, and open it in the browser")
        .reach(Reach::Outside),
    VERBOSE,
    OUT,
    CONFIG,
    NO_COLOR,
];

/// Settings of `highwater show`.
#[derive(Debug, PartialEq)]
pub(crate) struct ShowIntent {
    /// Directories, `record.json` paths, IDs, or prefixes of IDs; empty for the newest run. Several are shares of one
    /// run.
    pub(crate) runs: Vec<String>,
    pub(crate) format: Format,
    /// Print all details below the answer.
    verbose: bool,
    /// Show the page in the user's browser instead of printing anything.
    open: bool,
    /// Directory of the run store, for looking up IDs.
    pub(crate) out: PathBuf,
}

/// Output format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The summary for readers.
    Text,
    /// The record.
    Json,
    /// The intervals; of a growth, its sizes.
    Csv,
    /// The target's metrics.
    TelemetryCsv,
    /// The page.
    Html,
    /// The summary for the page of a CI job.
    Markdown,
    /// The judgments as test cases.
    Junit,
}

impl ShowIntent {
    pub(crate) fn resolve(layers: &Layers) -> Result<Self, UserError> {
        Ok(Self {
            runs: layers.positionals.clone(),
            format: layers.require("format", format)?,
            verbose: layers.switch("verbose")?,
            open: layers.switch("open")?,
            out: layers.require("out", parsers::word)?.into(),
        })
    }
}

fn format(text: &str) -> Result<Format, UserError> {
    let all = [
        ("text", Format::Text),
        ("json", Format::Json),
        ("csv", Format::Csv),
        ("telemetry-csv", Format::TelemetryCsv),
        ("html", Format::Html),
        ("markdown", Format::Markdown),
        ("junit", Format::Junit),
    ];
    let hint = "there are `text`, `json`, `csv`, `telemetry-csv`, `html`, `markdown` and `junit`";
    one_of(&all, text, "is not a format", hint)
}

/// Prints the run in the requested format; the exit code is that of the run.
fn show(settings: &ShowIntent) -> Result<u8, UserError> {
    let latest = settings.runs.is_empty().then_some(None);
    let paths = settings.runs.iter().map(|name| Some(name.as_str())).chain(latest);
    let paths =
        paths.map(|name| store::find(&settings.out, name)).collect::<Result<Vec<PathBuf>, _>>()?;
    let records = paths.iter().map(|path| record::read(path)).collect::<Result<Vec<_>, _>>()?;
    let merged;
    let (record, place) = if let ([record], [path]) = (&records[..], &paths[..]) {
        (RecordRef::from(record), path.display().to_string())
    } else {
        merged = merge(&records)?;
        (RecordRef::from(&merged), merged.header.id.clone())
    };
    if settings.open {
        let page = store::write_page(&paths[0], &report::html(record), paths.len() > 1)?;
        terminal::data(&format!("{}\n", page.display()))?;
        if let Err(error) = open::that_detached(&page) {
            terminal::warn(&format!("no browser could be started: {error}"));
        }
        return Ok(exit::code(record));
    }
    let text = match settings.format {
        Format::Text => {
            let summary = report::summary(record, &place);
            terminal::summary(&summary, settings.verbose)?;
            return Ok(exit::code(record));
        }
        Format::Json => json::print(record),
        Format::Csv => report::csv(record),
        Format::TelemetryCsv => report::telemetry_csv(&record.measured_run()),
        Format::Html => report::html(record),
        Format::Markdown => report::markdown(record, &place),
        Format::Junit => report::junit(record),
    };
    terminal::data(&text)?;
    Ok(exit::code(record))
}

/// Merges the shares of one run.
fn merge(records: &[Record]) -> Result<RunRecord, UserError> {
    let shares = records.iter().map(|record| {
        let id = &record.header().id;
        record.run().ok_or_else(|| {
            UserError::usage(format!("{id} is not a share of a run"))
                .with_hint("show experiments and imports one by one, or compare them")
        })
    });
    let shares = shares.collect::<Result<Vec<_>, _>>()?;
    analysis::merge(&shares)
        .map_err(|error| UserError::usage(error.to_string()).hinted(error.reason().hint))
}
