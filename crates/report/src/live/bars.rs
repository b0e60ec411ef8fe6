//! Progress bars, trends, and lines that fit, in characters. Must not depend on what they show.

use std::collections::VecDeque;

use highwater_model::numbers::{len_to_f64, round_to_usize};

const FILLED: &str = "█";
const EMPTY: &str = "░";
/// Heights of a trend.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Replaces the end of a truncated line.
const CUT: char = '…';

/// `██████░░░░░░   50.0%`, for a fraction from 0 to 1, `width` characters wide.
pub(super) fn bar(share: f64, width: usize) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = round_to_usize(share * len_to_f64(width));
    let bar = [FILLED.repeat(filled), EMPTY.repeat(width - filled)].concat();
    format!("{bar}  {:>5.1}%", share * 100.0)
}

/// Values from 0 to their maximum, one character each.
pub(super) fn trend(values: &VecDeque<f64>, most: usize) -> String {
    let highest = values.iter().copied().fold(0.0, f64::max);
    let shown = values.iter().skip(values.len().saturating_sub(most));
    let height = |value: &f64| {
        let share = if highest > 0.0 { value / highest } else { 0.0 };
        HEIGHTS[round_to_usize(share * len_to_f64(HEIGHTS.len() - 1)).min(HEIGHTS.len() - 1)]
    };
    shown.map(height).collect()
}

/// A line that a terminal with `columns` columns does not wrap.
pub(super) fn cut(line: &str, columns: usize) -> String {
    if line.chars().map(width).sum::<usize>() <= columns {
        return line.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut shown: String = line
        .chars()
        .take_while(|character| {
            let fits = width(*character) <= left;
            left = left.saturating_sub(width(*character));
            fits
        })
        .collect();
    if columns > 0 {
        shown.push(CUT);
    }
    shown
}

/// Maximum columns of a character: 2 for scripts that are known for wide characters.
fn width(character: char) -> usize {
    let own = matches!(character, '\u{2000}'..='\u{22ff}' | '\u{2500}'..='\u{259f}');
    if character < '\u{1100}' || own { 1 } else { 2 }
}
