//! `highwater check` of figures: shows how a file was parsed, and implausible figures. Must not judge plausibility
//! itself.

use std::path::Path;

use highwater_model::display::foreign;
use highwater_model::user_error::UserError;
use highwater_report::warnings_text;
use highwater_sizing::plausibility::{ModelRequest, Weight, audit};
use highwater_sizing::scaling::ScalingModel;
use highwater_sizing::series::{Role, SeriesSet};

use super::facts::{Fact, fact, table};
use crate::{exit, figures, terminal};

/// Maximum characters of text from a file in a line.
const LONGEST: usize = 200;

/// Whether a name refers to figures: a CSV file, a record, or a directory of runs.
pub(super) fn is_figures(name: &str) -> bool {
    let path = Path::new(name);
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("csv" | "tsv" | "json")) || path.is_dir()
}

/// Prints the parsed figures and the plausibility warnings. If any of them is a contradiction, the exit code is that of
/// invalid figures.
pub(super) fn check(
    names: &[String],
    model: Option<ScalingModel>,
    out: &Path,
) -> Result<u8, UserError> {
    let set = figures::read(names, out)?;
    let warnings = audit(&set, model.map(ModelRequest::of).as_ref());
    terminal::data(&format!("{}\n{}", table(&facts(&set)), warnings_text(&warnings)))?;
    let contradicts = warnings.iter().any(|o| o.weight == Weight::Contradiction);
    Ok(if contradicts { exit::NOT_VALID } else { exit::SUCCESS })
}

fn facts(set: &SeriesSet) -> Vec<Fact> {
    let mut facts = Vec::new();
    for series in set.series() {
        let points = set.of(series).count();
        let unit = set.of(series).next().map_or("", |point| &point.unit);
        let plural = if points == 1 { "" } else { "s" };
        let text = format!("{series} · {points} point{plural} · {unit}");
        facts.push(fact("series", foreign(&text, LONGEST)));
    }
    for (role, label) in [
        (Role::Throughput, "throughput"),
        (Role::Setting, "settings"),
        (Role::Figure, "figures"),
        (Role::Part, "parts"),
    ] {
        let named: Vec<String> = set
            .columns
            .iter()
            .filter(|column| column.role == role)
            .map(|column| {
                if column.header == column.name || role == Role::Throughput {
                    column.header.clone()
                } else {
                    format!("{} (= {})", column.header, column.name)
                }
            })
            .collect();
        if !named.is_empty() {
            facts.push(fact(label, foreign(&named.join(", "), LONGEST * 2)));
        }
    }
    facts.extend(set.notes.iter().map(|note| fact("note", foreign(note, LONGEST))));
    facts
}
