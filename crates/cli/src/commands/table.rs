//! `highwater table`: throughput over one setting, from a file or from runs.
//!
//! It reads and prints. Must not compute tables or warnings; that is the core's job.

use std::fmt;
use std::path::PathBuf;

use highwater_report::{FIGURES_SCHEMA, FiguresReport, figures_json, figures_text};
use highwater_sizing::plausibility::audit;
use highwater_sizing::series::SeriesSet;
use highwater_sizing::tables::{AxisError, tables};

use crate::failure::{Failure, did_you_mean, suggestion};
use crate::grammar::flags::{FIGURES, NO_COLOR, OUT, OUTPUT};
use crate::grammar::{CommandSpec, Flag, Positional, flag, words};
use crate::intent::parsers;
use crate::layers::Layers;
use crate::{exit, figures, terminal};

/// `highwater table`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "table",
    summary: "Tabulate throughput over one setting, from a file or from runs",
    usage: "[FILE | RUN]...",
    positionals: POSITIONALS,
    flags: &[(FIGURES, FIGURES_FLAGS), (OUTPUT, OUTPUT_FLAGS)],
    examples: // The text names databases, so it is a file and not code.
include_str!("table_examples.txt").trim_ascii_end(),
    run: |layers| table(&TableIntent::resolve(layers)?),
};

const POSITIONALS: &[Positional] = &[words(
    "FILE|RUN",
    "CSV files with figures, runs, or directories of runs [default: the run store]",
)];

const FIGURES_FLAGS: &[Flag] = &[
    flag(
        "--over <NAME>...",
        "Make one row per value of setting NAME [default: nodes if they vary, else the setting \
         with the most values]",
    ),
    flag(
        "--series <NAME>...",
        "Use only this series of the files, by name or unique prefix [default: all]",
    ),
];

const OUTPUT_FLAGS: &[Flag] = &[
    flag("--json", "Print tables and warnings as JSON"),
    OUT,
    NO_COLOR,
];

/// What is tabulated.
struct TableIntent {
    /// CSV files, runs, directories of runs; never empty.
    from: Vec<String>,
    /// The setting that a table runs over; what varies when absent.
    over: Option<String>,
    /// Names of series or their beginnings; empty: all.
    series: Vec<String>,
    /// JSON in place of text.
    json: bool,
    /// The run store's directory, where ids are looked up.
    out: PathBuf,
}

impl TableIntent {
    fn resolve(layers: &Layers) -> Result<Self, Failure> {
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

/// Prints the tables of everything that the settings name.
fn table(settings: &TableIntent) -> Result<u8, Failure> {
    let set = chosen(figures::read(&settings.from, &settings.out)?, settings)?;
    let report = FiguresReport {
        schema: FIGURES_SCHEMA,
        tables: tables(&set, settings.over.as_deref())?,
        warnings: audit(&set, None),
        notes: set.notes,
    };
    if settings.json {
        return terminal::data(&figures_json(&report)).map(|()| exit::SUCCESS);
    }
    for note in &report.notes {
        terminal::warn(note);
    }
    terminal::data(&figures_text(&report)).map(|()| exit::SUCCESS)
}

/// The requested series, by name or unique prefix.
fn chosen(mut set: SeriesSet, settings: &TableIntent) -> Result<SeriesSet, Failure> {
    if settings.series.is_empty() {
        return Ok(set);
    }
    let names_read: Vec<String> = set.series().into_iter().map(str::to_owned).collect();
    let mut names = Vec::new();
    for requested in &settings.series {
        let exact = names_read.iter().filter(|name| *name == requested);
        let beginning = names_read
            .iter()
            .filter(|name| name.starts_with(requested.as_str()));
        let found: Vec<&String> = match exact.clone().count() {
            0 => beginning.collect(),
            _ => exact.collect(),
        };
        match found[..] {
            [one] => names.push(one.clone()),
            [] => return Err(no_such(requested, &names_read)),
            _ => {
                let several = found.iter().map(|name| name.as_str());
                let several: Vec<&str> = several.collect();
                return Err(Failure::usage(format!(
                    "--series: `{requested}` is the prefix of several series"
                ))
                .with_hint(format!("there are {}", several.join(", "))));
            }
        }
    }
    set.points.retain(|point| names.contains(&point.series));
    Ok(set)
}

fn no_such(requested: &impl fmt::Display, names: &[String]) -> Failure {
    let requested = requested.to_string();
    let near = did_you_mean(&requested, names.iter().map(String::as_str));
    let hint = suggestion(near, || format!("there are {}", names.join(", ")));
    Failure::usage(format!("--series: there is no series `{requested}`")).with_hint(hint)
}

impl From<AxisError> for Failure {
    fn from(error: AxisError) -> Self {
        Self::usage(error.message).with_hint(error.hint)
    }
}
