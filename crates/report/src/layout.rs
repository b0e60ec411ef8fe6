//! Columns: words left-aligned, numbers right-aligned, as wide as their widest cell.
//!
//! Must not depend on the meaning of a cell.

use std::borrow::{Borrow, Cow};

use highwater_model::display::{ABSENT, duration};

/// Width of the label before a sentence.
pub(crate) const LABEL_WIDTH: usize = 15;
/// Minimum width of a column of words, and of one of numbers.
const WORD_WIDTH: usize = 8;
const NUMBER_WIDTH: usize = 7;
const GAP: &str = "   ";

/// `a, b`: words with a separator between them.
pub(crate) fn list<S: Borrow<str>>(words: impl IntoIterator<Item = S>, between: &str) -> String {
    let words: Vec<S> = words.into_iter().collect();
    words.join(between)
}

/// `a · b`: the words that are not empty.
pub(crate) fn joined<S: Borrow<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words = words.into_iter().filter(|word| {
        let word: &str = word.borrow();
        !word.is_empty()
    });
    list(words, " · ")
}

/// Blocks of lines, separated by empty lines.
pub(crate) fn blocks(blocks: impl IntoIterator<Item = Vec<String>>) -> String {
    let blocks = blocks.into_iter().filter(|block| !block.is_empty());
    let line = |line: &String| format!("{}\n", line.trim_end());
    let blocks = blocks.map(|block| block.iter().map(line).collect::<String>());
    list(blocks, "\n")
}

/// The text with its first letter in upper case.
pub(crate) fn first_upper(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

/// The value, or the sign for an absent one.
pub(crate) fn or_absent<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), show)
}

/// `2.31 ms`, or `≥ 2.31 ms` for a lower bound.
pub(crate) fn latency(ns: u64, is_at_least: bool) -> String {
    // Nothing is known of ops that never ended.
    if is_at_least && ns == 0 {
        return ABSENT.to_owned();
    }
    format!("{}{}", if is_at_least { "≥ " } else { "" }, duration(ns))
}

/// A head, whose cells are separated by bars, and the rows below it.
pub(crate) fn headed(head: &str, rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let head = Row::new(head.split(" | "));
    std::iter::once(head).chain(rows).collect()
}

/// `label          sentence`.
pub(crate) fn labeled(label: &str, sentence: &str) -> String {
    format!("{label:<LABEL_WIDTH$}{sentence}")
}

/// A sentence with its label.
#[derive(Debug, Clone)]
pub(crate) struct Remark {
    /// Empty if the sentence continues the one before.
    pub(crate) label: Cow<'static, str>,
    pub(crate) sentence: String,
}

impl Remark {
    pub(crate) fn new(label: impl Into<Cow<'static, str>>, sentence: impl Into<String>) -> Self {
        Self { label: label.into(), sentence: sentence.into() }
    }

    /// Sentences under one label, which the first of them has.
    pub(crate) fn listed(
        label: &'static str,
        sentences: impl IntoIterator<Item = String>,
    ) -> impl Iterator<Item = Self> {
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        labels.zip(sentences).map(|(label, sentence)| Self::new(label, sentence))
    }
}

/// One line per remark.
pub(crate) fn remark_lines(remarks: &[Remark]) -> Vec<String> {
    let line = |remark: &Remark| labeled(&remark.label, &remark.sentence);
    remarks.iter().map(line).collect()
}

/// A row of cells, followed by a remark.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    pub(crate) remark: String,
}

impl Row {
    pub(crate) fn new<I: IntoIterator<Item = S>, S: Into<String>>(cells: I) -> Self {
        Self { cells: cells.into_iter().map(Into::into).collect(), remark: String::new() }
    }

    pub(crate) fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = remark.into();
        self
    }
}

/// Aligned lines; the first `words` columns hold words, the others numbers.
pub(crate) fn aligned(rows: &[Row], words: usize) -> Vec<String> {
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let least = if column < words { WORD_WIDTH } else { NUMBER_WIDTH };
            let widest = rows
                .iter()
                .filter_map(|row| row.cells.get(column))
                .map(|cell| cell.chars().count())
                .max();
            widest.unwrap_or(0).max(least)
        })
        .collect();
    rows.iter().map(|row| line(row, &widths, words)).collect()
}

fn line(row: &Row, widths: &[usize], words: usize) -> String {
    let cells = widths.iter().enumerate().map(|(column, width)| {
        let cell = row.cells.get(column).map_or("", String::as_str);
        if column < words { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    });
    let line = list(cells, GAP);
    if row.remark.is_empty() {
        line.trim_end().to_owned()
    } else {
        format!("{line}  {GAP}{}", row.remark)
    }
}
