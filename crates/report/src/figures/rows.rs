//! The rows of a table, in columns; empty columns are omitted.

use crate::by_op;
use crate::layout::{Row as Line, aligned, or_absent};
use highwater_model::display::{self, foreign, percent_signed};
use highwater_model::numbers::round_to_u64;
use highwater_sizing::series::names;
use highwater_sizing::tables::{Row, Table};

/// Maximum characters of text from a file in a line.
const LONGEST: usize = 100;

/// Text of a file, to be used in a sentence.
pub(super) fn said(text: &str) -> String {
    foreign(text, LONGEST)
}

/// A column after the value and the throughput: its head, and its cell if there is one.
type Column = (&'static str, fn(&Row) -> Option<String>);

pub(super) fn lines(table: &Table) -> Vec<String> {
    let (rows, words) = rows(table);
    aligned(&rows, words)
}

/// The head and the rows, and how many columns hold words.
pub(crate) fn rows(table: &Table) -> (Vec<Line>, usize) {
    let mut columns = Vec::from(columns(table));
    columns.retain(|(_, cell)| table.rows.iter().any(|row| cell(row).is_some()));
    let mut head = vec![said(&table.axis.header), said(&table.unit)];
    head.extend(columns.iter().map(|(head, _)| (*head).to_owned()));
    let mut lines = vec![Line::new(head)];
    for row in &table.rows {
        let mut cells = vec![said(&row.value), display::rate(row.throughput)];
        let others = columns.iter().map(|(_, cell)| cell(row));
        cells.extend(others.map(|cell| or_absent(cell, |cell| cell)));
        lines.push(Line::new(cells));
    }
    (lines, words(table))
}

/// Number of left-aligned columns, which hold words.
pub(super) fn words(table: &Table) -> usize {
    usize::from(table.rows.iter().any(|row| row.number.is_none()))
}

/// The head and the rows of the parts; empty if the table has none.
pub(super) fn parts(table: &Table) -> Vec<Line> {
    let rates: Vec<_> = table.rows.iter().map(|row| row.parts.clone()).collect();
    let values = table.rows.iter().map(|row| said(&row.value));
    by_op::rows(&said(&table.axis.header), values, &rates)
}

fn columns(table: &Table) -> [Column; 9] {
    let per_piece = if table.axis.name == names::NODES { "per node" } else { "each" };
    let amount = if table.axis.name == names::BATCH_ROWS { "time of one" } else { "time" };
    [
        ("gain", |row| row.gain.map(display::rate_signed)),
        ("change", |row| row.change.map(percent_signed)),
        ("efficiency", |row| row.efficiency.map(|share| format!("{:.1}%", share * 100.0))),
        (per_piece, |row| row.per_piece.map(display::rate)),
        ("per node", |row| row.per_node.map(display::rate)),
        ("0.8 rule", |row| row.rule_of_thumb.map(display::rate)),
        ("off", |row| row.rule_of_thumb.map(|rule| percent_signed(rule / row.throughput - 1.0))),
        (amount, |row| row.amount_s.map(seconds)),
        ("repeats", |row| (row.repeats > 1).then(|| row.repeats.to_string())),
    ]
}

/// A duration in seconds as people read it.
pub(super) fn seconds(seconds: f64) -> String {
    display::duration(round_to_u64(seconds * 1e9))
}
