//! Comparisons of several groups with the first one: text, Markdown and a page.

mod page;
#[cfg(test)]
mod tests;

use highwater_analysis::comparison::Comparison;
use highwater_model::record::RecordRef;

use crate::comparison::{blocks, lines};

pub use page::compare_html;

/// Runs with the name that the user gave them.
#[derive(Debug)]
pub struct Group<'a> {
    /// Name of a run, a directory of runs, a variant.
    pub name: String,
    /// Its runs; never empty.
    pub runs: Vec<RecordRef<'a>>,
}

/// What is compared with what.
#[derive(Debug)]
pub struct CompareReport<'a> {
    /// What the others are compared with.
    pub baseline: Group<'a>,
    /// The others, each with its comparison.
    pub others: Vec<(Group<'a>, Comparison)>,
}

/// The comparison as text, without colors.
pub fn compare_text(report: &CompareReport<'_>) -> String {
    let blocks = report.others.iter().map(|(group, comparison)| {
        lines([&report.baseline.name, &group.name], comparison).join("\n") + "\n"
    });
    blocks.collect::<Vec<_>>().join("\n")
}

/// The comparison; what targets say cannot become markup.
pub fn compare_markdown(report: &CompareReport<'_>) -> String {
    let others = report.others.iter();
    let blocks = others
        .flat_map(|(group, comparison)| blocks([&report.baseline.name, &group.name], comparison));
    blocks.collect::<Vec<_>>().join("\n\n") + "\n"
}
