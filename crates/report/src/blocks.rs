//! A report as data: the answer, and sections of sentences, tables, and charts below it.
//!
//! The words for a kind of record are written once, as these blocks; every output renders them. Must not depend on a
//! kind of record or on an output.

use highwater_analysis::comparison::Comparison;

use crate::answer::Answer;
use crate::chart::Chart;
use crate::layout::{Remark, Row};

/// Style of a word, if colors are enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ink {
    /// No style.
    #[default]
    Plain,
    /// The answer.
    Strong,
    /// Good.
    Good,
    /// Bad.
    Bad,
    /// Undecided.
    Open,
    /// Less important than the answer.
    Dim,
}

/// Everything that outputs show about one kind of record.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Printed first by every output.
    pub(crate) answer: Answer,
    /// The first line on a terminal; if it is empty, the answer is.
    pub(crate) first_line: Vec<(Ink, String)>,
    /// The second line on a terminal, such as the figure's interval.
    pub(crate) below: Option<String>,
    /// What was measured, and how: the first lines of a text report.
    pub(crate) opening: Vec<String>,
    /// The table below the answer on a terminal, which shows its first rows.
    pub(crate) brief: Option<Table>,
    /// The table with which Markdown begins, below the answer, to be pasted under an article.
    pub(crate) article: Option<Table>,
    /// Sentences below the judgments on a terminal, which shows the first one of each label.
    pub(crate) facts: Vec<Remark>,
    /// Text next to the name of a page: its subject.
    pub(crate) page_facts: Vec<String>,
    /// Text next to the question of a page: conditions to know before reading the answer.
    pub(crate) page_tags: Vec<String>,
    /// The chart that a page shows below the answer.
    pub(crate) hero: Vec<Block>,
    /// All other sections, in order.
    pub(crate) sections: Vec<Section>,
}

/// A section of a report; folded on a page.
#[derive(Debug)]
pub(crate) struct Section {
    /// Unique in its report.
    pub(crate) id: &'static str,
    /// The heading on a page.
    pub(crate) title: &'static str,
    /// The section's result in one line.
    pub(crate) lead: String,
    pub(crate) blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug)]
pub(crate) enum Block {
    /// A heading of the blocks that follow.
    Heading(String),
    /// Sentences, each with a label; one without a label continues the previous one.
    Remarks(Vec<Remark>),
    /// A table.
    Table(Table),
    /// Definitions of words, for readers of a page.
    Term(String),
    /// A paragraph.
    Paragraph(String),
    /// Preformatted lines, such as a plot made of characters; not on a page, which has charts.
    Lines(Vec<String>),
    /// The counts offered, sent, acknowledged, and found in each row, after a name.
    Counts(Table),
    /// Charts, on a page.
    Charts(Vec<Chart>),
    /// Small multiples of these series, a row for each chart, on a page.
    Sparklines(Vec<Chart>),
    /// The intervals of all figures of a comparison, drawn, on a page.
    Intervals(Box<Comparison>),
    /// Other pages, each with its address and name, on a page.
    Links(Vec<[String; 2]>),
    /// Blocks that a page folds under a title.
    Folded(String, Vec<Block>),
}

/// A table: the first row is its head, and the first `words` columns hold words.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// Its name for screen readers.
    pub(crate) name: String,
    /// The sentence above it.
    pub(crate) caption: Option<Remark>,
    pub(crate) rows: Vec<Row>,
    pub(crate) words: usize,
    /// Sentences directly below it, about its figures.
    pub(crate) notes: Vec<Remark>,
}

impl Report {
    /// Combines several reports for one page: the first with the sections of all; the charts of the others are in
    /// their sections.
    pub(crate) fn merged(reports: Vec<Self>) -> Self {
        let mut reports = reports.into_iter();
        let mut merged = reports.next().unwrap_or_default();
        for mut other in reports {
            for (section, others) in merged.sections.iter_mut().zip(other.sections) {
                section.blocks.extend(others.blocks);
                section.blocks.append(&mut other.hero);
            }
        }
        merged
    }
}

impl Table {
    pub(crate) fn new(name: impl Into<String>, rows: Vec<Row>, words: usize) -> Self {
        Self { name: name.into(), caption: None, rows, words, notes: Vec::new() }
    }
}

impl Block {
    pub(crate) fn table(name: impl Into<String>, rows: Vec<Row>, words: usize) -> Self {
        Self::Table(Table::new(name, rows, words))
    }
}
