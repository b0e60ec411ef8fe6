//! A strip below the x axis: a bar with a text at each position, on as many lines as the texts need. Must not depend on
//! the meaning of the texts.

use maud::{Markup, html};

use super::figures::rounded;
use super::frame::{Frame, LETTER, x_of};
use super::{COLORS, Cell, Chart};

/// A bar in pixels: its height, and its maximum and minimum width.
const BAR: f64 = 4.0;
const WIDEST: f64 = 84.0;
const NARROWEST: f64 = 6.0;
/// Fraction of the distance between two positions that is left free between their bars.
const FREE: f64 = 0.2;
/// Pixels of a line of text, and between two texts on one line.
const LINE: f64 = 15.0;
const APART: f64 = 8.0;
/// Pixels above the bars and below the last line.
const AROUND: f64 = 6.0;

/// A cell with the middle of its bar and of its text, and the line of the text, from 0.
struct Placed<'a> {
    cell: &'a Cell,
    bar: f64,
    words: f64,
    line: u32,
}

/// Height of a chart's strip in pixels; 0 without a cell.
pub(super) fn height(chart: &Chart, frame: &Frame) -> f64 {
    let placed = placed(chart, frame);
    let last = placed.iter().map(|placed| placed.line).max();
    last.map_or(0.0, |last| 2.0 * AROUND + BAR + LINE * f64::from(last + 1))
}

/// The strip, at the bottom of a drawing whose frame has space for it.
pub(super) fn strip(chart: &Chart, frame: &Frame) -> Markup {
    let placed = placed(chart, frame);
    let top = frame.height - frame.strip + AROUND;
    let baseline = |line: u32| top + BAR + LINE * f64::from(line + 1) - 2.0;
    let width = bar_width(&placed);
    html! {
        @if !placed.is_empty() {
            g class="strip" {
                // From a bar to a text that is not directly below it.
                @for of in placed.iter().filter(|of| of.line > 0) {
                    path class="leader" d=(format!(
                        "M{} {}V{}", rounded(of.bar), rounded(top + BAR), rounded(baseline(of.line) - 10.0)
                    )) {}
                }
                text x="0" y=(rounded(baseline(0))) { (chart.strip.name) }
                @for of in &placed {
                    g class=(format!("c{}", of.cell.color % COLORS)) {
                        title { (of.cell.sentence) }
                        rect x=(rounded(of.bar - width / 2.0)) y=(rounded(top)) width=(rounded(width))
                            height=(rounded(BAR)) {}
                        text x=(rounded(of.words)) y=(rounded(baseline(of.line))) text-anchor="middle" {
                            (of.cell.name)
                        }
                    }
                }
            }
        }
    }
}

/// Places each cell's text on the first line with enough space below its bar.
fn placed<'a>(chart: &'a Chart, frame: &Frame) -> Vec<Placed<'a>> {
    // The strip's name is to the left.
    let begin = room(chart.strip.name) + APART;
    let mut free: Vec<f64> = Vec::new();
    let placed = chart.strip.cells.iter().map(|cell| {
        let bar = x_of(chart, frame, cell.at);
        let half = room(&cell.name) / 2.0;
        let words = bar.min(frame.width - half).max(begin + half);
        let line = free.iter().position(|free| *free <= words - half);
        let line = line.unwrap_or_else(|| {
            free.push(0.0);
            free.len() - 1
        });
        free[line] = words + half + APART;
        Placed { cell, bar, words, line: u32::try_from(line).unwrap_or(u32::MAX) }
    });
    placed.collect()
}

/// The width that the two closest bars allow.
fn bar_width(placed: &[Placed<'_>]) -> f64 {
    let distances = placed.windows(2).map(|pair| pair[1].bar - pair[0].bar);
    let nearest = distances.fold(f64::INFINITY, f64::min);
    (nearest * (1.0 - FREE)).clamp(NARROWEST, WIDEST)
}

/// Width of a text in pixels.
fn room(words: &str) -> f64 {
    words.chars().fold(0.0, |room, _| room + LETTER)
}
