//! How long a summary may be: what goes beyond that is left to `-v`, the least needed first. Must not choose what
//! an answer or a judgment says.

use super::fitted::{Summary, without_color};
use super::layout::{Line, rendered};
use crate::layout::list;

/// Columns of the terminal for which lines are counted; a narrow one wraps them.
const COLUMNS: usize = 100;
/// Lines where all judgments are good, empty ones included; tables have a bound of their own.
pub(super) const GOOD_MAX: usize = 16;
/// Lines where one is not.
pub(super) const BAD_MAX: usize = 21;
/// Lines that a reader needs last, by label: what the user typed goes before what was found.
const LEFT_OUT_FIRST: [&str; 12] = [
    "target",
    "load",
    "search",
    "based on",
    "basis",
    "changed",
    "also",
    "note",
    "estimate",
    "predictions",
    "first again",
    "finding",
];

/// The same within so many lines; what was left out is named.
pub(super) fn within(mut summary: Summary, most: usize) -> Summary {
    let mut left_out: Vec<&str> = Vec::new();
    for label in LEFT_OUT_FIRST {
        // The line that names what was left out is one, too.
        let named = usize::from(!left_out.is_empty());
        if length(&summary) + named <= most {
            break;
        }
        let before = length(&summary);
        for block in &mut summary.blocks {
            block.retain(|line| !line.is_labeled(label));
        }
        if length(&summary) < before {
            left_out.push(label);
        }
    }
    if !left_out.is_empty() {
        let names = list(left_out.iter().map(|label| (*label).to_owned()), ", ");
        let more = Line::labeled("more", format!("-v shows {names}"));
        let last = summary.blocks.iter_mut().rev().find(|b| !b.is_empty());
        if let Some(block) = last {
            let at = block.iter().position(|line| matches!(line, Line::Whole { .. }));
            block.insert(at.unwrap_or(block.len()), more);
        }
    }
    summary
}

/// Lines that are printed, but for those of tables.
pub(super) fn length(summary: &Summary) -> usize {
    let blocks = std::iter::once(&summary.answer).chain(&summary.blocks);
    let blocks = blocks.filter(|block| !block.is_empty());
    let lengths: Vec<usize> = blocks
        .map(|block| {
            let lines = block
                .iter()
                .filter(|line| !is_table(line))
                .map(|line| rendered(line, COLUMNS, &without_color).len());
            lines.sum()
        })
        .collect();
    // An empty line is between two blocks.
    lengths.iter().sum::<usize>() + lengths.len().saturating_sub(1)
}

/// Whether it is rows, which have a bound of their own.
pub(super) const fn is_table(line: &Line) -> bool {
    matches!(line, Line::Table { .. })
}
