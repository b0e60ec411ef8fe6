//! `highwater table`: throughput over one setting, from a file or from runs.
//!
//! Reads and prints. Must not compute tables or warnings; that is the core's job.

use std::path::Path;

use highwater_model::user_error::UserError;
use highwater_report::{FIGURES_SCHEMA, FiguresReport, figures_json, figures_text};
use highwater_sizing::plausibility::audit;
use highwater_sizing::series::SeriesSet;
use highwater_sizing::tables::tables;

use crate::exit::{did_you_mean, suggestion};
use crate::grammar::flags::{CONFIG, FIGURES, NO_COLOR, OUT, OUTPUT};
use crate::grammar::{CommandSpec, Flag, flag, words};
use crate::intent::parsers;
use crate::layers::Layers;
use crate::{exit, figures, terminal};

/// `highwater table`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "table",
    summary: "Tabulate throughput over one setting, from a file or from runs",
    usage: "[FILE | RUN]...",
    positionals: &[words(
        "FILE|RUN",
        "CSV files with figures, runs, or directories of runs [default: the run store]",
    )],
    flags: &[(FIGURES, FIGURES_FLAGS), (OUTPUT, OUTPUT_FLAGS)],
    main_flags: None,
    examples: // The text names databases, so it is a file and not code.
include_str!("table_examples.txt").trim_ascii_end(),
    run: table,
};

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

const OUTPUT_FLAGS: &[Flag] =
    &[flag("--json", "Print tables and warnings as JSON"), OUT, CONFIG, NO_COLOR];

/// The single named setting; other commands can vary several at once.
fn over(layers: &Layers) -> Result<Option<String>, UserError> {
    match layers.list("over") {
        [] => Ok(None),
        [one] => one.parse(parsers::word).map(Some),
        [_, second, ..] => Err(second
            .failure("a table runs over one setting".to_owned())
            .with_hint("print a table for each")),
    }
}

/// Prints the tables of everything that is named; without names, of the run store.
fn table(layers: &Layers) -> Result<u8, UserError> {
    let out = layers.require("out", parsers::word)?;
    let mut from = layers.positionals.clone();
    if from.is_empty() {
        from.push(out.clone());
    }
    let over = over(layers)?;
    let series = layers.list("series").iter().map(|given| given.parse(parsers::word));
    let series = series.collect::<Result<Vec<_>, _>>()?;
    let json = layers.switch("json")?;
    let set = chosen(figures::read(&from, Path::new(&out))?, &series)?;
    let report = FiguresReport {
        schema: FIGURES_SCHEMA,
        tables: tables(&set, over.as_deref())?,
        warnings: audit(&set, None),
        notes: set.notes,
    };
    if json {
        return terminal::data(&figures_json(&report)).map(|()| exit::SUCCESS);
    }
    for note in &report.notes {
        terminal::warn(note);
    }
    terminal::data(&figures_text(&report)).map(|()| exit::SUCCESS)
}

/// The requested series, by name or unique prefix; all if none is requested.
fn chosen(mut set: SeriesSet, requested: &[String]) -> Result<SeriesSet, UserError> {
    if requested.is_empty() {
        return Ok(set);
    }
    let names_read: Vec<String> = set.series().into_iter().map(str::to_owned).collect();
    let mut names = Vec::new();
    for requested in requested {
        if names_read.contains(requested) {
            names.push(requested.clone());
            continue;
        }
        let found = names_read
            .iter()
            .map(String::as_str)
            .filter(|name| name.starts_with(requested.as_str()));
        match found.collect::<Vec<_>>()[..] {
            [one] => names.push(one.to_owned()),
            [] => return Err(no_such(requested, &names_read)),
            ref several => {
                let cause = format!("--series: `{requested}` is the prefix of several series");
                let hint = format!("there are {}", several.join(", "));
                return Err(UserError::usage(cause).with_hint(hint));
            }
        }
    }
    set.points.retain(|point| names.contains(&point.series));
    Ok(set)
}

fn no_such(requested: &str, names: &[String]) -> UserError {
    let near = did_you_mean(requested, names.iter().map(String::as_str));
    let hint = suggestion(near, || format!("there are {}", names.join(", ")));
    UserError::usage(format!("--series: there is no series `{requested}`")).with_hint(hint)
}
