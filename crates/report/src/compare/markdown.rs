//! A comparison as Markdown, for a comment on a change.

use super::super::markdown::{plain, table};
use super::{CompareReport, basis, differing, named, rows, verdict};
use highwater_analysis::comparison::Comparison;

/// The comparison; what targets say cannot become markup.
pub fn compare_markdown(report: &CompareReport<'_>) -> String {
    let others = report.others.iter();
    let blocks = others
        .flat_map(|(group, comparison)| blocks([&report.baseline.name, &group.name], comparison));
    blocks.collect::<Vec<_>>().join("\n\n") + "\n"
}

/// One comparison of two groups of these names.
pub(crate) fn blocks(names: [&str; 2], comparison: &Comparison) -> Vec<String> {
    let [a, b] = named(names, comparison).map(|name| plain(&name));
    let basis = basis(comparison);
    let lines = basis.into_iter().chain(differing(comparison));
    let lines: Vec<String> = lines.map(|line| format!("- {}", plain(&line))).collect();
    vec![
        format!("## {}", plain(&verdict(comparison, true))),
        format!("A: {a}  \nB: {b}"),
        table(&rows(comparison), 2),
        lines.join("\n"),
    ]
}
