//! Lines of a summary and their wrapping: an answer of unbreakable parts, labels followed by words, small tables, and
//! lines to copy, which are never broken.
//!
//! Must not depend on the meaning of a line or on a terminal: the caller passes width and colors.

use crate::blocks::Ink;
use crate::layout::{LABEL_WIDTH, Row, aligned, joined};

/// Below this number of columns, words follow directly after their label.
const NARROW: usize = 60;
/// Separates the parts of an answer.
const GAP: &str = "   ";
/// Indent of a line that belongs to the line above it.
const INDENT: usize = 2;
/// Width of a value before its remark.
const VALUE_WIDTH: usize = 11;
/// Maximum characters of a unit, which stays on the line of its number.
const UNIT: usize = 9;

/// Words in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    ink: Ink,
    text: String,
}

impl Span {
    pub(super) fn new(ink: Ink, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { ink, text }
    }

    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self::new(Ink::Plain, text)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// A line of a summary; more than one on a narrow terminal.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Line {
    /// Parts that are never broken if they fit on a line.
    Answer(Vec<Span>),
    /// A label, a value of a judgment, and words.
    Labeled { label: String, value: Option<Span>, words: String },
    /// Text that belongs to the line above it.
    Below(String),
    /// A line to copy.
    Whole { label: &'static str, text: String },
    /// Rows; if they do not fit, each becomes a line of its heads and cells.
    Table { rows: Vec<Row>, words: usize },
}

impl Line {
    pub(super) fn labeled(label: &str, words: impl Into<String>) -> Self {
        Self::Labeled { label: label.to_owned(), value: None, words: words.into() }
    }

    pub(super) fn judged(label: &str, value: Span, words: String) -> Self {
        Self::Labeled { label: label.to_owned(), value: Some(value), words }
    }

