//! Fits a summary to a terminal. Must not choose its content.

use super::layout::{self, Ink, Line};
use crate::layout::blocks as blocks_of_lines;

/// A summary before it is fitted to a terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub(super) answer: Vec<Line>,
    pub(super) blocks: Vec<Vec<Line>>,
    /// The text that `-v` adds below the answer.
    pub(super) details: String,
}

impl Summary {
    /// From blocks, of which the first one is the answer.
    pub(super) fn of_blocks(mut blocks: Vec<Vec<Line>>, details: String) -> Self {
        let answer = blocks.drain(..blocks.len().min(1)).flatten().collect();
        Self { answer, blocks, details }
    }

    /// The answer alone, in one line.
    pub fn answer(&self) -> String {
        let lines = self
            .answer
            .iter()
            .take(1)
            .flat_map(|line| layout::rendered(line, usize::MAX, &without_color));
        lines.collect()
    }

    /// For a terminal with `columns` columns; `paint` colors a word.
    pub fn short(&self, columns: usize, paint: &dyn Fn(Ink, &str) -> String) -> String {
        let blocks = std::iter::once(&self.answer).chain(&self.blocks);
        joined(blocks, columns, paint)
    }

    /// The answer and all details.
    pub fn full(&self, columns: usize, paint: &dyn Fn(Ink, &str) -> String) -> String {
        let answer = joined([&self.answer], columns, paint);
        format!("{answer}\n{}", paint(Ink::Plain, &self.details))
    }
}

/// Prints without color.
pub fn without_color(_: Ink, text: &str) -> String {
    text.to_owned()
}

/// Blocks, separated by empty lines.
fn joined<'a>(
    blocks: impl IntoIterator<Item = &'a Vec<Line>>,
    columns: usize,
    paint: &dyn Fn(Ink, &str) -> String,
) -> String {
    blocks_of_lines(blocks.into_iter().map(|block| {
        let lines = block.iter().flat_map(|line| layout::rendered(line, columns, paint));
        lines.collect()
    }))
}
