//! A growth: the rate of the largest size, its fraction of linear growth, and each size.

use highwater_model::record::MeasuredRun;
use highwater_model::scale::ScaleRecord;
use highwater_sizing::growth::report;

use super::layout::{Ink, Line, Span};
use super::lines::first_rows;
use crate::layout::Row;
use crate::text::scale as growth;

/// Columns of the report's table that the short table keeps: nodes, rate, fraction of linear, rate per node.
const COLUMNS: [usize; 4] = [0, 2, 5, 6];

/// The answer, and additional facts.
pub(super) fn lines(record: &MeasuredRun<'_>, scale: &ScaleRecord) -> (Vec<Line>, Vec<Line>) {
    let grown = report(scale);
    let mut remarks = growth::answer(scale, &grown).into_iter();
    let first = remarks.next().map_or_else(String::new, |of| of.sentence);
    let ink = if grown.sizes.is_empty() { Ink::Bad } else { Ink::Strong };
    let mut answer = vec![Line::Answer(vec![Span::new(ink, first)])];
    let rows = growth::growth_table(scale, &grown).into_iter().map(|row| {
        let cells = COLUMNS.iter().filter_map(|at| row.cells.get(*at).cloned());
        Row::new(cells)
    });
    answer.extend(first_rows(rows.collect(), 0));
    let mut about: Vec<Line> =
        remarks.map(|remark| Line::labeled(remark.label, remark.sentence)).collect();
    about.push(Line::labeled("load", growth::question(record, scale)));
    (answer, about)
}
