//! Columns: words to the left, numbers to the right, as wide as their widest cell.
//!
//! It must not know what a cell means.

use highwater_model::display::ABSENT;

/// Width of the label before a sentence.
pub(crate) const LABEL_WIDTH: usize = 15;
/// Least width of a column of words, and of one of numbers.
const WORD_WIDTH: usize = 8;
const NUMBER_WIDTH: usize = 7;
const GAP: &str = "   ";

/// `a · b`: the words that are not empty.
pub(crate) fn joined<S: Into<String>>(words: impl IntoIterator<Item = S>) -> String {
    let words = words.into_iter().map(Into::into);
    let words: Vec<String> = words.filter(|word: &String| !word.is_empty()).collect();
    words.join(" · ")
}

/// With its first letter in upper case.
pub(crate) fn first_upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        format!("{}{}", first.to_uppercase(), letters.as_str())
    })
}

/// What is shown of a value that may be absent.
pub(crate) fn or_absent<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), show)
}

/// A head, whose cells bars separate, and the rows below it.
pub(crate) fn headed(head: &str, rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let head = Row::new(head.split(" | "));
    std::iter::once(head).chain(rows).collect()
}

/// `label          sentence`.
pub(crate) fn labeled(label: &str, sentence: &str) -> String {
    format!("{label:<LABEL_WIDTH$}{sentence}")
}

/// A row of cells, and a remark behind them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    pub(crate) remark: String,
}

impl Row {
    pub(crate) fn new<I: IntoIterator<Item = S>, S: Into<String>>(cells: I) -> Self {
        Self {
            cells: cells.into_iter().map(Into::into).collect(),
            remark: String::new(),
        }
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
            let least = if column < words {
                WORD_WIDTH
            } else {
                NUMBER_WIDTH
            };
            let cells = rows.iter().filter_map(|row| row.cells.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max();
            widest.unwrap_or(0).max(least)
        })
        .collect();
    rows.iter().map(|row| line(row, &widths, words)).collect()
}

fn line(row: &Row, widths: &[usize], words: usize) -> String {
    let mut cells: Vec<String> = Vec::with_capacity(widths.len());
    for (column, width) in widths.iter().enumerate() {
        let cell = row.cells.get(column).map_or("", String::as_str);
        cells.push(if column < words {
            format!("{cell:<width$}")
        } else {
            format!("{cell:>width$}")
        });
    }
    let line = cells.join(GAP);
    if row.remark.is_empty() {
        line.trim_end().to_owned()
    } else {
        format!("{line}  {GAP}{}", row.remark)
    }
}