    pub(super) fn is_labeled(&self, name: &str) -> bool {
        matches!(self, Self::Labeled { label, .. } if label == name)
    }
}

/// Prints a word in a style.
pub(super) type Paint<'a> = &'a dyn Fn(Ink, &str) -> String;

/// The line as printed on a terminal with `columns` columns.
pub(super) fn rendered(line: &Line, columns: usize, paint: Paint<'_>) -> Vec<String> {
    let columns = columns.max(INDENT + UNIT);
    let narrow = columns < NARROW;
    match line {
        Line::Answer(parts) => answer(parts, columns, paint),
        Line::Labeled { label, value, words } if narrow => {
            let mut spans = Vec::new();
            if !label.is_empty() {
                spans.push(Span::plain(format!("{label}:")));
            }
            spans.extend(value.clone());
            spans.push(Span::plain(words.clone()));
            let first = if label.is_empty() { INDENT } else { 0 };
            wrapped(&spans, columns, first, INDENT, paint)
        }
        Line::Labeled { label, value, words } => {
            labeled(label, value.as_ref(), words, columns, paint)
        }
        Line::Below(text) => {
            let indent = if narrow { INDENT } else { 2 * INDENT };
            let spans = [Span::plain(text.clone())];
            wrapped(&spans, columns, INDENT, indent, paint)
        }
        Line::Whole { label, text } => {
            vec![format!("{label:<LABEL_WIDTH$}{}", paint(Ink::Plain, text))]
        }
        Line::Table { rows, words } => table(rows, *words, columns, paint),
    }
}

fn answer(parts: &[Span], columns: usize, paint: Paint<'_>) -> Vec<String> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let width = part.text.chars().count();
        match lines.last_mut() {
            Some((used, line)) if *used + GAP.len() + width <= columns => {
                *used += GAP.len() + width;
                line.push_str(GAP);
                line.push_str(&paint(part.ink, &part.text));
            }
            _ if width <= columns => lines.push((width, paint(part.ink, &part.text))),
            _ => {
                let broken = wrapped(std::slice::from_ref(part), columns, 0, INDENT, paint);
                lines.extend(broken.into_iter().map(|line| (columns, line)));
            }
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

fn labeled(
    label: &str,
    value: Option<&Span>,
    words: &str,
    columns: usize,
    paint: Paint<'_>,
) -> Vec<String> {
    let mut head = format!("{label:<LABEL_WIDTH$}");
    let mut used = head.chars().count();
    if let Some(value) = value {
        let pad = VALUE_WIDTH.saturating_sub(value.text.chars().count());
        head += &paint(value.ink, &value.text);
        head += &" ".repeat(pad + 1);
        used += value.text.chars().count() + pad + 1;
    }
    let mut lines =
        wrapped(&[Span::plain(words)], columns, used.min(columns / 2), LABEL_WIDTH, paint);
    match lines.first_mut() {
        Some(first) => *first = format!("{head}{}", first.trim_start()),
        None => lines.push(head),
    }
    lines
}

/// Aligned if it fits; otherwise each row as `head cell · head cell`.
fn table(rows: &[Row], words: usize, columns: usize, paint: Paint<'_>) -> Vec<String> {
    let lines = aligned(rows, words);
    if lines.iter().all(|line| line.chars().count() <= columns) {
        return lines.iter().map(|line| paint(Ink::Plain, line)).collect();
    }
    let Some((heads, rows)) = rows.split_first() else {
        return Vec::new();
    };
    let named = |row: &Row| {
        let cells = row
            .cells
            .iter()
            .zip(&heads.cells)
            .enumerate()
            .filter(|(_, (cell, _))| !cell.is_empty());
        let cells = cells.map(
            |(column, (cell, head))| {
                if column < words { cell.clone() } else { format!("{head} {cell}") }
            },
        );
        joined(cells.chain([row.remark.clone()]))
    };
    rows.iter()
        .flat_map(|row| wrapped(&[Span::plain(named(row))], columns, 0, INDENT, paint))
        .collect()
}

/// Wraps words: the first line begins at `first`, the others at `rest`. A unit stays on the line of its number.
fn wrapped(
    spans: &[Span],
    columns: usize,
    first: usize,
    rest: usize,
    paint: Paint<'_>,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = " ".repeat(first);
    let (mut used, mut is_empty) = (first, true);
    for span in spans {
        for word in unbroken(&span.text) {
            let width = word.chars().count();
            let gap = usize::from(!is_empty);
            if !is_empty && used + gap + width > columns {
                lines.push(std::mem::replace(&mut line, " ".repeat(rest)));
                (used, is_empty) = (rest, true);
            }
            if !is_empty {
                line.push(' ');
                used += 1;
            }
            line += &paint(span.ink, &word);
            (used, is_empty) = (used + width, false);
        }
    }
    if !is_empty {
        lines.push(line);
    }
    lines
}

/// The words of a text; a number and its unit are one word.
fn unbroken(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = |word: &str| {
            word.chars().count() <= UNIT
                && word.chars().next().is_some_and(char::is_alphabetic)
                && !word.contains(|c: char| c.is_ascii_digit())
        };
        match words.last_mut() {
            Some(last) if word == "·" => last.push_str(" ·"),
            Some(last)
                if matches!(last.as_str(), "≥" | "≤" | ">" | "<")
                    || (last.ends_with(|c: char| c.is_ascii_digit()) && is_unit(word)) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(columns: usize, line: &Line) -> String {
        rendered(line, columns, &|_, text| text.to_owned()).join("\n")
    }

    fn on_each(columns: [usize; 3], line: &Line) -> String {
        columns.map(|columns| on(columns, line)).join("\n-\n")
    }

    fn answer_line() -> Line {
        Line::Answer(vec![
            Span::new(Ink::Strong, "421,200 rows/s"),
            Span::plain("p99 11.0 ms"),
            Span::plain("all 4,212,000 acknowledged rows found"),
        ])
    }

    #[test]
    fn the_parts_of_an_answer_stay_whole_as_long_as_one_fits() {
        insta::assert_snapshot!(on_each([80, 40, 24], &answer_line()), @"
        421,200 rows/s   p99 11.0 ms   all 4,212,000 acknowledged rows found
        -
        421,200 rows/s   p99 11.0 ms
        all 4,212,000 acknowledged rows found
        -
        421,200 rows/s
        p99 11.0 ms
        all 4,212,000
          acknowledged rows
          found
        ");
    }

    #[test]
    fn words_are_in_a_column_or_directly_after_their_label() {
        let line = Line::judged(
            "data",
            Span::new(Ink::Good, "clean"),
            "sums over 4,096 key buckets, 200 rows read back".to_owned(),
        );
        insta::assert_snapshot!(on_each([80, 60, 40], &line), @"
        data           clean       sums over 4,096 key buckets, 200 rows read back
        -
        data           clean       sums over 4,096 key buckets,
                       200 rows read back
        -
        data: clean sums over 4,096 key buckets,
          200 rows read back
        ");
    }

    #[test]
    fn only_text_to_copy_is_wider_than_the_terminal() {
        let table = Line::Table {
            rows: vec![
                Row::new(["stream", "planned/s", "acked/s", "p99", "errors"]),
                Row::new(["dashboards", "50", "49.9", "45.0 ms", "0"]),
            ],
            words: 1,
        };
        let long =
            "a sentence with 1,000 rows/s and a p99 of 50.9 ms that has to be broken somewhere";
        for line in [
            answer_line(),
            Line::labeled("limited by", long),
            Line::Below(long.to_owned()),
            table.clone(),
        ] {
            for columns in [24, 40, 60, 80] {
                for shown in on(columns, &line).lines() {
                    assert!(shown.chars().count() <= columns, "{columns}: {shown}");
                }
            }
        }
        let lines = "dashboards · planned/s 50 · acked/s\n  49.9 · p99 45.0 ms · errors 0";
        assert_eq!(on(40, &table), lines);
        let command = Line::Whole {
            label: "next:",
            text: "highwater run cpu sqlite: --rate 295k -d 30s".to_owned(),
        };
        assert_eq!(on(20, &command).lines().count(), 1);
    }

    #[test]
    fn a_number_keeps_its_unit_and_a_bound_its_number() {
        let words = unbroken("p99 ≥ 50.9 ms at 1,000 rows/s, 95% of 3");
        assert_eq!(words.join("|"), "p99|≥ 50.9 ms|at|1,000 rows/s,|95%|of|3");
    }

    #[test]
    fn colors_are_the_printers() {
        let painted = |ink: Ink, text: &str| format!("<{ink:?} {text}>");
        let line = Line::Answer(vec![Span::new(Ink::Bad, "LOST")]);
        assert_eq!(rendered(&line, 80, &painted), ["<Bad LOST>"]);
    }
}
