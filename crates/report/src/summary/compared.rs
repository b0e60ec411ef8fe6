//! A comparison: the better group, the decisive figures, and the basis of the verdict.

use highwater_analysis::comparison::{Comparison, Verdict};

use super::fitted::Summary;
use super::group::compared;
use super::layout::Line;
use super::lines::{and_more, first_of, first_rows};
use crate::compare::compare_text;
use crate::compare_report::CompareReport;
use crate::comparison as words;

/// The summary of a comparison.
pub fn compare_summary(report: &CompareReport<'_>) -> Summary {
    let baseline = &report.baseline.name;
    let mut blocks = Vec::new();
    for (group, comparison) in &report.others {
        let names = [baseline.as_str(), group.name.as_str()];
        let mut lines = vec![Line::Answer(compared(names, comparison))];
        lines.extend(differing(names, comparison));
        blocks.push(lines);
    }
    Summary::of_blocks(blocks, compare_text(report))
}

/// The definitions of A and B, the figures that are not equal, and the basis of the verdict.
fn differing(names: [&str; 2], comparison: &Comparison) -> Vec<Line> {
    let [a, b] = words::named(names, comparison);
    let mut lines = vec![Line::labeled("A", a), Line::labeled("B", b)];
    let all = words::rows(comparison);
    let is_shown: Vec<bool> = comparison
        .figures
        .iter()
        .map(|compared| compared.verdict != Verdict::Equal || compared.is_primary)
        .collect();
    let left_out = is_shown.iter().filter(|shown| !**shown).count();
    let rows = all
        .into_iter()
        .enumerate()
        .filter(|(at, _)| at.checked_sub(1).is_none_or(|figure| is_shown[figure]));
    lines.extend(first_rows(rows.map(|(_, row)| row).collect(), 2));
    if left_out > 0 {
        let plural = if left_out == 1 { "" } else { "s" };
        lines.push(Line::Below(format!("{left_out} other figure{plural} equal (-v)")));
    }
    let basis = words::basis(comparison);
    let more = basis.len().saturating_sub(1);
    let advice = words::advice_lines(comparison);
    let advised = !advice.is_empty();
    if let Some(first) = basis.first() {
        let more = if advised { 0 } else { more };
        lines.push(Line::labeled("basis", and_more(first, more)));
    }
    if let Some(first) = advice.first() {
        lines.push(Line::labeled("to decide", first.clone()));
    }
    lines.extend(first_of("differs", words::differing(comparison)));
    lines
}
