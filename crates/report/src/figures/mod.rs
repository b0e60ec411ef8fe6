//! Figures of a file or of runs for people: tables over an axis, and plausibility warnings.
//!
//! Pure text without colors; equal figures give equal bytes. Must not compute anything.

mod cost_model;
pub(super) mod rows;
#[cfg(test)]
mod tests;
mod warnings;

use serde::Serialize;

use super::by_op;
use super::json::pretty;
use super::layout::{Remark, aligned, list, remark_lines};
use highwater_model::display;
use highwater_sizing::plausibility::PlausibilityWarning;
use highwater_sizing::tables::{Best, FLAT_SHARE, Flattening, Table, Varied};

use rows::{said, words};
pub use warnings::warnings_text;

/// Tables and warnings as one JSON object, with notes for the reader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FiguresReport {
    /// `highwater-figures/2`.
    pub schema: &'static str,
    /// Empty for a check.
    pub tables: Vec<Table>,
    /// Warnings of the plausibility check.
    pub warnings: Vec<PlausibilityWarning>,
    /// Remarks on how the file was read.
    pub notes: Vec<String>,
}

/// Version of the shape of [`FiguresReport`].
pub const FIGURES_SCHEMA: &str = "highwater-figures/2";

/// A report as JSON, pretty-printed, with a newline at the end.
pub fn figures_json(report: &FiguresReport) -> String {
    pretty(report)
}

/// All tables, then the warnings, if there are any.
pub fn figures_text(report: &FiguresReport) -> String {
    let warnings = Some(&report.warnings).filter(|warnings| !warnings.is_empty());
    let warnings = warnings.map(|warnings| warnings_text(warnings));
    list(report.tables.iter().map(table).chain(warnings), "\n")
}

/// One table with its title.
pub(super) fn table(table: &Table) -> String {
    with(table, &remarks(table))
}

/// The table of a tuning, without a best value: the best value is not that of one table.
pub(super) fn table_of_tuning(table: &Table) -> String {
    let remarks: Vec<Remark> =
        table.best.iter().map(|best| flattens(best, table)).chain(besides(table)).collect();
    with(table, &remarks)
}

fn with(table: &Table, remarks: &[Remark]) -> String {
    let mut lines = vec![title(table), String::new()];
    lines.extend(rows::lines(table));
    lines.push(String::new());
    let parts = rows::parts(table);
    if !parts.is_empty() {
        let sentence = by_op::sentence(&said(&table.unit));
        lines.extend(remark_lines(&[Remark::new("each part", sentence)]));
        lines.extend(aligned(&parts, words(table)));
        lines.push(String::new());
    }
    lines.extend(remark_lines(remarks));
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n") + "\n"
}

/// The best value, where the curve flattens, the cost model, and other changes.
pub(super) fn remarks(table: &Table) -> Vec<Remark> {
    table
        .best
        .iter()
        .flat_map(|best| [best_line(best, table), flattens(best, table)])
        .chain(besides(table))
        .collect()
}

/// The cost model, and other changes.
fn besides(table: &Table) -> Vec<Remark> {
    table
        .cost_model
        .iter()
        .flat_map(|fit| cost_model::lines(fit, table))
        .chain(varied(&table.also_varied))
        .collect()
}

pub(super) fn title(table: &Table) -> String {
    let mut title = said(&table.series);
    for (name, value) in &table.part {
        title += &format!(" · {} {}", said(name), said(value));
    }
    if !table.source.is_empty() {
        title += &format!(" · {}", said(&table.source));
    }
    title
}

fn best_line(best: &Best, table: &Table) -> Remark {
    let [axis, value, unit] = [&table.axis.header, &best.value, &table.unit].map(|text| said(text));
    let mut sentence = format!("{axis} {value}: {} {unit}", display::rate(best.throughput));
    if !best.not_distinguished.is_empty() {
        sentence += &format!(
            "; within 3% of it, which one measurement cannot distinguish: {}",
            said(&best.not_distinguished.join(", "))
        );
    }
    Remark::new("best", sentence)
}

fn flattens(best: &Best, table: &Table) -> Remark {
    let axis = said(&table.axis.header);
    let percent = display::plain(FLAT_SHARE * 100.0);
    let sentence = match &best.flattens {
        Flattening::At(value) => {
            format!("at {axis} {}, the first that reaches {percent}% of the best", said(value))
        }
        Flattening::NotReached => format!(
            "not among these: only the last reaches {percent}% of the best, so the end was not \
             measured"
        ),
    };
    Remark::new("flattens", sentence)
}

fn varied(varied: &[Varied]) -> Vec<Remark> {
    let Some((first, others)) = varied.split_first() else {
        return Vec::new();
    };
    let line = |varied: &Varied| {
        let values = said(&varied.values.join(", "));
        format!("{} {values}", said(&varied.header))
    };
    let mut lines = vec![Remark::new("also changed", line(first))];
    lines.extend(others.iter().map(|varied| Remark::new("", line(varied))));
    lines.push(Remark::new("", "what the table shows is their effect, too"));
    lines
}
