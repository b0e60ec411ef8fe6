//! The maximum length of a summary: less important lines beyond it are left to `-v`. Must not choose the text of an
//! answer or a judgment.

use super::fitted::{Summary, without_color};
use super::layout::{Line, rendered};
use crate::layout::list;

/// Columns of the terminal for which lines are counted; a narrower one wraps them.
const COLUMNS: usize = 100;
/// Maximum lines if all judgments are good, including empty lines; tables have a separate limit.
pub(super) const GOOD_MAX: usize = 16;
/// Maximum lines if a judgment is not good.
pub(super) const BAD_MAX: usize = 21;
/// Labels of lines in the order of removal: the user's own input goes before results.
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

/// Shortens the summary to `most` lines and names the removed labels.
pub(super) fn within(mut summary: Summary, most: usize) -> Summary {
    let mut left_out: Vec<&str> = Vec::new();
    for label in LEFT_OUT_FIRST {
        // The line that names the removed labels counts, too.
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

/// Number of printed lines, except tables.
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
    // Blocks are separated by one empty line.
    lengths.iter().sum::<usize>() + lengths.len().saturating_sub(1)
}

/// Whether it is a table, which has a separate limit.
pub(super) const fn is_table(line: &Line) -> bool {
    matches!(line, Line::Table { .. })
}
