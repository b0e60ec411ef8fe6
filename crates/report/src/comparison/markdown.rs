//! One comparison as Markdown.

use highwater_analysis::comparison::Comparison;

use super::words::{basis, differing, named, rows, verdict};
use crate::markdown_words::{plain, table};

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
