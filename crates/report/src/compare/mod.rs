//! Comparisons of several groups, or growths, with the first one: text, Markdown and a page. Must not compare.

mod growths;
mod page;
#[cfg(test)]
mod tests;

use crate::compare_report::CompareReport;
use crate::comparison::{blocks, lines};

pub use growths::{growths_html, growths_markdown, growths_text};
pub use page::compare_html;

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
