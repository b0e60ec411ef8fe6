//! `highwater table`: throughput over one setting, from a file or from runs.
//!
//! It reads and prints. Must not compute tables or warnings; that is the core's job.

use std::fmt;

use highwater_report::{FIGURES_SCHEMA, FiguresReport, figures_json, figures_text};
use highwater_sizing::plausibility::audit;
use highwater_sizing::series::SeriesSet;
use highwater_sizing::tables::{AxisError, tables};

use crate::exit;
use crate::failure::{Failure, did_you_mean};
use crate::figures;
use crate::settings::TableSettings;
use crate::terminal;

/// Prints the tables of everything that the settings name.
pub fn table(settings: &TableSettings) -> Result<u8, Failure> {
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
fn chosen(mut set: SeriesSet, settings: &TableSettings) -> Result<SeriesSet, Failure> {
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
    let hint = near.map_or_else(
        || format!("there are {}", names.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Failure::usage(format!("--series: there is no series `{requested}`")).with_hint(hint)
}

impl From<AxisError> for Failure {
    fn from(error: AxisError) -> Self {
        Self::usage(error.message).with_hint(error.hint)
    }
}
