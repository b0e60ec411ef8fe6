//! A comparison as Markdown, for a comment on a change.

use super::super::markdown::{plain, table};
use super::{CompareReport, basis, differing, named, rows, verdict};

/// The comparison; what targets say cannot become markup.
pub fn compare_markdown(report: &CompareReport<'_>) -> String {
    let mut blocks = Vec::new();
    for (group, comparison) in &report.others {
        blocks.push(format!("## {}", plain(&verdict(comparison, true))));
        blocks.push(format!(
            "A: {}  \nB: {}",
            plain(&named(&report.baseline)),
            plain(&named(group))
        ));
        blocks.push(table(&rows(comparison), 2));
        let basis = basis(comparison);
        let lines = basis.into_iter().chain(differing(comparison));
        let lines: Vec<String> = lines.map(|line| format!("- {}", plain(&line))).collect();
        blocks.push(lines.join("\n"));
    }
    blocks.join("\n\n") + "\n"
}
